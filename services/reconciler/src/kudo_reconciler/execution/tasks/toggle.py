"""The Toggle task: an Apply or a Delete, by the value of a parameter."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from kudo_reconciler.execution.expected.ahead import Expected
from kudo_reconciler.execution.task_context import RenderContext, TaskContext, TaskResult
from kudo_reconciler.execution.task_runner import RunsTasks
from kudo_reconciler.execution.tasks.apply import ApplyTask
from kudo_reconciler.execution.tasks.delete import DeleteTask
from kudo_reconciler.execution.tasks.parts import TaskParts
from kudo_reconciler.objects.resolver import Resolver


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
