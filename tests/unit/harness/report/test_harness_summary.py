"""The summary in plain words, and the log."""

from dataclasses import replace

from kudo_harness.report import CaseResult, Failure, StepResult, log_line, summary
from tests.unit.harness.report.results import BROKEN, FAILED, PASSED, SKIPPED, START, run


def test_a_run_that_passed_takes_one_line() -> None:
    assert summary(run(PASSED)) == "The case passed in 33.1 s.\n"
    assert summary(run(PASSED, replace(PASSED, name="b"))) == "All 2 cases passed in 33.1 s.\n"


def test_failures_name_case_step_and_cause() -> None:
    assert summary(run(PASSED, FAILED, BROKEN)) == (
        "--- e2e/upgrade, step 1-upgrade (29.5 s)\n"
        "e2e/upgrade/01-assert.yaml:8: .status.phase: value mismatch\n"
        "  kind: Pod\n"
        "To look at it, run it alone and keep it: --test '^upgrade$' --skip-delete\n"
        "\n"
        "1 of 3 cases passed in 33.1 s.\n"
        "Failed:\n"
        "  e2e/upgrade, step 1-upgrade (29.5 s): "
        "e2e/upgrade/01-assert.yaml:8: .status.phase: value mismatch\n"
        "  e2e/restore: the namespace cannot be created\n"
    )


def test_details_are_counted() -> None:
    details = "\n".join(str(n) for n in range(1000))
    steps = (StepResult("0-a", failure=Failure("why", details)),)
    cases = [CaseResult(f"a b+{n}", START, steps=steps) for n in range(20)]
    text = summary(run(*cases))
    assert text.count("\n--- ") == 9
    assert text.count("  … 850 more lines; reports have them\n") == 10
    assert "--test '^a\\ b\\+3$' --skip-delete" in text
    assert "\n\n10 more failures with details; reports have them\n\n0 of 20 cases" in text
    assert len(text.splitlines()) < 1_700


def test_a_suite_that_failed_shows_the_output_of_its_command() -> None:
    text = summary(run(failure=Failure("kubectl kudo init: exit code 1", "no route to host\n")))
    assert text == (
        "--- suite\nkubectl kudo init: exit code 1\n  no route to host\n\n"
        "No case ran: kubectl kudo init: exit code 1\n"
    )


def test_an_interrupted_run_says_what_did_not_run() -> None:
    assert summary(run(PASSED, SKIPPED, interrupted=True)) == (
        "1 of 2 cases passed in 33.1 s.\n"
        "The run was interrupted.\n"
        "Not run:\n"
        "  e2e/backup: the run was interrupted\n"
    )


def test_a_suite_that_failed_before_its_cases_says_so() -> None:
    text = summary(run(failure=Failure("suite.yaml:7: kubectl kudo init: exit code 1")))
    assert text == "No case ran: suite.yaml:7: kubectl kudo init: exit code 1\n"


def test_a_run_without_a_passed_case_does_not_say_that_it_passed() -> None:
    assert not run(SKIPPED).passed
    assert not run(PASSED, interrupted=True).passed
    assert summary(run(BROKEN)).startswith("0 of 1 case passed")


def test_many_failures_are_counted() -> None:
    cases = [replace(BROKEN, name=f"case{n}") for n in range(60)]
    lines = summary(run(*cases)).splitlines()
    assert len(lines) == 53
    assert lines[-1] == "  and 10 more"


def test_nothing_reaches_the_terminal_but_text() -> None:
    step = StepResult("0-\x1b]0;x\x07", failure=Failure("a\x1b[2J\u202eb\r" + "x" * 9_999))
    text = summary(run(CaseResult("n\x00", START, steps=(step,))))
    assert all(character == "\n" or character.isprintable() for character in text)
    assert len(text) < 5_000


def test_the_log_has_the_lines_of_kuttl() -> None:
    assert log_line(START, "install", "0-install", "starting test step") == (
        "logger.go:42: 10:00:00 | install/0-install | starting test step\n"
    )
    assert log_line(START, "install", "", "one\ntwo\n") == (
        "logger.go:42: 10:00:00 | install | one\nlogger.go:42: 10:00:00 | install | two\n"
    )
    assert log_line(START, "a", "", "\x1b[31mred") == "logger.go:42: 10:00:00 | a | \ufffd[31mred\n"
