"""The result of a run: what whoever runs a suite measures, what reports are made of, and a summary.

The summary shows what failed twice: a block for each failure, with its cause first and then what
helps to find out more, and at the end, where a terminal stands, a line for each.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

MOST_MESSAGE: Final = 2_000
"""Characters of a message in reports and the summary."""
MOST_DETAILS: Final = 16_000
"""Characters of the details of one failure."""


def cut_message(text: str) -> str:
    """Return the beginning of a message."""
    return text if len(text) <= MOST_MESSAGE else text[:MOST_MESSAGE] + "…"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why something failed.

    Attributes:
        message: One sentence, cause first.
        details: What else helps: differences, the object, its events, output of commands.
    """

    message: str
    details: str = ""

    def bounded(self) -> "Failure":
        """Return the failure with texts that a report can hold."""
        details = self.details
        if len(details) > MOST_DETAILS:
            # The beginning says what differs, and the end of a log tells more than its middle.
            half = MOST_DETAILS // 2
            left_out = len(details) - 2 * half
            details = f"{details[:half]}\n… {left_out} characters left out …\n{details[-half:]}"
        return Failure(cut_message(self.message), details)


@dataclass(frozen=True, slots=True)
class StepResult:
    """The result of a step.

    Attributes:
        title: The step as `Step.title` names it.
        seconds: How long it took; 0 if it did not run.
        assertions: Number of asserts, errors and expressions that were checked.
        failure: None if it passed or did not run.
        skipped: Why it did not run; empty if it did.
    """

    title: str
    seconds: float = 0.0
    assertions: int = 0
    failure: Failure | None = None
    skipped: str = ""


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The result of a case.

    Attributes:
        name: Of the case.
        started: When, with a time zone.
        seconds: How long it took, namespace and deleting included.
        steps: In their order.
        failure: What failed outside of a step, such as creating the namespace.
        skipped: Why it did not run; empty if it did.
    """

    name: str
    started: datetime
    seconds: float = 0.0
    steps: tuple[StepResult, ...] = ()
    failure: Failure | None = None
    skipped: str = ""

    @property
    def failures(self) -> Iterator[tuple[str, Failure]]:
        """Yield what failed, with the title of the step; empty for the case itself."""
        if self.failure is not None:
            yield "", self.failure
        yield from ((step.title, step.failure) for step in self.steps if step.failure is not None)

    @property
    def failed(self) -> bool:
        return next(self.failures, None) is not None

    @property
    def passed(self) -> bool:
        return not (self.failed or self.skipped)


@dataclass(frozen=True, slots=True)
class FolderResult:
    """The results of the cases of a folder.

    Attributes:
        path: The folder, as it was given.
        started: When its first case started, with a time zone.
        seconds: From the start of the first to the end of the last case.
        cases: By name.
    """

    path: str
    started: datetime
    seconds: float
    cases: tuple[CaseResult, ...]


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """The result of a run.

    Attributes:
        name: Of the suite; may be empty.
        started: When, with a time zone.
        seconds: How long it took.
        folders: The folders of cases.
        failure: What failed before the cases, such as a command of the suite.
        interrupted: Whether it was interrupted.
    """

    name: str
    started: datetime
    seconds: float
    folders: tuple[FolderResult, ...]
    failure: Failure | None = None
    interrupted: bool = False

    @property
    def cases(self) -> Iterator[tuple[str, CaseResult]]:
        """Yield all cases, with their folder."""
        yield from ((folder.path, case) for folder in self.folders for case in folder.cases)

    @property
    def passed(self) -> bool:
        """Whether everything ran and nothing failed."""
        ran = all(case.passed for _, case in self.cases)
        return ran and self.failure is None and not self.interrupted


MOST_CASES: Final = 50
"""Cases that the summary lists; reports have them all."""
MOST_DETAILED: Final = 10
"""Failures that are shown with their details."""
MOST_LINES: Final = 150
"""Lines of the details of a failure."""
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""What changes colours or direction of a terminal."""


def terminal_text(text: str) -> str:
    """Return a text that changes neither colours nor direction of a terminal."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def summary(result: SuiteResult) -> str:
    """Return what failed and why, then what passed, what failed and what did not run."""
    lines = (*_blocks(result), *map(cut_message, _lines(result)))
    return "\n".join(map(terminal_text, lines)) + "\n"


def _blocks(result: SuiteResult) -> Iterator[str]:
    """Yield the lines of failures that have details, with an empty line after each."""
    if result.failure is not None and result.failure.details:
        yield from _block("suite", result.failure)
        yield ""
    detailed = [
        (f"{path}/{case.name}{_step(case, title)}", case.name, failure)
        for path, case in result.cases
        for title, failure in case.failures
        if failure.details
    ]
    for where, name, failure in detailed[:MOST_DETAILED]:
        yield from _block(where, failure)
        pattern = shlex.quote(f"^{re.escape(name)}$")
        yield f"To look at it, run it alone and keep it: --test {pattern} --skip-delete"
        yield ""
    more = len(detailed) - MOST_DETAILED
    if more > 0:
        yield f"{_counted(more, 'more failure')} with details; reports have them"
        yield ""


def _block(title: str, failure: Failure) -> Iterator[str]:
    yield f"--- {title}"
    yield cut_message(failure.message)
    lines = failure.bounded().details.rstrip("\n").split("\n")
    yield from (f"  {line}".rstrip() for line in lines[:MOST_LINES])
    more = len(lines) - MOST_LINES
    if more > 0:
        yield f"  … {more} more lines; reports have them"


def _step(case: CaseResult, title: str) -> str:
    step = next((step for step in case.steps if step.title == title), None)
    return f", step {title} ({step.seconds:.1f} s)" if step else ""


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
            yield f"{path}/{case.name}{_step(case, title)}: {failure.message}"


def _listed(title: str, lines: list[str]) -> Iterator[str]:
    if not lines:
        return
    yield title
    yield from lines[:MOST_CASES]
    if len(lines) > MOST_CASES:
        yield f"  and {len(lines) - MOST_CASES} more"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
