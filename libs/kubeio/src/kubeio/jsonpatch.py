"""RFC 6902 operations as plain dictionaries, for writes that must test what they replace.

Only construction lives here: the API server applies patches, we never do.
"""

from collections.abc import Iterable

from kubeio.types import Json, JsonObject


def escape_pointer(segment: str) -> str:
    """Return one segment of a JSON pointer with ``~`` and ``/`` escaped (RFC 6901)."""
    return segment.replace("~", "~0").replace("/", "~1")


def pointer(segments: Iterable[str | int]) -> str:
    """Return the JSON pointer made of these segments; no segments is the whole document."""
    return "".join(f"/{escape_pointer(str(segment))}" for segment in segments)


def test(path: str, value: Json) -> JsonObject:
    """Return an operation that fails the whole patch (HTTP 422) unless the value is equal."""
    return {"op": "test", "path": path, "value": value}


def add(path: str, value: Json) -> JsonObject:
    """Return an operation that adds, or replaces an existing member."""
    return {"op": "add", "path": path, "value": value}


def replace(path: str, value: Json) -> JsonObject:
    """Return an operation that replaces a value that must exist."""
    return {"op": "replace", "path": path, "value": value}


def remove(path: str) -> JsonObject:
    """Return an operation that removes a value that must exist."""
    return {"op": "remove", "path": path}


# pytest would collect an imported function of this name.
test.__test__ = False  # type: ignore[attr-defined]
