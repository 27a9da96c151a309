"""One exchange: the address, the request, what sends it, and its answer.

Invariant: no part of a request can end its line and begin another header or request (request
splitting).

What traces requests imports this at the start of every command: nothing here needs TLS or sockets.
"""

import re
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, Self
from urllib.parse import quote, urlsplit

_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_TARGET: Final = re.compile(r"/[!-~]*")
_NOT_IN_VALUE: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


@dataclass(eq=False, slots=True)
class Request:
    """A request to one server.

    Attributes:
        target: Quoted path and query.
        headers: Names and values; a name may be repeated. Host, User-Agent, Accept-Encoding and
            Content-Length are the session's business.
        body: None for a request without one.
        sent: Whether bytes of it may have reached the server; only known of one with a body.
        refusal: What `before_write` raised.
    """

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes | None = None
    content_type: str = ""
    before_write: Callable[[], None] | None = None
    sent: bool = field(default=False, init=False)
    refusal: Exception | None = field(default=None, init=False)

    def permit(self) -> None:
        """Call `before_write`. The caller sends in the same tick, so that its permission holds.

        Raises:
            Exception: whatever `before_write` raised; nothing may be sent then.
        """
        if self.before_write is not None:
            try:
                self.before_write()
            except Exception as refusal:
                self.refusal = refusal
                raise
        self.sent = True

    def check(self) -> None:
        """Check that it is one request.

        Raises:
            ValueError: the method, the target or a header holds what would split the request.
        """
        if _TOKEN.fullmatch(self.method) is None:
            raise ValueError("request: the method is no HTTP token")
        if _TARGET.fullmatch(self.target) is None:
            problem = "a space, a control character or a character beyond ASCII; quote it"
            raise ValueError(f"request: the path does not begin with / or holds {problem}")
        for name, value in (*self.headers, ("Content-Type", self.content_type)):
            if _TOKEN.fullmatch(name) is None:
                raise ValueError(f"request: {name[:40]!r} cannot be the name of a header")
            if _NOT_IN_VALUE.search(value) is not None:
                # The value is not quoted: it may be a token.
                text = f"the value of the header {name} holds a control character"
                raise ValueError(f"request: {text}")


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


class HttpSession(Protocol):
    """Sends requests to one server."""

    async def send(self, request: Request, *, idle_timeout: float | None = None) -> HttpResponse:
        """Send a request and return the answer once its headers have arrived.

        Cancellation closes the connection.

        Args:
            request: What to send; its `before_write` is called right before.
            idle_timeout: Seconds that the body may pause, for an answer that goes on: it is not
                compressed, and its connection counts towards no limit.

        Raises:
            HttpError: there is no answer, or it is malformed.
            ValueError: the request cannot be written as HTTP.
            Exception: whatever `before_write` raised.
        """


@dataclass(frozen=True, slots=True)
class Address:
    """The parts of a base URL; its user is left out.

    Attributes:
        origin: Scheme, host and port, as in `https://a:6443`.
        prefix: Quoted path before all paths, without a slash at its end; may be empty.
    """

    origin: str
    prefix: str

    @classmethod
    def parse(cls, url: str) -> Self:
        """Read an http or https URL.

        Raises:
            ValueError: the URL has no host, or its port is no number.
        """
        parts = urlsplit(url)
        host = parts.hostname
        if not host or parts.scheme not in ("http", "https"):
            raise ValueError(f"{parts.scheme}://{host or ''} is no http or https URL")
        shown = f"[{host}]" if ":" in host else host
        if not shown.isascii():
            shown = shown.encode("idna").decode()
        usual = 443 if parts.scheme == "https" else 80
        port = "" if parts.port in (None, usual) else f":{parts.port}"
        return cls(
            origin=f"{parts.scheme}://{shown}{port}",
            prefix=quote(parts.path.rstrip("/"), safe="/%:@!$&'()*+,;=~"),
        )
