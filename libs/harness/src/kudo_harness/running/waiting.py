"""Waits for conditions, and ends a run after signals: the first the run, the second its cleanup."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final


async def until(condition: Callable[[], Awaitable[bool]], *, every: float) -> None:
    """Wait until a condition holds; callers give it a time limit.

    Args:
        condition: Looks whether it holds.
        every: Seconds between two looks.
    """
    while True:
        if await condition():
            return
        await asyncio.sleep(every)


_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(slots=True)
class Interruption:
    """Counts signals and cancels what runs.

    Attributes:
        received: Number of signals.
        on_signal: Is told that number after each signal.
    """

    received: int = 0
    on_signal: Callable[[int], None] = lambda _: None
    _running: list[asyncio.Task[None]] = field(default_factory=list)
    _endured: int = 0

    def signal(self) -> None:
        """Count a signal, and cancel what runs unless it endures so many."""
        self.received += 1
        self.on_signal(self.received)
        if self.received > self._endured:
            for task in self._running:
                task.cancel()

    async def until_interrupted(self, work: Coroutine[Any, Any, None], *, endures: int = 0) -> bool:
        """Do some work; return False if a signal ended it.

        Args:
            work: The work; each further signal cancels it once more.
            endures: Signals in all that do not end it: 1 for the cleanup after a run.
        """
        if self.received > endures:
            work.close()
            return False
        self._endured = endures
        try:
            # A task group does not pass on that one of its tasks was cancelled.
            async with asyncio.TaskGroup() as group:
                task = group.create_task(work, name="interruptible")
                self._running.append(task)
                task.add_done_callback(self._running.remove)
        except ExceptionGroup as errors:
            # Callers expect an error of the work, and not a group for each group inside of it.
            first: Exception = errors
            while isinstance(first, ExceptionGroup):
                first = first.exceptions[0]
            raise first from first.__cause__
        return not task.cancelled()


@contextmanager
def listening(interruption: Interruption) -> Iterator[None]:
    """Pass SIGINT, SIGTERM and SIGHUP of this process to an interruption.

    A SIGHUP that is ignored stays so: `nohup` lets a run go on when its terminal is closed.
    """
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    if before[signal.SIGHUP] == signal.SIG_IGN:
        del before[signal.SIGHUP]
    for number in before:
        loop.add_signal_handler(number, interruption.signal)
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)
