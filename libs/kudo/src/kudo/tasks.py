"""What a task run can end with, and the words for it.

A task is done, waits, or fails: `FatalTaskError` ends the plan, `TransientTaskError` is tried
again with backoff. There is no third kind of failure.
"""

from dataclasses import dataclass

from kudo.api import Task
from kudo.problems import KudoError

KINDS = ("Apply", "Delete", "Dummy", "KudoOperator", "Pipe", "Toggle")
"""The kinds of task that packages may use."""


class TaskError(KudoError):
    """Root of what a task can fail with.

    Attributes:
        reason: CamelCase word of the vocabulary; the reason of the event.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


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
        if error.reason == "UnknownTaskName":
            return f"{self.instance} fatal error:  {error}"
        return f"Error during execution: fatal error: {self.instance} failed in {self}: {error}"

    def transient_message(self, error: TaskError) -> str:
        return f"A transient error when executing task {self}. Will retry. {error}"


def check_task(task: Task) -> None:
    """Refuse a task that no engine can run.

    Raises:
        FatalTaskError: with reason TaskBuildError.
    """
    if task.kind not in KINDS:
        raise FatalTaskError("TaskBuildError", f"unknown task kind {task.kind}")
    if task.kind == "Apply" and not task.spec.resources:
        raise FatalTaskError(
            "TaskBuildError",
            f"task validation error: apply task '{task.name}' has an empty resource list. "
            "if that's what you need, use a Dummy task instead",
        )
