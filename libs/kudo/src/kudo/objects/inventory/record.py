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

    def says_as_much_as(self, known: Entry | None) -> bool:
        """Return whether `known` is as good as this entry, but for the uid and whether it adopts.

        These two are learned from the answer to the apply, when the entry is on record already.
        """
        if known is None:
            return False
        return self.digest == known.digest and self.agrees_but_for_digest(known)

    def agrees_but_for_digest(self, known: Entry | None) -> bool:
        """Return whether `known` is as good as this entry, but for the digest as well."""
        # One after the other: of 50,000 entries two tuples each took three times as long.
        return known is not None and (
            self.version == known.version
            and self.resource == known.resource
            and self.plan == known.plan
            and self.task == known.task
            and self.retained == known.retained
            and self.orphaned_by == known.orphaned_by
            and self.leaving == known.leaving
            and self.place == known.place
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
        known = self.get(entry.place)
        if entry.place in but_for_digest:
            return entry.agrees_but_for_digest(known)
        return entry.says_as_much_as(known)

    def merged(self, entries: Iterable[Entry]) -> Record:
        """Return the record with entries; uids and adoptions that they leave open are kept.

        That an object was adopted is forgotten when another one has taken its place.
        """
        found = dict(self.entries)
        for entry in entries:
            known = found.get(entry.place)
            found[entry.place] = entry if known is None else continued(entry, known)
        return replace(self, entries=MappingProxyType(found))

    def leaving(self, places: Iterable[Place]) -> Record:
        """Return the record without the shares of cluster-scoped objects, which stay on record."""
        found = (self.entries[place] for place in places if place in self.entries)
        left = {one.place: replace(one, leaving=True) for one in found if one.shared}
        return replace(self, entries=MappingProxyType({**self.entries, **left})) if left else self

    def without(self, places: Iterable[Place]) -> Record:
        gone = frozenset(places)
        left = {place: entry for place, entry in self.entries.items() if place not in gone}
        return replace(self, entries=MappingProxyType(left))


def continued(entry: Entry, known: Entry) -> Entry:
    """Return an entry with what it leaves open of the known one, which is returned if it is equal.

    Without `replace`, which takes three times as long: a record may have 100,000 entries.
    """
    replaced = bool(entry.uid and known.uid) and entry.uid != known.uid
    adopted = entry.adopted or (known.adopted and not replaced)
    uid = entry.uid or known.uid
    if uid == known.uid and adopted == known.adopted and entry.says_as_much_as(known):
        return known
    if uid == entry.uid and adopted == entry.adopted:
        return entry
    return answered(entry, uid, adopted=adopted)


def answered(entry: Entry, uid: str, *, adopted: bool) -> Entry:
    """Return an entry with what the answer to the apply tells."""
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


def inventory_name(one: InstanceIdentity, number: int) -> str:
    """Return the name of an Inventory of an Instance; they count from 0."""
    name = one.name
    if len(name) > _NAME_CHARACTERS:
        digest = hashlib.sha256(name.encode()).hexdigest()[:8]
        # What is cut off may leave what no part of a name can end with.
        name = f"{name[: _NAME_CHARACTERS - 9].rstrip('-.')}-{digest}"
    return f"{name}.{one.uid[:_UID_DIGITS].rstrip('-.')}.{number}"


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
    found: list[list[Entry]] = [[] for _ in before]
    placed: set[Place] = set()
    for number, places in enumerate(before):
        for place in places:
            entry = record.get(place)
            if entry is None or place in placed:
                continue
            if len(found[number]) < MOST_OBJECTS:
                placed.add(place)
                found[number].append(entry)
        yield
    number = 0
    for count, entry in enumerate(record, 1):
        if count % MOST_OBJECTS == 0:
            yield
        if entry.place in placed:
            continue
        while number < len(found) and len(found[number]) >= MOST_OBJECTS:
            number += 1
        if number == len(found):
            found.append([])
        found[number].append(entry)
    return [tuple(entries) for entries in found]


def inventory_of(
    one: InstanceIdentity, number: int, entries: Iterable[Entry], *, complete: bool
) -> JsonObject:
    """Return an Inventory to store, without resourceVersion.

    Args:
        one: The Instance.
        number: Of the Inventory, from 0.
        entries: Its objects; one with a text that `read_entries` would refuse is left out.
        complete: Whether the record is; only the first Inventory says so.
    """
    owner = {
        "apiVersion": API_VERSION,
        "kind": "Instance",
        "name": one.name,
        "uid": one.uid,
        "controller": True,
        "blockOwnerDeletion": False,
    }
    metadata = {
        "name": inventory_name(one, number),
        "namespace": one.namespace,
        "labels": {LABEL_INSTANCE: one.name} if len(one.name) <= MAX_LABEL else {},
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
        if owner.get("controller") and _is_instance(owner):
            return InstanceIdentity(metadata["namespace"], str(owner["name"]), str(owner["uid"]))
    return None


def _is_instance(owner: JsonObject) -> bool:
    group = str(owner.get("apiVersion")).rpartition("/")[0]
    return (group, owner.get("kind")) == (GROUP, "Instance")


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
    if not isinstance(obj, dict):
        return None
    if not _is_plain(obj):
        return None
    texts = {key: value for key, value in obj.items() if isinstance(value, str)}

    def text(key: str) -> str:
        return texts.get(key, "")

    place = Place(_kept(text("group")), _kept(text("kind")), _kept(text("namespace")), text("name"))
    if place.namespace not in {"", namespace} or not _can_be_called(place.name):
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


def _can_be_called(name: str) -> bool:
    """Return whether an object can have a name: it must not escape the path of a request.

    Names of some kinds, such as ClusterRoles, may have nearly any character.
    """
    return bool(name) and name not in {".", ".."} and "/" not in name and "%" not in name


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
