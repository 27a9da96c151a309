"""Reads requests, one JSON object a line, and ends the program when its input ends.

A thread reads, so that the end of the input is seen while a cluster starts or a request is
answered: the program that started this one may have been killed.
"""

import json
import os
import queue
import signal
import threading
from io import FileIO
from typing import Any

LONGEST = 64 * 1024
"""Bytes of a request."""
_MOST_WAITING = 16
"""Requests that wait for their answer; more are not read."""

Request = dict[str, Any]


class BadRequest(Exception):
    """A line is no request; its text is the answer."""


def open_input(descriptor: int) -> FileIO:
    """Return a stream without buffer, which stays open.

    Python aborts at its end if a thread still reads from a stream with a buffer, such as stdin.
    """
    return FileIO(descriptor, "rb", closefd=False)


class Lines:
    """Requests from a stream; SIGTERM is sent to this process when the stream ends.

    Attributes:
        ending: Whether the end of the stream ends this process.
    """

    def __init__(self, stream: FileIO) -> None:
        self.ending = True
        self._stream = stream
        self._waiting: queue.Queue[bytes] = queue.Queue(_MOST_WAITING)
        threading.Thread(target=self._read, daemon=True).start()

    def next(self) -> Request:
        """Wait for the next request; raises BadRequest for a line that is none."""
        line = self._waiting.get()
        if len(line) > LONGEST:
            raise BadRequest(f"a request is longer than {LONGEST} bytes")
        try:
            request = json.loads(line)
        except ValueError as error:
            raise BadRequest(f"a request is one JSON object in a line: {error}") from None
        except RecursionError:
            raise BadRequest("a request is nested too deeply") from None
        if not isinstance(request, dict) or len(request) != 1:
            raise BadRequest("a request is a JSON object with one field, its name")
        return request

    def _read(self) -> None:
        while line := self._stream.readline(LONGEST + 1):
            if len(line) > LONGEST:
                self._skip(line)
            if line.strip():
                self._waiting.put(line)
        if self.ending:
            os.kill(os.getpid(), signal.SIGTERM)

    def _skip(self, line: bytes) -> None:
        """Read the rest of a line that is too long, without keeping it."""
        while line and not line.endswith(b"\n"):
            line = self._stream.readline(LONGEST)
