"""Reports in JUnit XML and JSON."""

import json
from dataclasses import replace
from datetime import timedelta, timezone
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo_harness.report import Failure, StepResult, SuiteResult, junit_xml, report_json
from kudo_harness.suite import Granularity
from tests.unit.harness.report.results import BROKEN, FAILED, PASSED, SKIPPED, START, run


def xml(result: SuiteResult, granularity: Granularity = Granularity.STEP) -> ET.Element:
    return ET.fromstring(junit_xml(result, granularity))


def test_by_step_a_case_is_a_suite_of_its_steps() -> None:
    assert junit_xml(run(PASSED, FAILED)).decode() == (
        "<?xml version='1.0' encoding='utf-8'?>\n"
        '<testsuites name="mine" tests="5" failures="1" skipped="1" time="33.125">\n'
        '  <testsuite name="e2e" timestamp="2026-11-23T10:00:00Z" tests="5" failures="1" '
        'skipped="1" time="31.500">\n'
        '    <testsuite name="install" timestamp="2026-11-23T10:00:00Z" tests="2" failures="0" '
        'skipped="0" time="3.250">\n'
        '      <testcase classname="install" name="step 0-install" time="1.500" assertions="2" />\n'
        '      <testcase classname="install" name="step 1-scale" time="1.000" assertions="1" />\n'
        "    </testsuite>\n"
        '    <testsuite name="upgrade" timestamp="2026-11-23T10:00:01Z" tests="3" failures="1" '
        'skipped="1" time="31.000">\n'
        '      <testcase classname="upgrade" name="step 0-install" time="1.500" assertions="2" />\n'
        '      <testcase classname="upgrade" name="step 1-upgrade" time="29.500" assertions="3">\n'
        '        <failure message="e2e/upgrade/01-assert.yaml:8: .status.phase: value mismatch" '
        'type="Failure">kind: Pod\n</failure>\n'
        "      </testcase>\n"
        '      <testcase classname="upgrade" name="step 2-check" time="0.000" assertions="0">\n'
        '        <skipped message="an earlier step failed" />\n'
        "      </testcase>\n"
        "    </testsuite>\n"
        "  </testsuite>\n"
        "</testsuites>\n"
    )


def test_by_test_a_case_is_a_case() -> None:
    (folder,) = xml(run(PASSED, FAILED, SKIPPED), Granularity.TEST)
    assert folder.attrib["tests"] == "3"
    passed, failed, skipped = folder
    assert passed.attrib == {
        "classname": "e2e",
        "name": "install",
        "time": "3.250",
        "assertions": "3",
    }
    assert failed.attrib["assertions"] == "5"
    assert failed[0].attrib["message"].startswith("step 1-upgrade: e2e/upgrade/01-assert.yaml:8:")
    assert skipped[0].tag == "skipped"


def test_json_has_the_same_tree() -> None:
    # BTO-66: the times of steps are real.
    whole = json.loads(report_json(run(FAILED)))
    assert list(whole) == ["name", "tests", "failures", "skipped", "time", "testsuite"]
    (folder,) = whole["testsuite"]
    (case,) = folder["testsuite"]
    assert [(step["name"], step["time"]) for step in case["testcase"]] == [
        ("step 0-install", "1.500"),
        ("step 1-upgrade", "29.500"),
        ("step 2-check", "0.000"),
    ]
    assert case["testcase"][1]["failure"] == {
        "message": "e2e/upgrade/01-assert.yaml:8: .status.phase: value mismatch",
        "type": "Failure",
        "text": "kind: Pod\n",
    }
    assert case["testcase"][2]["skipped"] == {"message": "an earlier step failed"}
    assert case["timestamp"] == "2026-11-23T10:00:01Z"


def test_what_fails_outside_of_steps_is_in_the_report(subtests: pytest.Subtests) -> None:
    for granularity in Granularity:
        with subtests.test(granularity=granularity):
            result = run(
                BROKEN, SKIPPED, failure=Failure("command 1 of the suite failed", "exit code 2")
            )
            root = xml(result, granularity)
            assert (root.attrib["tests"], root.attrib["failures"], root.attrib["skipped"]) == (
                "3",
                "2",
                "1",
            )
            messages = [failure.attrib["message"] for failure in root.iter("failure")]
            assert messages == ["command 1 of the suite failed", "the namespace cannot be created"]
            assert json.loads(report_json(result, granularity))["failures"] == 2


def test_a_failure_without_details_has_its_message_as_text() -> None:
    (failure,) = xml(run(BROKEN)).iter("failure")
    assert failure.text == failure.attrib["message"] == "the namespace cannot be created"


def test_times_are_in_utc() -> None:
    zoned = START.astimezone(timezone(timedelta(hours=-5)))
    root = xml(run(replace(PASSED, started=zoned)))
    assert [suite.attrib["timestamp"] for suite in root.iter("testsuite")] == [
        "2026-11-23T10:00:00Z"
    ] * 2


def test_names_and_texts_are_escaped() -> None:
    name = "a<b>&\"'c\x00\x1b[31m\ud800"
    failure = Failure(f"]]> {name}", f"<![CDATA[ {name}")
    case = replace(PASSED, name=name, steps=(StepResult(name, failure=failure),))
    (step,) = xml(run(case)).iter("testcase")
    readable = "a<b>&\"'c\ufffd\ufffd[31m\ufffd"
    assert (step.attrib["classname"], step.attrib["name"]) == (readable, f"step {readable}")
    assert step[0].text == f"<![CDATA[ {readable}"
    assert json.loads(report_json(run(case)))["testsuite"][0]["testsuite"][0]["name"] == name


def test_long_texts_are_cut_in_their_middle() -> None:
    failure = Failure("m" * 1_000_000, f"first{'x' * 1_000_000}last")
    result = run(replace(PASSED, steps=(StepResult("0-a", failure=failure),)))
    assert len(junit_xml(result)) < 25_000
    assert len(report_json(result)) < 25_000
    text = next(xml(result).iter("failure")).text
    assert text is not None
    assert text.startswith("firstx")
    assert text.endswith("xlast")
    assert "984009 characters left out" in text


def test_a_run_without_cases_is_a_report() -> None:
    assert list(xml(run())) == []
    assert json.loads(report_json(run()))["testsuite"] == []


TEXTS = st.text(st.characters(codec=None), max_size=20)


@given(TEXTS, TEXTS, TEXTS, st.floats(-1, 1e6), st.sampled_from(Granularity))
def test_every_text_gives_a_report_that_can_be_read(
    name: str, message: str, details: str, seconds: float, granularity: Granularity
) -> None:
    step = StepResult(name, seconds, failure=Failure(message, details))
    result = run(replace(PASSED, name=name, steps=(step, StepResult(name, skipped=message))))
    assert xml(result, granularity).attrib["failures"] == "1"
    assert json.loads(report_json(result, granularity))["failures"] == 1
