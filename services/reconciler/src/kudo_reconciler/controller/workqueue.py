"""The work queue: one entry a key, never two workers on one key.

Invariants: a key that is added while it is being worked on comes back once its worker is done; a
key waits at most once, however often it is added; a failing key backs off on its own and slows
nobody else, and what merely happens around it (`nudge`) does not shorten its backoff; namespaces
are served round-robin, none of them has more than its share of the workers, and within one a run
that has begun goes before one that has not (see `fair_queue`).
"""

import asyncio
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from kudo_reconciler.fair_queue import FairQueue
from kudo_reconciler.keys import Key

_BASE_SECONDS = 0.25
_CAP_SECONDS = 60.0


class QueueClosed(Exception):
    """The queue takes no more work; workers end."""


def namespace_limit(workers: int) -> int:
    """Return how many of the workers one namespace may have: three quarters, at least one."""
    return max(1, workers * 3 // 4)


class QueueObserver(Protocol):
    """Told of what happens to keys."""

    def added(self) -> None:
        """Note that a key began to wait for a worker."""

    def retried(self) -> None:
        """Note that a key was put off after a failure."""

    def waited(self, seconds: float) -> None:
        """Note that a worker took a key that waited so long."""


@dataclass
class WorkQueue:
    """Keys that wait for a worker.

    Attributes:
        rng: Source of the jitter of the backoff.
        observer: Told of what happens, for metrics.
        clock: Monotonic seconds.
        begun: Says when a key is added whether its Instance has a run that has begun.
        namespace_limit: How many keys of one namespace may be worked on at the same time.
    """

    rng: random.Random = field(default_factory=random.Random)
    observer: QueueObserver | None = None
    clock: Callable[[], float] = time.monotonic
    begun: Callable[[Key], bool] = lambda _: False
    namespace_limit: int = sys.maxsize
    _ready: FairQueue = field(init=False)
    _waiting: dict[Key, float] = field(default_factory=dict)
    _working: dict[Key, float] = field(default_factory=dict)
    _again: set[Key] = field(default_factory=set)
    _nudged: set[Key] = field(default_factory=set)
    _failures: dict[Key, int] = field(default_factory=dict)
    _timers: dict[Key, asyncio.TimerHandle] = field(default_factory=dict)
    _event: asyncio.Event = field(default_factory=asyncio.Event)
    _closed: bool = False

    def __post_init__(self) -> None:
        self._ready = FairQueue(limit=self.namespace_limit)

    def __len__(self) -> int:
        return len(self._ready)

    @property
    def closed(self) -> bool:
        return self._closed

    def longest_running(self) -> float:
        """Return for how many seconds a worker has held its key at most; from any thread."""
        # One step of the interpreter makes the list, so no worker comes or goes meanwhile.
        began = list(self._working.values())
        return self.clock() - min(began) if began else 0.0

    def add(self, key: Key) -> None:
        """Have the key worked on as soon as a worker is free."""
        if self._closed:
            return
        self._cancel_timer(key)
        if key in self._working:
            self._again.add(key)
        elif key not in self._waiting:
            self._waiting[key] = self.clock()
            self._ready.put(key, first=self.begun(key))
            if self.observer is not None:
                self.observer.added()
            self._event.set()

    def nudge(self, key: Key) -> None:
        """Have the key worked on soon, unless it failed and has an appointment to be retried."""
        if key in self._working:
            self._nudged.add(key)
        elif key not in self._failures or key not in self._timers:
            self.add(key)

    def add_after(self, key: Key, seconds: float) -> None:
        """Have the key worked on after a delay; an earlier appointment stands."""
        if self._closed:
            return
        loop = asyncio.get_running_loop()
        appointment = self._timers.get(key)
        if appointment is not None and appointment.when() <= loop.time() + seconds:
            return
        self._cancel_timer(key)
        self._timers[key] = loop.call_later(seconds, self.add, key)

    def retry(self, key: Key) -> float:
        """Have a failed key tried again; return the delay in seconds.

        The delay grows with each failure in a row, up to a minute, and is jittered.
        """
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        ceiling = min(_CAP_SECONDS, _BASE_SECONDS * (1 << min(failures, 16)))
        delay = ceiling * (0.5 + self.rng.random() / 2)
        self.add_after(key, delay)
        if self.observer is not None:
            self.observer.retried()
        return delay

    def forget_failures(self, key: Key) -> None:
        self._failures.pop(key, None)

    async def get(self) -> Key:
        """Wait for a key and mark it as worked on; `done` must follow.

        Raises:
            QueueClosed: the queue was closed.
        """
        while (key := self._next()) is None:
            self._event.clear()
            await self._event.wait()
        began = self._working[key] = self.clock()
        waited = began - self._waiting.pop(key)
        if self.observer is not None:
            self.observer.waited(waited)
        return key

    def _next(self) -> Key | None:
        if self._closed:
            raise QueueClosed
        return self._ready.take()

    def done(self, key: Key) -> None:
        """Say that the worker has left the key."""
        if self._working.pop(key, None) is not None:
            self._ready.give_back(key)
            # Another key of a namespace that had its share may be taken now.
            self._event.set()
        again, nudged = key in self._again, key in self._nudged
        self._again.discard(key)
        self._nudged.discard(key)
        if again:
            self.add(key)
        elif nudged:
            self.nudge(key)

    def close(self) -> None:
        """Let workers finish what they hold and then end."""
        self._closed = True
        for key in list(self._timers):
            self._cancel_timer(key)
        self._event.set()

    def _cancel_timer(self, key: Key) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
