"""The API server with one Instance, as pure functions; no tests of its own.

What holds in every life of an Instance is asserted at each write: `lifecycle_promises`.
"""

import itertools
from dataclasses import dataclass, field

from kudo.api import Instance, OperatorVersion
from tests.unit.kudo.lifecycle_promises import Record, Write, assert_kept


class Outdated(Exception):
    """A write named a state that is no more."""


@dataclass
class Cluster:
    """The API server with one Instance, and a cache that may lag behind it."""

    versions: dict[str, OperatorVersion] = field(default_factory=dict)
    stored: Instance | None = None
    record: Record = field(default_factory=Record)
    seen: list[Instance | None] = field(default_factory=lambda: [None])
    """What the cache may show: nothing older than the last own write."""
    events: set[tuple[str, str]] = field(default_factory=set)
    """uid of a run and what was told of it; an event that is written again changes nothing."""
    refusing: bool = False
    lawful: bool = True
    """Whether every change came through admission."""
    count: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def now(self) -> str:
        second = next(self.count)
        return f"2026-01-01T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"

    def fresh_uid(self) -> str:
        return f"u{next(self.count)}"

    def version(self, key: tuple[str, str]) -> OperatorVersion | None:
        return self.versions.get(key[1])

    def store(self, new: Instance, *, by: str) -> Instance:
        """Store an object as the API server does: another resourceVersion, perhaps generation.

        Args:
            new: The object.
            by: Who writes, as in `Write.by`.
        """
        old = self.stored
        generation = old.metadata.generation if old else 0
        if old is None or old.spec != new.spec:
            generation += 1
        metadata = new.metadata.model_copy(
            update={"resource_version": str(next(self.count)), "generation": generation}
        )
        new = Instance.from_wire(new.model_copy(update={"metadata": metadata}).to_wire())
        if old is None:
            self.record.note(new)
        else:
            assert_kept(self._write(old, new, by))
        gone = new.metadata.deleting and not new.metadata.finalizers
        self.stored = None if gone else new
        self.seen = [self.stored] if by == "reconciler" else [*self.seen, self.stored]
        return new

    def _write(self, old: Instance, new: Instance, by: str) -> Write:
        keys = old.operator_version_key, new.operator_version_key
        versions = self.version(keys[0]), self.version(keys[1])
        return Write(old, new, by, self.record, versions, self.refusing, self.lawful)

    def expect(self, instance: Instance) -> Instance:
        """Return what is stored, if it is what was read."""
        stored = self.stored
        if stored is None or stored.metadata.resource_version != instance.metadata.resource_version:
            self.seen = [stored]
            raise Outdated
        return stored
