"""The Dummy task."""

from collections.abc import Sequence
from typing import Self

from kudo.api.task_kinds.kinds import dummy_done
from kudo_reconciler.execution.expected.ahead import Expected
from kudo_reconciler.execution.task_context import RenderContext, TaskContext, TaskResult
from kudo_reconciler.execution.tasks.parts import TaskParts
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
