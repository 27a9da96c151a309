"""Results and errors of tasks, with the messages of KUDO 0.19.

A task is done, waits, or fails: `FatalTaskError` ends the plan, `TransientTaskError` is tried
again with backoff. There is no third kind of failure.
"""

from dataclasses import dataclass

from kudo.api import task_messages
from kudo.api.problems import KudoError


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
        if error.reason in {"UnknownTaskName", "TaskBuildError"}:
            return task_messages.undefined(self.instance, str(error))
        return task_messages.fatal(self.instance, str(self), str(error))

    def transient_message(self, error: TaskError) -> str:
        return task_messages.transient(str(self), str(error))
