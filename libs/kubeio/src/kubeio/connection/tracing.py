"""Traces of HTTP exchanges, for a log that a user asked for.

Invariant: a trace has no credential: those of headers are masked, the one of the URL is left out.
"""

import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, Self

from kubeio.connection.http.exchange import HttpResponse, HttpSession, Request
from kubeio.types import Headers

TRACED_BYTES: Final = 2**20
"""Of each body; the rest is counted."""

_MASKED: Final = "<masked>"
_CREDENTIALS: Final = frozenset(
    {"authorization", "proxy-authorization", "cookie", "set-cookie", "www-authenticate"}
)


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as it is sent, with masked credentials."""

    method: str
    url: str
    headers: Headers
    body: bytes | None


@dataclass(frozen=True, slots=True)
class Answered:
    """The status and headers of an answer; status 0 if none came.

    Attributes:
        seconds: Since the wait for a connection began.
        failure: Why there is no answer.
    """

    status: int
    headers: Headers
    seconds: float
    failure: str = ""


class Tracer(Protocol):
    """Receives what goes over the wire; its methods neither block nor raise.

    Attributes:
        bodies: Whether it wants those of answers.
    """

    bodies: bool

    def sent(self, request: Sent) -> None: ...

    def answered(self, request: Sent, answer: Answered) -> None: ...

    def body(self, request: Sent, content: bytes, size: int) -> None:
        """Take the first `TRACED_BYTES` of what was read of a body, and how much that was."""


@dataclass(frozen=True, slots=True)
class TracedSession:
    """An HttpSession that tells a tracer what another one sends and receives.

    Attributes:
        origin: Scheme, host and port of the server.
        headers: Those that the session adds to each request.
    """

    session: HttpSession
    tracer: Tracer
    origin: str
    headers: Headers

    async def send(self, request: Request, *, idle_timeout: float | None = None) -> HttpResponse:
        url = f"{self.origin}{request.target}"
        headers = masked((*request.headers, *self.headers))
        sent = Sent(request.method, url, headers, request.body)
        self.tracer.sent(sent)
        began = time.perf_counter()
        try:
            response = await self.session.send(request, idle_timeout=idle_timeout)
        except Exception as error:
            failure = Answered(0, (), time.perf_counter() - began, str(error) or repr(error))
            self.tracer.answered(sent, failure)
            raise
        seconds = time.perf_counter() - began
        answered = Answered(response.status, masked(response.headers), seconds)
        self.tracer.answered(sent, answered)
        return _TracedResponse(response, self.tracer, sent) if self.tracer.bodies else response


class _TracedResponse:
    def __init__(self, response: HttpResponse, tracer: Tracer, sent: Sent) -> None:
        self.status = response.status
        self.headers = response.headers
        self._response = response
        self._tracer = tracer
        self._sent = sent
        self._parts: list[bytes] = []
        self._kept = self._size = 0
        self._closed = False

    def values(self, name: str) -> Sequence[str]:
        return self._response.values(name)

    async def read(self) -> bytes:
        body = await self._response.read()
        self.note(body)
        return body

    def chunks(self) -> AsyncIterator[bytes]:
        return _TracedChunks(self, self._response.chunks())

    def close(self) -> None:
        self._response.close()
        if not self._closed:
            self._closed = True
            self._tracer.body(self._sent, b"".join(self._parts), self._size)

    def note(self, chunk: bytes) -> None:
        """Keep what is read, up to `TRACED_BYTES`."""
        kept = chunk[: TRACED_BYTES - self._kept]
        self._size += len(chunk)
        self._kept += len(kept)
        self._parts += [kept] if kept else []


class _TracedChunks:
    def __init__(self, response: _TracedResponse, chunks: AsyncIterator[bytes]) -> None:
        self._response = response
        self._chunks = chunks

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        chunk = await anext(self._chunks)
        self._response.note(chunk)
        return chunk


def masked(headers: Headers) -> Headers:
    """Return headers without the credentials in them."""
    return tuple(
        (name, _masked(value) if name.lower() in _CREDENTIALS else value) for name, value in headers
    )


def _masked(value: str) -> str:
    scheme, space, _ = value.partition(" ")
    return f"{scheme} {_MASKED}" if space else _MASKED
