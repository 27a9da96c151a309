"""The Delete task: delete the objects that the templates name, then wait until they are gone.

An object that is already gone is a success, and so is one of a kind that the cluster does not
know. What is deleted is the object as it was read: the call names its uid and resourceVersion, so
that one of a former leader never removes what was applied again meanwhile.

A cluster-scoped object that another Instance shares stays, without our share; one that KUDO never
applied is refused.
"""

from dataclasses import dataclass

from kubeio.client import Client
from kubeio.errors import ApiError, Conflict, ConnectionLost, Invalid, NotFound
from kubeio.resource import Resource
from kudo.api import JsonObject
from kudo.identity import identity
from kudo.objects.sharing import is_of_kudo
from kudo.rendering import Manifest
from kudo.tasks import FatalTaskError, TransientTaskError
from kudo_reconciler.execution.task_context import AppliedObject, TaskContext, TaskResult
from kudo_reconciler.keys import key_of
from kudo_reconciler.objects.observer import Observer
from kudo_reconciler.objects.ownership import Ownership, controller_of
from kudo_reconciler.objects.refusals import task_error, told
from kudo_reconciler.objects.resolver import KindNotServed, Resolved, Resolver
from kudo_reconciler.objects.run_context import check_current
from kudo_reconciler.objects.shares import Shares

_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class DeleteTask:
    """Runs Delete tasks."""

    resolver: Resolver
    observer: Observer
    ownership: Ownership
    shares: Shares

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
        return TaskResult(done=False, message=message, polled=self._unseen(left, context))

    def _unseen(self, left: list[AppliedObject], context: TaskContext) -> bool:
        """Whether the deletion of one would not be noticed: it does not carry our labels, say."""
        key = key_of(context.instance)
        return any(
            not self.observer.sees(item.resource, item.namespace, item.name, key) for item in left
        )

    async def _delete_all(self, context: TaskContext) -> tuple[AppliedObject, ...]:
        deleted = []
        for manifest in await context.manifests():
            try:
                resolved = await self.resolver.resolve(manifest, context)
            except KindNotServed:
                continue
            found = await self._delete(resolved, context)
            if found is not None:
                deleted.append(found)
        return tuple(deleted)

    async def _delete(self, resolved: Resolved, context: TaskContext) -> AppliedObject | None:
        """Return what is being deleted; None if it is gone or stays."""
        manifest, resource = resolved.manifest, resolved.resource
        metadata = resolved.target(context.origin)["metadata"]
        namespace = metadata["namespace"] if resource.namespaced else None
        for _ in range(_ATTEMPTS):
            live = await self._read(resource, namespace, metadata["name"], context.client)
            if live is None:
                return None
            item = AppliedObject(resource, namespace, metadata["name"], live["metadata"]["uid"])
            try:
                if await self._stays(resolved, live, context):
                    return None
                await self.observer.watch(resource)
                check_current(context)
                await self._send(item, live, context.client)
            except NotFound:
                return None
            except (Conflict, Invalid) as error:
                # It changed since it was read, and may be somebody else's by now.
                changed = error
            except (ApiError, ConnectionLost) as error:
                text = f"failed to delete {manifest}: {told(error, resource)}"
                raise task_error("TaskDeleteError", text, error) from error
            else:
                return item
        text = f"{manifest} keeps changing while it is deleted: {told(changed, resource)}"
        raise TransientTaskError("TaskDeleteError", text)

    async def _stays(self, resolved: Resolved, live: JsonObject, context: TaskContext) -> bool:
        """Take our share off an object that others share, and return whether there are any.

        Raises:
            FatalTaskError: it is not for this Instance to delete.
        """
        manifest, resource = resolved.manifest, resolved.resource
        if resource.namespaced:
            _check_owner(manifest, live, context.instance.metadata.uid)
            return False
        if not is_of_kudo(live["metadata"]):
            text = (
                "the object is cluster-scoped and was never applied by KUDO; take it out of the "
                "task, or delete it by hand"
            )
            raise FatalTaskError("TaskDeleteError", f"failed to delete {manifest}: {text}")
        ours = identity(context.instance)
        another = await self.ownership.another(live["metadata"], ours)
        if another is None:
            return False
        check_current(context)
        await self.shares.take_off(resource, live, ours, client=context.client)
        text = f"{manifest} stays: Instance {another} shares it; Instance {ours} no longer does"
        context.tell("Normal", "ClusterResourcesKept", text)
        return True

    async def _send(self, item: AppliedObject, live: JsonObject, client: Client) -> None:
        await client.delete(
            item.resource,
            item.name,
            namespace=item.namespace,
            propagation="Foreground",
            uid=item.uid,
            resource_version=live["metadata"]["resourceVersion"],
        )

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
