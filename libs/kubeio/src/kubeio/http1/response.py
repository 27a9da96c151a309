"""The answer to a request: status and headers at once, the body as it is read."""

import asyncio
import zlib
from collections.abc import AsyncIterator, Sequence
from typing import Final, Protocol, Self

from kubeio.http1.connection import Connection
from kubeio.http1.errors import BadAnswer, ReadTimeout
from kubeio.http1.parser import ResponseParser
from kubeio.http1.pool import Pool

MAX_ANSWER: Final = 2**27
"""Bytes of a body that `read` collects; bodies that are read in chunks have no limit."""

_INFLATED: Final = 2**20  # bytes that are inflated at a time


class HttpResponse(Protocol):
    """What a session returns; `close` has to be called."""

    status: int

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """Return names and values of all headers, names in lower case."""

    def values(self, name: str) -> Sequence[str]:
        """Return the values of a header, of which there may be several."""

    async def read(self) -> bytes:
        """Return the whole body."""

    def chunks(self) -> AsyncIterator[bytes]:
        """Return the body in parts, as they arrive."""

    def close(self) -> None:
        """Give the connection back; it is closed unless the answer was read to its end."""


class Response:
    """An answer of `session.Session`.

    Its methods raise `BadAnswer` if the body is malformed, cut off or too long, `OSError` if the
    connection broke, `ReadTimeout` if the body paused for more than `idle_timeout` seconds.
    """

    def __init__(
        self,
        pool: Pool,
        connection: Connection,
        answer: ResponseParser,
        *,
        idle_timeout: float | None = None,
    ) -> None:
        self.status = answer.status
        self._pool = pool
        self._connection: Connection | None = connection
        self._answer = answer
        self._idle_timeout = idle_timeout

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        return tuple(
            (name.decode("utf-8", "replace"), value.decode("utf-8", "replace").strip())
            for name, value in self._answer.headers
        )

    def values(self, name: str) -> Sequence[str]:
        return self._answer.values(name.lower().encode())

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
        encodings = [each.lower() for each in self.values("content-encoding")]
        match encodings:
            case [] | ["identity"]:
                return _Chunks(self)
            case ["gzip"]:
                return _Inflated(_Chunks(self))
            case _:
                raise BadAnswer("a content encoding that was not asked for")

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self._pool.release(connection)

    async def next_chunk(self) -> bytes:
        """Return what arrived since the last call, empty at the end of the body."""
        while True:
            chunk = self._answer.take()
            if chunk or self._answer.complete:
                return chunk
            await self._more()

    async def _more(self) -> None:
        if self._connection is None:
            raise BadAnswer("the answer was closed before its end")
        if self._idle_timeout is None:
            await self._connection.wait()
            return
        try:
            async with asyncio.timeout(self._idle_timeout):
                await self._connection.wait()
        except TimeoutError as error:
            if error.errno is not None:  # ETIMEDOUT of the socket
                raise
            raise ReadTimeout from error


class _Chunks:
    # No generator: one that is left in the middle is closed later, by the event loop.
    def __init__(self, response: Response) -> None:
        self._response = response

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        chunk = await self._response.next_chunk()
        if not chunk:
            raise StopAsyncIteration
        return chunk


class _Inflated:
    """Inflates gzip, at most `_INFLATED` bytes at a time however small the input was."""

    def __init__(self, chunks: _Chunks) -> None:
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
