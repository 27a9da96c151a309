"""Where a long step says how far it is.

A progress callable takes one line of text. Building takes minutes, so whoever waits sees something
from the first second: a terminal gets a line that is rewritten in place, everything else a line
of its own now and then.
"""

import sys
from collections.abc import Callable
from typing import TextIO

Progress = Callable[[str], None]

HEARTBEAT = 10.0
"""Seconds between two signs of life where lines are kept, as in a log of continuous integration."""


def silent(line: str) -> None:
    """Say nothing."""


def announce(line: str) -> None:
    """Print one line at a time on standard error: for logs and pipes."""
    print(line, file=sys.stderr, flush=True)


class InPlace:
    """Rewrite one line of a terminal for signs of life, and keep every other line."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._open = False

    def __call__(self, line: str) -> None:
        self.clear()
        print(line, file=self._stream, flush=True)

    def beat(self, line: str) -> None:
        """Show a line that the next one replaces."""
        self.clear()
        print(line, end="", file=self._stream, flush=True)
        self._open = True

    def clear(self) -> None:
        """Take the last sign of life away."""
        if self._open:
            print("\r\x1b[K", end="", file=self._stream, flush=True)
            self._open = False


class Heartbeat:
    """Turn frequent signs of life into the rate that the progress callable can take."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._last = 0.0

    def beat(self, line: str, elapsed: float) -> None:
        """Show the line now, or leave it out; elapsed counts seconds since the step's start."""
        if isinstance(self._progress, InPlace):
            self._progress.beat(line)
        elif elapsed - self._last >= HEARTBEAT:
            self._last = elapsed
            self._progress(line)

    def end(self) -> None:
        """Leave no half line behind for what is printed next."""
        if isinstance(self._progress, InPlace):
            self._progress.clear()


def default() -> Progress:
    """Choose by what standard error is connected to."""
    return InPlace(sys.stderr) if sys.stderr.isatty() else announce
