"""Releases the cluster-scoped objects of an Instance that is deleted.

They stay, as with KUDO 0.19, unless their template requests deletion and no other Instance shares
them. An event names those that stay.

The record of the Instance tells which objects these are, if it is complete, and each is read by
name. Else all cluster-scoped kinds are listed.

It is done as the account of the Instance. What that may not do is left undone and told in an event:
nobody may bring the account or its rights back, and the Instance would stay for ever.
"""

import asyncio
import logging
from dataclasses import dataclass, field

from kubeio.client import Client
from kubeio.discovery import Discovery
from kubeio.errors import Conflict, Forbidden, Invalid, KubeError, MethodNotAllowed, NotFound
from kubeio.resource import Resource
from kudo.admission.tenancy import Tenancy
from kudo.api import Instance, JsonObject, names
from kudo.api.identity import InstanceIdentity, identity
from kudo.api.task_kinds import TaskError
from kudo.objects.sharing import goes_with_instance, is_listed, sharers
from kudo_reconciler.common.keys import Key
from kudo_reconciler.events.writer import EventRecorder
from kudo_reconciler.objects.observer import Observer
from kudo_reconciler.objects.run_context import place_of
from kudo_reconciler.objects.sharers import SharersUnknown
from kudo_reconciler.objects.shares import Found, RecordedObjects, Shares
from kudo_reconciler.tenancy.accounts import Accounts

log = logging.getLogger(__name__)

_SELECTOR = f"{names.LABEL_HERITAGE}={names.HERITAGE}"
_ATTEMPTS = 5
_AT_ONCE = 8
"""Number of kinds that are listed at the same time, a page of each in memory."""
_NAMED = 5
"""Number of kinds that an event names."""


@dataclass(frozen=True, slots=True)
class Released:
    """What has become of the objects of an Instance, as `Kind name`.

    Attributes:
        kept: They stay, as they should.
        left: The account was not allowed to release them.
    """

    kept: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    def refuse(self, name: str, error: Forbidden) -> None:
        self.left.append(name)
        log.warning("not released", extra={"object": name, "why": str(error)})


