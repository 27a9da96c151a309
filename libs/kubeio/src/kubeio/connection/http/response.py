"""The answer to a request: status and headers at once, the body as it is read; and websockets."""

import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Self

import aiohttp

from kubeio.connection.http.errors import (
    BadAnswer,
    CannotConnect,
    ConnectTimeout,
    Disconnected,
    HttpError,
    ReadTimeout,
    reason_of,
)

MAX_ANSWER: Final = 2**27
"""Bytes of a body that `read` collects; bodies that are read in chunks have no limit."""

_INFLATED: Final = 2**20  # bytes that are inflated at a time


class Response:
    """An answer of `session.Session`.

    Its methods raise `BadAnswer` if the body is malformed, cut off or too long, `ReadTimeout` if it
    paused for too long.
    """

    def __init__(
        self, response: aiohttp.ClientResponse, on_close: Callable[[], object] | None = None
    ) -> None:
        """Wrap an answer of aiohttp, which must not inflate it; ``on_close`` is called once."""
        self.status = response.status
        self._response = response
        self._on_close = on_close
        self._closed = False

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        items = self._response.headers.items()
        return tuple((name.lower(), _readable(value)) for name, value in items)

    def values(self, name: str) -> Sequence[str]:
        return [_readable(value) for value in self._response.headers.getall(name, ())]

    async def read(self) -> bytes:
        parts: list[bytes] = []
        size = 0
        async for part in self.chunks():
            size += len(part)
            if size > MAX_ANSWER:
                raise BadAnswer(f"the answer is longer than {MAX_ANSWER} bytes")
            parts.append(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def chunks(self) -> AsyncIterator[bytes]:
        chunks = self.raw()
        match [each.lower() for each in self.values("Content-Encoding")]:
            case [] | ["identity"]:
                return chunks
            case ["gzip"]:
                return _Inflated(chunks)
            case _:
                raise BadAnswer("a content encoding that was not asked for")

    def raw(self) -> AsyncIterator[bytes]:
        """Return the body in parts as the server sent it, whatever its encoding is."""
        if self._closed:
            raise BadAnswer("the answer was closed before its end")
        return _Chunks(self._response)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        # At the end of the body aiohttp has given its connection back already.
        self._response.close()
        if self._on_close is not None:
            self._on_close()


class _Chunks:
    # No generator: one that is left in the middle is closed later, by the event loop.
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._chunks = aiter(response.content.iter_any())

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        with translated():
            return await anext(self._chunks)


class _Inflated:
    """Inflates gzip, at most `_INFLATED` bytes at a time however small the input was."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self._gzip = zlib.decompressobj(zlib.MAX_WBITS | 16)
        self._tail = b""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        while True:
            if not self._tail:
                self._tail = await self._next()
            inflated = self._inflate()
            if inflated:
                return inflated

    async def _next(self) -> bytes:
        try:
            return await anext(self._chunks)
        except StopAsyncIteration:
            if not self._gzip.eof:
                raise BadAnswer("the gzip of the answer was cut off") from None
            raise

    def _inflate(self) -> bytes:
        try:
            inflated = self._gzip.decompress(self._tail, _INFLATED)
        except zlib.error as error:
            raise BadAnswer(f"the answer is not gzip: {error}") from error
        self._tail = self._gzip.unconsumed_tail
        if self._gzip.unused_data:
            raise BadAnswer("bytes after the end of the gzip of the answer")
        return inflated


def _readable(value: str) -> str:
    # aiohttp keeps bytes that are not UTF-8 as surrogates, which cannot be printed.
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


@contextmanager
def translated(origin: str = "") -> Iterator[None]:
    """Raise an HttpError for an error of aiohttp.

    Not chained: the texts of aiohttp quote what the server sent, and headers with a credential.
    """
    try:
        yield
    except aiohttp.ConnectionTimeoutError:
        raise ConnectTimeout(f"Connection timeout to host {origin}") from None
    except aiohttp.ClientError as error:
        raise _own(error) from None


def _own(error: aiohttp.ClientError) -> HttpError:
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return CannotConnect.to(error.host, error.port, error.certificate_error)
        case aiohttp.ClientConnectorError():
            return CannotConnect.to(error.host, error.port, error.os_error)
        case aiohttp.SocketTimeoutError():
            return ReadTimeout()
        case aiohttp.ServerDisconnectedError():
            return Disconnected()
        case aiohttp.ClientOSError():
            cause = error.__cause__
            return Disconnected(reason_of(cause if isinstance(cause, OSError) else error))
        case aiohttp.ClientPayloadError():
            return BadAnswer("the answer ended too early")
        case aiohttp.ClientHttpProxyError():
            return CannotConnect(f"the proxy answered {error.status} to CONNECT")
        case aiohttp.ClientResponseError():
            return BadAnswer.malformed(error)
        case _:
            return HttpError(type(error).__name__)


class WebSocket:
    """An open websocket; `close` has to be called."""

    def __init__(self, opened: aiohttp.ClientWebSocketResponse[bool]) -> None:
        self._opened = opened

    async def messages(self) -> AsyncIterator[bytes]:
        """Yield the binary messages until the server closes.

        Raises:
            HttpError: the connection broke, or a message is not binary.
        """
        with translated():
            async for message in self._opened:
                if message.type is not aiohttp.WSMsgType.BINARY:
                    raise HttpError("not a binary message")
                yield message.data

    async def close(self) -> None:
        """Close it, and wait at most a second for the close frame of the server."""
        with translated():
            await self._opened.close()
