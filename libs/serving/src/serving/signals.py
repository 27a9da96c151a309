"""Graceful stop at the first SIGTERM or SIGINT, immediate exit at the second."""

import asyncio
import logging
import os
import signal

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
