"""Connections of aiohttp, which are not used where their peer cannot be trusted.

Invariants: a connection that received bytes while no answer was due is closed, and so is one whose
answer is not complete; what is no body of an answer is bounded; an answer that is malformed has an
error that quotes nothing of it.
"""

import asyncio
import functools
import socket
from typing import Any, Final, cast

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection as Leased
from aiohttp.http import RawResponseMessage
from aiohttp.streams import StreamReader
from aiohttp.tracing import Trace

from kubeio.connection.http.errors import BadAnswer, CannotConnect, HttpError

MAX_OVERHEAD: Final = 256 * 1024
"""Bytes in a row that are no body: headers, trailers, 1xx answers."""

_LARGE: Final = 2**16  # bytes of a request that the socket may not take at once
_SWITCHING: Final = 101
_KEEPALIVE: Final = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))


class ClientRequest(aiohttp.ClientRequest):
    """A request of aiohttp.

    Attributes:
        fresh: It must not be sent over a connection that was used before.
    """

    fresh = False


class Connector(aiohttp.TCPConnector):
    """Makes connections."""

    def __init__(self, **options: Any) -> None:
        super().__init__(socket_factory=_socket, **options)
        made = functools.partial(Connection, loop=self._loop)
        self._factory = cast("functools.partial[ResponseHandler]", made)

    async def connect(
        self, req: aiohttp.ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout
    ) -> Leased:
        fresh = isinstance(req, ClientRequest) and req.fresh
        while True:
            try:
                leased = await super().connect(req, traces, timeout)
            except UnicodeError as error:
                # Raised by the codec idna: a label of the host's name is empty or too long.
                raise CannotConnect.to(req.url.host or "", req.url.port, error) from error
            connection = cast("Connection", leased.protocol)
            if not (fresh and connection.used):
                connection.large = int(req.headers.get("Content-Length", 0)) > _LARGE
                return leased
            leased.close()


class Connection(ResponseHandler):
    """One connection to the server: at most one request on it at a time.

    Attributes:
        used: Whether a request was sent on it.
        large: Whether the body of its request may not have been sent at once.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.used = False
        self.large = False
        self._due = False
        self._overhead = 0
        self._body: StreamReader | None = None

    def set_response_params(self, **options: Any) -> None:
        """Expect an answer."""
        self.used = self._due = True
        self._overhead = 0
        self._body = None
        super().set_response_params(**options)

    def data_received(self, data: bytes) -> None:
        if self.upgraded:
            super().data_received(data)
            return
        expects = self._due and (self._body is None or not self._body.is_eof())
        if data and not expects:
            # Such as 408 Request Timeout, which servers say before they close.
            self.abort()
            return
        before = self._arrived()
        super().data_received(data)
        error = self.exception()
        if error is not None:
            self._fail(BadAnswer.malformed(error))
            return
        self._overhead = 0 if self._arrived() > before else self._overhead + len(data)
        if self._overhead > MAX_OVERHEAD:
            self._fail(BadAnswer(f"malformed answer: more than {MAX_OVERHEAD} bytes of headers"))

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        """Take an answer whose headers are complete."""
        message, body = data
        if self._body is not None:
            # A second answer: nobody asked for it.
            self.force_close()
            return
        if message.code >= 200 or message.code == _SWITCHING:
            self._body = body
            if self.large and message.code >= 300:
                # A server may refuse a large body before it has read it. Another request would wait
                # behind the rest of it, long after `before_write` was called.
                self.force_close()
        super().feed_data(data, size)

    def close(self) -> None:
        self.abort()

    def abort(self) -> None:
        """Close the connection at once; what was not sent is dropped, who reads has an error."""
        super().abort()
        self._end_body(HttpError("the connection was closed"))

    def _arrived(self) -> int:
        return 0 if self._body is None else self._body.total_bytes

    def _fail(self, error: HttpError) -> None:
        self._end_body(error)
        self.abort()
        self.set_exception(error)

    def _end_body(self, error: HttpError) -> None:
        body = self._body
        if body is not None and not body.is_eof() and body.exception() is None:
            body.set_exception(error)


def _socket(info: tuple[Any, ...]) -> socket.socket:
    """Have the kernel probe a silent peer, so that a read fails within a minute if it is gone."""
    made = socket.socket(*info[:3])
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE:
        if hasattr(socket, name):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return made
