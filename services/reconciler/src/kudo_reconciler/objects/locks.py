"""Turns: of those who want to work on one thing, one after the other."""

import asyncio
from collections.abc import Hashable
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

_Thing = TypeVar("_Thing", bound=Hashable)


class Turns(Generic[_Thing]):
    """A lock for each thing that somebody works on or waits for."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[_Thing, asyncio.Lock] = WeakValueDictionary()

    def of(self, thing: _Thing) -> asyncio.Lock:
        """Return the lock of a thing; it is the same one as long as anybody holds it."""
        return self._locks.setdefault(thing, asyncio.Lock())
