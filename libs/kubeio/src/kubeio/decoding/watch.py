"""Decodes a watch: one JSON event on each line of an endless body.

Invariant: only complete lines are decoded. A body that ends within a line is a lost connection; one
that ends between two lines is a normal end.
"""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator
from typing import Final, NamedTuple

import orjson

from kubeio.decoding.nesting import decode
from kubeio.errors import ConnectionLost, Malformed, error_from_status
from kubeio.types import JsonObject

# etcd rejects objects over 1.5 MiB; managedFields and JSON escapes add to that.
MAX_LINE = 16 * 2**20
_SHARE: Final = 64 * 1024  # bytes of events decoded before other tasks run
_TYPES: Final = frozenset({"ADDED", "MODIFIED", "DELETED", "BOOKMARK"})


class WatchEvent(NamedTuple):
    """ADDED, MODIFIED, DELETED or BOOKMARK, and the object (of a bookmark, its version only)."""

    type: str
    object: JsonObject


async def events(chunks: AsyncIterable[bytes], subject: str) -> AsyncIterator[WatchEvent]:
    """Yield the events of the body of a watch.

    Raises:
        ApiError: the server sent an ERROR event; Gone if the version is too old.
        Malformed: a line is not an event, or too long.
        ConnectionLost: the body ended within a line.
    """
    since_yield = 0
    async for line in lines(chunks):
        # A watch that resumes receives all missed events at once: a chunk of 2 MiB holds thousands.
        # Nothing else in this loop waits, so other tasks would not run meanwhile.
        since_yield += len(line)
        if since_yield >= _SHARE:
            since_yield = 0
            await asyncio.sleep(0)
        yield await _event(line, subject)


async def lines(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """Yield the lines in a stream of chunks, without line ends; empty lines are skipped.

    The chunks of a long line are joined once, and several lines are taken from one chunk.
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
        raise Malformed(f"{subject}: a watch event of an unknown type")
    return WatchEvent(kind, obj)
