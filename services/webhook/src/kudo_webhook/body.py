"""Read a request's body, no further than the limit."""

from serving.probes import Receive, Scope

LIMIT = 4 * 1024 * 1024
"""Bytes. An API server takes 3 MiB and etcd stores 1.5 MiB by default, so the submitted object
beside the stored one stays under 3 MiB; the rest is for the envelope."""


class BodyTooLarge(Exception):
    """The body is larger than the limit; the rest of it has not been read."""


class BodyLost(Exception):
    """The client went away in the middle of the body."""


async def read_body(scope: Scope, receive: Receive, limit: int = LIMIT) -> bytes:
    """Return the whole body of an ASGI request.

    Raises:
        BodyTooLarge: it is larger than `limit`, by its header or in fact.
        BodyLost: the connection broke.
    """
    if _announced(scope) > limit:
        raise BodyTooLarge
    chunks: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise BodyLost
        chunk: bytes = message.get("body", b"")
        size += len(chunk)
        if size > limit:
            raise BodyTooLarge
        chunks.append(chunk)
        more = message.get("more_body", False)
    return b"".join(chunks)


def _announced(scope: Scope) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value)
    return 0
