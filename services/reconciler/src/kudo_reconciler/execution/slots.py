"""Slots for operations: one limit for the process, and one for each namespace.

Invariants: half of the slots are given only to namespaces that hold none, one to each, or whose
last operation was quick; the last eighth only to the former. So namespaces whose calls hang keep
one slot each once the other half is used, and whoever comes finds a free one. The next free slot
goes to the namespace that got one least recently, so that a namespace with hundreds of waiting
operations delays another one by no more than its own share. A holder that is cancelled, also while
it waits, gives its slot back without another `await`.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from kudo_reconciler.common.clock import loop_seconds
from workers.fair_queue import FairQueue, Usage

_QUICK_SECONDS: Final = 1.0
"""An operation takes a few requests of milliseconds; one that hangs takes ten times this."""

_Waiting = tuple[str, asyncio.Future[None]]
"""A namespace, and what is done once it has a slot for an operation."""


class Slots:
    """Limits the operations that run at the same time.

    Args:
        limit: Slots of the process.
        share: Slots that one namespace may hold.
        on_wait: Called with the seconds that an operation has waited, once it has its slot.
    """

    def __init__(
        self, limit: int, share: int, on_wait: Callable[[float], None] = lambda _: None
    ) -> None:
        self._limit = limit
        self._share = share
        # A share above one half is what somebody has chosen.
        self._reserved = min(limit // 2, limit - share)
        self._reserved_of_quick = self._reserved // 4
        # Those that hold a slot, or wait for one, whose last operation was quick.
        self._quick: set[str] = set()
        self._on_wait = on_wait
        self._held = Usage()
        self._queue: FairQueue[_Waiting] = FairQueue()

    @property
    def running(self) -> int:
        """Return how many slots are held; from any thread."""
        return self._held.total

    @property
    def queued(self) -> int:
        """Return how many operations wait for a slot; from any thread."""
        return self._queue.waiting.total

    def held(self) -> dict[str, int]:
        """Return how many slots each namespace holds."""
        return self._held.by_tenant()

    def waiting(self) -> dict[str, int]:
        """Return how many operations of each namespace wait for a slot."""
        return self._queue.waiting.by_tenant()

    @asynccontextmanager
    async def taken(
        self, namespace: str, on_queue: Callable[[], None] = lambda: None
    ) -> AsyncIterator[None]:
        """Hold a slot, once there is one; `on_queue` is called if there is none yet."""
        began, granted = loop_seconds(), asyncio.get_running_loop().create_future()
        self._queue.put(namespace, (namespace, granted))
        try:
            self._grant()
            if not granted.done():
                on_queue()
            await granted
            self._on_wait(loop_seconds() - began)
            began = loop_seconds()
            yield
        finally:
            # A future that is cancelled after its slot was granted has its result all the same.
            if granted.done() and not granted.cancelled():
                self._release(namespace, quick=loop_seconds() - began < _QUICK_SECONDS)
            else:
                self._queue.discard(namespace, (namespace, granted))
            self._grant()
            if not self._held[namespace]:
                # Nothing is kept of idle namespaces: there may be very many of them.
                self._quick.discard(namespace)

    def _grant(self) -> None:
        """Give the free slots to those who may have them."""
        while self.running < self._limit and (taken := self._queue.take(self._may_have)):
            namespace, granted = taken
            # A cancelled one, whose task has not noticed yet, needs none.
            if not granted.done():
                self._held.add(namespace)
                granted.set_result(None)

    def _may_have(self, namespace: str) -> bool:
        held = self._held[namespace]
        reserved = self._reserved_of_quick if namespace in self._quick else self._reserved
        return not held or (held < self._share and self._limit - self.running > reserved)

    def _release(self, namespace: str, *, quick: bool) -> None:
        self._held.remove(namespace)
        if quick:
            self._quick.add(namespace)
        else:
            self._quick.discard(namespace)
