"""Progress output of long steps.

A progress callable takes one line of text. During a build, which takes minutes, a terminal shows
one line that is rewritten; other outputs, such as logs, get a line every few seconds.
"""

import sys
from collections.abc import Callable
from typing import TextIO

Progress = Callable[[str], None]

HEARTBEAT = 10.0
"""Seconds between two progress lines in a log."""


def silent(line: str) -> None:
    """Print nothing."""


def announce(line: str) -> None:
    """Print one line to stderr; for logs and pipes."""
    print(line, file=sys.stderr, flush=True)


class InPlace:
    """Progress on a terminal: rewrites the line of ``beat``, keeps all other lines."""

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
        """Erase the line of the last ``beat``."""
        if self._open:
            print("\r\x1b[K", end="", file=self._stream, flush=True)
            self._open = False


class Heartbeat:
    """Limits frequent progress lines to the rate that suits the progress callable."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._last = 0.0

    def beat(self, line: str, elapsed: float) -> None:
        """Show or skip the line; ``elapsed`` is in seconds since the start of the step."""
        if isinstance(self._progress, InPlace):
            self._progress.beat(line)
        elif elapsed - self._last >= HEARTBEAT:
            self._last = elapsed
            self._progress(line)

    def end(self) -> None:
        """Erase an unfinished line before other output."""
        if isinstance(self._progress, InPlace):
            self._progress.clear()


def default() -> Progress:
    """Return `InPlace` if stderr is a terminal, else `announce`."""
    return InPlace(sys.stderr) if sys.stderr.isatty() else announce
