"""The kinds of tasks."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from kudo.api.task_kinds.apply import Apply
from kudo.api.task_kinds.delete import Delete
from kudo.api.task_kinds.dummy import Dummy
from kudo.api.task_kinds.errors import FatalTaskError
from kudo.api.task_kinds.fields import TaskFields
from kudo.api.task_kinds.kind import Kind, TemplateUse
from kudo.api.task_kinds.kudo_operator import KudoOperator
from kudo.api.task_kinds.pipe import Pipe
from kudo.api.task_kinds.toggle import Toggle

KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            Apply(),
            Delete(),
            Toggle(),
            Pipe(),
            KudoOperator(),
            Dummy(),
        )
    }
)
"""By their names, in the order in which people are shown them."""
DEFAULT_KIND: Final = "Apply"
"""What a new task is unless somebody says otherwise."""


def kind_of(task: TaskFields) -> Kind:
    """Return the kind of a task; one that can do nothing if there is no such kind."""
    return KINDS.get(task.kind) or _UNKNOWN


def check_task(task: TaskFields, *, as_written: bool = False) -> None:
    """Refuse a task that no engine can run.

    Args:
        task: The task.
        as_written: Whether it is a task of a package, which installing adds to.

    Raises:
        FatalTaskError: with reason TaskBuildError and the original's text.
    """
    kind = KINDS.get(task.kind)
    if kind is None:
        raise FatalTaskError("TaskBuildError", f"unknown task kind {task.kind}")
    for problem in kind.problems_as_written(task) if as_written else kind.problems(task):
        raise FatalTaskError("TaskBuildError", f"task validation error: {problem}")


def templates_of(task: TaskFields) -> Iterator[TemplateUse]:
    """Yield the templates that a task needs, with the field of its spec that names each."""
    return kind_of(task).templates(task)


def any_kind() -> str:
    """Return the names of all kinds, for people: `Apply, Delete or Dummy`."""
    *first, last = KINDS
    return f"{', '.join(first)} or {last}"


def kinds_with(field: str) -> str:
    """Return the names of the kinds whose spec can have a field, for people."""
    return ", ".join(kind.name for kind in KINDS.values() if field in kind.fields)


class _Unknown(Kind):
    name = "unknown"
    does = "cannot be run"


_UNKNOWN: Final = _Unknown()
