"""The records that were asked for last, whole: putting them together takes time, runs ask often."""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from kudo.api import JsonObject
from kudo.objects.inventory.record import Record

MOST: Final = 100_000
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
        known = self._kept.get(uid)
        if known is None or list(map(id, known[0])) != list(map(id, inventories)):
            return None
        self._kept.move_to_end(uid)
        return known[1]

    def put(self, uid: str, inventories: list[JsonObject], record: Record) -> None:
        """Keep a record, and drop those that were asked for least recently."""
        self._drop(uid)
        self._kept[uid] = inventories, record
        self._entries += _size(record)
        while self._entries > MOST and len(self._kept) > 1:
            self._drop(next(iter(self._kept)))

    def clear(self) -> None:
        self._kept.clear()
        self._entries = 0

    def _drop(self, uid: str) -> None:
        found = self._kept.pop(uid, None)
        if found is not None:
            self._entries -= _size(found[1])


def _size(record: Record) -> int:
    """Return the number of entries; a record takes some memory without any."""
    return len(record) + 1
