"""RoundTripper: sends the requests of a Client, and reports dates, warnings and outcomes of them.

`transport.Transport` does it over HTTP. Another implementation may stand for an API server in the
same process.
"""

import asyncio
import logging
import re
import time
from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal, NamedTuple, Protocol

from kubeio.errors import ConnectionLost
from kubeio.types import Headers, Json

_FORMAT: Final = "%a, %d %b %Y %H:%M:%S GMT"


class ServerDate(NamedTuple):
    """The Date header of an answer, and when it came.

    Attributes:
        text: As the server sent it; `parse` reads it.
        received_at: Seconds of the event loop's clock when the headers of the answer had arrived.
    """

    text: str
    received_at: float

    def parse(self) -> datetime:
        """Return the time in UTC, in whole seconds.

        Only the form that servers have to send is read (RFC 9110 §5.6.7, IMF-fixdate).

        Raises:
            ValueError: the header has another form, or no such day exists.
        """
        return datetime.strptime(self.text, _FORMAT).replace(tzinfo=UTC)


log = logging.getLogger(__name__)

_REMEMBERED = 1000
_WARNING = re.compile(r'(\d{3}) (\S+) "((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")


class WarningSink:
    """Parses and deduplicates warnings and passes them to ``handler``; None drops them."""

    def __init__(self) -> None:
        self.handler: Callable[[str], None] | None = None
        self._seen: dict[str, None] = {}

    def collect(self, headers: Iterable[str]) -> None:
        """Pass each new text to the handler."""
        for header in headers:
            for text in parse_warnings(header):
                if self.handler is not None and self._is_new(text):
                    self.handler(text)

    def _is_new(self, text: str) -> bool:
        if text in self._seen:
            return False
        if len(self._seen) >= _REMEMBERED:
            del self._seen[next(iter(self._seen))]
        self._seen[text] = None
        return True


def parse_warnings(header: str) -> list[str]:
    """Return the texts with code 299 of one Warning header (RFC 7234 §5.5)."""
    return [
        _ESCAPED.sub(r"\1", quoted) for code, _, quoted in _WARNING.findall(header) if code == "299"
    ]


Ending = Literal["answered", "timeout", "lost", "cancelled"]


@dataclass(frozen=True, slots=True)
class RequestSeen:
    """One exchange with the API server.

    Attributes:
        verb: GET, LIST, WATCH, POST, PUT, PATCH, APPLY, DELETE, EXEC; of a raw request its method.
        status: HTTP status, 0 without an answer.
        seconds: Until the answer was complete, of a watch until it was opened; includes the wait
            for a connection.
        ending: Whether an answer came, or why not.
    """

    verb: str
    status: int
    seconds: float
    ending: Ending


OnRequest = Callable[[RequestSeen], None]
"""Called in the event loop of the client; must neither block nor raise."""


@dataclass(slots=True)
class Exchange:
    """An exchange in progress; the sender sets its status."""

    status: int = 0


@contextmanager
def observed(on_request: OnRequest | None, verb: str) -> Iterator[Exchange]:
    """Report the exchange that the block makes."""
    exchange = Exchange()
    if on_request is None:
        yield exchange
        return
    started = time.perf_counter()
    ending: Ending = "answered"
    try:
        yield exchange
    except ConnectionLost as lost:
        ending = "timeout" if lost.timeout else "lost"
        raise
    except asyncio.CancelledError:
        ending = "cancelled"
        raise
    finally:
        if exchange.status or ending != "answered":
            seconds = time.perf_counter() - started
            on_request(RequestSeen(verb, exchange.status, seconds, ending))


@dataclass(frozen=True, slots=True)
class Call:
    """What a client sends, but for the credential.

    Attributes:
        path: A URL path, quoted.
        query: Names and values; as pairs a name may be repeated.
        body: JSON; None for a request without a body.
        headers: Sent as well; they may say whom the request acts as.
        verb: What `on_request` is told; the method if empty.
    """

    method: str
    path: str
    query: Mapping[str, str] | Sequence[tuple[str, str]] = ()
    body: Json = None
    content_type: str = "application/json"
    accept: str = "application/json"
    headers: Headers = ()
    verb: str = ""

    @property
    def subject(self) -> str:
        """Return method and path, for errors."""
        return f"{self.method} {self.path}"


class RoundTripper(Protocol):
    """Sends requests to one API server; see `transport.Transport` for what each method does.

    Attributes:
        timeout: Seconds for one call.
        before_write: Called in the loop iteration in which a write is sent; an exception it raises
            is raised by the call, and nothing is sent.
        on_request: Called after every request that was sent.
        last_date: A Date header, read at most once a second; None before the first.
        warnings: Receives Warning headers.
    """

    timeout: float
    before_write: Callable[[], None] | None
    on_request: OnRequest | None
    last_date: ServerDate | None
    warnings: WarningSink

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def call(self, call: Call) -> Json: ...

    def answer(self, call: Call) -> AbstractAsyncContextManager[AsyncIterable[bytes]]: ...

    def stream(
        self, call: Call, *, idle_timeout: float
    ) -> AbstractAsyncContextManager[AsyncIterable[bytes]]: ...

    def websocket(
        self, call: Call, *, protocols: Sequence[str], timeout: float | None = None
    ) -> AbstractAsyncContextManager[AsyncIterable[bytes]]: ...
