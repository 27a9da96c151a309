"""Finds the cluster-scoped objects that an Instance has on record, without any list."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from kubeio.client import Client
from kubeio.discovery import Discovery
from kubeio.errors import Forbidden, MethodNotAllowed, NotFound
from kubeio.resource import Resource
from kudo.api import JsonObject
from kudo.api.identity import InstanceIdentity
from kudo.objects.inventory.record import Entry, Place
from kudo.objects.inventory.shares import has_applied
from kudo.objects.sharing import is_listed, is_of_kudo
from kudo_reconciler.common.keys import Key
from kudo_reconciler.objects.observer import Observer
from kudo_reconciler.objects.places import place_of
from kudo_reconciler.objects.records.served_kind import served_kind
from kudo_reconciler.store.inventories import InventoryStore

Found = tuple[Resource, JsonObject]


@dataclass(frozen=True, slots=True)
class OnRecord:
    """The objects of an Instance that has a complete record.

    Attributes:
        found: Those that it shares, with their metadata at least.
        refused: Those that it may share, and that its account may not read.
    """

    found: list[Found] = field(default_factory=list)
    refused: dict[Place, Forbidden] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecordedObjects:
    """Reads what Instances have on record."""

    discovery: Discovery
    observer: Observer
    inventories: InventoryStore

    async def of(self, one: InstanceIdentity, client: Client) -> OnRecord | None:
        """Return the objects that an Instance shares; None if its record is not complete.

        It may never have applied what is on record: its run was interrupted, or somebody has
        written it by hand.

        Args:
            one: The Instance.
            client: Reads the objects with the identity of the Instance.

        Raises:
            KubeError: a request failed, other than that the client may not read an object.
        """
        entries = await self._entries(one)
        if entries is None:
            return None
        objects = OnRecord()
        for entry in entries:
            try:
                read = await self._read(entry, client)
            except Forbidden as error:
                objects.refused[entry.place] = error
                continue
            if read is not None and _is_shared(entry, read[1]["metadata"], one):
                objects.found.append(read)
        objects.found.extend(self._off_record(entries, one))
        return objects

    def unlisted(self, key: Key) -> list[tuple[InstanceIdentity, Resource, JsonObject]]:
        """Return the watched objects that Instances of a name share, and that do not list them."""
        return [
            (one, *found)
            for one, entries in self.inventories.of_name(*key)
            for entry in entries
            if entry.shared
            for found in self.observer.cluster_scoped(entry.place)
            if not is_listed(found[1]["metadata"], one)
            and has_applied(entry, found[1]["metadata"], one)
        ]

    async def _entries(self, one: InstanceIdentity) -> list[Entry] | None:
        cached = self.inventories.cached(one)
        if cached is None or not cached.complete:
            return None
        # The cache may lack what a former leader has recorded.
        live = await self.inventories.live(one)
        if live is None or not live.complete:
            return None
        return [entry for entry in live if entry.cluster_scoped]

    def _off_record(self, entries: Iterable[Entry], one: InstanceIdentity) -> list[Found]:
        """Return watched objects that list an Instance which has no record of them."""
        places = {entry.place for entry in entries}
        return [
            (resource, obj)
            for resource, obj in self.observer.shared(one.namespace, one.name)
            if place_of(resource, None, obj["metadata"]["name"]) not in places
            and is_listed(obj["metadata"], one)
        ]

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


def _is_shared(entry: Entry, metadata: JsonObject, one: InstanceIdentity) -> bool:
    return is_of_kudo(metadata) and has_applied(entry, metadata, one)
