"""HTTP/1.1 by uvicorn and httptools within `PortLimits`, and TLS below it.

uvicorn limits the time between requests but not within them, parses as many pipelined requests as
fit into one read, and buffers a body for as long as its client sends. Here each part of a request
has its own time limit, which nothing that the client sends extends.
"""

import asyncio
import ssl
from asyncio.sslproto import SSLProtocol
from collections.abc import Callable
from typing import Any, Literal, cast

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from serving.connections import (
    BAD_REQUEST,
    BODY_TIMEOUT,
    HEAD_TIMEOUT,
    HEAD_TOO_LARGE,
    REQUEST_TOO_LARGE,
    TOO_MANY_BYTES,
    Connections,
    Refusal,
    Slot,
)


class JoinedWrites:
    """A transport that joins the writes of one iteration of the event loop.

    Every other method is that of the transport. `close` sends what was written before.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._call_soon = asyncio.get_running_loop().call_soon
        self._waiting: list[bytes] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if not self._waiting:
            self._call_soon(self._flush)
        self._waiting.append(data)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._waiting:
            data = b"".join(self._waiting)
            self._waiting.clear()
            self._transport.write(data)


_PER_HEADER = 32
_Part = Literal["none", "head", "body", "complete"]


class _Unparsed(Exception):
    """Stops the parser; the rest of the data is not parsed."""


class BoundedProtocol(HttpToolsProtocol):
    """One HTTP connection.

    Pipelined requests are not answered, which RFC 9112 allows: the connection is closed after the
    answer to the first one.

    Args:
        connections: The connections of the port.
        slot: Its slot among them.
        tls: Whether it runs on a `TlsProtocol`.
    """

    def __init__(
        self,
        connections: Connections,
        slot: Slot,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        *,
        tls: bool = False,
    ) -> None:
        super().__init__(config, server_state, app_state)
        self._connections = connections
        self._limits = connections.limits
        self._slot = slot
        self._tls = tls
        self._timer: asyncio.TimerHandle | None = None
        self._answer_timer: asyncio.TimerHandle | None = None
        self._part: _Part = "none"
        self._refusal: Refusal | None = None
        self._deaf = False
        self._head_bytes = self._request_bytes = self._number = self._size = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(cast("asyncio.Transport", JoinedWrites(transport)))
        self._slot.shed = lambda: self._refuse(TOO_MANY_BYTES)
        # Idle and not incomplete: Go's clients open connections before they have requests for them.
        self._arm(self._limits.idle, self._close)

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        self.answer_goes_on()
        self._slot.close()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        super().shutdown()
        if self.transport.is_closing():
            self._arm(self._limits.linger, self.transport.abort)

    # Receiving

    def data_received(self, data: bytes) -> None:
        if self._deaf:
            return
        before = (self._number, self._part)
        self._size = len(data)
        self._request_bytes += self._size
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # No upgrade is supported; the request is answered like any other.
            self._stop_reading()
        except httptools.HttpParserError as error:
            if not isinstance(error.__context__, _Unparsed):
                self._refusal = BAD_REQUEST
        if self._refusal is None and self._request_bytes > self._limits.request_bytes:
            self._refusal = REQUEST_TOO_LARGE
        if self._refusal is not None:
            self._refuse(self._refusal)
        elif not self._deaf:
            self._received(before)

    def _received(self, before: tuple[int, _Part]) -> None:
        """Set the time limit for what is still to come."""
        if self._part == "none":
            # Empty lines before a request, which the parser skips: the request has begun.
            self._begin()
        begun = before != (self._number, self._part)
        if self._part == "head":
            self._slot.enter("incomplete")
            # The parser reports a header only at its end, so bytes are counted here as well.
            if self._request_bytes > 2 * self._limits.head_bytes:
                self._refuse(HEAD_TOO_LARGE)
            elif begun:
                self._arm(self._limits.head, lambda: self._refuse(HEAD_TIMEOUT))
        elif self._part == "body":
            self._slot.enter("incomplete")
            if begun:
                self._arm(self._limits.body, lambda: self._refuse(BODY_TIMEOUT))
        elif self.cycle.response_complete:
            self._wait_for_next()
        else:
            self._disarm()
            self._slot.enter("busy")

    def on_message_begin(self) -> None:
        if self._answering():
            # Thousands of requests fit into one read, and each would take memory while it waits.
            self._stop_reading()
            raise _Unparsed
        if self._part != "head":
            self._begin()
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count_head(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count_head(len(name) + len(value) + _PER_HEADER)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._part = "body"

    def on_body(self, body: bytes) -> None:
        if self.cycle.response_complete or self._refusal is not None:
            return
        if not self._slot.hold(len(body)):
            self._stop_parsing(TOO_MANY_BYTES)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._part = "complete"
        super().on_message_complete()

    def _begin(self) -> None:
        self._part = "head"
        self._number += 1
        self._head_bytes, self._request_bytes = 0, self._size

    def _count_head(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > self._limits.head_bytes:
            self._stop_parsing(HEAD_TOO_LARGE)

    def _stop_parsing(self, refusal: Refusal) -> None:
        self._refusal = refusal
        raise _Unparsed

    def _stop_reading(self) -> None:
        self._deaf = True
        self.cycle.keep_alive = False

    # Sending

    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        self._slot.release()
        if self._deaf or self.transport.is_closing():
            self._close()
            return
        self.flow.resume_reading()
        # Otherwise the rest of the body is read and dropped, within its time limit.
        if self._part == "complete":
            self._wait_for_next()

    def pause_writing(self) -> None:
        super().pause_writing()
        if not self._tls:
            self.answer_waits()

    def resume_writing(self) -> None:
        if not self._tls:
            self.answer_goes_on()
        super().resume_writing()

    def answer_waits(self) -> None:
        """Start the time limit of the answer: the client does not read it."""
        self._answer_timer = self.loop.call_later(self._limits.answer, self._answer_late)

    def answer_goes_on(self) -> None:
        """Stop the time limit of the answer: the client has read most of it."""
        if self._answer_timer is not None:
            self._answer_timer.cancel()
            self._answer_timer = None

    # Closing

    def _answering(self) -> bool:
        # There is no cycle before the first request, which uvicorn's annotation leaves out.
        cycle = cast("RequestResponseCycle | None", self.cycle)
        return cycle is not None and not cycle.response_complete

    def _wait_for_next(self) -> None:
        self._part = "none"
        self._slot.enter("idle")
        self._arm(self._limits.idle, self._close)

    def _answer_late(self) -> None:
        self._connections.observe("answer_timeout")
        self.transport.abort()

    def _refuse(self, refusal: Refusal) -> None:
        """Answer in place of the app, and close after `PortLimits.linger`."""
        self._connections.observe(refusal.reason)
        self._deaf = True
        self._slot.release()
        if self._part == "body" and self.cycle.response_complete:
            # The app has answered before the body was there; this was the rest of it.
            self._close()
            return
        if self._answering():
            if self.cycle.response_started:
                self.transport.abort()
                return
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.write(refusal.answer())
        # Closed at once, what the client still sends would be answered with a reset, and a reset
        # can destroy the answer before it is read.
        self.flow.resume_reading()
        self._arm(self._limits.linger, self._close)

    def _close(self) -> None:
        """Close after what is left to send; abort if the client does not read it in time."""
        self.transport.close()
        self._arm(self._limits.linger, self.transport.abort)

    def _arm(self, seconds: float, expire: Callable[[], None]) -> None:
        self._disarm()
        self._timer = self.loop.call_later(seconds, expire)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class TlsProtocol(SSLProtocol):
    """TLS of one connection, which has its slot from its first byte, not from the handshake on.

    `loop.create_server(ssl=...)` reports connections only after their handshake, and keeps a
    buffer of 256 KiB for each.

    Args:
        connections: The connections of the port.
        slot: Its slot among them.
        context: With the certificate.
        above: The HTTP connection that runs on it.
    """

    max_size = 32 * 1024

    def __init__(
        self,
        connections: Connections,
        slot: Slot,
        context: ssl.SSLContext,
        above: BoundedProtocol,
    ) -> None:
        self._connections = connections
        self._slot = slot
        self._above: BoundedProtocol | None = above
        limits = connections.limits
        super().__init__(
            asyncio.get_running_loop(),
            above,
            context,
            None,  # type: ignore[arg-type]  # nobody waits for the handshake
            server_side=True,
            ssl_handshake_timeout=limits.handshake,  # type: ignore[arg-type]  # a float is taken
            ssl_shutdown_timeout=limits.linger,
        )

    def connection_lost(self, exc: BaseException | None) -> None:
        self._slot.close()
        super().connection_lost(exc)
        # Its transport leads here: a cycle that would keep buffers and OpenSSL's memory, of which
        # the garbage collector does not know.
        self._above = None

    def pause_writing(self) -> None:
        super().pause_writing()
        # asyncio tells the protocol only at the next write, and an answer is a single write.
        if self._above is not None:
            self._above.answer_waits()

    def resume_writing(self) -> None:
        if self._above is not None:
            self._above.answer_goes_on()
        super().resume_writing()

    def _check_handshake_timeout(self) -> None:
        self._connections.observe("handshake_timeout")
        super()._check_handshake_timeout()

    def _on_handshake_complete(self, handshake_exc: BaseException | None) -> None:
        if handshake_exc is None and self._unverified():
            handshake_exc = ssl.SSLError("a resumed session, whose client is not verified again")
        if isinstance(handshake_exc, ssl.SSLError):
            self._connections.observe("handshake_failed")
            # Sends the TLS alert with the reason; asyncio would close without it.
            self._process_outgoing()  # type: ignore[attr-defined]  # not in the stubs
        super()._on_handshake_complete(handshake_exc)

    def _unverified(self) -> bool:
        # OpenSSL verifies the client of a full handshake only. TLS 1.2 can resume a session whose
        # authority is not trusted any more, and Python cannot switch that off.
        if self._sslcontext.verify_mode != ssl.CERT_REQUIRED:
            return False
        session: ssl.SSLObject = self._sslobj  # type: ignore[attr-defined]  # not in the stubs
        return bool(session.session_reused)
