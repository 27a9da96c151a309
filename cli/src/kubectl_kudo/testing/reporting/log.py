"""The log of a run where it is read later: a file, a pipe, the log of CI."""

from collections.abc import Callable
from datetime import datetime

from kudo_harness.report import CaseResult, log_line
from kudo_harness.suite import Case, Step

Now = Callable[[], datetime]


def local_time() -> datetime:
    return datetime.now().astimezone()


def outcome(folder: str, result: CaseResult) -> str:
    """Return how a case ended, in one line."""
    name = f"{folder}/{result.name}"
    if result.failed:
        title, failure = next(iter(result.failures))
        where = f", step {title}" if title else ""
        return f"FAILED {name}{where} ({result.seconds:.1f} s): {failure.message}"
    if result.skipped:
        return f"NOT RUN {name}: {result.skipped}"
    return f"passed {name} ({result.seconds:.1f} s)"


class TextLog:
    """Writes each message as lines with time, case and step, as kuttl does.

    Args:
        write: Takes lines, each with its end.
        now: The time.
    """

    def __init__(self, write: Callable[[str], object], *, now: Now = local_time) -> None:
        self._write = write
        self._now = now

    def message(self, case: str, step: str, text: str) -> None:
        self._write(log_line(self._now(), case or "suite", step, text))

    def case_started(self, folder: str, case: Case) -> None:
        self.message(case.name, "", f"started: {folder}/{case.name} in namespace {case.namespace}")

    def step_started(self, folder: str, case: Case, step: Step) -> None:
        """Do nothing: the runner tells it as kuttl does."""

    def case_ended(self, folder: str, result: CaseResult) -> None:
        self.message(result.name, "", outcome(folder, result))

    def tick(self) -> None:
        """Do nothing: lines that are written do not change."""

    def close(self) -> None:
        """Do nothing: all lines are written."""
