"""Warns of entries on record that no plan can have made."""

from dataclasses import dataclass, field

from kudo.api.identity import InstanceIdentity
from kudo_reconciler.common.keys import Key
from kudo_reconciler.events.writer import EventRecorder
from kudo_reconciler.store.inventories import InventoryStore


@dataclass(frozen=True, slots=True)
class IgnoredEntries:
    """Tells how many entries of the record of an Instance are left out."""

    inventories: InventoryStore
    events: EventRecorder
    _told: dict[Key, tuple[str, int]] = field(default_factory=dict)
    """uid of the Instance and number of entries; each task of a run asks at each turn."""

    def tell(self, one: InstanceIdentity) -> None:
        """Queue the Warning if entries are left out; once for each number of them.

        The next write drops them, so it is told before that.
        """
        key, number = Key(one.namespace, one.name), self.inventories.ignored(one)
        if not number:
            self.forget(key)
        elif self._told.get(key) != (one.uid, number):
            self._told[key] = one.uid, number
            self.events.note(one, one.uid, "Warning", "InventoryIgnored", _text(number))

    def forget(self, key: Key) -> None:
        """Forget what was told of an Instance that does not exist any more."""
        self._told.pop(key, None)


def _text(number: int) -> str:
    what = "entry" if number == 1 else "entries"
    return f"{number} {what} of its Inventories left out: no plan can have made them"
