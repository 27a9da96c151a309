"""Finds out what tasks apply without running them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from kubeio.resource import Resource
from kudo.api.task_kinds import check_task
from kudo.tasks.rendering import Manifest
from kudo_reconciler.execution.task_context import RenderContext
from kudo_reconciler.objects.resolver import Resolver


@dataclass(frozen=True, slots=True)
class Expected:
    """An object that a task applies.

    Attributes:
        manifest: As the template gives it; None if only its name is known.
    """

    resource: Resource
    name: str
    manifest: Manifest | None = None


Expects = Callable[[RenderContext, Resolver], Awaitable[Sequence[Expected]]]
"""Returns what a task of a kind applies; raises TaskError if that cannot be known now."""


@dataclass(frozen=True, slots=True)
class Ahead:
    """Finds out what tasks apply.

    Attributes:
        resolver: Finds the kinds of objects.
        kinds: What each kind expects.
    """

    resolver: Resolver
    kinds: Mapping[str, Expects]

    async def objects(self, context: RenderContext) -> Sequence[Expected]:
        """Return what a task applies; nothing for one that only deletes, or does nothing.

        Raises:
            TaskError: that cannot be known now.
        """
        check_task(context.task)
        return await self.kinds[context.task.kind](context, self.resolver)
