"""The Delete task: delete the objects that the templates name, then wait until they are deleted.

An object that does not exist counts as deleted, and so does one of a kind that the cluster does not
serve. A deletion names the uid and resourceVersion of the object as it was read, so that a delayed
request of a former leader never deletes an object that was applied again meanwhile.

A cluster-scoped object that another Instance shares stays, and this Instance is removed from its
sharers. A cluster-scoped object that KUDO never applied is an error. What is only created, and
somebody else has made, stays as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from kubeio.client import Client
from kubeio.errors import ApiError, Conflict, ConnectionLost, Invalid, NotFound
from kubeio.resource import Resource
from kudo.api import JsonObject
from kudo.api.identity import InstanceIdentity, identity
from kudo.api.task_kinds import FatalTaskError, TransientTaskError
from kudo.objects import finalizers
from kudo.objects.policies import is_only_created
from kudo.objects.sharing import instance_label, is_of_kudo, name_for_user, sharers
from kudo.tasks.rendering import Manifest
from kudo_reconciler.common.concurrency import FEW_AT_ONCE, paced
from kudo_reconciler.common.errors import error_text, task_error
from kudo_reconciler.common.keys import key_of
from kudo_reconciler.execution.expected import Expected
from kudo_reconciler.execution.recording import remember_deleted
from kudo_reconciler.execution.task_context import (
    AppliedObject,
    RenderContext,
    TaskContext,
    TaskResult,
)
from kudo_reconciler.execution.tasks.parts import TaskParts
from kudo_reconciler.objects.observer import Observer
from kudo_reconciler.objects.ownership import controller_of, is_applied
from kudo_reconciler.objects.resolver import KindNotServed, Resolved, Resolver
from kudo_reconciler.objects.run_context import check_may_write
from kudo_reconciler.objects.shares import Shares

_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class DeleteTask:
    """Runs Delete tasks."""

    resolver: Resolver
    observer: Observer
    shares: Shares

    @staticmethod
    async def expected(_context: RenderContext, _resolver: Resolver, /) -> Sequence[Expected]:
        return ()

    @classmethod
    def of(cls, parts: TaskParts) -> Self:
        return cls(parts.resolver, parts.observer, parts.shares)

    async def run(self, context: TaskContext) -> TaskResult:
        """Delete the objects not yet deleted under this uid, then check which still exist.

        Raises:
            FatalTaskError: the plan cannot continue.
            TransientTaskError: a retry may help.
            Superseded: the run was replaced.
        """
        deleted = context.memory.deleted.get(context.key)
        if deleted is None:
            deleted = await self._delete_all(context)
            context.memory.deleted[context.key] = deleted
        if context.task.spec.wait is False:
            return TaskResult(done=True)
        live = [(item, await self._find(item, context.client)) for item in deleted]
        left = {item: obj for item, obj in live if obj is not None}
        if not left:
            return TaskResult(done=True)
        waits = []
        for item, obj in left.items():
            held_by = finalizers.described(obj["metadata"].get("finalizers") or [])
            held = f", held by {held_by}" if held_by else ""
            waits.append(f"{item} is not deleted yet{held}")
        # An object may lack our labels, and then no watch event would report its deletion.
        key = key_of(context.instance)
        unseen = any(
            not self.observer.sees(item.resource, item.namespace, item.name, key) for item in left
        )
        return TaskResult(
            done=False,
            message=", ".join(waits),
            polled=unseen,
            awaits=context.awaited(*left.values()),
        )

    async def _delete_all(self, context: TaskContext) -> tuple[AppliedObject, ...]:
        deleted = []
        async for manifest in paced(await context.manifests(), FEW_AT_ONCE):
            try:
                resolved = await self.resolver.resolve(manifest, context, "delete")
            except KindNotServed:
                continue
            item = await self._delete(resolved, context)
            name = str(manifest.object["metadata"]["name"])
            remember_deleted(resolved.resource, context.tenant, name, context)
            if item is not None:
                deleted.append(item)
        return tuple(deleted)

    async def _delete(self, resolved: Resolved, context: TaskContext) -> AppliedObject | None:
        """Delete an object; return it while it is being deleted, None if it is deleted or stays."""
        manifest, resource = resolved.manifest, resolved.resource
        metadata = resolved.target(context.origin)["metadata"]
        namespace = metadata["namespace"] if resource.namespaced else None
        for _ in range(_ATTEMPTS):
            live = await self._read(resource, namespace, metadata["name"], context.client)
            if live is None:
                return None
            item = AppliedObject(resource, namespace, metadata["name"], live["metadata"]["uid"])
            try:
                live = await self._given_up(resolved, live, context)
                if live is None:
                    return None
                await self.observer.watch(resource)
                check_may_write(context)
                await context.client.delete(
                    resource,
                    item.name,
                    namespace=namespace,
                    # With its dependents: a task that waits must not end before they are gone.
                    propagation="Foreground",
                    uid=item.uid,
                    resource_version=live["metadata"]["resourceVersion"],
                )
            except NotFound:
                return None
            except (Conflict, Invalid) as error:
                # It changed since it was read, and may have another owner by now.
                changed = error
            except (ApiError, ConnectionLost) as error:
                text = f"failed to delete {manifest}: {error_text(error, resource)}"
                raise task_error("TaskDeleteError", text, error) from error
            else:
                return item
        text = f"{manifest} keeps changing while it is deleted: {error_text(changed, resource)}"
        raise TransientTaskError("TaskDeleteError", text)

    async def _given_up(
        self, resolved: Resolved, live: JsonObject, context: TaskContext
    ) -> JsonObject | None:
        """Give up the share of an object; return the object to delete, None if it stays.

        It stays for others that share it. What is only created and belonged to somebody before
        stays, too: it was used, never applied.

        Raises:
            FatalTaskError: this Instance may not delete it.
        """
        manifest, resource = resolved.manifest, resolved.resource
        if resource.namespaced:
            _check_owner(manifest, live, context.instance.metadata.uid)
            only_created = is_only_created(manifest.object["metadata"])
            is_theirs = only_created and not is_applied(live, resource, context.instance)
            return None if is_theirs else live
        if not is_of_kudo(live["metadata"]):
            text = (
                "the object is cluster-scoped and was never applied by KUDO; remove it from the "
                "task, or delete it by hand"
            )
            raise FatalTaskError("TaskDeleteError", f"failed to delete {manifest}: {text}")
        check_may_write(context)
        ours = identity(context.instance)
        now, another = await self.shares.give_up(resource, live, ours, client=context.client)
        if another is None:
            return now
        other = _told(live["metadata"], another)
        text = f"{manifest} stays: {other} shares it; Instance {ours} no longer does"
        context.tell("Normal", "ClusterResourcesKept", text)
        return None

    async def _find(self, item: AppliedObject, client: Client) -> JsonObject | None:
        """Return an object that is being deleted, None once it is gone."""
        live = await self._read(item.resource, item.namespace, item.name, client)
        return live if live is not None and live["metadata"]["uid"] == item.uid else None

    async def _read(
        self, resource: Resource, namespace: str | None, name: str, client: Client
    ) -> JsonObject | None:
        try:
            return await client.get(resource, name, namespace=namespace)
        except NotFound:
            return None
        except (ApiError, ConnectionLost) as error:
            text = f"cannot read {resource.kind} {name}: {error_text(error, resource)}"
            raise task_error("TaskDeleteError", text, error) from error


def _told(metadata: JsonObject, another: InstanceIdentity) -> str:
    """Return how to tell of another sharer; of an object of KUDO 0.19, the label names it."""
    if not sharers(metadata) and instance_label(metadata) == another.name:
        return f"Instance {another}"
    return name_for_user(metadata, another)


def _check_owner(manifest: Manifest, live: JsonObject, owner: str) -> None:
    """Raise FatalTaskError if another Instance owns the object."""
    controller = controller_of(live) or {}
    if controller.get("kind") == "Instance" and controller.get("uid") != owner:
        text = f"the object is owned by another Instance controller {controller.get('name')}"
        raise FatalTaskError("TaskDeleteError", f"failed to delete {manifest}: {text}")
