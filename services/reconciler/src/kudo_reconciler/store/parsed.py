"""Instances parsed once for each of their states."""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from kudo.api import Instance, JsonObject
from kudo_reconciler.keys import Key

_KEPT: Final = 128
"""So many Instances; those that are worked on are asked for again and again."""


@dataclass(slots=True)
class ParsedInstances:
    """The Instances that were used last, by the object of the cache that they were parsed from.

    A resourceVersion would not do: after a restore of etcd one may come a second time.
    """

    _items: OrderedDict[Key, tuple[JsonObject, Instance]] = field(default_factory=OrderedDict)

    def of(self, key: Key, cached: JsonObject) -> Instance:
        """Return the Instance of an object of the cache."""
        found = self._items.get(key)
        if found is not None and found[0] is cached:
            self._items.move_to_end(key)
            return found[1]
        instance = Instance.from_wire(cached)
        self.put(key, cached, instance)
        return instance

    def put(self, key: Key, cached: JsonObject, instance: Instance) -> None:
        """Keep an Instance; the one that was not used for longest goes."""
        self._items[key] = cached, instance
        self._items.move_to_end(key)
        if len(self._items) > _KEPT:
            self._items.popitem(last=False)

    def forget(self, key: Key) -> None:
        self._items.pop(key, None)
