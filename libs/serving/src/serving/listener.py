"""Accepts connections, and keeps those that have sent nothing few, cheap and apart from the others.

asyncio accepts a whole backlog in one iteration of the event loop, and makes a transport, a
protocol and the objects of TLS for each connection, before its client has sent a byte. Here a
connection is a bare socket until then. Beyond `PortLimits.silent` of them, the oldest is reset
for the new one, so that the port goes on accepting: a listener that waited instead would let silent
clients shut out everybody else.
"""

import asyncio
import errno
import logging
import resource
import selectors
import socket
import struct
from collections.abc import Callable
from typing import Final

from serving.connections import PortLimits, Reason

log = logging.getLogger(__name__)

BACKLOG: Final = 1024
"""Connections that the kernel keeps until they are accepted: of 3,000 a second, those that arrive
while the process gets no CPU for 0.3 s. Beyond it, a client tries again only after a second, which
is far longer than to accept all of them takes."""
ACCEPTED_AT_ONCE: Final = 32
"""Connections accepted in one iteration of the event loop, some 40 us each."""
BEGUN_AT_ONCE: Final = 8
"""Connections passed on in one iteration of the event loop, some 500 us each with TLS."""
_PAUSE: Final = 0.25
"""Seconds until the next attempt after an error, such as that no file descriptor is left."""
_SHORTAGE: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_FILES: Final = 4
"""Silent connections of a port take no more than this part of the files that may be open."""
_RESET: Final = struct.pack("ii", 1, 0)
"""SO_LINGER: close by a reset, which leaves nothing in the kernel. Else it would keep thousands of
connections for a minute each, waiting for clients to close their side."""


class Listener:
    """The listening socket of a port, and its connections that have sent nothing.

    Args:
        sock: Bound and listening; it is closed with the listener.
        limits: The limits of the port.
        wait: Seconds that a connection may take for its first byte.
        begin: Called with the socket of each connection that has sent something.
        observe: Called with the reason when a connection is closed because of a limit.
        late: The reason of a connection that exceeds `wait`; None if that is nothing to count.
    """

    def __init__(
        self,
        sock: socket.socket,
        limits: PortLimits,
        *,
        wait: float,
        begin: Callable[[socket.socket], None],
        observe: Callable[[Reason], None],
        late: Reason | None = None,
    ) -> None:
        self._sock = sock
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._most = min(limits.silent, files // _FILES)
        self._wait = wait
        self._begin = begin
        self._observe = observe
        self._late = late
        self._loop = asyncio.get_running_loop()
        # The first is the oldest; each with the time of the loop at which its wait ends.
        self._silent: dict[socket.socket, float] = {}
        # One of its own, which the loop watches as a single file: to register a socket with the
        # loop costs several times as much, and the loop would report all of them at once.
        self._selector = selectors.DefaultSelector()
        self._timer: asyncio.TimerHandle | None = None
        self._retry: asyncio.TimerHandle | None = None
        sock.setblocking(False)
        self._loop.add_reader(self._selector, self._pass_on)
        self._loop.add_reader(sock, self._accept)

    @property
    def silent(self) -> int:
        """Connections that have sent nothing."""
        return len(self._silent)

    def close(self) -> None:
        """Stop accepting, and close what has sent nothing; may be called again."""
        if self._sock.fileno() < 0:
            return
        self._loop.remove_reader(self._sock)
        self._sock.close()
        for timer in (self._timer, self._retry):
            if timer is not None:
                timer.cancel()
        for sock in list(self._silent):
            self._forget(sock)
            sock.close()
        self._loop.remove_reader(self._selector)
        self._selector.close()

    # New connections

    def _accept(self) -> None:
        if len(self._silent) > self._most:
            return  # The oldest has sent something; `_pass_on` has to come first.
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                sock, _address = self._sock.accept()
            except BlockingIOError:
                return
            except ConnectionError:
                continue  # Its client has given up meanwhile.
            except OSError as error:
                if error.errno not in _SHORTAGE or not self._silent:
                    self._pause(error)
                    return
                if not self._make_room():
                    return
                continue
            self._keep(sock)
            if len(self._silent) > self._most and not self._make_room():
                return

    def _pause(self, error: OSError) -> None:
        # The connection stays in the backlog, and the loop would report it again and again.
        log.warning("cannot accept connections", extra={"error": error.strerror or str(error)})
        self._loop.remove_reader(self._sock)
        self._retry = self._loop.call_later(_PAUSE, self._loop.add_reader, self._sock, self._accept)

    # Silent connections

    def _keep(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self._selector.register(sock, selectors.EVENT_READ)
        self._silent[sock] = self._loop.time() + self._wait
        if self._timer is None:
            self._timer = self._loop.call_later(self._wait, self._expire)

    def _forget(self, sock: socket.socket) -> None:
        del self._silent[sock]
        self._selector.unregister(sock)

    def _make_room(self) -> bool:
        """Reset the oldest; False if it has sent something, and must wait to be passed on."""
        oldest = next(iter(self._silent))
        if _heard(oldest):
            return False
        self._observe("too_many_silent")
        self._forget(oldest)
        reset(oldest)
        return True

    def _pass_on(self) -> None:
        """Pass some on that have sent something; close those whose clients have closed them."""
        for key, _ in self._selector.select(0)[:BEGUN_AT_ONCE]:
            sock = key.fileobj
            assert isinstance(sock, socket.socket)
            heard = _heard(sock)
            if heard is None:
                continue
            self._forget(sock)
            if heard:
                self._begin(sock)
            else:
                sock.close()

    def _expire(self) -> None:
        """Close what has sent nothing for too long, and look again when the next one is due."""
        self._timer = None
        now = self._loop.time()
        for sock, until in list(self._silent.items()):
            if until > now:
                self._timer = self._loop.call_at(until, self._expire)
                return
            if _heard(sock):
                continue
            if self._late is not None:
                self._observe(self._late)
            self._forget(sock)
            sock.close()


def reset(sock: socket.socket) -> None:
    """Close a connection at once."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    sock.close()


def _heard(sock: socket.socket) -> bool | None:
    """Return whether there is something to read; None if not yet, False if the client has gone."""
    try:
        return bool(sock.recv(1, socket.MSG_PEEK))
    except BlockingIOError:
        return None
    except OSError:
        return False
