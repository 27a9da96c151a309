"""Limits of a port: time, size and number of connections and requests."""

from dataclasses import dataclass
from typing import Literal

Reason = Literal[
    "answer_timeout",
    "bad_request",
    "body_timeout",
    "handshake_failed",
    "handshake_timeout",
    "head_timeout",
    "head_too_large",
    "request_too_large",
    "too_many_bytes",
    "too_many_connections",
    "too_many_silent",
]
"""Why a port closed a connection."""


@dataclass(frozen=True, slots=True)
class PortLimits:
    """The limits of a port. Times are in seconds, sizes in bytes.

    Each time is for the whole part, so that sending a byte now and then does not extend it.

    Attributes:
        handshake: From the connection to its first byte, and from there to the end of the TLS
            handshake.
        head: From the first byte of a request to the end of its head.
        body: From the end of the head to the last byte of the body.
        answer: For which a client may leave its answer unread.
        idle: Between two requests, and before the first byte where there is no TLS. 120 is longer
            than the 90 after which Go's clients drop an idle connection, so that we never close
            one just as the API server sends a request on it.
        linger: For a client to read its answer and close, before the connection is cut.
        silent: Open at a time that have sent nothing. They take little but a file descriptor. At
            3,000 new ones a second, each has a third of a second for its first byte.
        connections: Open at a time that have sent something, those in the TLS handshake among them.
        head_bytes: Of request line and headers, each with 32 more for what keeps it.
        request_bytes: Of one request as it is sent, chunk headers and trailers among them.
        held_bytes: Of the bodies of all requests that are not answered yet.
    """

    handshake: float = 5.0
    head: float = 5.0
    body: float = 5.0
    answer: float = 10.0
    idle: float = 120.0
    linger: float = 1.0
    silent: int = 1024
    connections: int = 256
    head_bytes: int = 32 * 1024
    request_bytes: int = 8 * 1024 * 1024
    held_bytes: int = 32 * 1024 * 1024

    @property
    def small(self) -> int:
        """Bytes of each body that always have room: half of `held_bytes`, shared by connections."""
        return self.held_bytes // 2 // self.connections


@dataclass(frozen=True, slots=True)
class Refusal:
    """The answer of the port, in place of the app's.

    Attributes:
        reason: For metrics.
        status: HTTP status.
        text: For people; plain text.
        retry: Seconds after which the client may try again; 0 if it should not.
    """

    reason: Reason
    status: int
    text: str
    retry: int = 0

    def answer(self) -> bytes:
        """Return the whole HTTP response; the connection is closed after it."""
        retry = f"retry-after: {self.retry}\r\n" if self.retry else ""
        head = (
            f"HTTP/1.1 {self.status} {_PHRASES[self.status]}\r\n"
            "content-type: text/plain; charset=utf-8\r\n"
            f"content-length: {len(self.text)}\r\n{retry}connection: close\r\n\r\n"
        )
        return (head + self.text).encode("ascii")


_PHRASES = {
    400: "Bad Request",
    408: "Request Timeout",
    413: "Content Too Large",
    431: "Request Header Fields Too Large",
    503: "Service Unavailable",
}

BAD_REQUEST = Refusal("bad_request", 400, "this is no HTTP request\n")
HEAD_TIMEOUT = Refusal("head_timeout", 408, "the headers did not arrive in time\n")
BODY_TIMEOUT = Refusal("body_timeout", 408, "the body did not arrive in time\n")
HEAD_TOO_LARGE = Refusal("head_too_large", 431, "the headers are too large\n")
REQUEST_TOO_LARGE = Refusal("request_too_large", 413, "the request is too large\n")
TOO_MANY_BYTES = Refusal(
    "too_many_bytes", 503, "too many large requests at the same time; try again\n", retry=1
)

PROBES = PortLimits(connections=64, request_bytes=64 * 1024, held_bytes=1024 * 1024)
"""The limits of the port of probes and metrics."""
