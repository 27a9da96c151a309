"""One request: what is sent, and whether it was.

Invariants: no part of a request can end its line and begin another header or request (request
splitting); `before_write` is called in the same tick in which the bytes go to the socket.
"""

import re
from collections.abc import Callable
from typing import Final

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
        sent: Whether bytes of it may have reached the server.
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

    def encode(self, common: str) -> bytes:
        """Return the bytes of the request.

        Args:
            common: Lines of headers that all requests of a session have, each with its end.

        Raises:
            ValueError: the method, the target or a header holds what would split the request.
        """
        lines = [self._line(), common]
        lines += [header_line(name, value) for name, value in self.headers]
        if self.body is None:
            lines.append("\r\n")
            return "".join(lines).encode()
        lines.append(header_line("Content-Type", self.content_type))
        lines.append(f"Content-Length: {len(self.body)}\r\n\r\n")
        return "".join(lines).encode() + self.body

    def _line(self) -> str:
        if _TOKEN.fullmatch(self.method) is None:
            raise ValueError("request: the method is no HTTP token")
        if _TARGET.fullmatch(self.target) is None:
            problem = "a space, a control character or a character beyond ASCII; quote it"
            raise ValueError(f"request: the path does not begin with / or holds {problem}")
        return f"{self.method} {self.target} HTTP/1.1\r\n"


def header_line(name: str, value: str) -> str:
    """Return the line of one header with its end.

    Raises:
        ValueError: the name or the value holds what no header can.
    """
    if _TOKEN.fullmatch(name) is None:
        raise ValueError(f"request: {name[:40]!r} cannot be the name of a header")
    if _NOT_IN_VALUE.search(value) is not None:
        # The value is not quoted: it may be a token.
        raise ValueError(f"request: the value of the header {name} holds a control character")
    return f"{name}: {value}\r\n"
