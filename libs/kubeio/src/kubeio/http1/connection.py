"""One connection to the server: at most one request on it at a time.

Invariants: a connection whose answer is not complete takes no other request; what arrives while
nobody waits for an answer closes it; more than `BUFFER` bytes of a body that nobody takes stop
reading from the socket.
"""

import asyncio
from typing import Final, cast

from kubeio.http1.errors import BadAnswer, Disconnected
from kubeio.http1.parser import ResponseParser

BUFFER: Final = 2**21
"""Bytes of a body that are kept for their reader before the socket is no longer read."""

_LARGE: Final = 2**16  # bytes of a request that the socket may not take at once
_NOT_COMPLETED: Final = "Response payload is not completed"


class Connection(asyncio.Protocol):
    """Sends requests and wakes whoever waits for the answer.

    Attributes:
        answer: To the request that was sent last.
        idle_since: Clock of the event loop when it was given back to its pool.
        closed: Done once the socket is closed.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.answer: ResponseParser | None = None
        self.idle_since = 0.0
        self.closed: asyncio.Future[None] = loop.create_future()
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._paused = False
        self._large = False

    @property
    def usable(self) -> bool:
        """Whether another request can be sent on it."""
        transport, answer = self._transport, self.answer
        if transport is None or transport.is_closing():
            return False
        if answer is None:
            return True
        # A server may refuse a large body before it has read it. Another request would wait behind
        # the rest of it, long after `before_write` was called, or be lost with the connection.
        return answer.reusable and not (self._large and answer.status >= 300)

    def send(self, data: bytes, *, bodiless: bool) -> ResponseParser:
        """Send a request; the bytes are given to the socket before this returns.

        Args:
            data: The bytes of the request.
            bodiless: The answer has no body, whatever its headers say.
        """
        assert self._transport is not None
        self.answer = answer = ResponseParser(bodiless=bodiless)
        self._large = len(data) > _LARGE
        self._transport.write(data)
        return answer

    async def wait(self) -> None:
        """Wait until more of the answer has arrived.

        Cancellation leaves the connection as it is; who cancels closes it.

        Raises:
            BadAnswer: the answer is malformed or was cut off.
            Disconnected: the connection ended before the answer began.
            OSError: the connection broke.
        """
        self.check()
        self._resume()
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None
        self.check()

    def check(self) -> None:
        """Raise what `wait` raises, if it has happened already."""
        answer = self.answer
        assert answer is not None
        if answer.failure:
            raise BadAnswer(f"malformed answer: {answer.failure}")
        if self._transport is None and not answer.complete:
            raise self._broken(answer)

    def abort(self) -> None:
        """Close the connection at once; what was not sent is dropped."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        answer = self.answer
        if answer is None or answer.complete:
            # Such as 408 Request Timeout, which servers say before they close.
            self.abort()
            return
        answer.feed(data)
        if answer.failure:
            self.abort()
        elif answer.buffered > BUFFER:
            self._pause(answer)
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._error = exc
        if self.answer is not None:
            self.answer.feed_eof()
        if not self.closed.done():
            self.closed.set_result(None)
        self._wake()

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def _pause(self, answer: ResponseParser) -> None:
        # Not once the answer is complete: nobody would notice that the server closes.
        if answer.complete or self._paused:
            return
        if self._transport is not None and not self._transport.is_closing():
            self._paused = True
            self._transport.pause_reading()

    def _resume(self) -> None:
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()

    def _broken(self, answer: ResponseParser) -> Exception:
        if not answer.status:
            return self._error or Disconnected()
        text = f"{_NOT_COMPLETED}: {self._error}" if self._error else _NOT_COMPLETED
        return BadAnswer(text)
