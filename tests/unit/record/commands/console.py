"""Runs command lines in this process, at terminals and into a pipe."""

import io
import logging
import os
import re
import shlex
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kubectl_kudo.__main__ import main
from tests.support.terminals.screen import Screen

PIPE, NARROW, WIDE = MODES = ("pipe", "terminal 80", "terminal 120")
FOLDER = "<folder>"
"""Stands for the working directory in command lines."""
_COLUMNS = {NARROW: "80", WIDE: "120"}
_KEPT = ("PATH", "PYTHONPATH", "TMPDIR")
_NEVER_CUT = 100_000
_COLOUR = re.compile("\x1b\\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command line left behind."""

    code: int
    out: str
    err: str


class _Stream(io.StringIO):
    """A stream to or from a terminal, or not."""

    def __init__(self, text: str = "", *, terminal: bool) -> None:
        super().__init__(text)
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


def run(line: str, mode: str = PIPE, typed: str = "") -> Ran:
    """Run a command line in the environment that `environment` has made.

    Args:
        line: The words behind `kubectl kudo`.
        mode: One of `MODES`.
        typed: What is typed at the terminal; there is nothing to read from a pipe.
    """
    terminal = mode != PIPE
    streams = sys.stdin, sys.stdout, sys.stderr
    out, err = _Stream(terminal=terminal), _Stream(terminal=terminal)
    sys.stdin, sys.stdout, sys.stderr = _Stream(typed, terminal=terminal), out, err
    if terminal:
        os.environ["COLUMNS"], os.environ["LINES"] = _COLUMNS[mode], "1000"
    try:
        with _own_logging():
            code = main(shlex.split(line.replace(FOLDER, str(Path.cwd()))))
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
        for name in ("COLUMNS", "LINES"):
            os.environ.pop(name, None)
    return Ran(int(code), _seen(out.getvalue()), _seen(err.getvalue()))


def _seen(text: str) -> str:
    """Return what an output leaves on a screen, without colours."""
    text = _COLOUR.sub("", text)
    if "\x1b" not in text and "\r" not in text:
        return text
    screen = Screen(_NEVER_CUT, 1000)
    screen.feed(text.replace("\n", "\r\n"))
    return "\n".join([*screen.scrolled, *screen.lines]) + "\n"


@contextmanager
def _own_logging() -> Iterator[None]:
    """Have a command set up logging as in a process of its own."""
    root, kubeio = logging.getLogger(), logging.getLogger("kubeio")
    before = root.handlers, kubeio.level
    root.handlers = []
    try:
        yield
    finally:
        root.handlers = before[0]
        kubeio.setLevel(before[1])


@contextmanager
def environment(folder: Path, more: Mapping[str, str]) -> Iterator[None]:
    """Work in a folder, in UTC, with few variables; end with what there was before."""
    before, place = dict(os.environ), Path.cwd()
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    _set_environment({**kept, "TZ": "UTC", "LANG": "C.UTF-8", "TERM": "xterm", **more})
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(place)
        _set_environment(before)


def _set_environment(variables: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(variables)
    time.tzset()
