"""The Delete task: delete the objects that the templates name, then wait until they are gone.

An object that is already gone is a success, and so is one of a kind that the cluster does not
know. What is deleted is the object that was read: the call names its uid.
"""

from dataclasses import dataclass

from kubeio.client import Client
from kubeio.errors import ApiError, Conflict, ConnectionLost, NotFound
from kubeio.resource import Resource
from kudo.api import JsonObject
from kudo.rendering import Manifest
from kudo.tasks import FatalTaskError, TransientTaskError
from kudo_reconciler.errors import Superseded
from kudo_reconciler.execution.task_context import AppliedObject, TaskContext, TaskResult
from kudo_reconciler.objects.observer import Observer
from kudo_reconciler.objects.ownership import controller_of
from kudo_reconciler.objects.refusals import task_error, told
from kudo_reconciler.objects.resolver import KindNotServed, Resolver


@dataclass(frozen=True, slots=True)
class DeleteTask:
    """Runs Delete tasks."""

    resolver: Resolver
    observer: Observer

    async def run(self, context: TaskContext) -> TaskResult:
        """Do one pass: delete what was not deleted under this uid, then see what is left.

        Raises:
            FatalTaskError: the plan cannot go on.
            TransientTaskError: trying again may help.
            Superseded: the run was replaced.
        """
        deleted = context.memory.deleted.get(context.key)
        if deleted is None:
            deleted = await self._delete_all(context)
            context.memory.deleted[context.key] = deleted
        if context.task.spec.wait is False:
            return TaskResult(done=True)
        left = [item for item in deleted if await self._is_there(item, context.client)]
        if not left:
            return TaskResult(done=True)
        message = ", ".join(f"{item} is not gone yet" for item in left)
        return TaskResult(done=False, message=message, polled=self._unseen(left))

    def _unseen(self, left: list[AppliedObject]) -> bool:
        """Whether the deletion of one would not be noticed: it does not carry our labels, say."""
        return any(
            not self.observer.sees(item.resource, item.namespace, item.name) for item in left
        )

    async def _delete_all(self, context: TaskContext) -> tuple[AppliedObject, ...]:
        deleted = []
        for manifest in await context.manifests():
            found = await self._find(context, manifest)
            if found is not None:
                await self.observer.watch(found.resource)
                if not context.still_wanted():
                    raise Superseded
                await self._delete(found, manifest, context.client)
                deleted.append(found)
        return tuple(deleted)

    async def _find(self, context: TaskContext, manifest: Manifest) -> AppliedObject | None:
        try:
            resolved = await self.resolver.resolve(manifest, context)
        except KindNotServed:
            return None
        resource = resolved.resource
        metadata = resolved.target(context.origin)["metadata"]
        namespace = metadata["namespace"] if resource.namespaced else None
        live = await self._read(resource, namespace, metadata["name"], context.client)
        if live is None:
            return None
        _check_owner(manifest, live, context.instance.metadata.uid)
        return AppliedObject(resource, namespace, metadata["name"], live["metadata"]["uid"])

    async def _delete(self, item: AppliedObject, manifest: Manifest, client: Client) -> None:
        try:
            await client.delete(
                item.resource,
                item.name,
                namespace=item.namespace,
                propagation="Foreground",
                uid=item.uid,
            )
        except NotFound:
            return
        except Conflict as error:
            why = told(error, item.resource)
            text = f"{manifest} was replaced while it was being deleted: {why}"
            raise TransientTaskError("TaskDeleteError", text) from error
        except (ApiError, ConnectionLost) as error:
            text = f"failed to delete {manifest}: {told(error, item.resource)}"
            raise task_error("TaskDeleteError", text, error) from error

    async def _is_there(self, item: AppliedObject, client: Client) -> bool:
        live = await self._read(item.resource, item.namespace, item.name, client)
        return live is not None and live["metadata"]["uid"] == item.uid

    async def _read(
        self, resource: Resource, namespace: str | None, name: str, client: Client
    ) -> JsonObject | None:
        try:
            return await client.get(resource, name, namespace=namespace)
        except NotFound:
            return None
        except (ApiError, ConnectionLost) as error:
            text = f"cannot read {resource.kind} {name}: {told(error, resource)}"
            raise task_error("TaskDeleteError", text, error) from error


def _check_owner(manifest: Manifest, live: JsonObject, owner: str) -> None:
    """Refuse to take an object away from another Instance."""
    controller = controller_of(live) or {}
    if controller.get("kind") == "Instance" and controller.get("uid") != owner:
        text = f"the object is owned by another Instance controller {controller.get('name')}"
        raise FatalTaskError("TaskDeleteError", f"failed to delete {manifest}: {text}")
