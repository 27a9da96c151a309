"""The cluster-scoped objects that Instances share: finds them by the record, and gives them up."""

import logging
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from kubeio import jsonpatch
from kubeio.client import Client
from kubeio.discovery import Discovery
from kubeio.errors import Forbidden, MethodNotAllowed, NotFound
from kubeio.resource import Resource
from kudo.api import JsonObject, names
from kudo.api.identity import InstanceIdentity
from kudo.objects.inventory.orphans import has_applied
from kudo.objects.inventory.record import Entry, Place
from kudo.objects.sharing import is_listed, is_of_kudo, sharers
from kudo_reconciler.common.keys import Key
from kudo_reconciler.objects.observer import Observer
from kudo_reconciler.objects.recorder import Recorder
from kudo_reconciler.objects.resolver import served_kind
from kudo_reconciler.objects.run_context import place_of
from kudo_reconciler.objects.sharers import Sharers
from kudo_reconciler.store.inventories import InventoryStore

log = logging.getLogger(__name__)

Found = tuple[Resource, JsonObject]


@dataclass(frozen=True, slots=True)
class OnRecord:
    """The objects of an Instance that has a complete record.

    Attributes:
        shared: Those that it shares, with their metadata at least.
        refused: Those that it may share, and that its account may not read.
    """

    shared: list[Found] = field(default_factory=list)
    refused: dict[Place, Forbidden] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecordedObjects:
    """Reads what Instances have on record."""

    discovery: Discovery
    observer: Observer
    inventories: InventoryStore

    async def of(self, sharer: InstanceIdentity, client: Client) -> OnRecord | None:
        """Return the objects that an Instance shares; None if its record is not complete.

        It may never have applied what is on record: its run was interrupted, or somebody has
        written it by hand.

        Args:
            sharer: The Instance.
            client: Reads the objects with the identity of the Instance.

        Raises:
            KubeError: a request failed, other than that the client may not read an object.
        """
        entries = await self._entries(sharer)
        if entries is None:
            return None
        objects = OnRecord()
        for entry in entries:
            try:
                read = await self._read(entry, client)
            except Forbidden as error:
                objects.refused[entry.place] = error
                continue
            if read is None:
                continue
            metadata = read[1]["metadata"]
            # Somebody else may have an object of this name: on record is only what was intended.
            if is_of_kudo(metadata) and has_applied(entry, metadata, sharer):
                objects.shared.append(read)
        # What lists the Instance and is not on its record: an older release has applied it.
        places = {entry.place for entry in entries}
        objects.shared.extend(
            (resource, obj)
            for resource, obj in self.observer.shared(sharer.namespace, sharer.name)
            if place_of(resource, None, obj["metadata"]["name"]) not in places
            and is_listed(obj["metadata"], sharer)
        )
        return objects

    def unlisted(self, key: Key) -> list[tuple[InstanceIdentity, Resource, JsonObject]]:
        """Return the watched objects that Instances of a name share, and that do not list them."""
        return [
            (sharer, resource, obj)
            for sharer, entries in self.inventories.of_name(*key)
            for entry in entries
            if entry.shared
            for resource, obj in self.observer.cluster_scoped(entry.place)
            if not is_listed(obj["metadata"], sharer)
            and has_applied(entry, obj["metadata"], sharer)
        ]

    async def _entries(self, sharer: InstanceIdentity) -> list[Entry] | None:
        cached = self.inventories.cached(sharer)
        if cached is None or not cached.complete:
            return None
        # The cache may lack what a former leader has recorded.
        live = await self.inventories.live(sharer)
        if live is None or not live.complete:
            return None
        return [entry for entry in live if entry.cluster_scoped]

    async def _read(self, entry: Entry, client: Client) -> Found | None:
        """Read the metadata of an object by name; None if there is none."""
        resource = await served_kind(entry, self.discovery)
        if resource is None:
            return None
        try:
            return resource, await client.get(resource, entry.place.name, metadata_only=True)
        except MethodNotAllowed:
            # What cannot be read was not applied either.
            return None
        except NotFound as error:
            if error.names_object:
                return None
        # The version is served no more, and the object may be in another one.
        self.discovery.invalidate(resource.api_version)
        served = await served_kind(entry, self.discovery)
        if served is None:
            return None
        try:
            return served, await client.get(served, entry.place.name, metadata_only=True)
        except NotFound as answer:
            if not answer.names_object:
                raise
            return None


