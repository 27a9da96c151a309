"""The Apply task: render, enrich, apply in order, then wait until everything is healthy."""

from dataclasses import dataclass

from kubeio.resource import Resource
from kudo.api import JsonObject
from kudo.enrichment import enrich
from kudo.health import Health, State, has_rule, judge
from kudo.rendering import Manifest
from kudo.tasks import FatalTaskError
from kudo_reconciler.applier import Applier
from kudo_reconciler.observer import Observer
from kudo_reconciler.task_context import AppliedObject, TaskContext, TaskResult


@dataclass(frozen=True, slots=True)
class ApplyTask:
    """Runs Apply tasks."""

    applier: Applier
    observer: Observer

    async def run(self, context: TaskContext) -> TaskResult:
        """Do one pass: apply what has not been applied under this uid, then judge the objects.

        Raises:
            FatalTaskError: the plan cannot go on.
            TransientTaskError: trying again may help.
            Superseded: the run was replaced.
        """
        known = context.memory.applied.get(context.key)
        objects = None if known is None else await self._current(known)
        if objects is None:
            objects = await self._apply(context)
        return self._judge(context, objects)

    async def _current(self, known: tuple[AppliedObject, ...]) -> list[JsonObject] | None:
        """Return the applied objects as they are now, or None if one of them is gone."""
        objects = []
        for item in known:
            obj = await self.observer.current(item.resource, item.namespace, item.name)
            if obj is None:
                return None
            objects.append(obj)
        return objects

    async def _apply(self, context: TaskContext) -> list[JsonObject]:
        targets = [await self._target(context, manifest) for manifest in context.manifests()]
        applied = []
        for manifest, target, resource in targets:
            if has_rule(resource.api_version, resource.kind):
                await self.observer.watch(resource)
            applied.append(
                await self.applier.apply(
                    manifest,
                    target,
                    resource,
                    owner=context.instance.metadata.uid,
                    still_wanted=context.still_wanted,
                )
            )
        context.memory.applied[context.key] = tuple(
            AppliedObject(resource, target["metadata"].get("namespace"), target["metadata"]["name"])
            for _, target, resource in targets
            if has_rule(resource.api_version, resource.kind)
        )
        return applied

    async def _target(
        self, context: TaskContext, manifest: Manifest
    ) -> tuple[Manifest, JsonObject, Resource]:
        resource = await self.applier.resolve(manifest)
        target = enrich(manifest.object, context.origin, namespaced=resource.namespaced)
        return manifest, target, resource

    def _judge(self, context: TaskContext, objects: list[JsonObject]) -> TaskResult:
        waiting: list[Health] = []
        for obj in objects:
            health = judge(obj)
            if health.state is State.FAILED:
                metadata = obj["metadata"]
                where = f"{metadata.get('namespace', '')}/{metadata['name']}"
                raise FatalTaskError(
                    "FailedTerminalStateError",
                    f"object {where} is NOT healthy: fatal error: HealthUtil: {health.message}",
                )
            if not health.healthy:
                waiting.append(health)
        known = context.memory.applied.get(context.key, ())
        polled = any(not self.observer.watched(item.resource) for item in known)
        message = ", ".join(health.message for health in waiting)
        return TaskResult(done=not waiting, message=message, polled=polled)
