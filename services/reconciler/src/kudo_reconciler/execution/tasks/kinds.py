"""What runs the tasks of each kind of `kudo.api.task_kinds`, and the kinds of a few lines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Self

from kudo.api.task_kinds.kinds import dummy_done
from kudo_reconciler.execution.expected import Expected, Expects
from kudo_reconciler.execution.steps import RunsTasks, TaskRunner
from kudo_reconciler.execution.task_context import RenderContext, TaskContext, TaskResult
from kudo_reconciler.execution.tasks.apply import ApplyTask
from kudo_reconciler.execution.tasks.check import CheckTask
from kudo_reconciler.execution.tasks.delete import DeleteTask
from kudo_reconciler.execution.tasks.job import JobTask
from kudo_reconciler.execution.tasks.kudo_operator import ChildTask
from kudo_reconciler.execution.tasks.parts import TaskOfKind, TaskParts
from kudo_reconciler.execution.tasks.pipe import PipeTask
from kudo_reconciler.objects.resolver import Resolver


class DummyTask:
    """Runs Dummy tasks."""

    @staticmethod
    async def expected(_context: RenderContext, _resolver: Resolver, /) -> Sequence[Expected]:
        return ()

    @classmethod
    def of(cls, _: TaskParts) -> Self:
        return cls()

    async def run(self, context: TaskContext) -> TaskResult:
        """Do nothing.

        Raises:
            FatalTaskError, TransientTaskError: it was asked to fail.
        """
        done, name = dummy_done(context.task), context.task.name
        text = "" if done else f"dummy task {name} is not done, by its own definition"
        return TaskResult(done, text)


@dataclass(frozen=True, slots=True)
class ToggleTask:
    """Runs Toggle tasks."""

    apply: RunsTasks
    delete: RunsTasks

    @classmethod
    def of(cls, parts: TaskParts) -> Self:
        return cls(ApplyTask.of(parts), DeleteTask.of(parts))

    async def run(self, context: TaskContext) -> TaskResult:
        """Apply or delete the objects; raises as these tasks do."""
        return await (self.delete if context.only_deletes() else self.apply).run(context)

    @staticmethod
    async def expected(context: RenderContext, resolver: Resolver) -> Sequence[Expected]:
        return () if context.only_deletes() else await ApplyTask.expected(context, resolver)


TASKS: Final[Mapping[str, type[TaskOfKind]]] = MappingProxyType(
    {
        "Apply": ApplyTask,
        "Delete": DeleteTask,
        "Toggle": ToggleTask,
        "Pipe": PipeTask,
        "KudoOperator": ChildTask,
        "Job": JobTask,
        "Check": CheckTask,
        "Dummy": DummyTask,
    }
)
EXPECTS: Final[Mapping[str, Expects]] = {name: task.expected for name, task in TASKS.items()}


def runner_of(parts: TaskParts) -> TaskRunner:
    """Return what runs tasks of every kind."""
    return TaskRunner({name: task.of(parts) for name, task in TASKS.items()})
