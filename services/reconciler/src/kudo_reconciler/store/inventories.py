"""Reads and writes Inventories, and finds the Instances that share a cluster-scoped object.

Inventories are KUDO's own bookkeeping: they are read and written as the reconciler. Reads are
answered from the cache, which keeps entries only; see `kudo.objects.inventory.record`. Each write
tests the resourceVersion of what it replaces, and what it was computed from.

A new leader's cache may lack what the former one wrote last. A creation cannot overwrite that: the
API server answers 409. Whatever else is decided by a record is decided by `current` or in `save`,
which read it live, once, until the watch has reached the resourceVersion at which the term began.
`cached`, `some_sharers` and `shares` are hints.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Final, cast

from kubeio.cache.informer import Informer
from kubeio.cache.store import Delta
from kubeio.client import Client
from kubeio.errors import Conflict, InvalidPath, NotFound
from kudo.api import JsonObject
from kudo.api.identity import InstanceIdentity
from kudo.objects.inventory.record import (
    Entry,
    Place,
    Record,
    inventory_name,
    inventory_of,
    owner_of,
    read_entries,
    sharding,
    shards,
)
from kudo_reconciler.common.keys import INVENTORIES
from kudo_reconciler.store.freshness import Freshness, OwnWrites

MOST_ENTRIES: Final = 100_000
"""Entries of all kept records. One more record is kept if it is larger, since it is in use."""


@dataclass(slots=True)
class KeptRecords:
    """Records by uid of the Instance, with the Inventories that they were put together from."""

    _kept: OrderedDict[str, tuple[list[JsonObject], Record]] = field(default_factory=OrderedDict)
    _entries: int = 0

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, uid: str, inventories: list[JsonObject]) -> Record | None:
        """Return the record of these Inventories.

        The same objects: after a restore of etcd a resourceVersion may be used a second time.
        """
        kept = self._kept.get(uid)
        if kept is None or list(map(id, kept[0])) != list(map(id, inventories)):
            return None
        self._kept.move_to_end(uid)
        return kept[1]

    def put(self, uid: str, inventories: list[JsonObject], record: Record) -> None:
        """Keep a record, and drop those that were asked for least recently."""
        self._drop(uid)
        self._kept[uid] = inventories, record
        self._entries += _size(record)
        while self._entries > MOST_ENTRIES and len(self._kept) > 1:
            self._drop(next(iter(self._kept)))

    def clear(self) -> None:
        self._kept.clear()
        self._entries = 0

    def _drop(self, uid: str) -> None:
        dropped = self._kept.pop(uid, None)
        if dropped is not None:
            self._entries -= _size(dropped[1])


def _size(record: Record) -> int:
    """Return the number of entries; a record takes some memory without any."""
    return len(record) + 1


BY_INSTANCE: Final = "instance"
BY_NAME: Final = "name"
BY_SHARE: Final = "share"
_ATTEMPTS: Final = 5
_KEPT: Final = ("name", "namespace", "uid", "resourceVersion", "ownerReferences")
_AT_ONCE: Final = 1000
"""Entries that are spread over Inventories without a pause, which takes a millisecond."""
_MOST: Final = 200
"""Inventories of an Instance that are read. Older releases wrote so many; what a run may add is
bounded by `kudo.api.bounds`."""

_Content = tuple[tuple[Entry, ...], bool]
"""Entries of an Inventory, and whether it is complete."""
Change = Callable[[Record], Record]
"""Computes the record to store from the one that is stored."""


def kept_inventory(obj: JsonObject) -> JsonObject:
    """Return what the cache keeps of an Inventory: entries, not their JSON."""
    entries, ignored = read_entries(obj)
    metadata = {key: obj["metadata"][key] for key in _KEPT if key in obj["metadata"]}
    return {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "metadata": metadata,
        "complete": obj.get("complete") is True,
        "entries": entries,
        "ignored": ignored,
    }


def by_instance(obj: JsonObject) -> tuple[str, ...]:
    """Index of the Inventories by uid of their Instance."""
    owner = owner_of(obj["metadata"])
    return () if owner is None else (owner.uid,)


def by_share(obj: JsonObject) -> Iterable[str]:
    """Index of the Inventories by the cluster-scoped objects of which they have a share.

    Without and with the uid of the object, if it is known.
    """
    shares = [entry for entry in obj["entries"] if entry.shared]
    with_uid = (_share(entry.place, entry.uid) for entry in shares if entry.uid)
    return {*(_share(entry.place) for entry in shares), *with_uid}


def by_name(obj: JsonObject) -> tuple[str, ...]:
    """Index of the Inventories by namespace and name of their Instance."""
    owner = owner_of(obj["metadata"])
    return () if owner is None else (str(owner),)


INDEXERS: Final = {BY_INSTANCE: by_instance, BY_NAME: by_name, BY_SHARE: by_share}


@dataclass(frozen=True, slots=True)
class InventoryStore:
    """The Inventories of the cluster.

    Attributes:
        client: The reconciler's own.
        informer: Of Inventories, with `kept_inventory` and `INDEXERS`.
        own: Tells own writes from the changes of others, by uid of the Instance.
        freshness: Tells what was stored in this term.
    """

    client: Client
    informer: Informer
    own: OwnWrites[str]
    freshness: Freshness = field(default_factory=Freshness)
    _read_in_term: set[str] = field(default_factory=set)
    _records: KeptRecords = field(default_factory=KeptRecords)
    _sent: dict[str, dict[str, _Content]] = field(default_factory=dict)
    """By uid of the Instance and name, what was sent and not answered yet, or never."""

    def changed(self, delta: Delta) -> None:
        """Process a change of the cache."""
        states = [delta.object] if delta.old is None else [delta.object, delta.old]
        owners = {owner_of(obj["metadata"]) for obj in states}
        for owner in owners:
            if owner is not None:
                self.own.changed(owner.uid, delta)
                if delta.kind == "deleted":
                    self._sent.pop(owner.uid, None)

    def begin_term(self) -> None:
        """Forget which records were read: a former leader may have changed them."""
        self._read_in_term.clear()
        self._records.clear()
        self._sent.clear()

    def is_own(self, uid: str, obj: JsonObject) -> bool:
        """Return whether an Inventory is as it was sent by a write whose answer was lost."""
        sent = self._sent.get(uid, {}).get(obj["metadata"]["name"])
        return sent is not None and sent == (obj["entries"], obj["complete"])

    def cached(self, owner: InstanceIdentity) -> Record | None:
        """Return the record of an Instance from the cache; None if there is none."""
        inventories = self._cached(owner)
        if not inventories:
            return None
        record = self._records.find(owner.uid, inventories)
        if record is None:
            record = _record(inventories)
            self._records.put(owner.uid, inventories, record)
        return record

    async def current(self, owner: InstanceIdentity) -> Record | None:
        """Return the record of an Instance with every write of former leaders.

        Raises:
            KubeError: it had to be read, and could not be.
        """
        return self.cached(owner) if self.is_current(owner) else await self.live(owner)

    def change(self, owner: InstanceIdentity, delta: Delta) -> tuple[Record, Record]:
        """Return the record of an Instance before and after a change of an Inventory."""
        name = delta.object["metadata"]["name"]
        by_name = {obj["metadata"]["name"]: obj for obj in self._of(owner.uid)}
        before = _with(by_name, name, delta.object if delta.kind == "deleted" else delta.old)
        after = _with(by_name, name, None if delta.kind == "deleted" else delta.object)
        return _record(_ordered(owner, before)), _record(_ordered(owner, after))

    def ignored(self, owner: InstanceIdentity) -> int:
        """Return how many entries of the cached record no plan can have made."""
        return sum(int(obj["ignored"]) for obj in self._cached(owner))

    def some_sharers(self, place: Place, uid: str = "") -> Iterator[InstanceIdentity]:
        """Yield the Instances that have a share of an object on record, by the cache.

        One after the other: tens of thousands may share it. Must not be iterated across an await.

        Args:
            place: Where the object is.
            uid: Of the object, for those Instances alone that have it on record.
        """
        return self._owners(self.informer.keys_by_index(BY_SHARE, _share(place, uid)))

    def each_sharer(self, place: Place) -> Iterator[InstanceIdentity]:
        """Yield what `some_sharers` does; may be iterated across an await.

        Instances that begin to share meanwhile are left out.
        """
        return self._owners(tuple(self.informer.keys_by_index(BY_SHARE, _share(place))))

    def _owners(self, keys: Iterable[tuple[str, str]]) -> Iterator[InstanceIdentity]:
        for key in keys:
            obj = self.informer.get(*key)
            owner = None if obj is None else owner_of(obj["metadata"])
            if owner is not None:
                yield owner

    def has_share(self, owner: InstanceIdentity, place: Place) -> bool:
        """Return whether an Instance has a share of an object on record, by the cache."""
        return self._shares(place, BY_INSTANCE, owner.uid)

    def is_shared_by_name(self, namespace: str, name: str, place: Place) -> bool:
        """Return whether an Instance of a name has a share of an object on record."""
        return self._shares(place, BY_NAME, f"{namespace}/{name}")

    def _shares(self, place: Place, index: str, key: str) -> bool:
        shared = self.informer.keys_by_index(BY_SHARE, _share(place))
        return any(inventory in shared for inventory in self.informer.keys_by_index(index, key))

    def of_name(self, namespace: str, name: str) -> list[tuple[InstanceIdentity, list[Entry]]]:
        """Return what Instances of a name have on record of cluster-scoped objects.

        Of several if one was deleted and its Inventories are not yet.
        """
        inventories = self.informer.by_index(BY_NAME, f"{namespace}/{name}")
        owners = {owner_of(obj["metadata"]) for obj in inventories}
        return [(owner, self.shares(owner)) for owner in owners if owner is not None]

    def shares(self, owner: InstanceIdentity) -> list[Entry]:
        """Return the cluster-scoped objects that an Instance has on record, by the cache."""
        record = self.cached(owner)
        return [entry for entry in record or () if entry.cluster_scoped]

    async def live(self, owner: InstanceIdentity) -> Record | None:
        """Read the record of an Instance from the API server; None if there is none.

        Raises:
            KubeError: it could not be read.
        """
        return _record(inventories) if (inventories := await self._read(owner)) else None

    async def save(self, owner: InstanceIdentity, change: Change) -> Record:
        """Change the record of an Instance, and return it as stored.

        Nothing is sent for what stays the same. Calls for one Instance must not overlap: see
        `Recorder.save`.

        Args:
            owner: The Instance.
            change: Called again with what is there if somebody else changed it.

        Raises:
            Conflict: it keeps changing.
            KubeError: a request failed.
        """
        # The caller may have compared the record that is cached: it is not put together again.
        stored, cached = self._cached(owner), self.cached(owner)
        if stored and not self.is_current(owner):
            stored, cached = await self._read(owner), None
        for _ in range(_ATTEMPTS):
            before = _record(stored) if cached is None else cached
            after = change(before)
            if after == before:
                return before
            try:
                with self.own.writing(owner.uid):
                    await self._write(owner, stored, after)
            except Conflict:
                stored, cached = await self._read(owner), None
            else:
                self._read_in_term.add(owner.uid)
                self._sent.pop(owner.uid, None)
                return after
        raise Conflict(f"the inventory of Instance {owner} keeps changing", status=409)

    async def _write(
        self, owner: InstanceIdentity, stored: list[JsonObject], after: Record
    ) -> None:
        contents = await _contents(after, [*map(_places, stored)]) or [()]
        for number, (existing, entries) in enumerate(zip_longest(stored, contents)):
            complete = after.complete and number == 0
            if existing is not None and (existing["entries"], existing["complete"]) == (
                entries,
                complete,
            ):
                continue
            body = inventory_of(owner, number, entries or (), complete=complete)
            sent = self._sent.setdefault(owner.uid, {})
            sent[body["metadata"]["name"]] = (entries or (), complete)
            if existing is None:
                answer = await self.client.create(INVENTORIES, body, namespace=owner.namespace)
            else:
                answer = await self._replace(body, existing)
            self.own.answered(owner.uid, answer)
            self.informer.observe(answer)

    async def _replace(self, body: JsonObject, existing: JsonObject) -> JsonObject:
        """Replace an Inventory that is still as it was read.

        Raises:
            Conflict: it changed or was deleted.
        """
        body["metadata"] |= {key: existing["metadata"][key] for key in ("uid", "resourceVersion")}
        try:
            return await self.client.replace(INVENTORIES, body)
        except NotFound as error:
            raise Conflict("the inventory was deleted meanwhile", status=409) from error

    @property
    def has_term(self) -> bool:
        """Return whether the cache has every write of former leaders, for all Instances."""
        return self.freshness.is_reached_by(self.informer.version)

    def is_current(self, owner: InstanceIdentity) -> bool:
        """Return whether the cached record has every write of former leaders."""
        if self.has_term:
            self._read_in_term.clear()
            return True
        return owner.uid in self._read_in_term

    def _cached(self, owner: InstanceIdentity) -> list[JsonObject]:
        """Return the Inventories of an Instance in order; those with other names are not ours."""
        return _ordered(owner, {obj["metadata"]["name"]: obj for obj in self._of(owner.uid)})

    def _of(self, uid: str) -> list[JsonObject]:
        return self.informer.by_index(BY_INSTANCE, uid)

    async def _read(self, owner: InstanceIdentity) -> list[JsonObject]:
        """Read the Inventories of an Instance by name, and update the cache.

        One that has our name and belongs to nobody, or to another Instance, is empty: what it
        contains was not recorded for this one, and the next write takes it over.
        """
        inventories = []
        for number in range(_MOST):
            name = inventory_name(owner, number)
            try:
                live = await self.client.get(INVENTORIES, name, namespace=owner.namespace)
            except (NotFound, InvalidPath):
                # No object has what an annotation may name as a namespace.
                self.informer.observe_gone(owner.namespace, name)
                break
            self.informer.observe(live)
            foreign = owner_of(live["metadata"]) != owner
            kept = kept_inventory(live)
            inventories.append({**kept, "entries": (), "complete": False} if foreign else kept)
        self._read_in_term.add(owner.uid)
        return inventories


async def _contents(record: Record, before: list[Iterator[Place]]) -> list[tuple[Entry, ...]]:
    """Return the objects of each Inventory.

    Usually at once: whether the run may write was checked right before.
    """
    if len(record) <= _AT_ONCE:
        return shards(record, before)
    steps = sharding(record, before)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return cast("list[tuple[Entry, ...]]", end.value)
        # The event loop may run other tasks after each step.
        await asyncio.sleep(0)


def _places(inventory: JsonObject) -> Iterator[Place]:
    return (entry.place for entry in inventory["entries"])


def _ordered(owner: InstanceIdentity, by_name: Mapping[str, JsonObject]) -> list[JsonObject]:
    """Return the Inventories of an Instance from the first on."""
    ordered = []
    for number in range(len(by_name)):
        obj = by_name.get(inventory_name(owner, number))
        if obj is None or owner_of(obj["metadata"]) != owner:
            break
        ordered.append(obj)
    return ordered


def _with(
    inventories: Mapping[str, JsonObject], name: str, obj: JsonObject | None
) -> dict[str, JsonObject]:
    others = {key: value for key, value in inventories.items() if key != name}
    return others if obj is None else {**others, name: obj}


def _record(inventories: list[JsonObject]) -> Record:
    complete = bool(inventories) and bool(inventories[0]["complete"])
    entries = (entry for obj in inventories for entry in obj["entries"])
    return Record(complete=complete).merged(entries)


def _share(place: Place, uid: str = "") -> str:
    return f"{place.group}/{place.kind}/{place.name}/{uid}"
