"""The work queue: one entry per key, never two workers on one key.

Invariants: a key that is added while it is being reconciled is requeued once its worker is done; a
key waits at most once, however often it is added; a failing key backs off without slowing others,
and related events (`nudge`) do not shorten its backoff; namespaces are served round-robin, none of
them occupies more than its share of the workers, and within one, Instances with a run in progress
come first (see `workers.queue`).
"""

import asyncio
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from kubeio.backoff import Backoff
from kudo_reconciler.common.keys import Key
from workers.queue import FairQueue, Usage

_BASE_SECONDS = 0.25
_CAP_SECONDS = 60.0


class QueueClosed(Exception):
    """The queue is closed; workers end."""


def namespace_limit(workers: int) -> int:
    """Return how many workers one namespace may occupy: three quarters, at least one."""
    return max(1, workers * 3 // 4)


class QueueObserver(Protocol):
    """Receives what happens to keys, for metrics."""

    def added(self) -> None:
        """Record that a key waits for a worker."""

    def retried(self) -> None:
        """Record that a key was requeued with backoff after a failure."""

    def waited(self, seconds: float) -> None:
        """Record how long a key waited for a worker."""


@dataclass
class WorkQueue:
    """A queue of keys that wait for a worker.

    Attributes:
        rng: Source of the jitter of the backoff.
        observer: Receives what happens to keys, for metrics.
        clock: Monotonic seconds.
        begun: Called when a key is added; returns whether its Instance has a run in progress.
        namespace_limit: How many keys of one namespace may be reconciled at the same time.
    """

    rng: random.Random = field(default_factory=random.Random)
    observer: QueueObserver | None = None
    clock: Callable[[], float] = time.monotonic
    begun: Callable[[Key], bool] = lambda _: False
    namespace_limit: int = sys.maxsize
    _ready: FairQueue[Key] = field(default_factory=FairQueue)
    _workers: Usage = field(init=False)
    _waiting: dict[Key, float] = field(default_factory=dict)
    _working: dict[Key, float] = field(default_factory=dict)
    _again: set[Key] = field(default_factory=set)
    _nudged: set[Key] = field(default_factory=set)
    _failures: dict[Key, Backoff] = field(default_factory=dict)
    _timers: dict[Key, asyncio.TimerHandle] = field(default_factory=dict)
    _event: asyncio.Event = field(default_factory=asyncio.Event)
    _closed: bool = False

    def __post_init__(self) -> None:
        self._workers = Usage(tenant_limit=self.namespace_limit)

    def __len__(self) -> int:
        return self._ready.waiting.total

    @property
    def closed(self) -> bool:
        return self._closed

    def queued(self) -> dict[str, int]:
        """Return how many keys of each namespace wait for a worker."""
        return self._ready.waiting.by_tenant()

    def working(self) -> dict[str, int]:
        """Return how many keys of each namespace are being reconciled."""
        return self._workers.by_tenant()

    def longest_running(self) -> float:
        """Return the age of the longest reconcile in progress, in seconds; from any thread."""
        # The list is created atomically, so the dictionary does not change meanwhile.
        began = list(self._working.values())
        return self.clock() - min(began) if began else 0.0

    def add(self, key: Key) -> None:
        """Enqueue the key for the next free worker."""
        if self._closed:
            return
        # It is reconciled sooner than the timer would have it.
        self._cancel_timer(key)
        if key in self._working:
            self._again.add(key)
        elif key not in self._waiting:
            self._waiting[key] = self.clock()
            self._ready.put(key.namespace, key, first=self.begun(key))
            if self.observer is not None:
                self.observer.added()
            self._event.set()

    def nudge(self, key: Key) -> None:
        """Enqueue the key, unless it failed and its retry is scheduled."""
        if key in self._working:
            self._nudged.add(key)
        elif key not in self._failures or key not in self._timers:
            self.add(key)

    def add_after(self, key: Key, seconds: float) -> None:
        """Enqueue the key after a delay, unless it is scheduled earlier."""
        if self._closed:
            return
        loop = asyncio.get_running_loop()
        timer = self._timers.get(key)
        if timer is not None and timer.when() <= loop.time() + seconds:
            return
        self._cancel_timer(key)
        self._timers[key] = loop.call_later(seconds, self.add, key)

    def retry(self, key: Key) -> float:
        """Requeue a failed key with backoff; return the delay in seconds.

        The delay doubles with each failure in a row, up to a minute, with jitter.
        """
        fresh = Backoff(_BASE_SECONDS, _CAP_SECONDS, least=0.5, rng=self.rng)
        delay = self._failures.setdefault(key, fresh).next()
        self.add_after(key, delay)
        if self.observer is not None:
            self.observer.retried()
        return delay

    def failures(self, key: Key) -> int:
        """Return how many times in a row a key has failed."""
        return self._failures[key].attempts if key in self._failures else 0

    def forget_failures(self, key: Key) -> None:
        self._failures.pop(key, None)

    async def get(self) -> Key:
        """Wait for a key and mark it as being reconciled; `done` must follow.

        Raises:
            QueueClosed: the queue was closed.
        """
        while (key := self._next()) is None:
            # No await lies between the look and this, so no key that is added can be missed.
            self._event.clear()
            await self._event.wait()
        self._workers.add(key.namespace)
        began = self._working[key] = self.clock()
        waited = began - self._waiting.pop(key)
        if self.observer is not None:
            self.observer.waited(waited)
        return key

    def _next(self) -> Key | None:
        if self._closed:
            raise QueueClosed
        return self._ready.take(self._workers.has_room)

    def done(self, key: Key) -> None:
        """Mark a key as reconciled; requeue it if it was added meanwhile."""
        if self._working.pop(key, None) is not None:
            self._workers.remove(key.namespace)
            # A namespace that had used its share may occupy a worker again.
            self._event.set()
        again, nudged = key in self._again, key in self._nudged
        self._again.discard(key)
        self._nudged.discard(key)
        if again:
            self.add(key)
        elif nudged:
            self.nudge(key)

    def close(self) -> None:
        """Let workers finish the reconciles in progress and then end."""
        self._closed = True
        for key in list(self._timers):
            self._cancel_timer(key)
        self._event.set()

    def _cancel_timer(self, key: Key) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
