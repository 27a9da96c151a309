"""Connections to one server, kept open between requests.

Invariants: at most `limit` connections are in use at a time, who waits for one is served in order;
a connection that was closed, is too old, or whose last answer is not complete is not used again.
"""

import asyncio
import ipaddress
import socket
import ssl
from dataclasses import dataclass
from typing import Final, Self
from urllib.parse import quote, urlsplit

from kubeio.http1.connection import Connection
from kubeio.http1.errors import CannotConnect, ConnectTimeout, HttpError

CONNECT_TIMEOUT: Final = 5.0
"""Seconds for finding the address, the TCP handshake and the TLS handshake together."""
IDLE_SECONDS: Final = 30.0
"""How long an unused connection is kept; API servers keep theirs for three minutes."""

_HAPPY_EYEBALLS: Final = 0.25
_KEEPALIVE: Final = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))


@dataclass(frozen=True, slots=True)
class Address:
    """The parts of a base URL.

    Attributes:
        host: Name or IP address, without brackets.
        port: TCP port.
        tls: Whether the scheme is https.
        prefix: Quoted path before all paths, without a slash at its end; may be empty.
        authority: Value of the Host header.
    """

    host: str
    port: int
    tls: bool
    prefix: str
    authority: str

    @classmethod
    def parse(cls, url: str) -> Self:
        """Read an http or https URL.

        Raises:
            ValueError: the URL has no host, or its port is no number.
        """
        parts = urlsplit(url)
        if not parts.hostname or parts.scheme not in ("http", "https"):
            raise ValueError(f"{parts.scheme}://{parts.hostname or ''} is no http or https URL")
        tls = parts.scheme == "https"
        usual = 443 if tls else 80
        host = parts.hostname
        shown = f"[{host}]" if ":" in host else host
        if not shown.isascii():
            shown = shown.encode("idna").decode()
        port = parts.port or usual
        return cls(
            host=host,
            port=port,
            tls=tls,
            prefix=quote(parts.path.rstrip("/"), safe="/%:@!$&'()*+,;=~"),
            authority=shown if port == usual else f"{shown}:{port}",
        )


class Pool:
    """The connections of one session."""

    def __init__(
        self,
        address: Address,
        *,
        limit: int,
        tls: ssl.SSLContext | None,
        tls_server_name: str | None,
    ) -> None:
        """Make a pool without connections, inside the event loop that uses it.

        Args:
            address: Where connections go.
            limit: Connections in use at a time, 0 for any number.
            tls: For https; None for the CAs of the system.
            tls_server_name: Name to verify and to send in the handshake, in the place of the host.
        """
        self._address = address
        self._tls = (tls or True) if address.tls else None
        name = tls_server_name or address.host.rstrip(".")
        self._server_name = name if address.tls else None
        self._slots = asyncio.Semaphore(limit) if limit else None
        self._idle: list[Connection] = []
        self._open: set[Connection] = set()
        self._closed = False
        self._sweeper: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()

    async def acquire(self, *, fresh: bool = False) -> Connection:
        """Return a connection that nobody else uses; it has to be given back.

        Args:
            fresh: Make a new one, also if there is one that is not in use.

        Raises:
            CannotConnect: none could be made, or the pool is closed.
        """
        if self._slots is not None:
            await self._slots.acquire()
        try:
            found = None if fresh else self._unused()
            return found or await self._connect()
        except BaseException:
            self._free_slot()
            raise

    def release(self, connection: Connection) -> None:
        """Give a connection back, to be kept if another request can be sent on it."""
        if connection.usable and not self._closed:
            connection.idle_since = self._loop.time()
            self._idle.append(connection)
            if self._sweeper is None:
                self._sweeper = self._loop.call_later(IDLE_SECONDS, self._sweep)
        else:
            connection.abort()
        self._free_slot()

    async def close(self) -> None:
        """Close all connections; requests on them fail."""
        self._closed = True
        if self._sweeper is not None:
            self._sweeper.cancel()
        self._idle.clear()
        remaining = tuple(self._open)
        for connection in remaining:
            connection.abort()
        if remaining:
            # A socket is closed one tick after its abort, and the loop may end with this call.
            await asyncio.wait([connection.closed for connection in remaining])

    def _free_slot(self) -> None:
        if self._slots is not None:
            self._slots.release()

    def _unused(self) -> Connection | None:
        """Return the connection that was used last, so that those above the need grow old."""
        oldest = self._loop.time() - IDLE_SECONDS
        while self._idle:
            connection = self._idle.pop()
            if connection.usable and connection.idle_since > oldest:
                return connection
            connection.abort()
        return None

    def _sweep(self) -> None:
        self._sweeper = None
        oldest = self._loop.time() - IDLE_SECONDS
        kept = [one for one in self._idle if one.usable and one.idle_since > oldest]
        for connection in set(self._idle).difference(kept):
            connection.abort()
        self._idle = kept
        if kept:
            due = min(one.idle_since for one in kept) + IDLE_SECONDS
            self._sweeper = self._loop.call_at(due, self._sweep)

    async def _connect(self) -> Connection:
        self._raise_closed()
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT):
                connection = await self._dial()
        except OSError as error:
            if isinstance(error, TimeoutError) and error.errno is None:
                scheme = "https" if self._address.tls else "http"
                text = f"Connection timeout to host {scheme}://{self._address.authority}"
                raise ConnectTimeout(text) from error
            raise self._cannot(error) from error
        except UnicodeError as error:
            # Raised by the codec idna: a label of the host's name is empty or too long.
            raise self._cannot(error) from error
        self._open.add(connection)
        connection.closed.add_done_callback(lambda _: self._open.discard(connection))
        if self._closed:
            connection.abort()
            await asyncio.wait([connection.closed])
        self._raise_closed()
        return connection

    async def _dial(self) -> Connection:
        address = self._address
        transport, connection = await self._loop.create_connection(
            lambda: Connection(self._loop),
            address.host,
            address.port,
            ssl=self._tls,
            server_hostname=self._server_name,
            # Only a name can have addresses of both families.
            happy_eyeballs_delay=None if _is_ip(address.host) else _HAPPY_EYEBALLS,
        )
        notice_vanished_peers(transport.get_extra_info("socket"))
        return connection

    def _cannot(self, error: Exception) -> CannotConnect:
        return CannotConnect.to(self._address.host, self._address.port, error)

    def _raise_closed(self) -> None:
        if self._closed:
            raise HttpError("Connector is closed.")


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def notice_vanished_peers(connected: socket.socket) -> None:
    """Have the kernel probe a silent peer, so that a read fails within a minute if it is gone."""
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE:
        if hasattr(socket, name):
            connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
