"""Errors of tasks, their messages in the words of KUDO 0.19, and the cause without these words.

A task is done, waits, or fails: `FatalTaskError` ends the plan, `TransientTaskError` is tried
again with backoff. There is no third kind of failure.

Asserts of published suites compare the messages, so statuses and events keep them. Whoever reads
one is shown the cause.
"""

import re
from dataclasses import dataclass
from typing import Final

from kudo.api.problems import KudoError

FAILED: Final = "Error during execution: fatal error: "
UNHEALTHY: Final = "is NOT healthy: fatal error: HealthUtil: "

_WORDS: Final = re.compile(
    r"A transient error when executing task \S{1,600}\. Will retry\. "
    rf"|{FAILED}(?:\S{{1,320}} failed in \S{{1,600}}: )?"
    r"|(?<!\S)[^\s/]{1,63}/[^\s/]{1,253} fatal error:  "
    rf"|(?<!\S)object [^\s/]{{0,63}}/[^\s/]{{1,253}} {UNHEALTHY}"
)


def unhealthy(namespace: str, name: str, text: str) -> str:
    """Return the error of a task that applied an object which has failed."""
    return f"object {namespace}/{name} {UNHEALTHY}{text}"


def cause_in(message: str) -> str:
    """Return a message without the words before its cause, and before that of a child Instance."""
    return _WORDS.sub("", message)


class TaskError(KudoError):
    """Root of what a task can fail with.

    Attributes:
        reason: CamelCase word of the vocabulary; the reason of the event.
        limit: Name of the limit that was exceeded; empty where something else is wrong.
    """

    def __init__(self, reason: str, message: str, *, limit: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        self.limit = limit


class FatalTaskError(TaskError):
    """The plan cannot go on: only a change by somebody can help."""


class TransientTaskError(TaskError):
    """Trying again may help."""


@dataclass(frozen=True, slots=True)
class TaskPath:
    """Where a task stands: Instance, plan, phase, step, task."""

    instance: str
    plan: str
    phase: str
    step: str
    task: str

    def __str__(self) -> str:
        return f"{self.plan}.{self.phase}.{self.step}.{self.task}"

    def fatal_message(self, error: TaskError) -> str:
        """Return the message that the step gets, as the original words it."""
        # The original words a task that it cannot build otherwise, with two spaces.
        if error.reason in {"UnknownTaskName", "TaskBuildError"}:
            return f"{self.instance} fatal error:  {error}"
        return f"{FAILED}{self.instance} failed in {self}: {error}"

    def transient_message(self, error: TaskError) -> str:
        return f"A transient error when executing task {self}. Will retry. {error}"
