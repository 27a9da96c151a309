"""Slots for operations: one limit for the process, and one for each namespace.

Invariants: half of the slots are given only to namespaces that hold none, one to each, or whose
last operation was quick; the last eighth only to the former. So namespaces whose calls hang keep
one slot each once the other half is used, and whoever comes finds a free one. The next free slot
goes to the namespace that got one least recently, so that a namespace with hundreds of waiting
operations delays another one by no more than its own share. A holder that is cancelled, also while
it waits, gives its slot back without another `await`.
"""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

_QUICK_SECONDS: Final = 1.0
"""An operation takes a few requests of milliseconds; one that hangs takes ten times this."""

_Waiting = asyncio.Future[None]


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
        self._limit = self._free = limit
        self._share = share
        # A share above one half is what somebody has chosen.
        self._reserved = min(limit // 2, limit - share)
        self._reserved_of_quick = self._reserved // 4
        # Those that hold a slot, or wait for one, whose last operation was quick.
        self._quick: set[str] = set()
        self._on_wait = on_wait
        self._held: Counter[str] = Counter()
        # The namespace whose turn is next comes first.
        self._waiting: OrderedDict[str, deque[_Waiting]] = OrderedDict()

    @property
    def running(self) -> int:
        """Return how many slots are held; from any thread."""
        return self._limit - self._free

    @property
    def queued(self) -> int:
        """Return how many operations wait for a slot; from any thread."""
        # Copied at once, so that the dictionary does not change meanwhile.
        return sum(map(len, tuple(self._waiting.values())))

    def held(self) -> dict[str, int]:
        """Return how many slots each namespace holds."""
        return dict(self._held)

    def waiting(self) -> dict[str, int]:
        """Return how many operations of each namespace wait for a slot."""
        return {namespace: len(waiting) for namespace, waiting in self._waiting.items()}

    @asynccontextmanager
    async def taken(
        self, namespace: str, on_queue: Callable[[], None] = lambda: None
    ) -> AsyncIterator[None]:
        """Hold a slot, once there is one; `on_queue` is called if there is none yet."""
        loop = asyncio.get_running_loop()
        began, granted = loop.time(), loop.create_future()
        self._waiting.setdefault(namespace, deque()).append(granted)
        try:
            self._grant()
            if not granted.done():
                on_queue()
            await granted
            self._on_wait(loop.time() - began)
            began = loop.time()
            yield
        finally:
            # A future that is cancelled after its slot was granted has its result all the same.
            if granted.done() and not granted.cancelled():
                self._release(namespace, quick=loop.time() - began < _QUICK_SECONDS)
            else:
                self._forget(namespace, granted)
            self._grant()
            if namespace not in self._held:
                # Nothing is kept of idle namespaces: there may be very many of them.
                self._quick.discard(namespace)

    def _grant(self) -> None:
        """Give the free slots to those who may have them."""
        while (namespace := self._next()) is not None:
            granted = self._waiting[namespace].popleft()
            self._waiting.move_to_end(namespace)
            if not self._waiting[namespace]:
                del self._waiting[namespace]
            # A cancelled one, whose task has not noticed yet, needs none.
            if not granted.done():
                self._free -= 1
                self._held[namespace] += 1
                granted.set_result(None)

    def _next(self) -> str | None:
        if not self._free:
            return None
        return next((name for name in self._waiting if self._may_have(name)), None)

    def _may_have(self, namespace: str) -> bool:
        held = self._held[namespace]
        reserved = self._reserved_of_quick if namespace in self._quick else self._reserved
        return not held or (held < self._share and self._free > reserved)

    def _release(self, namespace: str, *, quick: bool) -> None:
        self._free += 1
        self._held[namespace] -= 1
        if not self._held[namespace]:
            del self._held[namespace]
        if quick:
            self._quick.add(namespace)
        else:
            self._quick.discard(namespace)

    def _forget(self, namespace: str, granted: _Waiting) -> None:
        waiting = self._waiting.get(namespace)
        if waiting is not None and granted in waiting:
            waiting.remove(granted)
            if not waiting:
                del self._waiting[namespace]
