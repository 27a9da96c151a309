"""The Apply task: render, enrich, apply in order, then wait until everything is healthy."""

from collections.abc import Callable
from dataclasses import dataclass, field

from kubeio.resource import Resource
from kudo.api import Instance, JsonObject, OperatorVersion, Task
from kudo.enrichment import Origin, enrich
from kudo.execution import StepRef
from kudo.health import Health, State, has_rule, judge
from kudo.rendering import Manifest, render_objects, variables
from kudo.tasks import FatalTaskError, check_task
from kudo_reconciler.applier import Applier
from kudo_reconciler.observer import Observer

TaskKey = tuple[StepRef, str]


@dataclass(frozen=True, slots=True)
class AppliedObject:
    """Where to find an object that a task applied."""

    resource: Resource
    namespace: str | None
    name: str


@dataclass
class RunMemory:
    """What was done under one execution uid, so that it is not done again.

    It is lost with the process. Then the tasks of the unfinished step run again, which changes
    nothing that is already as it should be.
    """

    uid: str
    applied: dict[TaskKey, tuple[AppliedObject, ...]] = field(default_factory=dict)
    finished: set[TaskKey] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class TaskContext:
    """The place of a task in a run."""

    instance: Instance
    version: OperatorVersion
    plan: str
    uid: str
    ref: StepRef
    task: Task
    memory: RunMemory
    still_wanted: Callable[[], bool]

    @property
    def key(self) -> TaskKey:
        return self.ref, self.task.name

    @property
    def origin(self) -> Origin:
        return Origin(
            self.instance, self.version, self.plan, self.ref.phase, self.ref.step, self.uid
        )


@dataclass(frozen=True, slots=True)
class TaskResult:
    """How a pass over a task ended without an error.

    Attributes:
        done: Whether the task needs no more work.
        message: What it waits for.
        polled: Whether something that it waits for cannot be watched.
    """

    done: bool
    message: str = ""
    polled: bool = False


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
        if context.key in context.memory.finished:
            return TaskResult(done=True)
        check_task(context.task)
        known = context.memory.applied.get(context.key)
        objects = None if known is None else await self._current(known)
        if objects is None:
            objects = await self._apply(context)
        result = self._judge(context, objects)
        if result.done:
            context.memory.finished.add(context.key)
        return result

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
        manifests = render_objects(
            context.task.spec.resources or (),
            context.version.spec.templates or {},
            variables(
                context.instance,
                context.version,
                plan=context.plan,
                phase=context.ref.phase,
                step=context.ref.step,
            ),
        )
        targets = [await self._target(context, manifest) for manifest in manifests]
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
