"""Cache of parsed Instances: each state is parsed once."""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from kudo.api import Instance, JsonObject
from kudo_reconciler.common.keys import Key

_KEPT: Final = 128
"""Number of Instances; those being reconciled are read again and again."""


@dataclass(slots=True)
class ParsedInstances:
    """The most recently used Instances, by the cached object that they were parsed from.

    Not by resourceVersion: after a restore of etcd one may be used a second time.
    """

    _items: OrderedDict[Key, tuple[JsonObject, Instance]] = field(default_factory=OrderedDict)

    def of(self, key: Key, cached: JsonObject) -> Instance:
        """Return the Instance parsed from a cached object."""
        found = self._items.get(key)
        if found is not None and found[0] is cached:
            self._items.move_to_end(key)
            return found[1]
        instance = Instance.from_wire(cached)
        self.put(key, cached, instance)
        return instance

    def put(self, key: Key, cached: JsonObject, instance: Instance) -> None:
        """Store an Instance and drop the least recently used one."""
        self._items[key] = cached, instance
        self._items.move_to_end(key)
        if len(self._items) > _KEPT:
            self._items.popitem(last=False)

    def forget(self, key: Key) -> None:
        self._items.pop(key, None)
