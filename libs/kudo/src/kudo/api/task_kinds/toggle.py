"""The Toggle task: an Apply or a Delete, by the value of a parameter."""

from collections.abc import Iterator, Mapping

from kudo.api.task_kinds.errors import FatalTaskError
from kudo.api.task_kinds.fields import TaskFields
from kudo.api.task_kinds.kind import USE_DUMMY, Action, Kind, Parameters

_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})


class Toggle(Kind):
    name = "Toggle"
    does = "applies while the parameter is true, deletes otherwise"
    needed = ("parameter", "resources")
    action = Action.TOGGLE
    recorded_first = True
    owns = True

    def problems(self, task: TaskFields) -> Iterator[str]:
        if not task.spec.resources:
            yield f"toggle task has an empty resource list. {USE_DUMMY}"
        if not task.spec.parameter:
            yield "Missing parameter to evaluate the Toggle Task"

    def installation_problems(self, task: TaskFields) -> Iterator[str]:
        if not task.spec.parameter:
            yield f"toggle task {task.name} does not have parameter specified"

    def switch(self, task: TaskFields) -> str:
        return task.spec.parameter or ""

    def only_deletes(self, task: TaskFields, parameters: Parameters) -> bool:
        return not toggled_on(task, parameters())


def toggled_on(task: TaskFields, parameters: Mapping[str, object]) -> bool:
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
