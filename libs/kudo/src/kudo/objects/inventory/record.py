"""The record of what an Instance has applied, and its form in Inventory objects.

Records are immutable: thousands are held in memory, and several tasks of a run read one at a time.
What is read from the API server is a hint that somebody may have written by hand: an entry that no
plan can have made is left out.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from kubeio.names import MAX_LABEL, is_subdomain
from kudo.api.identity import InstanceIdentity
from kudo.api.names import API_VERSION, GROUP, LABEL_INSTANCE

if TYPE_CHECKING:  # the models cost the command line a third of its time
    from kudo.api import Json, JsonObject

MOST_OBJECTS: Final = 500
"""Of one Inventory, as in its schema."""
_NAME_CHARACTERS: Final = 200
_UID_DIGITS: Final = 8
_TEXT_CHARACTERS: Final = 253
_KIND: Final = re.compile(r"[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?")
"""A kind, or in small letters the plural or the version of one: a DNS-1035 label."""
_APPLIED_KINDS: Final = frozenset({"Instance", "Operator", "OperatorVersion"})
"""Kinds of KUDO that plans apply."""


class Place(NamedTuple):
    """Where an object is, whatever the version in which its kind is served.

    `namespace` is empty for a cluster-scoped object.
    """

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {where}"


@dataclass(frozen=True, slots=True)
class Entry:
    """An object that a task has applied.

    Attributes:
        place: Where it is.
        version: API version of its group.
        resource: Plural name of its kind.
        plan: The plan that applied it last; empty if it is not known.
        task: The task that applied it last; empty if it is not known.
        digest: Of what was applied, in hexadecimal digits; empty if there is none.
        uid: Of the object; empty if it is not known.
        retained: Whether its template says that it stays.
        adopted: Whether it existed before and holds data, so that it stays.
        orphaned_by: uid of the run after which no task applies it; empty if one does.
        leaving: Whether the Instance shares it no more, and it may be about to be deleted.
    """

    place: Place
    version: str
    resource: str
    plan: str = ""
    task: str = ""
    digest: str = ""
    uid: str = ""
    retained: bool = False
    adopted: bool = False
    orphaned_by: str = ""
    leaving: bool = False

    @property
    def api_version(self) -> str:
        return f"{self.place.group}/{self.version}" if self.place.group else self.version

    @property
    def cluster_scoped(self) -> bool:
        """Whether others may apply the object, too."""
        return not self.place.namespace

    @property
    def shared(self) -> bool:
        """Whether the entry is a share of a cluster-scoped object."""
        return not (self.place.namespace or self.leaving)

    def says_as_much_as(self, recorded: Entry | None) -> bool:
        """Return whether an entry on record is as good as this one, but for uid and adoption.

        These two are learned from the answer to the apply, when the entry is on record already.
        """
        if recorded is None:
            return False
        return self.digest == recorded.digest and self.agrees_but_for_digest(recorded)

    def agrees_but_for_digest(self, recorded: Entry | None) -> bool:
        """Return whether an entry on record is as good as this one, but for the digest as well."""
        # One after the other: of 50,000 entries two tuples each took three times as long.
        return recorded is not None and (
            self.version == recorded.version
            and self.resource == recorded.resource
            and self.plan == recorded.plan
            and self.task == recorded.task
            and self.retained == recorded.retained
            and self.orphaned_by == recorded.orphaned_by
            and self.leaving == recorded.leaving
            and self.place == recorded.place
        )


@dataclass(frozen=True, slots=True)
class Record:
    """What an Instance has applied.

    Attributes:
        entries: By place, in the order in which they were recorded.
        complete: Whether everything that it ever applied is in it.
    """

    entries: Mapping[Place, Entry] = field(default_factory=lambda: MappingProxyType({}))
    complete: bool = False

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries.values())

    def __len__(self) -> int:
        return len(self.entries)

    def get(self, place: Place) -> Entry | None:
        return self.entries.get(place)

    def covers(self, entry: Entry, but_for_digest: Collection[Place] = ()) -> bool:
        """Return whether an entry is on record as it is; see `Entry.says_as_much_as`.

        Args:
            entry: The entry.
            but_for_digest: Objects of which another digest is good enough.
        """
        recorded = self.get(entry.place)
        if entry.place in but_for_digest:
            return entry.agrees_but_for_digest(recorded)
        return entry.says_as_much_as(recorded)

    def merged(self, entries: Iterable[Entry]) -> Record:
        """Return the record with entries; uids and adoptions that they leave open are kept.

        That an object was adopted is forgotten when another one has taken its place.
        """
        merged = dict(self.entries)
        for entry in entries:
            recorded = merged.get(entry.place)
            merged[entry.place] = entry if recorded is None else continued(entry, recorded)
        return replace(self, entries=MappingProxyType(merged))

    def leaving(self, places: Iterable[Place]) -> Record:
        """Return the record without the shares of cluster-scoped objects, which stay on record."""
        entries = (self.entries[place] for place in places if place in self.entries)
        left = {entry.place: replace(entry, leaving=True) for entry in entries if entry.shared}
        return replace(self, entries=MappingProxyType({**self.entries, **left})) if left else self

    def without(self, places: Iterable[Place]) -> Record:
        gone = frozenset(places)
        left = {place: entry for place, entry in self.entries.items() if place not in gone}
        return replace(self, entries=MappingProxyType(left))


def continued(entry: Entry, recorded: Entry) -> Entry:
    """Return an entry with what it leaves open of the one on record, which is returned if equal."""
    replaced = bool(entry.uid and recorded.uid) and entry.uid != recorded.uid
    adopted = entry.adopted or (recorded.adopted and not replaced)
    uid = entry.uid or recorded.uid
    if uid == recorded.uid and adopted == recorded.adopted and entry.says_as_much_as(recorded):
        return recorded
    if uid == entry.uid and adopted == entry.adopted:
        return entry
    return answered(entry, uid, adopted=adopted)


def answered(entry: Entry, uid: str, *, adopted: bool) -> Entry:
    """Return an entry with what the answer to the apply tells."""
    # Without `replace`, which takes three times as long: a record may have 100,000 entries.
    return Entry(
        entry.place,
        entry.version,
        entry.resource,
        entry.plan,
        entry.task,
        entry.digest,
        uid,
        entry.retained,
        adopted,
        entry.orphaned_by,
        entry.leaving,
    )


# In Inventory objects


def inventory_name(instance: InstanceIdentity, number: int) -> str:
    """Return the name of an Inventory of an Instance; they count from 0."""
    name = instance.name
    if len(name) > _NAME_CHARACTERS:
        digest = hashlib.sha256(name.encode()).hexdigest()[:8]
        # What is cut off may leave what no part of a name can end with.
        name = f"{name[: _NAME_CHARACTERS - 9].rstrip('-.')}-{digest}"
    return f"{name}.{instance.uid[:_UID_DIGITS].rstrip('-.')}.{number}"


def shards(record: Record, before: Sequence[Iterable[Place]] = ()) -> list[tuple[Entry, ...]]:
    """Return what `sharding` does, at once."""
    steps = sharding(record, before)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return cast("list[tuple[Entry, ...]]", end.value)


def sharding(
    record: Record, before: Sequence[Iterable[Place]] = ()
) -> Generator[None, None, list[tuple[Entry, ...]]]:
    """Return the objects of each Inventory of a record.

    Yields after every 500 entries, so that the caller may do something else: there may be 100,000.

    Args:
        record: The record.
        before: The places in each Inventory as it is stored: an entry stays where it is, if
            there is room.

    Returns:
        At least as many as `before`; those at the end may be empty.
    """
    # An entry that moves to another Inventory changes both, so entries stay where they are.
    inventories: list[list[Entry]] = [[] for _ in before]
    placed: set[Place] = set()
    for number, places in enumerate(before):
        for place in places:
            entry = record.get(place)
            if entry is None or place in placed:
                continue
            if len(inventories[number]) < MOST_OBJECTS:
                placed.add(place)
                inventories[number].append(entry)
        yield
    number = 0
    for count, entry in enumerate(record, 1):
        if count % MOST_OBJECTS == 0:
            yield
        if entry.place in placed:
            continue
        while number < len(inventories) and len(inventories[number]) >= MOST_OBJECTS:
            number += 1
        if number == len(inventories):
            inventories.append([])
        inventories[number].append(entry)
    return [tuple(entries) for entries in inventories]


def inventory_of(
    instance: InstanceIdentity, number: int, entries: Iterable[Entry], *, complete: bool
) -> JsonObject:
    """Return an Inventory to store, without resourceVersion.

    Args:
        instance: The Instance.
        number: Of the Inventory, from 0.
        entries: Its objects; one with a text that `read_entries` would refuse is left out.
        complete: Whether the record is; only the first Inventory says so.
    """
    owner = {
        "apiVersion": API_VERSION,
        "kind": "Instance",
        "name": instance.name,
        "uid": instance.uid,
        "controller": True,
        "blockOwnerDeletion": False,
    }
    metadata = {
        "name": inventory_name(instance, number),
        "namespace": instance.namespace,
        "labels": {LABEL_INSTANCE: instance.name} if len(instance.name) <= MAX_LABEL else {},
        "ownerReferences": [owner],
    }
    says = {"complete": True} if complete and number == 0 else {}
    body = {"apiVersion": API_VERSION, "kind": "Inventory", "metadata": metadata}
    objects = [_to_wire(entry) for entry in entries]
    # The schema refuses longer texts, and a run must not fail for a name of its author.
    return {**body, **says, "objects": [obj for obj in objects if _is_plain(obj)]}


def _to_wire(entry: Entry) -> JsonObject:
    place = entry.place
    texts = {
        "group": place.group,
        "version": entry.version,
        "kind": place.kind,
        "resource": entry.resource,
        "namespace": place.namespace,
        "name": place.name,
        "uid": entry.uid,
        "plan": entry.plan,
        "task": entry.task,
        "digest": entry.digest,
        "orphanedBy": entry.orphaned_by,
    }
    marks = {
        "shared": entry.cluster_scoped,
        "retained": entry.retained,
        "adopted": entry.adopted,
        "leaving": entry.leaving,
    }
    return {key: value for key, value in {**texts, **marks}.items() if value}


def owner_of(metadata: JsonObject) -> InstanceIdentity | None:
    """Return the Instance that an Inventory belongs to; None if its owner is none."""
    for owner in metadata.get("ownerReferences") or ():
        group = str(owner.get("apiVersion")).rpartition("/")[0]
        if owner.get("controller") and (group, owner.get("kind")) == (GROUP, "Instance"):
            return InstanceIdentity(metadata["namespace"], str(owner["name"]), str(owner["uid"]))
    return None


def read_entries(inventory: JsonObject) -> tuple[tuple[Entry, ...], int]:
    """Return the entries of an Inventory, and how many no plan can have made.

    Nothing is raised, whatever it contains.
    """
    namespace = inventory["metadata"]["namespace"]
    listed = inventory.get("objects")
    objects: Sequence[Json] = listed if isinstance(listed, list) else ()
    read = [_read(obj, namespace) for obj in objects[:MOST_OBJECTS]]
    entries = tuple(entry for entry in read if entry is not None)
    return entries, len(objects) - len(entries)


def can_be_recorded(entry: Entry, namespace: str) -> bool:
    """Return whether an entry is the same after it was stored and read.

    Args:
        entry: The entry.
        namespace: Of the Instance.
    """
    return _read(_to_wire(entry), namespace) == entry


def _read(obj: Json, namespace: str) -> Entry | None:
    if not isinstance(obj, dict) or not _is_plain(obj):
        return None
    texts = {key: value for key, value in obj.items() if isinstance(value, str)}

    def text(key: str) -> str:
        return texts.get(key, "")

    name = text("name")
    place = Place(_kept(text("group")), _kept(text("kind")), _kept(text("namespace")), name)
    # A plan acts in the namespace of its Instance alone: another one was written by hand.
    if place.namespace not in {"", namespace}:
        return None
    # Names of some kinds, such as ClusterRoles, may have nearly any character. None may escape the
    # path of a request.
    if name in {"", ".", ".."} or "/" in name or "%" in name:
        return None
    if not _may_be_applied(place.group, text("version"), place.kind, text("resource")):
        return None
    return Entry(
        place,
        version=_kept(text("version")),
        resource=_kept(text("resource")),
        plan=_kept(text("plan")),
        task=_kept(text("task")),
        digest=text("digest"),
        uid=text("uid"),
        retained=obj.get("retained") is True,
        adopted=obj.get("adopted") is True,
        orphaned_by=_kept(text("orphanedBy")),
        leaving=obj.get("leaving") is True,
    )


def _is_plain(obj: JsonObject) -> bool:
    """Return whether the texts of an entry can be shown: they stand in events and on terminals."""
    texts = (value for value in obj.values() if isinstance(value, str))
    return all(len(text) <= _TEXT_CHARACTERS and text.isprintable() for text in texts)


@lru_cache(maxsize=1024)
def _may_be_applied(group: str, version: str, kind: str, resource: str) -> bool:
    """Return whether there can be a kind that plans apply, and none of it escapes a path."""
    if group == GROUP and kind not in _APPLIED_KINDS:
        return False
    parts = version.islower() and resource.islower() and (not group or is_subdomain(group))
    return parts and all(_KIND.fullmatch(text) for text in (version, kind, resource))


@lru_cache(maxsize=4096)
def _kept(text: str) -> str:
    """Return one instance of equal texts: thousands of entries have the same kind and task."""
    return text
