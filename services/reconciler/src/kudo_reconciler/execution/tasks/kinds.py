"""What runs the tasks of each kind of `kudo.api.task_kinds`."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, Protocol, Self

from kudo_reconciler.execution.expected.ahead import Expected, Expects
from kudo_reconciler.execution.task_context import RenderContext, TaskContext, TaskResult
from kudo_reconciler.execution.task_runner import TaskRunner
from kudo_reconciler.execution.tasks.apply import ApplyTask
from kudo_reconciler.execution.tasks.delete import DeleteTask
from kudo_reconciler.execution.tasks.dummy import DummyTask
from kudo_reconciler.execution.tasks.kudo_operator import ChildTask
from kudo_reconciler.execution.tasks.parts import TaskParts
from kudo_reconciler.execution.tasks.pipe import PipeTask
from kudo_reconciler.execution.tasks.toggle import ToggleTask
from kudo_reconciler.objects.resolver import Resolver


class TaskOfKind(Protocol):
    """How the tasks of a kind run."""

    @classmethod
    def of(cls, parts: TaskParts) -> Self:
        """Return what runs them."""

    async def run(self, context: TaskContext) -> TaskResult:
        """Attempt a task once.

        Raises:
            FatalTaskError: the plan cannot continue.
            TransientTaskError: a retry may help.
            Superseded, Suspended: the run may not write any more.
        """

    @staticmethod
    async def expected(context: RenderContext, resolver: Resolver, /) -> Sequence[Expected]:
        """Return what a task would apply; nothing is sent. Raises TaskError if that is unknown."""


TASKS: Final[Mapping[str, type[TaskOfKind]]] = MappingProxyType(
    {
        "Apply": ApplyTask,
        "Delete": DeleteTask,
        "Toggle": ToggleTask,
        "Pipe": PipeTask,
        "KudoOperator": ChildTask,
        "Dummy": DummyTask,
    }
)
EXPECTS: Final[Mapping[str, Expects]] = {name: task.expected for name, task in TASKS.items()}


def runner_of(parts: TaskParts) -> TaskRunner:
    """Return what runs tasks of every kind."""
    return TaskRunner({name: task.of(parts) for name, task in TASKS.items()})
