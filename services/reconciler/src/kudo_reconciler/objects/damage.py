"""What is wrong in the Inventories of an Instance: changes by others, entries of no plan.

Only the reconciler writes Inventories. A change of somebody else is taken back by the next write;
if none comes, the Instance is enqueued for one, at most every 30 seconds, so that two writers do
not fight without end. Entries that no plan can have made are left out when they are read, and the
next write drops them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from kudo.api.identity import InstanceIdentity
from kudo.objects.inventory.record import Entry, Place, Record
from kudo_reconciler.common.clock import loop_seconds
from kudo_reconciler.common.keys import Key
from kudo_reconciler.events.writer import EventRecorder
from kudo_reconciler.store.inventories import InventoryStore

SECONDS: Final = 30.0
"""Between two writes that do nothing but restore the record of an Instance."""
_MOST: Final = 1000
"""Instances whose last restoration is remembered."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a record by somebody else.

    Attributes:
        uid: Of the Instance.
        entries: By object what was on record before, and after it; None for nothing.
        complete: Whether the record was complete, before and after it.
    """

    uid: str
    entries: Mapping[Place, tuple[Entry | None, Entry | None]]
    complete: tuple[bool, bool]

    def repaired(self, record: Record) -> Record:
        """Return a record without the change; what was written since stays."""
        still = {
            place: before
            for place, (before, after) in self.entries.items()
            # What was written since is newer than the change, and stays.
            if record.get(place) == after
        }
        removed = [place for place, before in still.items() if before is None]
        restored = record.without(removed).merged(filter(None, still.values()))
        before, after = self.complete
        return replace(restored, complete=before) if record.complete == after else restored

    def following(self, earlier: "Change") -> "Change":
        """Return an earlier change and this one as one."""
        entries = dict(earlier.entries)
        for place, (before, after) in self.entries.items():
            first, between = entries.get(place, (before, before))
            entries[place] = (first if between == before else before, after)
        complete = self.complete
        if earlier.complete[1] == complete[0]:
            complete = earlier.complete[0], complete[1]
        return Change(self.uid, entries, complete)


@dataclass(slots=True)
class Damage:
    """The changes that are not restored, by Instance."""

    _found: dict[Key, Change] = field(default_factory=dict)
    _restored: dict[Key, float] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._found)

    def of(self, owner: InstanceIdentity) -> Change | None:
        change = self._found.get(_key(owner))
        return change if change is not None and change.uid == owner.uid else None

    def add(self, owner: InstanceIdentity, before: Record, after: Record) -> None:
        """Record that somebody else has changed the record of an Instance."""
        places = dict.fromkeys([*before.entries, *after.entries])
        states = {place: (before.get(place), after.get(place)) for place in places}
        differing = {place: pair for place, pair in states.items() if pair[0] != pair[1]}
        change = Change(owner.uid, differing, (before.complete, after.complete))
        earlier = self.of(owner)
        self._found[_key(owner)] = change if earlier is None else change.following(earlier)

    def is_repaired(self, owner: InstanceIdentity, change: Change) -> None:
        """Forget a change that was restored, unless another one came meanwhile."""
        # By identity: a change that came during the write is not restored yet.
        if self.of(owner) is change:
            del self._found[_key(owner)]

    def forget(self, key: Key) -> None:
        """Forget the change of a record that nobody needs."""
        self._found.pop(key, None)

    def wait(self, key: Key) -> float:
        """Return the seconds until the record of an Instance may be restored again."""
        # By the clock of the event loop: that of the machine may be set back.
        return max(0.0, self._restored.get(key, float("-inf")) + SECONDS - loop_seconds())

    def tried(self, key: Key) -> None:
        """Remember that the record of an Instance is restored now."""
        # Moved to the end, so that the oldest is the first to be forgotten.
        self._restored.pop(key, None)
        self._restored[key] = loop_seconds()
        if len(self._restored) > _MOST:
            del self._restored[next(iter(self._restored))]


def _key(owner: InstanceIdentity) -> Key:
    return Key(owner.namespace, owner.name)


@dataclass(frozen=True, slots=True)
class IgnoredEntries:
    """Tells how many entries of the record of an Instance are left out."""

    inventories: InventoryStore
    events: EventRecorder
    _told: dict[Key, tuple[str, int]] = field(default_factory=dict)
    """uid of the Instance and number of entries; each task of a run asks at each turn."""

    def tell(self, owner: InstanceIdentity) -> None:
        """Queue the Warning if entries are left out; once for each number of them.

        The next write drops them, so it is told before that.
        """
        key, number = Key(owner.namespace, owner.name), self.inventories.ignored(owner)
        if not number:
            self.forget(key)
        elif self._told.get(key) != (owner.uid, number):
            self._told[key] = owner.uid, number
            self.events.note(owner, owner.uid, "Warning", "InventoryIgnored", _text(number))

    def forget(self, key: Key) -> None:
        """Forget what was told of an Instance that does not exist any more."""
        self._told.pop(key, None)


def _text(number: int) -> str:
    what = "entry" if number == 1 else "entries"
    return f"{number} {what} of its Inventories left out: no plan can have made them"
