"""Decodes a watch: one JSON event on each line of an endless body, and the checks of its objects.

Invariant: only complete lines are decoded. A body that ends within a line is a lost connection; one
that ends between two lines is a normal end.

kube-apiserver always sends valid metadata, a proxy or an aggregated API server may not; and all
accept objects with 10,000 levels, where decoders fail at about 1,000. One such object must not end
the process that watches the kind: deep levels are dropped, invalid metadata is reported. Values are
not quoted, since an object may be a Secret.
"""

import asyncio
import re
from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping
from typing import Final, NamedTuple

import orjson

from kubeio.errors import ConnectionLost, Malformed, error_from_status
from kubeio.types import Json, JsonObject

DEPTH: Final = 200
"""Levels that are kept; no kind of Kubernetes has as many."""

_TOKEN: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]"]', re.DOTALL)
_TOKENS: Final = 20_000  # read before other tasks run


async def decode(text: str) -> Json:
    """Decode JSON; if it is nested too deeply, values below ``DEPTH`` levels become null.

    Raises:
        orjson.JSONDecodeError: the text is not JSON.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        # The decoder does not report the cause. Searching costs another pass, which is rare.
        cut = await shallow(text, 0)
        if cut is None:
            raise
        return orjson.loads(cut[0] + text[cut[1] :])


async def shallow(text: str, begin: int) -> tuple[str, int] | None:
    """Return the object or list at ``begin`` without its deepest levels, and where it ends.

    None if its end is missing; the rest may still arrive.
    """
    depth, kept = 0, begin
    parts: list[str] = []
    for number, token in enumerate(_TOKEN.finditer(text, begin), 1):
        if number % _TOKENS == 0:
            await asyncio.sleep(0)
        mark = token[0]
        if mark in ("{", "["):
            depth += 1
            if depth == DEPTH + 1:
                parts += (text[kept : token.start()], "null")
        elif mark in ("}", "]"):
            depth -= 1
            if depth == DEPTH:
                kept = token.end()
            elif depth <= 0:
                return "".join((*parts, text[kept : token.end()])), token.end()
        elif mark == '"':
            return None
    return None


_TEXTS: Final = ("namespace", "uid", "resourceVersion", "deletionTimestamp")
_MAPS: Final = ("labels", "annotations")
_OWNER: Final = ("apiVersion", "kind", "name", "uid")


def fault_in(obj: Json, *, namespaced: bool, versioned: bool) -> str:
    """Return what is wrong with the metadata of an object, "" if it is valid.

    Args:
        obj: Decoded JSON of any shape.
        namespaced: Whether a namespace is required.
        versioned: Whether a resourceVersion is required; some aggregated APIs list objects without
            one.
    """
    fault = nameless(obj)
    if fault:
        return fault
    metadata = obj["metadata"]
    for field, needed in (("namespace", namespaced), ("resourceVersion", versioned)):
        if needed and not metadata.get(field):
            return f"metadata.{field} is missing"
    wrong = _of_wrong_type(metadata)
    return f"metadata.{wrong} has the wrong type" if wrong else ""


def nameless(obj: Json) -> str:
    """Return why decoded JSON of any shape is not an object with a name, "" if it is."""
    if not isinstance(obj, dict):
        return "not a JSON object"
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        return "metadata is missing"
    return "" if metadata.get("name") else "metadata.name is missing"


def bookmark_fault(obj: JsonObject) -> str:
    """Return what is wrong with the object of a bookmark, which has a version only."""
    metadata = obj.get("metadata")
    version = metadata.get("resourceVersion") if isinstance(metadata, dict) else None
    valid = isinstance(version, str) and version
    return "" if valid else "a bookmark has no metadata.resourceVersion"


def _is_owner(value: Json) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(field), str) for field in _OWNER)


_LISTS: Final[Mapping[str, Callable[[Json], bool]]] = {
    "finalizers": lambda value: isinstance(value, str),
    "ownerReferences": _is_owner,
    "managedFields": lambda value: isinstance(value, dict),
}


def _of_wrong_type(metadata: Mapping[str, Json]) -> str:
    if not isinstance(metadata["name"], str):
        return "name"
    for field in _TEXTS:
        if not isinstance(metadata.get(field), str | None):
            return field
    for field in _MAPS:
        value = metadata.get(field)
        if value is not None and not (
            isinstance(value, dict) and all(isinstance(text, str) for text in value.values())
        ):
            return field
    for field, is_valid in _LISTS.items():
        value = metadata.get(field)
        if value is not None and not (isinstance(value, list) and all(map(is_valid, value))):
            return field
    return ""


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
