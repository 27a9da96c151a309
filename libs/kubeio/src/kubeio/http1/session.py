"""Sends requests over a pool, and repeats a read whose connection turned out to be dead.

Invariant: a write is sent once. A server may close a connection while a request is on its way to
it, and may have acted on it nevertheless.
"""

import ssl
from typing import Protocol

from kubeio.http1.connection import Connection
from kubeio.http1.errors import Disconnected
from kubeio.http1.parser import ResponseParser
from kubeio.http1.pool import Address, Pool
from kubeio.http1.request import Request, header_line
from kubeio.http1.response import HttpResponse, Response


class HttpSession(Protocol):
    """Sends requests to one server."""

    async def send(self, request: Request, *, idle_timeout: float | None = None) -> HttpResponse:
        """Send a request and return the answer once its headers have arrived.

        Cancellation closes the connection.

        Args:
            request: What to send; its `before_write` is called right before.
            idle_timeout: Seconds that the body may pause.

        Raises:
            HttpError: there is no answer, or it is malformed.
            OSError: the connection broke.
            ValueError: the request cannot be written as HTTP.
            Exception: whatever `before_write` raised.
        """

    async def close(self) -> None:
        """Close all connections; requests on them fail."""


class Session:
    """An HttpSession without a proxy. Make it inside the event loop that uses it."""

    def __init__(
        self,
        address: Address,
        *,
        user_agent: str,
        compression: bool,
        limit: int,
        tls: ssl.SSLContext | None = None,
        tls_server_name: str | None = None,
    ) -> None:
        """Make a session without connections.

        Args:
            address: Of the server.
            user_agent: Sent with each request.
            compression: Whether answers may be compressed.
            limit: Connections in use at a time, 0 for any number.
            tls: For https; None for the CAs of the system.
            tls_server_name: Name to verify in the place of the host's.
        """
        self._pool = Pool(address, limit=limit, tls=tls, tls_server_name=tls_server_name)
        encoding = header_line("Accept-Encoding", "gzip" if compression else "identity")
        host = header_line("Host", address.authority)
        self._common = f"{host}{header_line('User-Agent', user_agent)}{encoding}"

    async def send(self, request: Request, *, idle_timeout: float | None = None) -> Response:
        data = request.encode(self._common)
        connection = await self._pool.acquire()
        try:
            answer = await self._exchange(connection, request, data)
        except (Disconnected, OSError):
            if request.method != "GET":
                raise
            # Not on another idle one: a server that restarts closes all of them.
            connection = await self._pool.acquire(fresh=True)
            answer = await self._exchange(connection, request, data)
        return Response(self._pool, connection, answer, idle_timeout=idle_timeout)

    async def close(self) -> None:
        await self._pool.close()

    async def _exchange(
        self, connection: Connection, request: Request, data: bytes
    ) -> ResponseParser:
        try:
            if not connection.usable:
                raise Disconnected
            # The same tick: nothing is awaited between the permission and the bytes.
            request.permit()
            answer = connection.send(data, bodiless=request.method == "HEAD")
            while not answer.status:
                await connection.wait()
            connection.check()
        except BaseException:
            self._pool.release(connection)
            raise
        return answer
