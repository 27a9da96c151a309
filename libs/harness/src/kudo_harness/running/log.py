"""Options of the run of a suite, and its log, without secrets of the objects in it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol

from kubeio.types import JsonObject
from kudo.redaction.objects import Redactor
from kudo.redaction.texts import Lines, redact_text
from kudo_harness.report import CaseResult, Failure, log_line
from kudo_harness.running.waiting import Interruption
from kudo_harness.suite import Case, Step, Suite


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of a run that are not in the suite.

    Attributes:
        folder: Temporary folder of the run: its record, and kubeconfigs for steps.
        working_folder: Where the harness runs, and so the commands of the suite.
        environment: Environment of the harness.
        interruption: What ends the run early, such as signals.
        wait_until_gone: Whether namespaces are waited for when they are deleted; never on a
            cluster that ends with the run.
    """

    folder: Path
    working_folder: Path
    environment: Mapping[str, str]
    interruption: Interruption
    wait_until_gone: bool = True


class RunLog(Protocol):
    """What is told while a suite runs. Texts may have several lines; secrets are left out."""

    def message(self, case: str, step: str, text: str) -> None:
        """Tell what happens; `case` is empty for the suite, `step` for the case itself."""

    def case_started(self, folder: str, case: Case) -> None:
        """Tell that a case begins."""

    def step_started(self, folder: str, case: Case, step: Step) -> None:
        """Tell that a step begins."""

    def case_ended(self, folder: str, result: CaseResult) -> None:
        """Tell how a case ended."""


@dataclass(frozen=True, slots=True)
class SafeLog:
    """Passes on what is told, without secrets.

    A log may be closed: a run whose reader has gone ends as usual, and cleans up.

    Attributes:
        log: Where it goes.
        redactor: Knows the secrets.
    """

    log: RunLog
    redactor: Redactor = field(default_factory=Redactor)

    @classmethod
    def of_suite(cls, log: RunLog, suite: Suite) -> "SafeLog":
        """Return the log of a suite: names in it stay readable, although a secret is the same."""
        # A password may be a common word: names that everybody reads must stay readable.
        safe = cls(log)
        safe.redactor.known.make_public(_names(suite))
        return safe

    def learn(self, objects: Iterable[JsonObject]) -> None:
        """Collect the secrets of objects that are about to be applied."""
        # Before they are applied: the first error may quote one.
        self.redactor.learn(obj for obj in objects if obj.get("kind") == "Secret")

    def of(self, case: str, step: str) -> "StepLog":
        """Return the log of a step; of a case or of the suite where names are empty."""
        return StepLog(self, case, step)

    def message(self, case: str, step: str, text: str) -> None:
        """Pass on a text that has no secrets any more."""
        with suppress(OSError):
            self.log.message(case, step, text)

    def case_started(self, folder: str, case: Case) -> None:
        with suppress(OSError):
            self.log.case_started(folder, case)

    def step_started(self, folder: str, case: Case, step: Step) -> None:
        with suppress(OSError):
            self.log.step_started(folder, case, step)

    def case_ended(self, folder: str, result: CaseResult) -> None:
        with suppress(OSError):
            self.log.case_ended(folder, result)

    def text(self, text: str) -> str:
        return redact_text(text, self.redactor.known)

    def failure(self, failure: Failure) -> Failure:
        """Return a failure without secrets."""
        return Failure(self.text(failure.message), self.text(failure.details))


@dataclass(frozen=True, slots=True)
class StepLog:
    """The log of one step."""

    safe: SafeLog
    case: str
    step: str

    def say(self, text: str) -> None:
        self.safe.message(self.case, self.step, self.safe.text(text))

    def output(self) -> Callable[[str], None]:
        """Return what logs the lines of one command: a private key has several."""
        lines = Lines()

        def line(text: str) -> None:
            secrets = self.safe.redactor.known
            self.safe.message(self.case, self.step, lines.redact(secrets.replace(text)))

        return line


def _names(suite: Suite) -> Iterator[str]:
    """Yield names of cases and namespaces, and names and kinds of their objects."""
    for case in suite.cases:
        yield from (case.name, case.namespace)
        for step in case.steps:
            yield step.name
            objects = step.objects
            for document in (*objects.apply, *objects.asserts, *objects.errors):
                yield str(document.value["kind"])
                metadata = document.value.get("metadata")
                yield str(metadata.get("name")) if isinstance(metadata, dict) else ""


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

    For a log that is read later: a file, a pipe, the log of CI.

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
