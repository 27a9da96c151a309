"""The summary of a run in plain words, and the lines of its log."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from kudo_harness.report.result import SuiteResult
from kudo_harness.report.texts import cut_message, terminal_text

MOST_CASES: Final = 50
"""Cases that the summary lists; reports have them all."""


def summary(result: SuiteResult) -> str:
    """Return what passed, what failed and where, and what did not run."""
    return "\n".join(terminal_text(cut_message(line)) for line in _lines(result)) + "\n"


def log_line(moment: datetime, case: str, step: str, message: str) -> str:
    """Return a message of the log as kuttl writes it; each of its lines has the same beginning."""
    where = f"{case}/{step}" if step else case
    start = f"logger.go:42: {moment:%H:%M:%S} | {terminal_text(where)} | "
    lines = terminal_text(message).rstrip("\n").split("\n")
    return "".join(f"{start}{line}\n" for line in lines)


def _lines(result: SuiteResult) -> Iterator[str]:
    cases = list(result.cases)
    took = f"in {result.seconds:.1f} s"
    passed = sum(case.passed for _, case in cases)
    if result.failure is not None:
        yield f"No case ran: {result.failure.message}"
    elif result.passed and len(cases) == 1:
        yield f"The case passed {took}."
    elif result.passed:
        yield f"All {len(cases)} cases passed {took}."
    else:
        yield f"{passed} of {_counted(len(cases), 'case')} passed {took}."
    if result.interrupted:
        yield "The run was interrupted."
    failed = [f"  {line}" for line in _failed(result)]
    skipped = [f"  {path}/{case.name}: {case.skipped}" for path, case in cases if case.skipped]
    yield from _listed("Failed:", failed)
    yield from _listed("Not run:", skipped)


def _failed(result: SuiteResult) -> Iterator[str]:
    for path, case in result.cases:
        for title, failure in case.failures:
            step = next((step for step in case.steps if step.title == title), None)
            where = f", step {title} ({step.seconds:.1f} s)" if step else ""
            yield f"{path}/{case.name}{where}: {failure.message}"


def _listed(title: str, lines: list[str]) -> Iterator[str]:
    if not lines:
        return
    yield title
    yield from lines[:MOST_CASES]
    if len(lines) > MOST_CASES:
        yield f"  and {len(lines) - MOST_CASES} more"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
