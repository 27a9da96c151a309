"""The store of an informer: objects by key and by index, never replaced by older versions.

Invariants:

* An object is never replaced by an older version of itself, in whatever order lists, events and
  answers to own writes arrive.
* ``highest`` is the resourceVersion that the watch has reached. An object that is observed at or
  below it and is not stored has been deleted since, so it is ignored. Any other is stored if it is
  newer than the stored one: it is ahead of the watch, or its event was lost. Older events that the
  watch still delivers for it are ignored.
* A deletion between two lists is reported like any other. An object that was deleted and created
  again under the same name is reported as deleted and added.
* Objects are read-only once they are stored.
"""

from collections.abc import Callable, Iterable, KeysView, Mapping
from dataclasses import dataclass
from typing import Literal

from kubeio.errors import Malformed
from kubeio.types import JsonObject, Transform, copy_json, resource_version

Key = tuple[str, str]
Objects = list[JsonObject]
Indexer = Callable[[JsonObject], Iterable[str]]
_NOTHING: dict[Key, None] = {}


@dataclass(frozen=True, slots=True)
class Delta:
    """A change of one object.

    ``object`` is the new state, after a deletion the last known one; ``old`` was stored before.
    """

    kind: Literal["added", "updated", "deleted"]
    object: JsonObject
    old: JsonObject | None


def key_of(obj: JsonObject) -> Key:
    """Return (namespace, name); the namespace of a cluster-scoped object is empty."""
    metadata = obj["metadata"]
    return metadata.get("namespace") or "", metadata["name"]


def uid_of(obj: JsonObject) -> str:
    """Return the object's uid, empty if it has none."""
    return obj["metadata"].get("uid") or ""


