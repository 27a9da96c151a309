"""What shares the event loop and the worker processes: paced loops, locks, the interface of jobs.

A tenant may send some thousand items (`kudo.api.bounds`), and while a loop goes over them nobody
else is served. What is done at once takes about a millisecond, since each operation in progress may
do so much in one turn of the event loop: 16 of a namespace, 64 in all.
"""

import asyncio
from collections.abc import AsyncIterator, Hashable, Iterable
from typing import Final, Generic, Protocol, TypeVar
from weakref import WeakValueDictionary

AT_ONCE: Final = 100
"""Items that take about 10 µs each, such as entries of a record."""
FEW_AT_ONCE: Final = 10
"""Items that take up to 100 µs each, such as objects whose health is computed."""

T = TypeVar("T")


async def paced(items: Iterable[T], at_once: int = AT_ONCE) -> AsyncIterator[T]:
    """Yield items; the event loop may run other tasks after every `at_once` of them."""
    for number, item in enumerate(items, 1):
        yield item
        if number % at_once == 0:
            await asyncio.sleep(0)


_Key = TypeVar("_Key", bound=Hashable)


class KeyedLocks(Generic[_Key]):
    """One lock for each key that is held or waited for; other keys use no memory."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[_Key, asyncio.Lock] = WeakValueDictionary()

    def of(self, key: _Key) -> asyncio.Lock:
        """Return the lock of a key; it stays the same object while anybody holds or awaits it."""
        return self._locks.setdefault(key, asyncio.Lock())


class Jobs(Protocol):
    """Runs jobs; see `workers.Pool.call`."""

    async def call(
        self,
        handler: str,
        payload: bytes,
        *,
        tenant: str,
        cpu: float | None = None,
        wall: float | None = None,
    ) -> bytes:
        """Run a job; raises `WorkerError`."""