_ANNOTATION = jsonpatch.pointer(("metadata", "annotations", names.ANNOTATION_SHARED_BY))


@dataclass(frozen=True, slots=True)
class Shares:
    """Gives up shares of objects."""

    observer: Observer
    sharers: Sharers
    recorder: Recorder

    async def give_up(
        self, resource: Resource, obj: JsonObject, sharer: InstanceIdentity, *, client: Client
    ) -> tuple[JsonObject, InstanceIdentity | None]:
        """Give up the share of an object that is deleted unless another Instance has one.

        First the list, then the record, then the question: of two that leave together, the one that
        asks last finds nobody. Who takes a share again after that is not listed, so that its apply
        changes the object, and a deletion that was decided before fails. If the object lists nobody
        else, its next apply changes it all the same: it names its run.

        Args:
            resource: The kind of the object.
            obj: The object as it was read.
            sharer: The Instance.
            client: Sends the requests for the object.

        Returns:
            The object as it is now, and another Instance that shares it; None if there is none.

        Raises:
            Conflict, Invalid: the object changed since it was read, or who shares it is not known.
            KubeError: a request failed; it is safe to retry.
        """
        metadata = obj["metadata"]
        place = place_of(resource, None, str(metadata["name"]))
        if any(other != sharer for other in sharers(metadata)):
            obj = await self.unlist(resource, obj, sharer, client=client)
        await self._record(sharer, [place])
        another = await self.sharers.another(resource, obj["metadata"], sharer)
        if another is not None:
            obj = await self.unlist(resource, obj, sharer, client=client)
        return obj, another

    async def give_up_all(
        self, objects: Iterable[tuple[Resource, JsonObject]], sharer: InstanceIdentity
    ) -> None:
        """Take the shares of an Instance that is being deleted off its record, by one write.

        The objects list it still.

        Raises:
            KubeError: a request failed; it is safe to retry.
        """
        places = [place_of(kind, None, str(obj["metadata"]["name"])) for kind, obj in objects]
        await self._record(sharer, places)

    async def _record(self, sharer: InstanceIdentity, places: Collection[Place]) -> None:
        record = self.recorder.of(sharer)
        if record.leaving(places) is record:
            return
        try:
            await self.recorder.save(sharer, lambda record: record.leaving(places))
        except Forbidden as error:
            # As the reconciler, whatever the account may do. Others that leave keep the object.
            log.warning("shares stay on record", extra={"instance": str(sharer), "why": str(error)})

    async def unlist(
        self, resource: Resource, obj: JsonObject, sharer: InstanceIdentity, *, client: Client
    ) -> JsonObject:
        """Remove an Instance from the list on an object, and return the object as it is then.

        Nothing is sent if it is not listed.

        Raises:
            Conflict, Invalid: the object changed since it was read.
            KubeError: the request failed.
        """
        metadata, author = obj["metadata"], Key(sharer.namespace, sharer.name)
        if not is_listed(metadata, sharer):
            return obj
        place = place_of(resource, None, str(metadata["name"]))
        text = self.sharers.without(metadata, place, sharer)
        change = jsonpatch.replace(_ANNOTATION, text) if text else jsonpatch.remove(_ANNOTATION)
        version = jsonpatch.test("/metadata/resourceVersion", metadata["resourceVersion"])
        with self.observer.writing(resource, None, metadata["name"], author) as write:
            changed = await client.json_patch(
                resource, metadata["name"], [version, change], field_manager=names.FIELD_MANAGER
            )
            write.answered(changed, after=obj)
        return changed
