"""The garbage collector and the controller of namespaces, as kube-controller-manager runs them.

Both look again, after a delay, at whatever a change may concern.
"""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from kubeio.types import JsonObject
from tests.support.apiserver.storage import Key, Revision, Storage, StorageName, key_of
from tests.support.apiserver.types.kinds import NAMESPACE
from tests.support.apiserver.types.registry import Registry
from tests.support.apiserver.writes.deleting import FOREGROUND, ORPHAN, Deleter
from tests.support.apiserver.writes.writing import Options, Target

_OPTIONS = Options(manager="kube-controller-manager", user="system:kube-controller-manager")


class Place(NamedTuple):
    """Where an object is stored."""

    name: StorageName
    key: Key


def _at_once() -> float:
    return 0.0


@dataclass(slots=True)
class Collector:
    """Deletes what lost its owners, and what is in namespaces being deleted.

    Attributes:
        delay: Returns how many seconds it takes to see a change.
    """

    storage: Storage
    registry: Registry
    deleter: Deleter
    delay: Callable[[], float] = _at_once
    _places: dict[str, Place] = field(default_factory=dict)
    _dependents: dict[str, dict[str, None]] = field(default_factory=dict)

    def start(self) -> None:
        """Follow the changes from now on."""
        self.storage.listeners.append(self._seen)
        self.storage.restored.append(self._look_anew)

    def _look_anew(self) -> None:
        self._places.clear()
        self._dependents.clear()
        for name, obj in self.storage.everything():
            uid = obj["metadata"]["uid"]
            self._places[uid] = Place(name, key_of(obj))
            for owner in _owners(obj):
                self._dependents.setdefault(owner["uid"], {})[uid] = None
        for uid in self._places:
            self._later(uid)

    def _seen(self, name: StorageName, revision: Revision) -> None:
        new = revision.new
        uid, place = new["metadata"]["uid"], Place(name, key_of(new))
        before = _owners(revision.old) if revision.old else ()
        after = () if revision.deleted else _owners(new)
        for owner in before:
            self._dependents.get(owner["uid"], {}).pop(uid, None)
        for owner in after:
            self._dependents.setdefault(owner["uid"], {})[uid] = None
        if revision.deleted:
            self._places.pop(uid, None)
        else:
            self._places[uid] = place
        for one in self._concerned(revision, uid):
            self._later(one)

    def _concerned(self, revision: Revision, uid: str) -> Iterator[str]:
        """Yield the uids of those that have to be looked at after a change."""
        new = revision.new
        if revision.deleted:
            yield from self._dependents.get(uid, ())
            yield from (owner["uid"] for owner in _owners(new))
            yield from self._namespace_of(new)
            return
        if new["metadata"].get("deletionTimestamp") or new["metadata"].get("ownerReferences"):
            yield uid

    def _namespace_of(self, obj: JsonObject) -> Iterator[str]:
        key = ("", obj["metadata"].get("namespace") or "")
        namespace = self.storage.table(NAMESPACE.storage).objects.get(key)
        if namespace is not None and namespace["metadata"].get("deletionTimestamp"):
            yield namespace["metadata"]["uid"]

    def _later(self, uid: str) -> None:
        asyncio.get_running_loop().call_later(self.delay(), self._look, uid)

    def _look(self, uid: str) -> None:
        place = self._places.get(uid)
        if place is None:
            return
        obj = self.storage.table(place.name).objects[place.key]
        metadata = obj["metadata"]
        if not metadata.get("deletionTimestamp"):
            self._check_owners(place, obj)
        elif place.name == NAMESPACE.storage and obj["spec"].get("finalizers"):
            self._empty_namespace(obj)
        elif ORPHAN in metadata.get("finalizers", ()):
            self._release_dependents(uid)
            self._unhold(place, obj, ORPHAN)
        elif FOREGROUND in metadata.get("finalizers", ()):
            self._delete_dependents(place, obj)

    def _check_owners(self, place: Place, obj: JsonObject) -> None:
        """Delete an object whose owners are all gone or wait for it; forget those that are gone."""
        owners = [*_owners(obj)]
        solid = [owner for owner in owners if self._is_solid(owner["uid"])]
        if not owners or len(solid) == len(owners):
            return
        if solid:
            metadata = {**obj["metadata"], "ownerReferences": solid}
            self._store(place, obj, {**obj, "metadata": metadata})
            return
        uid = obj["metadata"]["uid"]
        awaited = any(owner["uid"] in self._places for owner in owners)
        foreground = awaited and bool(self._dependents.get(uid))
        self._delete(place, uid, "Foreground" if foreground else "Background")

    def _is_solid(self, uid: str) -> bool:
        owner = self._object(uid)
        return owner is not None and not (
            owner["metadata"].get("deletionTimestamp")
            and FOREGROUND in owner["metadata"].get("finalizers", ())
        )

    def _delete_dependents(self, place: Place, obj: JsonObject) -> None:
        """Delete what an object owns, and let it go when nothing that blocks it is left."""
        uid = obj["metadata"]["uid"]
        for dependent in tuple(self._dependents.get(uid, ())):
            self._look(dependent)
        blocking = any(
            owner["uid"] == uid and owner.get("blockOwnerDeletion")
            for dependent in self._dependents.get(uid, ())
            for owner in _owners(self._object(dependent) or {"metadata": {}})
        )
        if not blocking:
            self._unhold(place, obj, FOREGROUND)

    def _release_dependents(self, uid: str) -> None:
        for dependent in tuple(self._dependents.get(uid, ())):
            place = self._places[dependent]
            obj = self.storage.table(place.name).objects[place.key]
            rest = [owner for owner in _owners(obj) if owner["uid"] != uid]
            metadata = {k: v for k, v in obj["metadata"].items() if k != "ownerReferences"}
            metadata |= {"ownerReferences": rest} if rest else {}
            self._store(place, obj, {**obj, "metadata": metadata})

    def _unhold(self, place: Place, obj: JsonObject, finalizer: str) -> None:
        left = [one for one in obj["metadata"]["finalizers"] if one != finalizer]
        metadata = {k: v for k, v in obj["metadata"].items() if k != "finalizers"}
        metadata |= {"finalizers": left} if left else {}
        self._store(place, obj, {**obj, "metadata": metadata})

    def _empty_namespace(self, obj: JsonObject) -> None:
        """Delete what is in a namespace, and let it go when nothing is left."""
        name = obj["metadata"]["name"]
        left = False
        for storage_name, content in self.storage.everything():
            if content["metadata"].get("namespace") != name:
                continue
            left = True
            if not content["metadata"].get("deletionTimestamp"):
                place = Place(storage_name, key_of(content))
                self._delete(place, content["metadata"]["uid"], "Background")
        if not left:
            place = Place(NAMESPACE.storage, key_of(obj))
            self._store(place, obj, {**obj, "spec": {**obj["spec"], "finalizers": []}})

    def _delete(self, place: Place, uid: str, policy: str) -> None:
        target = Target(self.registry.of(place.name), *place.key)
        wishes = {"preconditions": {"uid": uid}, "propagationPolicy": policy}
        self.deleter.delete(target, wishes, _OPTIONS)

    def _store(self, place: Place, old: JsonObject, new: JsonObject) -> None:
        self.deleter.writer.store(self.registry.of(place.name), old, new, _OPTIONS)

    def _object(self, uid: str) -> JsonObject | None:
        place = self._places.get(uid)
        return self.storage.table(place.name).objects[place.key] if place else None


def _owners(obj: JsonObject) -> list[JsonObject]:
    return obj["metadata"].get("ownerReferences") or []
