"""The Apply task: render, enrich, apply in order, then wait until everything is healthy."""

from dataclasses import dataclass

from kubeio.resource import Resource
from kudo.api import JsonObject
from kudo.enrichment import enrich
from kudo.health import Health, State, judge
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
        objects = None if known is None else await self._current(context, known)
        if objects is None:
            objects = await self._apply(context)
        return self._judge(context, objects)

    async def _current(
        self, context: TaskContext, known: tuple[AppliedObject, ...]
    ) -> list[JsonObject] | None:
        """Return the applied objects as they are now, or None if one must be applied again.

        What was healthy once under this uid has done its part. A Job is never created twice: one
        that vanished is judged by its last state.
        """
        objects = []
        for item in known:
            if item.uid in context.memory.healthy:
                continue
            obj = await self.observer.current(item.resource, item.namespace, item.name)
            if obj is not None and obj["metadata"]["uid"] == item.uid:
                objects.append(obj)
            elif item.resource.kind == "Job":
                objects.append(self._vanished_job(item))
            else:
                return None
        return objects

    def _vanished_job(self, item: AppliedObject) -> JsonObject:
        last = self.observer.last_state(item.uid)
        if last is None or judge(last).state is State.WAITING:
            text = f"{item} was deleted before it was seen to end"
            raise FatalTaskError("FailedTerminalStateError", text)
        return last

    async def _apply(self, context: TaskContext) -> list[JsonObject]:
        manifests = await context.manifests()
        targets = [await self._target(context, manifest) for manifest in manifests]
        before = {
            (item.resource, item.namespace, item.name): item
            for item in context.memory.applied.get(context.key, ())
        }
        items, objects = [], []
        for manifest, target, resource in targets:
            await self.observer.watch(resource)
            namespace = target["metadata"].get("namespace") if resource.namespaced else None
            name = target["metadata"]["name"]
            done = before.get((resource, namespace, name))
            if done is not None and done.uid in context.memory.healthy:
                items.append(done)
                continue
            applied = await self.applier.apply(
                manifest,
                target,
                resource,
                owner=context.instance.metadata.uid,
                still_wanted=context.still_wanted,
            )
            items.append(AppliedObject(resource, namespace, name, applied["metadata"]["uid"]))
            objects.append(applied)
        context.memory.applied[context.key] = tuple(items)
        return objects

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
            if health.healthy:
                context.memory.healthy.add(obj["metadata"]["uid"])
            else:
                waiting.append(health)
        message = ", ".join(health.message for health in waiting)
        return TaskResult(done=not waiting, message=message, polled=self._unseen(context))

    def _unseen(self, context: TaskContext) -> bool:
        """Return whether something that is waited for could change without our notice."""
        return any(
            not self.observer.sees(item.resource, item.namespace, item.name)
            for item in context.memory.applied.get(context.key, ())
            if item.uid not in context.memory.healthy
        )
