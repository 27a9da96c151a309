"""The work queue: one entry a key, never two workers on one key.

Invariants: a key that is added while it is being worked on comes back once its worker is done; a
key waits at most once, however often it is added; a failing key backs off on its own and slows
nobody else, and what merely happens around it (`nudge`) does not shorten its backoff.
"""

import asyncio
import random
from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

_BASE_SECONDS = 0.25
_CAP_SECONDS = 60.0


class Key(NamedTuple):
    """The Instance to work on. It says where to look, never what has happened."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class QueueClosed(Exception):
    """The queue takes no more work; workers end."""


@dataclass
class WorkQueue:
    """Keys that wait for a worker.

    Attributes:
        rng: Source of the jitter of the backoff.
    """

    rng: random.Random = field(default_factory=random.Random)
    _ready: deque[Key] = field(default_factory=deque)
    _waiting: set[Key] = field(default_factory=set)
    _working: set[Key] = field(default_factory=set)
    _again: set[Key] = field(default_factory=set)
    _nudged: set[Key] = field(default_factory=set)
    _failures: dict[Key, int] = field(default_factory=dict)
    _timers: dict[Key, asyncio.TimerHandle] = field(default_factory=dict)
    _event: asyncio.Event = field(default_factory=asyncio.Event)
    _closed: bool = False

    def __len__(self) -> int:
        return len(self._ready)

    def add(self, key: Key) -> None:
        """Have the key worked on as soon as a worker is free."""
        if self._closed:
            return
        self._cancel_timer(key)
        if key in self._working:
            self._again.add(key)
        elif key not in self._waiting:
            self._waiting.add(key)
            self._ready.append(key)
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
        return delay

    def forget_failures(self, key: Key) -> None:
        self._failures.pop(key, None)

    async def get(self) -> Key:
        """Wait for a key and mark it as worked on; `done` must follow.

        Raises:
            QueueClosed: the queue was closed.
        """
        while not self._ready:
            if self._closed:
                raise QueueClosed
            self._event.clear()
            await self._event.wait()
        if self._closed:
            raise QueueClosed
        key = self._ready.popleft()
        self._waiting.discard(key)
        self._working.add(key)
        return key

    def done(self, key: Key) -> None:
        """Say that the worker has left the key."""
        self._working.discard(key)
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
