"""Output of commands: in lines, cut by bytes, and the end of it for messages."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

LINE: Final = 4 * 1024
"""Bytes of a line that are shown."""
SHOWN: Final = 1024 * 1024
"""Bytes of one command that go into the log; the rest is only counted."""
KEPT: Final = 8 * 1024
"""Bytes of the end of the output that are kept for the message of a failure."""


@dataclass(slots=True)
class Output:
    """The output of one command. What it holds is bounded, however much is printed."""

    _line: bytearray = field(default_factory=bytearray)
    _left_out: int = 0
    _shown: int = 0
    _silent: bool = False
    _tail: deque[str] = field(default_factory=deque)
    _tail_size: int = 0

    def feed(self, chunk: bytes) -> Iterator[str]:
        """Yield the lines that a chunk completes and that are to be shown."""
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            self._add(line)
            yield from self._complete()
        self._add(rest)

    def end(self) -> Iterator[str]:
        """Yield what stands after the last line break."""
        if self._line:
            yield from self._complete()

    @property
    def tail(self) -> str:
        """The last lines."""
        return "\n".join(self._tail)

    def _add(self, part: bytes) -> None:
        free = LINE - len(self._line)
        self._line += part[:free]
        self._left_out += max(0, len(part) - free)

    def _complete(self) -> Iterator[str]:
        # A progress bar writes one line again and again: the last state is what is to be seen.
        line = bytes(self._line).decode("utf-8", "replace").rstrip("\r").rpartition("\r")[2]
        if self._left_out:
            line += f"… ({self._left_out} bytes left out)"
        size = len(self._line)
        self._line.clear()
        self._left_out = 0
        self._keep(line)
        self._shown += size + 1
        if self._shown <= SHOWN:
            yield line
        elif not self._silent:
            self._silent = True
            yield f"… more than {SHOWN} bytes: the rest of the output is left out"

    def _keep(self, line: str) -> None:
        self._tail.append(line)
        self._tail_size += len(line) + 1
        while self._tail_size > KEPT and len(self._tail) > 1:
            self._tail_size -= len(self._tail.popleft()) + 1
