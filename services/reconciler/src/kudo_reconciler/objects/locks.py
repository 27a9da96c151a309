"""Per-key async locks."""

import asyncio
from collections.abc import Hashable
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

_Key = TypeVar("_Key", bound=Hashable)


class KeyedLocks(Generic[_Key]):
    """One lock for each key that is held or waited for; other keys use no memory."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[_Key, asyncio.Lock] = WeakValueDictionary()

    def of(self, key: _Key) -> asyncio.Lock:
        """Return the lock of a key; it stays the same object while anybody holds or awaits it."""
        return self._locks.setdefault(key, asyncio.Lock())
