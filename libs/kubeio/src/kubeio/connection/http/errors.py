"""The errors of an exchange.

HttpError
├── CannotConnect      no connection was made: nothing was sent
│   ├── ConnectTimeout
│   └── Untrusted      the certificate of the server is not trusted
├── Disconnected       the connection ended before the answer began
├── BadAnswer          malformed, cut off, too long, or in an encoding nobody asked for
└── ReadTimeout        the body paused for too long

No text quotes a byte of an answer, which may be one of a Secret.
"""

import os
import socket
import ssl


class HttpError(Exception):
    """Root of the errors of this package."""


class CannotConnect(HttpError):
    """No connection could be made, so the request was not sent."""

    @classmethod
    def to(cls, host: str, port: int | None, error: Exception) -> "CannotConnect":
        """Return the error for an error of the socket or of the TLS handshake."""
        kind = Untrusted if isinstance(error, ssl.SSLCertVerificationError) else cls
        return kind(f"cannot connect to {host}:{port}: {reason_of(error)}")


class Untrusted(CannotConnect):
    """The certificate of the server is not trusted."""


class ConnectTimeout(CannotConnect, TimeoutError):
    """The TCP or the TLS handshake took too long, so the request was not sent."""


class Disconnected(HttpError):
    """The connection ended before the answer began."""

    def __init__(self, text: str = "Server disconnected") -> None:
        super().__init__(text)


class BadAnswer(HttpError):
    """The answer is not HTTP/1.1, ended too early, or is longer than the client takes."""

    @classmethod
    def malformed(cls, error: BaseException) -> "BadAnswer":
        """Return the error for one of a parser, whose text quotes what the server has sent."""
        while error.__cause__ is not None:
            error = error.__cause__
        return cls(f"malformed answer: {type(error).__name__}")


class ReadTimeout(HttpError, TimeoutError):
    """The server sent nothing for too long in the middle of a body."""

    def __init__(self) -> None:
        super().__init__("Timeout on reading data from socket")


class NoWebSocket(Exception):
    """The server did not agree to a websocket: its answer."""

    def __init__(self, status: int, retry_after: str | None, body: bytes) -> None:
        super().__init__(status)
        self.status = status
        self.retry_after = retry_after
        self.body = body


def reason_of(error: Exception) -> str:
    """Return the reason in the words of the operating system or of the TLS library."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"certificate verify failed: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        reason = (error.reason or str(error)).replace("_", " ").lower()
        return f"the TLS handshake failed: {reason}"
    if isinstance(error, OSError) and error.errno and not isinstance(error, socket.gaierror):
        # Its own text has the address a second time.
        return os.strerror(error.errno)
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
