"""Results and errors of tasks, with the messages of KUDO 0.19.

A task is done, waits, or fails: `FatalTaskError` ends the plan, `TransientTaskError` is tried
again with backoff. There is no third kind of failure.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kudo.problems import KudoError

if TYPE_CHECKING:  # worker processes start without the models
    from kudo.api import Task
    from kudo.api.interfaces import TaskFields


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
            return f"{self.instance} fatal error:  {error}"
        return f"Error during execution: fatal error: {self.instance} failed in {self}: {error}"

    def transient_message(self, error: TaskError) -> str:
        return f"A transient error when executing task {self}. Will retry. {error}"


def check_task(task: "TaskFields") -> None:
    """Refuse a task that no engine can run.

    Raises:
        FatalTaskError: with reason TaskBuildError and the original's text.
    """
    check = _CHECKS.get(task.kind)
    if check is None:
        raise FatalTaskError("TaskBuildError", f"unknown task kind {task.kind}")
    for problem in check(task):
        raise FatalTaskError("TaskBuildError", f"task validation error: {problem}")


_USE_DUMMY = "if that's what you need, use a Dummy task instead"
_PIPE_KEY = re.compile(r"[a-zA-Z0-9_\-]+")


def _check_resources(task: "TaskFields") -> Iterator[str]:
    if not task.spec.resources:
        kind = task.kind.lower()
        yield f"{kind} task '{task.name}' has an empty resource list. {_USE_DUMMY}"


def _check_toggle(task: "TaskFields") -> Iterator[str]:
    if not task.spec.resources:
        yield f"toggle task has an empty resource list. {_USE_DUMMY}"
    if not task.spec.parameter:
        yield "Missing parameter to evaluate the Toggle Task"


def _check_pipe(task: "TaskFields") -> Iterator[str]:
    if not task.spec.pipe:
        yield "pipe task has an empty pipe files list"
    for item in task.spec.pipe or ():
        shown = "{" + " ".join(filter(None, (item.file, item.env_file, item.kind, item.key))) + "}"
        if bool(item.file) == bool(item.env_file):
            yield f"pipe file {shown} must have either 'file' or 'envFile' field set but not both"
        if item.kind not in {"ConfigMap", "Secret"}:
            yield f"invalid pipe kind (must be Secret or ConfigMap): {shown}"
        if not _PIPE_KEY.fullmatch(item.key or ""):
            yield f"invalid pipe key (only letters, numbers and _ and - are allowed): {shown}"


def _check_kudo_operator(task: "TaskFields") -> Iterator[str]:
    if not task.spec.package:
        yield f"kudo operator task '{task.name}' has an empty package name"
    if not task.spec.operator_version:
        yield f"kudo operator task '{task.name}' has an empty operatorVersion"


def _check_nothing(_task: "TaskFields") -> Iterator[str]:
    return iter(())


_CHECKS: dict[str, Callable[["TaskFields"], Iterator[str]]] = {
    "Apply": _check_resources,
    "Delete": _check_resources,
    "Dummy": _check_nothing,
    "KudoOperator": _check_kudo_operator,
    "Pipe": _check_pipe,
    "Toggle": _check_toggle,
}


_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})


def toggled_on(task: "Task", parameters: Mapping[str, object]) -> bool:
    """Return whether a Toggle task applies its resources (True) or deletes them (False).

    Args:
        task: The task.
        parameters: The values as templates see them.

    Raises:
        FatalTaskError: with reason ToggleTaskError, if the parameter has no boolean value.
    """
    name = task.spec.parameter or ""
    if name not in parameters:
        raise FatalTaskError("ToggleTaskError", f"no value for parameter {name} found")
    value = parameters[name]
    if not isinstance(value, str):
        raise FatalTaskError("ToggleTaskError", f"value of parameter {name} isn't a string")
    if value in _TRUE or value in _FALSE:
        return value in _TRUE
    raise FatalTaskError(
        "ToggleTaskError",
        f'could not parse value of parameter {name}: strconv.ParseBool: parsing "{value[:200]}": '
        "invalid syntax; "
        "use true or false",
    )


def dummy_done(task: "Task") -> bool:
    """Return whether a Dummy task is done.

    Raises:
        FatalTaskError, TransientTaskError: it was asked to fail; reason DummyTaskError.
    """
    if task.spec.want_err:
        failure = FatalTaskError if task.spec.fatal else TransientTaskError
        raise failure("DummyTaskError", "dummy error")
    return bool(task.spec.done)
