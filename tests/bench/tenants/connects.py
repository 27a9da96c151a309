"""`python -m tests.bench.tenants.connects PORT RATE SECONDS [HEX]`: a client that only connects.

It opens TCP connections to a port of the loopback interface at a rate, sends each the same bytes or
none, and keeps as many open as it may. Its time and its number of connections are bounded, and it
closes them all. It prints one line of JSON: `connects`, `failures`, `seconds`.
"""

import argparse
import contextlib
import json
import resource
import socket
import struct
import sys
import time
from collections import deque
from typing import Final

_MOST_SECONDS: Final = 60.0
_MOST_RATE: Final = 20_000
_MOST_OPEN: Final = 8192
_SPARE: Final = 64
"""File descriptors for everything else."""
_SOURCES: Final = tuple(f"127.0.0.{number}" for number in range(2, 10))
"""Addresses to connect from: one alone has fewer ports than connections are made in 10 seconds."""
_NO_PORT: Final = 24
"""IP_BIND_ADDRESS_NO_PORT: the port is chosen at the connect, as one that is free for that pair."""
_RESET: Final = struct.pack("ii", 1, 0)
_TICK: Final = 0.001
_MOST_AT_ONCE: Final = 64
"""In a tick: a client that got no CPU for some time makes no burst of what it has missed."""


class Connects:
    """Connections to a port; the oldest is closed where too many are open."""

    def __init__(self, port: int, data: bytes) -> None:
        self._port, self._data = port, data
        self._open: deque[socket.socket] = deque()
        self._unsent: deque[socket.socket] = deque()
        self._limit = _open_files() - _SPARE
        self.made = self.failures = 0

    def connect(self) -> None:
        """Begin a connection; the kernel ends what it takes."""
        if len(self._open) >= self._limit:
            self._open.popleft().close()
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        sock.setsockopt(socket.IPPROTO_IP, _NO_PORT, 1)
        self._open.append(sock)
        self.made += 1
        try:
            sock.bind((_SOURCES[self.made % len(_SOURCES)], 0))
            sock.connect(("127.0.0.1", self._port))
        except BlockingIOError:
            pass
        except OSError:
            self.failures += 1
            return
        if self._data:
            self._unsent.append(sock)

    def send(self) -> None:
        """Send the bytes on what was connected since the last call."""
        while self._unsent:
            # One that the kernel still connects, or that was closed, stays without.
            with contextlib.suppress(OSError):
                self._unsent.popleft().send(self._data)

    def close(self) -> None:
        while self._open:
            self._open.pop().close()


def _open_files() -> int:
    """Return how many files may be open, as many as this user is allowed and needs."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = min(hard, _MOST_OPEN) if hard != resource.RLIM_INFINITY else _MOST_OPEN
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return limit


def run(port: int, rate: int, seconds: float, data: bytes) -> dict[str, float]:
    """Connect for that time, close everything, and return what was done."""
    connects, began = Connects(port, data), time.monotonic()
    try:
        while (elapsed := time.monotonic() - began) < seconds:
            for _ in range(min(int(elapsed * rate) - connects.made, _MOST_AT_ONCE)):
                connects.connect()
            connects.send()
            time.sleep(_TICK)
    finally:
        connects.close()
    took = time.monotonic() - began
    return {"connects": connects.made, "failures": connects.failures, "seconds": took}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("rate", type=int)
    parser.add_argument("seconds", type=float)
    parser.add_argument("data", type=bytes.fromhex, nargs="?", default=b"")
    given = parser.parse_args()
    rate, seconds = min(given.rate, _MOST_RATE), min(given.seconds, _MOST_SECONDS)
    sys.stdout.write(f"{json.dumps(run(given.port, rate, seconds, given.data))}\n")


if __name__ == "__main__":
    main()
