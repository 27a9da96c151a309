"""Chooses how a run is told, and updates what is shown while it lasts."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from kubectl_kudo.testing.reporting.live import LiveLog
from kubectl_kudo.testing.reporting.log import TextLog

Log = LiveLog | TextLog
_SECONDS: Final = 1.0


def log_on_stdout(total: int, *, verbose: bool) -> Log:
    """Return the log: on a terminal a line for each case that runs, else all messages.

    Args:
        total: Number of cases.
        verbose: Whether a terminal shows all messages, too.
    """
    terminal = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    if terminal and not verbose:
        return LiveLog(sys.stdout, total)
    return TextLog(_write)


@asynccontextmanager
async def shown(log: Log) -> AsyncIterator[None]:
    """Update the times that a log shows, and remove them in the end."""
    task = asyncio.create_task(_tick(log), name="progress")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})
        log.close()


async def _tick(log: Log) -> None:
    while True:
        await asyncio.sleep(_SECONDS)
        log.tick()


def _write(text: str) -> None:
    print(text, end="", flush=True)
