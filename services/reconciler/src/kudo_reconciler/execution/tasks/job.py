"""The Job task: create the Job of this run, and wait until it has ended."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from kubeio.resource import JOBS
from kudo.api import JsonObject
from kudo.api.task_kinds import FatalTaskError
from kudo.objects.enrichment import enrich
from kudo.objects.health import State, health_of
from kudo.tasks.job import JobNames, job_object
from kudo.tasks.rendering import Manifest
from kudo_reconciler.execution.expected import Expected
from kudo_reconciler.execution.task_context import (
    AppliedObject,
    RenderContext,
    TaskContext,
    TaskResult,
)
from kudo_reconciler.execution.tasks.parts import TaskParts
from kudo_reconciler.objects.apply import Applier
from kudo_reconciler.objects.observer import Observer
from kudo_reconciler.objects.ownership import Desired
from kudo_reconciler.objects.resolver import Resolver


@dataclass(frozen=True, slots=True)
class JobTask:
    """Runs Job tasks."""

    applier: Applier
    observer: Observer

    @classmethod
    def of(cls, parts: TaskParts) -> Self:
        return cls(parts.applier, parts.observer)

    @staticmethod
    async def expected(_context: RenderContext, _resolver: Resolver, /) -> Sequence[Expected]:
        return ()

    async def run(self, context: TaskContext) -> TaskResult:
        """Create the Job, unless this run has, and look whether it has ended.

        Raises:
            FatalTaskError: the plan cannot continue.
            TransientTaskError: a retry may help.
            Superseded: the run was replaced.
        """
        job = await self._current(context) or await self._created(context)
        health = health_of(job)
        if health.state is State.FAILED:
            raise FatalTaskError("FailedTerminalStateError", health.message)
        return TaskResult(health.healthy, health.message, awaits=context.awaited(job))

    async def _current(self, context: TaskContext) -> JsonObject | None:
        for item in context.memory.applied.get(context.key, ()):
            return await self.observer.current(
                JOBS, item.namespace, item.name, client=context.client
            )
        return None

    async def _created(self, context: TaskContext) -> JsonObject:
        path = context.path
        names = JobNames(
            context.instance.metadata.name,
            context.uid,
            path.plan,
            path.phase,
            path.step,
            path.task,
        )
        job = job_object(await context.job(), names)
        target = enrich(job, context.origin, namespaced=True)
        await self.observer.watch(JOBS)
        applied = await self.applier.apply(Desired(Manifest("", job), JOBS, target), context)
        metadata = applied["metadata"]
        item = AppliedObject(JOBS, metadata["namespace"], metadata["name"], metadata["uid"])
        context.memory.applied[context.key] = (item,)
        return applied
