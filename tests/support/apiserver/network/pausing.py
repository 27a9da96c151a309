"""An event loop in simulated time that can hold up one process while the others go on."""

import asyncio
import heapq
from typing import Any

from tests.support.apiserver.network.process import Process, process_of
from tests.support.loops.virtual_loop import VirtualLoop


class PausableLoop(VirtualLoop):
    """Runs no callback of a paused process, as if it had got SIGSTOP; its timers run out.

    What it has sent is under way, and what it is sent waits for it.
    """

    _ready: Any
    _scheduled: Any

    def __init__(self, now: float = 0.0) -> None:
        super().__init__(now)
        self._held: dict[Process, list[asyncio.Handle]] = {}

    def pause(self, process: Process) -> None:
        """Hold a process up from the next iteration on."""
        process.paused = True
        self._held.setdefault(process, [])

    def resume(self, process: Process) -> None:
        """Let a process go on with all that has come for it."""
        process.paused = False
        self._ready.extend(self._held.pop(process, ()))

    def _process_events(self, events: list[Any]) -> None:
        # The base class calls this before it takes the timers that are due, and runs both.
        super()._process_events(events)
        if self._held:
            self._take_timers()
            self._hold()

    def _take_timers(self) -> None:
        end = self.time() + self._clock_resolution
        while self._scheduled and self._scheduled[0].when() < end:
            timer = heapq.heappop(self._scheduled)
            timer._scheduled = False
            self._ready.append(timer)

    def _hold(self) -> None:
        for _ in range(len(self._ready)):
            handle = self._ready.popleft()
            process = process_of(handle._context)
            if process in self._held:
                self._held[process].append(handle)
            else:
                self._ready.append(handle)
