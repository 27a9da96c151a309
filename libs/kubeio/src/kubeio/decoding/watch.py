"""The watch protocol: one JSON event a line, of any length, over a body that goes on.

Invariant: an event is handed on only if its line was complete. A stream that ends inside a line
is a lost connection, one that ends between two lines a normal end.
"""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator
from typing import Final, NamedTuple

import orjson

from kubeio.decoding.nesting import decode
from kubeio.errors import ConnectionLost, Malformed, error_from_status
from kubeio.types import JsonObject

# etcd refuses objects over 1.5 MiB; managedFields and JSON escapes add to that.
MAX_LINE = 16 * 2**20
_SHARE: Final = 64 * 1024  # bytes of events handed on before other tasks get a turn
_TYPES: Final = frozenset({"ADDED", "MODIFIED", "DELETED", "BOOKMARK"})


class WatchEvent(NamedTuple):
    """ADDED, MODIFIED, DELETED or BOOKMARK, and the object (of a bookmark: its version only)."""

    type: str
    object: JsonObject


async def events(chunks: AsyncIterable[bytes], subject: str) -> AsyncIterator[WatchEvent]:
    """Yield the events of a watch's body.

    Raises:
        ApiError: the stream held an ERROR event, Gone if the version is too old.
        Malformed: a line is no event, or too long.
        ConnectionLost: a line was cut off.
    """
    since_yield = 0
    async for line in lines(chunks):
        # A watch that goes on after a while is sent all that it missed at once. A chunk of 2 MiB
        # holds thousands of events, and nothing else here waits for anything.
        since_yield += len(line)
        if since_yield >= _SHARE:
            since_yield = 0
            await asyncio.sleep(0)
        yield await _event(line, subject)


async def lines(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """Yield the lines in a stream of chunks, without their end, empty ones left out.

    aiohttp's own ``readline`` copies a long line once for each chunk and fails above its buffer
    size; this joins the chunks once, and takes several lines from one chunk.
    """
    parts: list[bytes] = []
    size = 0
    async for chunk in chunks:
        *complete, rest = chunk.split(b"\n")
        for line in complete:
            parts.append(line)
            whole = b"".join(parts)
            parts, size = [], 0
            if whole:
                yield whole
        if rest:
            parts.append(rest)
            size += len(rest)
            if size > MAX_LINE:
                raise Malformed(f"a line of a watch is longer than {MAX_LINE} bytes")
    if parts:
        raise ConnectionLost("the watch ended in the middle of an event")


async def _event(line: bytes, subject: str) -> WatchEvent:
    try:
        parsed = await decode(line.decode())
        kind, obj = parsed["type"], parsed["object"]
    except (UnicodeDecodeError, orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise Malformed(f"{subject}: not a watch event") from error
    if not isinstance(kind, str) or not isinstance(obj, dict):
        raise Malformed(f"{subject}: not a watch event")
    if kind == "ERROR":
        raise error_from_status(obj)
    if kind not in _TYPES:
        raise Malformed(f"{subject}: not a watch event of a known type")
    return WatchEvent(kind, obj)
