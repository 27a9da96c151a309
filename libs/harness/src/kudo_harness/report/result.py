"""The result of a run: what whoever runs a suite measures, and what reports are made of."""

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
