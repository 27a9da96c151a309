"""The Pipe task: run a pod that writes files, and store copies of them as ConfigMaps and Secrets.

    do all artifacts of this execution exist? ── yes ─> delete the pod, done
      └── no ─> a pod of this execution? ── no ─> delete the old pod, create a new one
                  └── yes ─> ready? ── no ─> wait
                               └── yes ─> copy all files -> apply all artifacts -> delete the pod

Each attempt continues from the state in the cluster: objects have the uid of their execution as an
annotation. The pod is applied once; one that has ended or was deleted is replaced, with a Warning
event. The task is done once the deletion of the pod was requested, and does not wait for it. If the
run ends otherwise, its pods are deleted after its end is stored: no second pod is created under one
uid.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from kubeio.errors import ApiError, ConnectionLost
from kubeio.resource import CONFIG_MAPS, PODS, SECRETS, Resource
from kudo.api import JsonObject, PipeFile
from kudo.api.task_kinds import FatalTaskError, TransientTaskError
from kudo.objects.enrichment import enrich, execution_of
from kudo.tasks.pipe import (
    EnvFileError,
    PipeNames,
    artifact,
    unreadable,
    validate,
    waiter_pod,
)
from kudo.tasks.pipe.pod import has_ended, waits_for
from kudo.tasks.rendering import Manifest
from kudo_reconciler.common.errors import error_text
from kudo_reconciler.common.keys import key_of
from kudo_reconciler.execution.expected import Expected
from kudo_reconciler.execution.recording import (
    Recording,
    remember_applied,
    remember_rendered,
)
from kudo_reconciler.execution.task_context import (
    AppliedObject,
    RenderContext,
    TaskContext,
    TaskResult,
)
from kudo_reconciler.execution.tasks.parts import TaskParts
from kudo_reconciler.execution.tasks.pipe_pods import PipePods, is_deleting
from kudo_reconciler.objects.apply import Applier
from kudo_reconciler.objects.dependency_hash import DependencyHasher
from kudo_reconciler.objects.observer import Observer
from kudo_reconciler.objects.ownership import Desired, controller_of, is_applied, is_owned
from kudo_reconciler.objects.resolver import Resolver
from kudo_reconciler.objects.run_context import check_may_write


@dataclass(frozen=True, slots=True)
class PipeTask:
    """Runs Pipe tasks.

    Attributes:
        waiter_image: Image of the container that holds the files until they are copied.
    """

    pods: PipePods
    hasher: DependencyHasher
    applier: Applier
    observer: Observer
    recording: Recording
    waiter_image: str

    @classmethod
    def of(cls, parts: TaskParts) -> Self:
        return cls(
            parts.pipe_pods,
            parts.hasher,
            parts.applier,
            parts.observer,
            parts.recording,
            parts.waiter_image,
        )

    @staticmethod
    async def expected(context: RenderContext, _: Resolver) -> Sequence[Expected]:
        """Return the artifacts; no pod runs for their names."""
        return [Expected(resource, name) for resource, name in _artifacts_of(context)]

    async def run(self, context: TaskContext) -> TaskResult:
        """Continue the task as far as possible without waiting for the pod.

        Raises:
            FatalTaskError: the plan cannot continue; its pod is deleted once that is stored.
            TransientTaskError: a retry may help.
            Superseded: the run was replaced.
        """
        sent = context.memory.applied.get(context.key)
        if sent is None and await self._artifacts_exist(context):
            # The process that applied them died before it deleted the pod.
            pod = await self._read(context, PODS, _pipe_names(context).pod, live=True)
            if pod is not None and is_owned(pod, context.instance.metadata.uid):
                await self._request_deletion(pod, context)
            remember_rendered(_artifacts_of(context), context)
            return TaskResult(done=True)
        waiter, message = await self._pod(context)
        if message:
            name = waiter["metadata"]["name"]
            key = key_of(context.instance)
            seen = self.observer.sees(PODS, key.namespace, name, key)
            awaits = context.awaited(waiter)
            return TaskResult(done=False, message=message, polled=not seen, awaits=awaits)
        files = context.task.spec.pipe or ()
        check_may_write(context)
        # It mostly waits for the kubelet, so it must not keep others from a slot.
        await context.takes_long(f"copying files from pod {waiter['metadata']['name']}")
        contents = await self.pods.read(waiter, files, client=context.client)
        artifacts = await self._artifacts(context, files, contents)
        await self.recording.expect_named(
            [(desired.resource, desired.name) for desired in artifacts], context
        )
        for desired in artifacts:
            applied = await self.applier.apply(desired, context)
            remember_applied(applied, desired.resource, context)
        check_may_write(context)
        await self._request_deletion(waiter, context)
        return TaskResult(done=True)

    # The pod

    async def _pod(self, context: TaskContext) -> tuple[JsonObject, str]:
        """Return the pod of this execution, and a message with what it waits for."""
        name = _pipe_names(context).pod
        pod = await self._read(context, PODS, name, live=context.memory.rechecking)
        if pod is not None and _is_ready(pod, context):
            # The cache may be behind, and an exec cannot test the uid of the pod.
            pod = await self._read(context, PODS, name, live=True)
        if pod is None:
            where = f"pod {context.instance.metadata.namespace}/{name}"
            await self._report_if_lost(context, f"{where} was deleted before its files were copied")
            created = await self._create(context, name)
            return created, waits_for(created) or "the pod has just been created"
        self._refuse_foreign(pod, context)
        return pod, await self._state(pod, context)

    async def _state(self, pod: JsonObject, context: TaskContext) -> str:
        """Return why files cannot be copied yet; replace the pod if it never will be ready."""
        where = f"pod {pod['metadata']['namespace']}/{pod['metadata']['name']}"
        if execution_of(pod) != context.uid:
            await self._replace(pod, context)
            return f"{where} is of an earlier execution: it is replaced after its deletion"
        if is_deleting(pod):
            await self._report_if_lost(context, f"{where} is deleted before its files were copied")
            return f"{where} is being deleted: it is replaced after its deletion"
        if has_ended(pod):
            status = pod.get("status") or {}
            words = (status.get("phase"), status.get("reason"), status.get("message"))
            await self._tell(context, f"{where} has ended: {': '.join(filter(None, words))}")
            await self._replace(pod, context)
            return f"{where} has ended: it is replaced after its deletion"
        _remember(pod, context)
        return waits_for(pod)

    async def _create(self, context: TaskContext, name: str) -> JsonObject:
        template = context.task.spec.pod or ""
        pod = await context.document("pod", template)
        problems = "; ".join(validate(pod, context.task.spec.pipe or ()))
        if problems:
            raise FatalTaskError("ResourceValidationError", problems)
        await self.observer.watch(PODS)
        target = waiter_pod(pod, name, self.waiter_image)
        applied = await self.applier.apply(_desired(context, PODS, target), context)
        _remember(applied, context)
        return applied

    async def _replace(self, pod: JsonObject, context: TaskContext) -> None:
        context.memory.applied.pop(context.key, None)
        if not is_deleting(pod):
            check_may_write(context)
            await self._request_deletion(pod, context)

    def _refuse_foreign(self, pod: JsonObject, context: TaskContext) -> None:
        if is_owned(pod, context.instance.metadata.uid):
            return
        metadata, controller = pod["metadata"], controller_of(pod) or {}
        where = f"pod {metadata['namespace']}/{metadata['name']}"
        same_name = controller.get("name") == context.instance.metadata.name
        if controller.get("kind") == "Instance" and same_name:
            text = f"{where} belongs to an earlier Instance of this name and is deleted with it"
            raise TransientTaskError("PipeTaskError", text)
        text = f"{where} exists and does not belong to this Instance; delete it, or rename the task"
        raise FatalTaskError("PipeTaskError", text)

    async def _report_if_lost(self, context: TaskContext, text: str) -> None:
        """Write an event about a pod that was deleted, but not by this task."""
        if context.memory.applied.pop(context.key, None):
            await self._tell(context, text)

    async def _tell(self, context: TaskContext, text: str) -> None:
        context.tell("Warning", "PipePodReplaced", f"{text}; it is replaced by a new one")

    async def _request_deletion(self, pod: JsonObject, context: TaskContext) -> None:
        try:
            await self.pods.delete(pod, client=context.client)
        except (ApiError, ConnectionLost) as error:
            text = f"cannot delete pod {pod['metadata']['name']}: {error_text(error, PODS)}"
            raise TransientTaskError("PipeTaskError", text) from error

    # The artifacts

    async def _artifacts_exist(self, context: TaskContext) -> bool:
        """Return whether every artifact has been applied under this uid, before a crash."""
        for resource, name in _artifacts_of(context):
            live = await self._read(context, resource, name, live=True)
            if (
                live is None
                or execution_of(live) != context.uid
                or not is_applied(live, resource, context.instance)
            ):
                return False
        return True

    async def _artifacts(
        self, context: TaskContext, files: Sequence[PipeFile], contents: Sequence[bytes]
    ) -> list[Desired]:
        """Return the artifacts to send; none has been sent if this fails."""
        desired = []
        for file, content in zip(files, contents, strict=True):
            made = await _content(file, content, context)
            obj = artifact(file, made, _pipe_names(context).artifact(file.key or ""))
            desired.append(_desired(context, _resource_of(file), obj))
            # Each may be up to 1 MiB.
            await asyncio.sleep(0)
        return await self.hasher.hashed(desired, context)

    async def _read(
        self, context: TaskContext, resource: Resource, name: str, *, live: bool
    ) -> JsonObject | None:
        look = self.observer.body if live else self.observer.current
        try:
            return await look(
                resource, context.instance.metadata.namespace, name, client=context.client
            )
        except (ApiError, ConnectionLost) as error:
            text = f"cannot read {resource.kind} {name}: {error_text(error, resource)}"
            raise TransientTaskError("PipeTaskError", text) from error


def _desired(context: TaskContext, resource: Resource, obj: JsonObject) -> Desired:
    manifest = Manifest(context.task.spec.pod or "", obj)
    return Desired(manifest, resource, enrich(obj, context.origin, namespaced=True))


async def _content(file: PipeFile, content: bytes, context: TaskContext) -> bytes | dict[str, str]:
    """Return the content of a file; for an env file its values by key."""
    if not file.env_file:
        return content
    try:
        return await context.renderer.env_file(content, context.tenant)
    except EnvFileError as error:
        raise unreadable(file, error) from error


def _remember(pod: JsonObject, context: TaskContext) -> None:
    metadata = pod["metadata"]
    item = AppliedObject(PODS, metadata["namespace"], metadata["name"], metadata["uid"])
    context.memory.applied[context.key] = (item,)


def _is_ready(pod: JsonObject, context: TaskContext) -> bool:
    ended = has_ended(pod) or is_deleting(pod)
    return execution_of(pod) == context.uid and not ended and not waits_for(pod)


def _pipe_names(context: RenderContext) -> PipeNames:
    """Return the names of what a task makes."""
    path = context.path
    return PipeNames(context.instance.metadata.name, path.plan, path.phase, path.step, path.task)


def _artifacts_of(context: RenderContext) -> Iterator[tuple[Resource, str]]:
    """Yield kind and name of each artifact of a task."""
    names = _pipe_names(context)
    for file in context.task.spec.pipe or ():
        yield _resource_of(file), names.artifact(file.key or "")


def _resource_of(file: PipeFile) -> Resource:
    """Return the kind of the artifact of a file."""
    return SECRETS if file.kind == "Secret" else CONFIG_MAPS
