"""A program on a pseudo-terminal: what people see, and what they type."""

import codecs
import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

SECONDS = 60
"""How long anything may take to be shown: far more than it does."""


@dataclass
class Terminal:
    """A program and its terminal."""

    process: subprocess.Popen[bytes]
    _file: int
    _decoder: codecs.IncrementalDecoder = field(
        default_factory=codecs.getincrementaldecoder("utf-8")
    )

    def press(self, keys: str) -> None:
        """Type keys; ctrl-C is `\\x03`."""
        os.write(self._file, keys.encode())

    def read(self) -> str:
        """Return what is shown next, an empty text at the end of the output.

        Raises:
            TimeoutError: nothing is shown.
        """
        text = ""
        while not text:
            ready, _, _ = select.select([self._file], [], [], SECONDS)
            if not ready:
                raise TimeoutError(f"nothing was shown for {SECONDS} s")
            try:
                found = os.read(self._file, 1 << 16)
            except OSError:  # Linux says so at the end
                found = b""
            text = self._decoder.decode(found)
            if not found:
                break
        return text

    def end(self) -> int:
        """Wait until the program ends, and return its exit code."""
        return self.process.wait(SECONDS)


@contextmanager
def on_terminal(
    argv: Sequence[str],
    *,
    size: tuple[int, int] = (80, 24),
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Terminal]:
    """Run a program on a terminal of columns and rows; kill it at the end of the block.

    It leads a session of its own. Only a program that makes the terminal its controlling one gets
    ctrl-C as a signal.
    """
    columns, rows = size
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    process = subprocess.Popen(
        argv,
        cwd=folder,
        env=environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield Terminal(process, ours)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