@dataclass(frozen=True, slots=True)
class ClusterObjects:
    """The cluster-scoped objects that Instances applied."""

    accounts: Accounts
    discovery: Discovery
    observer: Observer
    shares: Shares
    events: EventRecorder

    @property
    def recorded(self) -> RecordedObjects:
        return RecordedObjects(self.discovery, self.observer, self.shares.sharers.inventories)

    async def release(self, instance: Instance) -> None:
        """Delete what is deleted with an Instance; remove it from the sharers of other objects.

        Raises:
            KubeError: a request failed; it is safe to retry.
        """
        sharer, client = identity(instance), await self._client(instance)
        if client is None:
            return
        released = Released()
        shared, unlisted = await self._shared_objects(sharer, client, released)
        await self.shares.give_up_all(shared, sharer)
        for resource, obj in shared:
            try:
                if not await self._release(resource, obj, sharer, client):
                    released.kept.append(_named(resource, obj))
            except Forbidden as error:
                if client.identity is None:
                    raise
                released.refuse(_named(resource, obj), error)
        await self._report_kept(sharer, released.kept)
        user = "the reconciler" if client.identity is None else client.identity.user
        self._report_left(sharer, user, released.left, unlisted)

    async def _shared_objects(
        self, sharer: InstanceIdentity, client: Client, released: Released
    ) -> tuple[list[Found], list[Resource]]:
        """Return the objects that an Instance shares, and kinds that may have more of them."""
        on_record = await self.recorded.of(sharer, client)
        if on_record is not None:
            for place, error in on_record.refused.items():
                released.refuse(str(place), error)
            return on_record.shared, []
        shared, unlisted = await self._all_shared_by(sharer, client)
        if client.identity is None:
            return shared, []
        shared += [
            (kind, obj)
            for kind, obj in self.observer.shared(sharer.namespace, sharer.name)
            if kind in unlisted and is_listed(obj["metadata"], sharer)
        ]
        return shared, [] if shared else unlisted

    async def _client(self, instance: Instance) -> Client | None:
        """Return a client that acts as the account of an Instance; None if it cannot be used.

        Raises:
            KubeError: it could not be looked up.
        """
        try:
            return await self.accounts.acting_for(instance)
        except TaskError as error:
            cause = error.__cause__
            if isinstance(cause, KubeError) and not isinstance(cause, Forbidden):
                raise cause from None
            text = f"its cluster-scoped objects are not released, and stay: {error}"
            log.warning("not released", extra={"error": str(error)})
        sharer = identity(instance)
        self._warn(sharer, text)
        return None

    async def forget(self, key: Key) -> None:
        """Remove a deleted Instance from the sharers of the watched objects.

        The API server is queried first: an Instance that is not in the cache yet may exist.

        Raises:
            KubeError: a request failed.
        """
        kept: dict[InstanceIdentity, list[str]] = {}
        shared, unlisted = self.observer.shared(*key), self.recorded.unlisted(key)
        if not shared and not unlisted:
            return
        present = await self.shares.sharers.at(key)
        for resource, obj in shared:
            for sharer in sharers(obj["metadata"]):
                if (sharer.namespace, sharer.name) == key and sharer != present:
                    await self._forget(resource, obj, sharer)
                    kept.setdefault(sharer, []).append(_named(resource, obj))
        for sharer, resource, obj in unlisted:
            if sharer != present:
                kept.setdefault(sharer, []).append(_named(resource, obj))
        for sharer, objects in kept.items():
            await self._report_kept(sharer, objects)

    async def _forget(self, resource: Resource, obj: JsonObject, sharer: InstanceIdentity) -> None:
        """Remove an Instance that is gone, and whose account is not known, from the sharers."""
        client, mode = self.accounts.client, self.accounts.mode
        try:
            await self.shares.unlist(resource, obj, sharer, client=client)
        except Forbidden as error:
            if mode is Tenancy.COMPAT:
                raise
            # In strict few have the right, and a retry would not help.
            fields = {"object": _named(resource, obj), "why": str(error)}
            log.info("sharer not removed", extra=fields)

    async def _all_shared_by(
        self, sharer: InstanceIdentity, client: Client
    ) -> tuple[list[tuple[Resource, JsonObject]], list[Resource]]:
        """Return the objects that an Instance shares, and the kinds that may not be listed.

        Several kinds are read at the same time.
        """
        unlisted: list[Resource] = []
        some = asyncio.Semaphore(_AT_ONCE)

        async def find(resource: Resource) -> list[JsonObject]:
            async with some:
                return await self._shared_by(sharer, resource, client, unlisted)

        kinds = await self.discovery.cluster_scoped("list", "patch")
        searches = [asyncio.ensure_future(find(kind)) for kind in kinds]
        try:
            results = await asyncio.gather(*searches)
        finally:
            # If one failed, the others are not needed any more.
            for search in searches:
                search.cancel()
        objects = [(kind, obj) for kind, objs in zip(kinds, results, strict=True) for obj in objs]
        return objects, unlisted

    async def _shared_by(
        self,
        sharer: InstanceIdentity,
        resource: Resource,
        client: Client,
        unlisted: list[Resource],
    ) -> list[JsonObject]:
        """Return the objects of a kind that an Instance shares; others are dropped page by page."""
        shared: list[JsonObject] = []
        record = self.shares.recorder.of(sharer)
        try:
            async for page in client.pages(resource, label_selector=_SELECTOR, metadata_only=True):
                for obj in page.items:
                    place = place_of(resource, None, obj["metadata"]["name"])
                    if is_listed(obj["metadata"], sharer) or record.get(place) is not None:
                        shared.append(obj)
        except (Forbidden, NotFound, MethodNotAllowed) as error:
            # Objects that may not be listed were not applied either, or the permission was revoked.
            log.debug("kind is not listed", extra={"kind": resource.kind, "why": str(error)})
            if isinstance(error, Forbidden):
                unlisted.append(resource)
        return shared

    async def _release(
        self, resource: Resource, obj: JsonObject, sharer: InstanceIdentity, client: Client
    ) -> bool:
        """Delete an object or remove the Instance from its sharers; return whether it is gone."""
        name = obj["metadata"]["name"]
        for attempt in range(_ATTEMPTS):
            try:
                if attempt:
                    obj = await client.get(resource, name)
                if not goes_with_instance(resource.group, resource.kind, obj["metadata"]):
                    await self.shares.unlist(resource, obj, sharer, client=client)
                    return False
                obj, another = await self.shares.give_up(resource, obj, sharer, client=client)
                return another is None and await self._delete(resource, obj, sharer, client)
            except NotFound:
                return True
            except SharersUnknown:
                raise
            except (Conflict, Invalid):
                continue
        raise Conflict(f"{_named(resource, obj)} keeps changing", status=409)

    async def _delete(
        self, resource: Resource, obj: JsonObject, sharer: InstanceIdentity, client: Client
    ) -> bool:
        metadata, author = obj["metadata"], Key(sharer.namespace, sharer.name)
        try:
            with self.observer.writing(resource, None, metadata["name"], author) as write:
                answer = await client.delete(
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

    async def _report_kept(self, sharer: InstanceIdentity, kept: list[str]) -> None:
        if kept:
            text = f"these cluster-scoped objects stay: {', '.join(sorted(kept))}"
            self.events.note(sharer, sharer.uid, "Normal", "ClusterResourcesKept", text)

    def _report_left(
        self, sharer: InstanceIdentity, user: str, left: list[str], unlisted: list[Resource]
    ) -> None:
        """Write an event about what an account could not release."""
        texts = []
        if left:
            texts.append(f"{user} may not release {', '.join(sorted(left))}")
        if unlisted:
            kinds = ", ".join(sorted(str(kind.name) for kind in unlisted)[:_NAMED])
            more = f" and {len(unlisted) - _NAMED} other kinds" if len(unlisted) > _NAMED else ""
            texts.append(
                f"{user} may not list {kinds}{more}: if it applied such objects, they stay"
            )
        if texts:
            text = f"cluster-scoped objects are not released: {'; '.join(texts)}"
            self._warn(sharer, text)

    def _warn(self, sharer: InstanceIdentity, text: str) -> None:
        self.events.note(sharer, sharer.uid, "Warning", "ClusterResourcesNotReleased", text)


def _named(resource: Resource, obj: JsonObject) -> str:
    return f"{resource.kind} {obj['metadata']['name']}"
