"""Slots for operations: one limit for the process, and one for each namespace.

The next free slot goes to the namespace that got one least recently, so that a namespace with
hundreds of waiting operations delays another one by no more than its own share.
"""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_Waiting = asyncio.Future[None]


class Slots:
    """Limits the operations that run at the same time.

    Args:
        limit: Slots of the process.
        share: Slots that one namespace may hold.
    """

    def __init__(self, limit: int, share: int) -> None:
        self._free = limit
        self._share = share
        self._held: Counter[str] = Counter()
        # The namespace whose turn is next comes first.
        self._waiting: OrderedDict[str, deque[_Waiting]] = OrderedDict()

    def held(self) -> dict[str, int]:
        """Return how many slots each namespace holds."""
        return dict(self._held)

    def waiting(self) -> dict[str, int]:
        """Return how many operations of each namespace wait for a slot."""
        return {namespace: len(waiting) for namespace, waiting in self._waiting.items()}

    @asynccontextmanager
    async def taken(self, namespace: str) -> AsyncIterator[None]:
        """Hold a slot, once there is one."""
        await self._acquire(namespace)
        try:
            yield
        finally:
            self._release(namespace)

    async def _acquire(self, namespace: str) -> None:
        if self._may_have(namespace) and namespace not in self._waiting:
            self._hold(namespace)
            return
        granted: _Waiting = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(namespace, deque()).append(granted)
        try:
            await granted
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled():
                self._release(namespace)
            else:
                self._forget(namespace, granted)
            raise

    def _may_have(self, namespace: str) -> bool:
        return self._free > 0 and self._held[namespace] < self._share

    def _hold(self, namespace: str) -> None:
        self._free -= 1
        self._held[namespace] += 1

    def _release(self, namespace: str) -> None:
        self._free += 1
        self._held[namespace] -= 1
        if not self._held[namespace]:
            # Nothing is kept of idle namespaces: there may be very many of them.
            del self._held[namespace]
        self._grant_next()

    def _grant_next(self) -> None:
        for namespace, waiting in self._waiting.items():
            if self._may_have(namespace):
                granted = waiting.popleft()
                self._waiting.move_to_end(namespace)
                if not waiting:
                    del self._waiting[namespace]
                self._hold(namespace)
                granted.set_result(None)
                return

    def _forget(self, namespace: str, granted: _Waiting) -> None:
        waiting = self._waiting.get(namespace)
        if waiting is not None:
            waiting.remove(granted)
            if not waiting:
                del self._waiting[namespace]
