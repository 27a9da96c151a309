"""Releases the cluster-scoped objects of an Instance that is deleted.

They stay, as with KUDO 0.19, unless their template requests deletion and no other Instance shares
them. An event names those that stay.
"""

import asyncio
import logging
from dataclasses import dataclass

from kubeio.client import Client
from kubeio.discovery import Discovery
from kubeio.errors import Conflict, Forbidden, Invalid, MethodNotAllowed, NotFound
from kubeio.resource import Resource
from kudo import names
from kudo.api import Instance, JsonObject
from kudo.identity import InstanceIdentity, identity
from kudo.objects.sharing import goes_with_instance, is_shared_by, sharers
from kudo_reconciler.events import EventRecorder
from kudo_reconciler.keys import Key
from kudo_reconciler.objects.observer import Observer
from kudo_reconciler.objects.ownership import Ownership
from kudo_reconciler.objects.shares import Shares

log = logging.getLogger(__name__)

_SELECTOR = f"{names.LABEL_HERITAGE}={names.HERITAGE}"
_ATTEMPTS = 5
_AT_ONCE = 8
"""Number of kinds that are listed at the same time, a page of each in memory."""


@dataclass(frozen=True, slots=True)
class ClusterObjects:
    """The cluster-scoped objects that Instances applied."""

    client: Client
    discovery: Discovery
    observer: Observer
    ownership: Ownership
    shares: Shares
    events: EventRecorder

    async def release(self, instance: Instance) -> None:
        """Delete what is deleted with an Instance; remove it from the sharers of other objects.

        Lists all cluster-scoped kinds: neither the memory of this process nor the current
        OperatorVersion tells which objects an earlier version applied.

        Raises:
            KubeError: a request failed; it is safe to retry.
        """
        one, kept = identity(instance), []
        for resource, obj in await self._all_shared_by(one):
            if not await self._release(resource, obj, one):
                kept.append(_named(resource, obj))
        await self._report_kept(one, kept)

    async def forget(self, key: Key) -> None:
        """Remove a deleted Instance from the sharers of the watched objects.

        The API server is queried first: an Instance that is not in the cache yet may exist.

        Raises:
            KubeError: a request failed.
        """
        kept: dict[InstanceIdentity, list[str]] = {}
        shared = self.observer.shared(*key)
        if not shared:
            return
        present = await self.ownership.at(key)
        for resource, obj in shared:
            for one in sharers(obj["metadata"]):
                if (one.namespace, one.name) == key and one != present:
                    await self.shares.remove_sharer(resource, obj, one, client=self.client)
                    kept.setdefault(one, []).append(_named(resource, obj))
        for one, objects in kept.items():
            await self._report_kept(one, objects)

    async def _all_shared_by(self, one: InstanceIdentity) -> list[tuple[Resource, JsonObject]]:
        """Return the objects that an Instance shares, reading several kinds at the same time."""
        some = asyncio.Semaphore(_AT_ONCE)

        async def find(resource: Resource) -> list[JsonObject]:
            async with some:
                return await self._shared_by(one, resource)

        kinds = await self.discovery.cluster_scoped("list", "patch")
        searches = [asyncio.ensure_future(find(kind)) for kind in kinds]
        try:
            found = await asyncio.gather(*searches)
        finally:
            # If one failed, the others are not needed any more.
            for search in searches:
                search.cancel()
        return [(kind, obj) for kind, objs in zip(kinds, found, strict=True) for obj in objs]

    async def _shared_by(self, one: InstanceIdentity, resource: Resource) -> list[JsonObject]:
        """Return the objects of a kind that an Instance shares; others are dropped page by page."""
        found: list[JsonObject] = []
        try:
            async for page in self.client.pages(
                resource, label_selector=_SELECTOR, metadata_only=True
            ):
                found += [obj for obj in page.items if is_shared_by(obj["metadata"], one)]
        except (Forbidden, NotFound, MethodNotAllowed) as error:
            # Objects that may not be listed were not applied either, or the permission was revoked.
            log.debug("kind is not listed", extra={"kind": resource.kind, "why": str(error)})
        return found

    async def _release(self, resource: Resource, obj: JsonObject, one: InstanceIdentity) -> bool:
        """Delete an object or remove the Instance from its sharers; return whether it is gone."""
        for _ in range(_ATTEMPTS):
            metadata = obj["metadata"]
            try:
                if (
                    goes_with_instance(resource.group, resource.kind, metadata)
                    and await self.ownership.another(metadata, one) is None
                ):
                    return await self._delete(resource, obj, Key(one.namespace, one.name))
                await self.shares.remove_sharer(resource, obj, one, client=self.client)
            except NotFound:
                return True
            except (Conflict, Invalid):
                obj = await self.client.get(resource, obj["metadata"]["name"])
            else:
                return False
        raise Conflict(f"{_named(resource, obj)} keeps changing", status=409)

    async def _delete(self, resource: Resource, obj: JsonObject, author: Key) -> bool:
        metadata = obj["metadata"]
        try:
            with self.observer.writing(resource, None, metadata["name"], author) as write:
                answer = await self.client.delete(
                    resource,
                    metadata["name"],
                    uid=metadata["uid"],
                    resource_version=metadata["resourceVersion"],
                )
                write.deleted(obj, answer)
        except Forbidden as error:
            log.warning("not deleted", extra={"object": _named(resource, obj), "why": str(error)})
            return False
        return True

    async def _report_kept(self, one: InstanceIdentity, kept: list[str]) -> None:
        if kept:
            text = f"these cluster-scoped objects stay: {', '.join(sorted(kept))}"
            self.events.note(one, one.uid, "Normal", "ClusterResourcesKept", text)


def _named(resource: Resource, obj: JsonObject) -> str:
    return f"{resource.kind} {obj['metadata']['name']}"
