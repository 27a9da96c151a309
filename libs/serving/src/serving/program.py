"""Runs a service until a signal ends it; expected errors become one log line and an exit code.

Full garbage collections are kept short, however much is cached: one visits every live container, on
the thread that happens to allocate, and blocks the event loop for some 40 ms for each 100,000
containers, which is a cache of a few thousand objects. Nearly all of them stay alive, and are freed
by reference counts. So the containers that survive a full collection are left out of the next ones
(`gc.freeze`) until their number has doubled.
"""

import asyncio
import contextlib
import gc
import logging
import os
import resource
import signal
from collections.abc import Awaitable, Callable
from typing import Final, Literal

from serving.event_loop import TimedLoop

log = logging.getLogger(__name__)


def stop_on_signals() -> asyncio.Event:
    """Return an event that SIGTERM or SIGINT sets; a second signal ends the process at once.

    Call it in the main thread, inside the running loop.
    """
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _on_signal, number, stop)
    return stop


def _on_signal(number: signal.Signals, stop: asyncio.Event) -> None:
    if stop.is_set():
        log.warning("second signal, exiting at once", extra={"signal": number.name})
        # Skips exit handlers and finally blocks: none of them may delay the exit.
        os._exit(128 + number)
    log.info("stopping", extra={"signal": number.name})
    stop.set()


_FULL: Final = 2
"""Number of the oldest generation."""
_THRESHOLDS: Final = (2000, 1, 1)
"""Python's are (700, 10, 10). With 700 new containers, most of what a collection of the youngest
looks at belongs to requests in progress and is in use. Full collections come every 8,000
containers, so that one takes 5 to 10 ms: each looks only at what is new since the last one."""
_MOST: Final = 500_000
"""Containers that may be kept out of full collections before all are looked at once more, at
least; services have about 60,000 after their start, and an Instance with as many objects as it may
have takes 60,000 while it runs. That one collection blocks the loop for some 300 ms."""


def keep_collections_short() -> None:
    """Make full collections of this process look at what is new since the last one.

    Call once the process has imported what it needs.
    """
    gc.set_threshold(*_THRESHOLDS)
    gc.collect()
    gc.freeze()
    gc.callbacks.append(_Freezer())


class _Freezer:
    """Called by Python before and after each collection."""

    def __init__(self) -> None:
        self._most = _MOST
        self._frozen = gc.get_freeze_count()

    def __call__(self, phase: Literal["start", "stop"], info: dict[str, int]) -> None:
        if phase == "start" or info["generation"] < _FULL:
            return
        # Counting what is frozen visits all of it, so that is done only when the limit seems to be
        # reached: until then what was freed counts too.
        self._frozen += len(gc.get_objects(_FULL))
        gc.freeze()
        if self._frozen <= self._most:
            return
        self._frozen = gc.get_freeze_count()
        if self._frozen > self._most:
            # Cycles among them would never be found otherwise. The next limit is twice as many, so
            # that a cache that grows is looked at once for each time that it doubles.
            self._most = 2 * self._frozen
            self._frozen = 0
            gc.unfreeze()


def run_service(
    main: Callable[[asyncio.Event], Awaitable[None]], *expected: type[Exception]
) -> int:
    """Run a service until a signal ends it, on a measured event loop (`serving.event_loop`).

    Args:
        main: The service; it returns after the event that it is given is set.
        expected: Errors whose text is enough to tell what is wrong.

    Returns:
        The exit code: 0 stopped, 1 failed for a reason that is logged.
    """
    keep_collections_short()
    # As many files as it may open: often 1,024 are set, and far more are allowed.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    # macOS refuses "unlimited".
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with asyncio.Runner(loop_factory=TimedLoop) as runner:
        return runner.run(_run(main, expected))


async def _run(
    main: Callable[[asyncio.Event], Awaitable[None]], expected: tuple[type[Exception], ...]
) -> int:
    log.info("starting")
    failed = 0
    try:
        await main(stop_on_signals())
    except* expected as group:
        log.error("cannot start", extra={"error": _reasons(group)})
        failed = 1
    log.info("stopped")
    return failed


def _reasons(error: BaseException) -> str:
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(_reasons(part) for part in error.exceptions)
    return str(error)
