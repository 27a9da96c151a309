"""One exchange: the request, and what sends it and what its answer can do.

Invariant: no part of a request can end its line and begin another header or request (request
splitting).
"""

import re
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final, Protocol

_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_TARGET: Final = re.compile(r"/[!-~]*")
_NOT_IN_VALUE: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


class Request:
    """A request to one server.

    Attributes:
        method: Such as GET.
        target: Quoted path and query.
        headers: Names and values; a name may be repeated. Host, User-Agent, Accept-Encoding and
            Content-Length are the session's business.
        body: None for a request without one.
        content_type: Of the body.
        sent: Whether bytes of it may have reached the server; only known of one with a body.
        refusal: What `before_write` raised.
    """

    __slots__ = (
        "_before_write",
        "body",
        "content_type",
        "headers",
        "method",
        "refusal",
        "sent",
        "target",
    )

    def __init__(
        self,
        method: str,
        target: str,
        *,
        headers: tuple[tuple[str, str], ...],
        body: bytes | None = None,
        content_type: str = "",
        before_write: Callable[[], None] | None = None,
    ) -> None:
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
        self.content_type = content_type
        self.sent = False
        self.refusal: Exception | None = None
        self._before_write = before_write

    def permit(self) -> None:
        """Call `before_write`. The caller sends in the same tick, so that its permission holds.

        Raises:
            Exception: whatever `before_write` raised; nothing may be sent then.
        """
        if self._before_write is not None:
            try:
                self._before_write()
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
        for name, value in self.headers:
            _check_header(name, value)
        _check_header("Content-Type", self.content_type)


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


def _check_header(name: str, value: str) -> None:
    if _TOKEN.fullmatch(name) is None:
        raise ValueError(f"request: {name[:40]!r} cannot be the name of a header")
    if _NOT_IN_VALUE.search(value) is not None:
        # The value is not quoted: it may be a token.
        raise ValueError(f"request: the value of the header {name} holds a control character")
