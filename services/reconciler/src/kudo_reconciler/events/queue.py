"""Queue of events: bounded, in order for each Instance, fair between namespaces.

The start and end events of runs have capacity of their own, apart from that of all other events, so
that a burst of warnings never displaces them. An Instance whose event has to be retried waits
without occupying a writer, and its later events wait with it.
"""

import asyncio
from collections import Counter, deque
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from kubeio.backoff import Backoff
from kudo.api.identity import InstanceIdentity
from kudo_reconciler.common.clock import loop_seconds
from kudo_reconciler.common.concurrency import USUAL, Fairness
from kudo_reconciler.common.keys import Key
from serving.namespaces import Tally
from workers.queue import FairQueue, Usage

_LAST_DELAY = 0.2
"""In seconds, once the queue is closed."""

Severity = Literal["Normal", "Warning"]


class EventsWritten(Exception):
    """The queue is closed and empty; writers end."""


@dataclass(frozen=True, slots=True)
class Event:
    """An event of an Instance that is to be written.

    Attributes:
        of_run: Whether it is the start or end event of a run.
        probe: Whether it is sent although its namespace rejected an event while it was being
        deleted.
    """

    subject: InstanceIdentity
    name: str
    severity: Severity
    reason: str
    message: str
    moment: datetime
    of_run: bool
    probe: bool

    @property
    def key(self) -> Key:
        return Key(self.subject.namespace, self.subject.name)


@dataclass(slots=True)
class Waiting:
    """An event in the queue.

    Attributes:
        since: Seconds of the event loop's clock.
        backoff: The delays between attempts to write it.
    """

    event: Event
    since: float
    backoff: Backoff


class EventQueue:
    """Holds events until they are written or dropped.

    Args:
        fairness: How many events may wait, and how many Instances of one namespace may be with
            writers at the same time.
        refused: Counts the events for which there was no room.
    """

    def __init__(self, fairness: Fairness = USUAL, refused: Tally | None = None) -> None:
        self._refused = refused or Tally()
        self._events: dict[Key, deque[Waiting]] = {}
        self._names: set[tuple[str, str]] = set()
        # Of the start and end events of runs, and of all others.
        self._held = {
            True: Usage(fairness.run_events.total, fairness.run_events.namespace),
            False: Usage(fairness.other_events.total, fairness.other_events.namespace),
        }
        self._ready: FairQueue[Key] = FairQueue()
        self._writing = Usage(tenant_limit=fairness.event_writers.namespace)
        self._timers: dict[Key, asyncio.TimerHandle] = {}
        self._changed = asyncio.Event()
        self._left = asyncio.Event()
        self._closed = False

    def __len__(self) -> int:
        """Return how many events wait or are being written."""
        return len(self._names)

    def waiting(self) -> Counter[str]:
        """Return how many events of each namespace wait or are being written."""
        return sum((Counter(held.by_tenant()) for held in self._held.values()), Counter())

    def put(self, event: Event, backoff: Backoff) -> bool:
        """Add an event unless it waits already; return False if there is no room for it."""
        namespace = event.subject.namespace
        if (namespace, event.name) in self._names:
            return True
        if self._closed:
            return False
        held = self._held[event.of_run]
        if not held.has_room(namespace):
            self._refused.add(namespace)
            return False
        held.add(namespace)
        self._names.add((namespace, event.name))
        waiting = Waiting(event, loop_seconds(), backoff)
        queue = self._events.get(event.key)
        if queue is not None:
            queue.append(waiting)
            return True
        self._events[event.key] = deque([waiting])
        self._make_ready(event.key)
        return True

    async def get(self) -> Waiting:
        """Wait for the next event; `done` or `put_off` must follow.

        Raises:
            EventsWritten: the queue was closed, and nothing waits any more.
        """
        while (key := self._ready.take(self._writing.has_room)) is None:
            if self._closed and not self._events:
                raise EventsWritten
            self._changed.clear()
            await self._changed.wait()
        self._writing.add(key.namespace)
        return self._events[key][0]

    def done(self, waiting: Waiting) -> None:
        """Record that an event was written or dropped; the next one of its Instance may follow."""
        event = waiting.event
        queue = self._events[event.key]
        queue.popleft()
        self._names.discard((event.subject.namespace, event.name))
        self._held[event.of_run].remove(event.subject.namespace)
        self._writing.remove(event.subject.namespace)
        if queue:
            self._make_ready(event.key)
        else:
            del self._events[event.key]
        self._left.set()
        self._changed.set()

    def put_off(self, waiting: Waiting, seconds: float) -> None:
        """Retry an event after a delay."""
        key = waiting.event.key
        self._writing.remove(key.namespace)
        loop = asyncio.get_running_loop()
        if self._closed:
            # The term ends before a longer delay would.
            seconds = min(seconds, _LAST_DELAY)
        self._timers[key] = loop.call_later(seconds, self._retry, key)
        self._changed.set()

    def runs_unwritten(self, key: Key) -> list[float]:
        """Return since when start and end events of an Instance have waited, oldest first."""
        return [waiting.since for waiting in self._events.get(key, ()) if waiting.event.of_run]

    async def shorter_than(self, length: int) -> None:
        """Wait until fewer events are in the queue."""
        while len(self) >= length:
            self._left.clear()
            await self._left.wait()

    def close(self) -> None:
        """Accept no more events, and let writers end once all are written; nothing is delayed."""
        self._closed = True
        for key in list(self._timers):
            self._timers[key].cancel()
            self._retry(key)
        self._changed.set()

    def drop(self) -> list[Event]:
        """Close the queue and empty it; return what was in it."""
        self._closed = True
        for timer in self._timers.values():
            timer.cancel()
        dropped = [waiting.event for queue in self._events.values() for waiting in queue]
        self._timers.clear()
        self._events.clear()
        self._names.clear()
        self._left.set()
        self._changed.set()
        return dropped

    def _retry(self, key: Key) -> None:
        del self._timers[key]
        self._make_ready(key)

    def _make_ready(self, key: Key) -> None:
        self._ready.put(key.namespace, key)
        self._changed.set()
