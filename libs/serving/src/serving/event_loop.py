"""Measures how long each iteration of the event loop of a service takes.

A turn is one iteration: from the end of one `select` to the beginning of the next. While it lasts,
no other client is served. Its CPU time is that of the loop's thread alone, so unlike its wall clock
it does not depend on what else runs on the machine.
"""

import asyncio
import selectors
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from time import perf_counter, thread_time

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector


@dataclass(frozen=True, slots=True)
class Longest:
    """The largest values of any turn in a period, not necessarily of the same one.

    Attributes:
        wall: Seconds.
        cpu: Seconds of CPU of the loop's thread.
    """

    wall: float = 0.0
    cpu: float = 0.0


class Turns:
    """The longest turns of one loop. The loop adds to it, any thread may ask.

    Attributes:
        on_end: Called by the loop at the end of each turn; must be quick and must not raise.
    """

    def __init__(self) -> None:
        self.on_end: Callable[[], None] | None = None
        self._lock = threading.Lock()
        self._longest = Longest()

    def add(self, wall: float, cpu: float) -> None:
        """Count a turn."""
        longest = self._longest
        # Nearly every turn ends here, without a lock: a scrape in between makes it count or not.
        if wall <= longest.wall and cpu <= longest.cpu:
            return
        with self._lock:
            longest = self._longest
            self._longest = Longest(max(wall, longest.wall), max(cpu, longest.cpu))

    def take(self) -> Longest:
        """Return the longest since this was last called."""
        with self._lock:
            longest, self._longest = self._longest, Longest()
        return longest


class _TimedSelector(selectors.DefaultSelector):
    """Measures the time between two calls of `select`."""

    def __init__(self, turns: Turns) -> None:
        super().__init__()
        self._turns = turns
        self._began = self._cpu = -1.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        cpu = thread_time()
        if self._began >= 0.0:
            self._turns.add(perf_counter() - self._began, cpu - self._cpu)
            if self._turns.on_end is not None:
                self._turns.on_end()
        # Read once a turn, since it is a system call; what `select` itself takes counts, too.
        self._cpu = cpu
        try:
            return super().select(timeout)
        finally:
            self._began = perf_counter()


class TimedLoop(asyncio.SelectorEventLoop):
    """The usual event loop, measured.

    Attributes:
        turns: The longest turns.
    """

    def __init__(self) -> None:
        self.turns = Turns()
        super().__init__(_TimedSelector(self.turns))


class TurnCollector(Collector):
    """The metrics of the longest turns since the last scrape."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns

    def describe(self) -> Iterable[Metric]:
        """Return the metrics without taking anything."""
        return _families(Longest())

    def collect(self) -> Iterable[Metric]:
        """Return the metrics; the next call begins anew."""
        return _families(self._turns.take())


def follow_turns(registry: CollectorRegistry, on_end: Callable[[], None] | None = None) -> None:
    """Add the turns of the running loop to the metrics; nothing if it is no `TimedLoop`.

    Args:
        registry: What is scraped.
        on_end: Called at the end of each turn; must be quick and must not raise.
    """
    loop = asyncio.get_running_loop()
    if isinstance(loop, TimedLoop):
        registry.register(TurnCollector(loop.turns))
        loop.turns.on_end = on_end


def _families(longest: Longest) -> list[GaugeMetricFamily]:
    return [
        GaugeMetricFamily(
            "kudo_event_loop_turn_seconds_max",
            "Longest time of one iteration of the event loop since the last scrape.",
            value=longest.wall,
        ),
        GaugeMetricFamily(
            "kudo_event_loop_turn_cpu_seconds_max",
            "Most CPU time of one iteration of the event loop since the last scrape.",
            value=longest.cpu,
        ),
    ]
