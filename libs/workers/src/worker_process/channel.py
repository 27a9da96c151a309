"""What a worker process and its service exchange: frames of requests and answers, and a position.

A request is its header, the name of a handler in UTF-8, and the payload. An answer is its header
and a body; the first one, READY or NOT_STARTED, comes without a request.

The position is the part of a job that the process works on: the service reads it once a limit has
ended the job. The text is in memory that both processes share. Reporting a part takes no system
call and wakes no process, so a handler may report each of many thousand values.
"""

import contextlib
import mmap
import os
import struct
from enum import IntEnum
from typing import Final

REQUEST = struct.Struct("!dHI")
"""Seconds of CPU of the job, bytes of the handler's name, bytes of the payload."""
ANSWER = struct.Struct("!BI")
"""Kind, bytes of the body."""


class Kind(IntEnum):
    """What an answer means, and its body.

    READY: the process takes jobs; the body is empty.
    NOT_STARTED: it cannot, and exits; the body says why, without data of a tenant.
    DONE: what the handler returned.
    LAST: the same, and the process exits, since it has grown too large for another job.
    MEMORY: the address space was exhausted; the process exits.
    TOO_LARGE: the handler returned more than an answer may hold.
    FAILED: the handler raised; the body is the name of the exception's type.
    """

    READY = 1
    NOT_STARTED = 2
    DONE = 3
    LAST = 4
    MEMORY = 5
    TOO_LARGE = 6
    FAILED = 7


_LONGEST: Final = 255
"""Bytes of the text, whose length is the first byte."""
_SIZE: Final = 1 + _LONGEST


class Position:
    """The writer; before `share`, as in a service that runs a job inline, it does nothing."""

    def __init__(self) -> None:
        self._page: mmap.mmap | None = None

    def share(self, descriptor: int) -> None:
        """Write to the memory that `reserve` made from now on; the descriptor may be closed."""
        # Without it jobs run as ever: a descriptor of another kind, or a kernel that cannot.
        with contextlib.suppress(OSError, ValueError):
            self._page = mmap.mmap(descriptor, _SIZE)

    def tell(self, part: str) -> None:
        """Report the part that is worked on from now on, such as a parameter; empty for none."""
        if self._page is None:
            return
        text = part[:_LONGEST].encode(errors="replace")[:_LONGEST]
        # Without a length while the text changes: the service may read at any moment.
        self._page[0] = 0
        self._page[1 : 1 + len(text)] = text
        self._page[0] = len(text)


position: Final = Position()
"""The position of this process."""


def reserve() -> int:
    """Return a descriptor of new shared memory, which holds no text yet.

    Raises:
        OSError: the kernel has none.
    """
    descriptor = os.memfd_create("position")
    os.ftruncate(descriptor, _SIZE)
    return descriptor


def read(descriptor: int) -> str:
    """Return what a process reported; at most 255 bytes, whatever it wrote."""
    content = os.pread(descriptor, _SIZE, 0)
    return content[1 : 1 + content[0]].decode(errors="ignore")
