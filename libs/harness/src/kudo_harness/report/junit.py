"""Writes reports as JUnit XML, and the same in JSON, with the elements and keys of kuttl.

By step, each case is a suite and each of its steps a case of the report; by test, each case is one.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final
from xml.etree import ElementTree as ET

from kudo_harness.report.result import CaseResult, Failure, FolderResult, SuiteResult
from kudo_harness.suite import Granularity

JsonObject = dict[str, object]

_NOT_XML: Final = re.compile("[^\\t\\n\\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold, not even as a reference."""


@dataclass(frozen=True, slots=True)
class ReportCase:
    """A case of a report."""

    classname: str
    name: str
    seconds: float
    assertions: int = 0
    failure: Failure | None = None
    skipped: str = ""


@dataclass(frozen=True, slots=True)
class ReportSuite:
    """A suite of a report; it has cases, or suites in it."""

    name: str
    started: datetime
    seconds: float
    cases: tuple[ReportCase, ...] = ()
    suites: tuple["ReportSuite", ...] = ()

    @property
    def all_cases(self) -> Iterator[ReportCase]:
        yield from self.cases
        for suite in self.suites:
            yield from suite.all_cases

    @property
    def counts(self) -> dict[str, int]:
        cases = list(self.all_cases)
        return {
            "tests": len(cases),
            "failures": sum(case.failure is not None for case in cases),
            "skipped": sum(bool(case.skipped) for case in cases),
        }

    @property
    def timestamp(self) -> str:
        # In UTC: machines whose reports are compared may stand in several zones.
        return self.started.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def report_json(result: SuiteResult, granularity: Granularity = Granularity.STEP) -> str:
    """Return the report of a run in JSON. Times are texts, as in kuttl."""
    report = _report(result, granularity)
    suites = [_suite_json(suite) for suite in report.suites]
    whole = {
        "name": report.name,
        **report.counts,
        "time": _seconds(report.seconds),
        "testsuite": suites,
    }
    # A lone surrogate has no UTF-8: JSON writes it as an escape.
    return json.dumps(whole, indent=2, ensure_ascii=True) + "\n"


def junit_xml(result: SuiteResult, granularity: Granularity = Granularity.STEP) -> bytes:
    """Return the report of a run in XML, in UTF-8."""
    report = _report(result, granularity)
    root = _element("testsuites", name=report.name, **report.counts, time=_seconds(report.seconds))
    root.extend(map(_suite_xml, report.suites))
    ET.indent(root)
    text: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _report(result: SuiteResult, granularity: Granularity) -> ReportSuite:
    """Return the suites of a report, with texts of bounded length."""
    suites = [_folder(folder, granularity) for folder in result.folders]
    if result.failure is not None:
        # Only cases have failures, and only suites have cases.
        setup = ReportCase("suite", "setup", result.seconds, 0, result.failure.bounded())
        suites.insert(0, ReportSuite("suite", result.started, result.seconds, (setup,)))
    return ReportSuite(result.name, result.started, result.seconds, suites=tuple(suites))


def _folder(folder: FolderResult, granularity: Granularity) -> ReportSuite:
    suite = ReportSuite(folder.path, folder.started, folder.seconds)
    if granularity is Granularity.STEP:
        return replace(suite, suites=tuple(map(_case_by_step, folder.cases)))
    return replace(suite, cases=tuple(_whole_case(folder.path, case) for case in folder.cases))


def _case_by_step(case: CaseResult) -> ReportSuite:
    setup = ReportCase(case.name, "setup", case.seconds)
    outside: tuple[ReportCase, ...] = ()
    if case.skipped and not case.steps:
        outside = (replace(setup, skipped=case.skipped),)
    elif case.failure is not None:
        outside = (replace(setup, failure=case.failure.bounded()),)
    steps = tuple(
        ReportCase(
            classname=case.name,
            name=f"step {step.title}",
            seconds=step.seconds,
            assertions=step.assertions,
            failure=step.failure.bounded() if step.failure else None,
            skipped=step.skipped,
        )
        for step in case.steps
    )
    return ReportSuite(case.name, case.started, case.seconds, outside + steps)


def _whole_case(folder: str, case: CaseResult) -> ReportCase:
    title, failure = next(case.failures, ("", None))
    if failure is not None and title:
        failure = replace(failure, message=f"step {title}: {failure.message}")
    return ReportCase(
        classname=folder,
        name=case.name,
        seconds=case.seconds,
        assertions=sum(step.assertions for step in case.steps),
        failure=failure.bounded() if failure else None,
        skipped=case.skipped,
    )


def _suite_json(suite: ReportSuite) -> JsonObject:
    fields: JsonObject = {
        "name": suite.name,
        **suite.counts,
        "time": _seconds(suite.seconds),
        "timestamp": suite.timestamp,
    }
    if suite.cases:
        fields["testcase"] = [_case_json(case) for case in suite.cases]
    if suite.suites:
        fields["testsuite"] = [_suite_json(inner) for inner in suite.suites]
    return fields


def _case_json(case: ReportCase) -> JsonObject:
    fields: JsonObject = {
        "classname": case.classname,
        "name": case.name,
        "time": _seconds(case.seconds),
        "assertions": case.assertions,
    }
    if case.failure is not None:
        text = case.failure.details or case.failure.message
        fields["failure"] = {"message": case.failure.message, "type": "Failure", "text": text}
    elif case.skipped:
        fields["skipped"] = {"message": case.skipped}
    return fields


def _suite_xml(suite: ReportSuite) -> ET.Element:
    element = _element(
        "testsuite",
        name=suite.name,
        timestamp=suite.timestamp,
        **suite.counts,
        time=_seconds(suite.seconds),
    )
    element.extend(map(_case_xml, suite.cases))
    element.extend(map(_suite_xml, suite.suites))
    return element


def _case_xml(case: ReportCase) -> ET.Element:
    element = _element(
        "testcase",
        classname=case.classname,
        name=case.name,
        time=_seconds(case.seconds),
        assertions=case.assertions,
    )
    if case.failure is not None:
        failure = _element("failure", message=case.failure.message, type="Failure")
        failure.text = _xml_text(case.failure.details or case.failure.message)
        element.append(failure)
    elif case.skipped:
        element.append(_element("skipped", message=case.skipped))
    return element


def _element(tag: str, **attributes: str | int) -> ET.Element:
    return ET.Element(tag, {name: _xml_text(str(value)) for name, value in attributes.items()})


def _xml_text(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def _seconds(seconds: float) -> str:
    """Return seconds with three decimals; clocks may have been set back."""
    return f"{max(seconds, 0.0):.3f}"
