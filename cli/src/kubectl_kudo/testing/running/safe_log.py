"""The log of a run without the secrets of the objects that the run has seen."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from kubectl_kudo.testing.running.options import RunLog
from kubeio.types import JsonObject
from kudo.redaction.objects import Redactor
from kudo.redaction.texts import Lines, redact_text
from kudo_harness.report import CaseResult, Failure
from kudo_harness.suite import Case, Step, Suite


@dataclass(frozen=True, slots=True)
class _Lenient:
    """A log that may be closed: a run whose reader has gone ends as usual, and cleans up."""

    log: RunLog

    def message(self, case: str, step: str, text: str) -> None:
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


@dataclass(frozen=True, slots=True)
class SafeLog:
    """Passes on messages without secrets.

    Attributes:
        log: Where they go.
        redactor: Knows the secrets.
    """

    log: RunLog
    redactor: Redactor = field(default_factory=Redactor)

    @classmethod
    def of_suite(cls, log: RunLog, suite: Suite) -> "SafeLog":
        """Return the log of a suite: names in it stay readable, although a secret is the same."""
        safe = cls(_Lenient(log))
        safe.redactor.known.make_public(_names(suite))
        return safe

    def learn(self, objects: Iterable[JsonObject]) -> None:
        """Collect the secrets of objects that are about to be applied."""
        self.redactor.learn(one for one in objects if one.get("kind") == "Secret")

    def of(self, case: str, step: str) -> "StepLog":
        """Return the log of a step; of a case or of the suite where names are empty."""
        return StepLog(self, case, step)

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
        self.safe.log.message(self.case, self.step, self.safe.text(text))

    def output(self) -> Callable[[str], None]:
        """Return what logs the lines of one command: a private key has several."""
        lines = Lines()

        def line(text: str) -> None:
            known = self.safe.redactor.known
            self.safe.log.message(self.case, self.step, lines.redact(known.replace(text)))

        return line


def _names(suite: Suite) -> Iterator[str]:
    """Yield names of cases and namespaces, and names and kinds of their objects."""
    for case in (case for folder in suite.test_dirs for case in folder.cases):
        yield from (case.name, case.namespace)
        for step in case.steps:
            yield step.name
            objects = step.objects
            for document in (*objects.apply, *objects.asserts, *objects.errors):
                yield str(document.value["kind"])
                metadata = document.value.get("metadata")
                yield str(metadata.get("name")) if isinstance(metadata, dict) else ""
