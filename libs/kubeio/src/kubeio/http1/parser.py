"""Parses one HTTP/1.1 answer as its bytes arrive.

Invariants: how the bytes are split does not matter; an answer is complete or has a failure, never
both; what arrives after it makes its connection unusable, and changes nothing in it.
"""

from typing import Final

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

MAX_FIELD: Final = 8190
"""Bytes of the name and the value of one header together, as many as aiohttp takes."""
MAX_HEADERS: Final = 128
_MAX_OVERHEAD: Final = 256 * 1024  # bytes in a row that are no body: headers, trailers, 1xx answers


class ResponseParser:
    """The answer to one request, as far as it has arrived.

    Attributes:
        status: HTTP status code, 0 until the headers are complete.
        headers: Lower-case names, and values.
        complete: Whether all of it has arrived.
        reusable: Whether the connection can take another request, once it is complete.
        failure: What is wrong with the bytes; empty if nothing is.
        buffered: Bytes of the body that `take` would return.
    """

    __slots__ = (
        "_bodiless",
        "_body",
        "_keep_alive",
        "_names",
        "_overhead",
        "_parser",
        "buffered",
        "complete",
        "failure",
        "headers",
        "reusable",
        "status",
    )

    def __init__(self, *, bodiless: bool = False) -> None:
        """Make the parser of one answer.

        Args:
            bodiless: The answer ends with its headers, as that to a HEAD does.
        """
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self._names: frozenset[bytes] = frozenset()
        self.complete = False
        self.reusable = False
        self.failure = ""
        self.buffered = 0
        self._bodiless = bodiless
        self._body: list[bytes] = []
        self._keep_alive = False
        self._overhead = 0
        self._parser: HttpResponseParser | None = HttpResponseParser(self)

    def feed(self, data: bytes) -> None:
        """Parse what has arrived; `failure` says what is wrong with it."""
        if self._parser is None:
            # Line ends between answers are ignored, as httptools does within one call.
            self.reusable = self.reusable and not data.strip(b"\r\n")
            return
        pieces, before = len(self._body), self.buffered
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            self._fail(str(error))
        if len(self._body) - pieces > 1:
            # Chunks of one byte each would take fifty times their size.
            self._body[pieces:] = [b"".join(self._body[pieces:])]
        self._overhead = 0 if self.buffered > before else self._overhead + len(data)
        if self._overhead > _MAX_OVERHEAD:
            self._fail(f"more than {_MAX_OVERHEAD} bytes of headers")
        if self.complete or self.failure:
            # It refers to this object: the two would be left to the garbage collector.
            self._parser = None

    def feed_eof(self) -> None:
        """Note that nothing more will arrive; an answer without a length ends so."""
        self.reusable = False
        self._parser = None
        if not self.complete and self.status and not self.failure and self._until_close():
            self.complete = True

    def take(self) -> bytes:
        """Return what has arrived of the body since the last call, empty if nothing has."""
        body = self._body
        if not body:
            return b""
        self._body, self.buffered = [], 0
        return body[0] if len(body) == 1 else b"".join(body)

    def values(self, name: bytes) -> list[str]:
        """Return the values of a header, whose name is given in lower case."""
        if name not in self._names:
            return []
        return [
            value.decode("utf-8", "replace").strip() for key, value in self.headers if key == name
        ]

    def _fail(self, text: str) -> None:
        # What comes after a complete answer is no part of it.
        self.reusable = False
        if not self.complete and not self.failure:
            self.failure = text

    def _until_close(self) -> bool:
        return not self.values(b"content-length") and not self.values(b"transfer-encoding")

    # Called by httptools. What they raise would be wrapped: they note failures instead.

    def on_message_begin(self) -> None:
        if self.complete:
            self.reusable = False

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.status:  # otherwise a trailer, or the header of a second answer
            self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        if self.status or self.failure:
            return
        assert self._parser is not None
        status = self._parser.get_status_code()
        if status == 101:
            self._fail("101 Switching Protocols, which nobody asked for")
        elif status < 200:
            self.headers = []  # 100 Continue, 103 Early Hints: the answer is yet to come
        else:
            self._begin_body(status, keep_alive=self._parser.should_keep_alive())

    def _begin_body(self, status: int, *, keep_alive: bool) -> None:
        self._names = frozenset([name for name, _ in self.headers])
        if len(self.headers) > MAX_HEADERS:
            self._fail(f"more than {MAX_HEADERS} headers")
            return
        if max([len(name) + len(value) for name, value in self.headers], default=0) > MAX_FIELD:
            self._fail(f"a header of more than {MAX_FIELD} bytes")
            return
        encodings = self.values(b"transfer-encoding")
        if encodings and [each.lower() for each in encodings] != ["chunked"]:
            self._fail("a transfer encoding other than chunked")
            return
        self.status = status
        self._keep_alive = keep_alive
        # httptools would take what follows for its body, so the connection is not used again.
        self.complete = self._bodiless

    def on_body(self, data: bytes) -> None:
        if not self.complete and not self.failure:
            self._body.append(data)
            self.buffered += len(data)

    def on_message_complete(self) -> None:
        if self.status and not self.complete and not self.failure:
            self.complete = True
            self.reusable = self._keep_alive
