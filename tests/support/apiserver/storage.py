"""Objects and their history: one counter of resourceVersions for all, as etcd has.

Invariant: an object that is stored is never changed; a change stores another one.
"""

import bisect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from kubeio.types import JsonObject
from tests.support.apiserver.status import StatusError, expired

StorageName = tuple[str, str]
"""Group and plural name."""
Key = tuple[str, str]
"""Namespace, empty for cluster scope, and name."""


@dataclass(slots=True)
class Revision:
    """One write of one object.

    Attributes:
        old: What was stored before; None if it was created.
        new: What is stored; of a deleted object its last state, with the version of the deletion.
        deleted: Whether it was deleted.
        lines: The events of watches that were made of it.
    """

    version: int
    old: JsonObject | None
    new: JsonObject
    deleted: bool = False
    lines: dict[tuple[str, str, bool], bytes] = field(default_factory=dict)


@dataclass(slots=True)
class Table:
    """The objects of one resource, and how they came to be."""

    objects: dict[Key, JsonObject] = field(default_factory=dict)
    history: list[Revision] = field(default_factory=list)
    listeners: list[Callable[[Revision], None]] = field(default_factory=list)

    def since(self, version: int) -> list[Revision]:
        return self.history[bisect.bisect_right(self.history, version, key=_version) :]

    def at(self, version: int) -> dict[Key, JsonObject]:
        """Return the objects as they were."""
        found = dict(self.objects)
        for revision in reversed(self.since(version)):
            key = key_of(revision.new)
            found.pop(key, None)
            if revision.old is not None:
                found[key] = revision.old
        return found


@dataclass(frozen=True, slots=True)
class Backup:
    """All objects as they were at a resourceVersion."""

    version: int
    objects: dict[StorageName, dict[Key, JsonObject]]


@dataclass(slots=True)
class Storage:
    """All objects.

    Attributes:
        version: The latest resourceVersion.
        oldest: From which resourceVersion on there is a history.
        listeners: Called with every change after it was stored, in the same tick.
        restored: Called after a backup was restored.
    """

    version: int = 1000
    oldest: int = 1000
    tables: dict[StorageName, Table] = field(default_factory=dict)
    listeners: list[Callable[[StorageName, Revision], None]] = field(default_factory=list)
    restored: list[Callable[[], None]] = field(default_factory=list)

    def table(self, name: StorageName) -> Table:
        return self.tables.setdefault(name, Table())

    def put(self, name: StorageName, obj: JsonObject) -> JsonObject:
        """Store an object in a new version, and return it."""
        self.version += 1
        stored = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(self.version)}}
        table, key = self.table(name), key_of(obj)
        old = table.objects.get(key)
        table.objects[key] = stored
        self._tell(name, Revision(self.version, old, stored))
        return stored

    def remove(self, name: StorageName, last: JsonObject) -> JsonObject:
        """Delete an object whose last state is given; return that with the deletion's version."""
        self.version += 1
        gone = {**last, "metadata": {**last["metadata"], "resourceVersion": str(self.version)}}
        old = self.table(name).objects.pop(key_of(last))
        self._tell(name, Revision(self.version, old, gone, deleted=True))
        return gone

    def _tell(self, name: StorageName, revision: Revision) -> None:
        table = self.table(name)
        table.history.append(revision)
        for listener in tuple(table.listeners):
            listener(revision)
        for observer in tuple(self.listeners):
            observer(name, revision)

    def backup(self) -> "Backup":
        """Return what is stored now."""
        return Backup(self.version, {name: dict(one.objects) for name, one in self.tables.items()})

    def restore(self, backup: "Backup") -> None:
        """Go back to a backup; its resourceVersions are given a second time, as by etcd.

        Watches go on and show nothing of it; controllers of the server look at everything anew.
        """
        self.version = self.oldest = backup.version
        for name, table in self.tables.items():
            table.objects = dict(backup.objects.get(name, {}))
            table.history.clear()
        for observer in self.restored:
            observer()

    def compact(self) -> None:
        """Forget the history; watches and lists from an older version answer 410."""
        self.oldest = self.version
        for table in self.tables.values():
            table.history.clear()

    def check(self, version: int) -> None:
        """Raise 410 for a version whose history is gone."""
        if version < self.oldest:
            raise too_old(version, self.oldest)

    def everything(self) -> Iterator[tuple[StorageName, JsonObject]]:
        for name, table in self.tables.items():
            for obj in tuple(table.objects.values()):
                yield name, obj


def too_old(version: int, oldest: int) -> StatusError:
    return expired(f"too old resource version: {version} ({oldest})")


def key_of(obj: JsonObject) -> Key:
    metadata = obj["metadata"]
    return metadata.get("namespace") or "", metadata["name"]


def _version(revision: Revision) -> int:
    return revision.version