class Store:
    """Stores objects and indexes, and reports every change to ``notify``, in order.

    Args:
        notify: called synchronously, after the store has changed.
        indexers: name → function that returns the index keys of an object; must not raise.
        transform: returns the object to store; may change it in place, must keep its metadata. An
            exception means that the object is malformed. managedFields are removed after it.
    """

    def __init__(
        self,
        notify: Callable[[Delta], None],
        *,
        indexers: Mapping[str, Indexer] | None = None,
        transform: Transform | None = None,
    ) -> None:
        self.objects: dict[Key, JsonObject] = {}
        self.highest = 0
        self._notify = notify
        self._transform = transform
        self._indexes = {name: _Index(indexer) for name, indexer in (indexers or {}).items()}
        # uid and last version of objects that we know to be deleted before their DELETED event.
        self._tombstones: dict[Key, tuple[str, int]] = {}
        self._listed: set[Key] = set()

    def by_index(self, index: str, key: str) -> Objects:
        """Return the objects with this index key; raises KeyError for an unknown index."""
        return [self.objects[member] for member in self._indexes[index].buckets.get(key, ())]

    def keys_by_index(self, index: str, key: str) -> KeysView[Key]:
        """Return a view of the keys of the objects with this index key; see ``by_index``."""
        return self._indexes[index].buckets.get(key, _NOTHING).keys()

    def prepared(self, obj: JsonObject) -> JsonObject:
        """Return an object in the form that is stored; the argument may be changed.

        Raises:
            Malformed: the transform cannot read the object; the store is unchanged.
        """
        prepared = obj if self._transform is None else self._transformed(obj, self._transform)
        # A quarter of the size of a typical pod; a transform can read it before.
        prepared["metadata"].pop("managedFields", None)
        return prepared

    def _transformed(self, obj: JsonObject, transform: Transform) -> JsonObject:
        try:
            return transform(obj)
        except Exception as error:
            # Otherwise one object that breaks its schema would end the watch of all objects.
            text = f"{'/'.join(key_of(obj))} cannot be read: {type(error).__name__}"
            raise Malformed(text) from error

    def begin_list(self) -> None:
        """Start a consistent list, which is newer than every deletion seen before."""
        self._listed = set()
        self._tombstones.clear()

    def add_page(self, items: Iterable[JsonObject], *, force: bool = False) -> None:
        """Store listed objects, as ``prepared`` returned them.

        ``force`` stores them even if they are older than the stored ones.
        """
        for item in items:
            self._listed.add(key_of(item))
            if force or not self._is_deleted(item):
                self._put(item, force=force, prepared=True)

    def end_list(self, version: int | None, *, force: bool = False) -> None:
        """Remove objects that were not listed, except own writes newer than the list."""
        missing = [key for key in self.objects if key not in self._listed]
        for key in missing:
            obj = self.objects[key]
            if force or version is None or (resource_version(obj) or 0) <= version:
                self._drop(key, obj)
        self._listed = set()
        self.highest = version or 0 if force else max(self.highest, version or 0)

    def put(self, obj: JsonObject) -> None:
        """Handle an ADDED or MODIFIED event."""
        self.reach(resource_version(obj))
        if not self._is_deleted(obj):
            self._put(obj)

    def remove(self, obj: JsonObject) -> None:
        """Handle a DELETED event."""
        version = resource_version(obj)
        self.reach(version)
        key = key_of(obj)
        if self._tombstones.get(key, ("", 0))[0] == uid_of(obj):
            del self._tombstones[key]
        old = self.objects.get(key)
        if old is not None and not _is_older(version, old):
            self._drop(key, self.prepared(obj))

    def reach(self, version: int | None) -> None:
        """Record the resourceVersion of an event or bookmark."""
        if version is not None and version > self.highest:
            self.highest = version

    def observe(self, obj: JsonObject) -> bool:
        """Store the answer to an own write or a consistent read; return whether it was newer.

        The argument is neither changed nor kept.
        """
        version = resource_version(obj)
        if version is None or self._is_deleted(obj):
            return False
        if version <= self.highest and key_of(obj) not in self.objects:
            return False
        # The caller keeps the object: only what is changed here needs a copy.
        if self._transform is not None:
            return self._put(copy_json(obj))
        return self._put({**obj, "metadata": {**obj["metadata"]}})

    def observe_deleted(self, obj: JsonObject) -> bool:
        """Remove an object that the server reported as deleted; return whether it was stored.

        Until its DELETED event or the next list, older versions under its name, and all versions
        of its uid, are ignored.
        """
        key = key_of(obj)
        old = self.objects.get(key)
        if old is None or not uid_of(obj) or uid_of(old) != uid_of(obj):
            return False
        self._tombstones[key] = (uid_of(old), resource_version(old) or 0)
        self._drop(key, old)
        return True

    def _is_deleted(self, obj: JsonObject) -> bool:
        tombstone = self._tombstones.get(key_of(obj))
        if tombstone is None:
            return False
        uid, version = tombstone
        return uid == uid_of(obj) or (resource_version(obj) or 0) <= version

    def _put(self, obj: JsonObject, *, force: bool = False, prepared: bool = False) -> bool:
        key = key_of(obj)
        old = self.objects.get(key)
        if old is not None and not force and _is_known(resource_version(obj), old):
            return False
        new = obj if prepared else self.prepared(obj)
        if old is not None and uid_of(old) != uid_of(new):
            self._drop(key, old)
            old = None
        self.objects[key] = new
        for index in self._indexes.values():
            index.put(key, new)
        self._notify(Delta("added" if old is None else "updated", new, old))
        return True

    def _drop(self, key: Key, last: JsonObject) -> None:
        old = self.objects.pop(key)
        for index in self._indexes.values():
            index.drop(key)
        self._notify(Delta("deleted", last, old))


class _Index:
    __slots__ = ("_indexer", "_keys", "buckets")

    def __init__(self, indexer: Indexer) -> None:
        self._indexer = indexer
        self._keys: dict[Key, tuple[str, ...]] = {}
        # Dicts as ordered sets: results are in the order in which objects arrived.
        self.buckets: dict[str, dict[Key, None]] = {}

    def put(self, key: Key, obj: JsonObject) -> None:
        new = tuple(self._indexer(obj))
        old = self._keys.get(key, ())
        if new == old:
            return
        self._leave(key, {*old}.difference(new))
        for bucket in {*new}.difference(old):
            self.buckets.setdefault(bucket, {})[key] = None
        if new:
            self._keys[key] = new
        else:
            self._keys.pop(key, None)

    def drop(self, key: Key) -> None:
        self._leave(key, {*self._keys.pop(key, ())})

    def _leave(self, key: Key, buckets: Iterable[str]) -> None:
        for bucket in buckets:
            members = self.buckets[bucket]
            del members[key]
            if not members:
                del self.buckets[bucket]


def _is_older(version: int | None, stored: JsonObject) -> bool:
    current = resource_version(stored)
    return version is not None and current is not None and version < current


def _is_known(version: int | None, stored: JsonObject) -> bool:
    current = resource_version(stored)
    return version is not None and current is not None and version <= current
