"""Operations of a JSON patch (RFC 6902) as dictionaries; the API server applies them.

A patch whose first operations are tests writes only over what its author has read.
"""

from collections.abc import Iterable

from kubeio.types import Json, JsonObject


def escape_pointer(segment: str) -> str:
    """Return one segment of a JSON pointer with ``~`` and ``/`` escaped (RFC 6901)."""
    return segment.replace("~", "~0").replace("/", "~1")


def pointer(segments: Iterable[str | int]) -> str:
    """Return the JSON pointer of these segments; without segments, of the whole document."""
    return "".join(f"/{escape_pointer(str(segment))}" for segment in segments)


def test(path: str, value: Json) -> JsonObject:
    """Return an operation that fails the whole patch (422) unless the value is equal."""
    return {"op": "test", "path": path, "value": value}


def add(path: str, value: Json) -> JsonObject:
    """Return an operation that adds a member, or replaces an existing one."""
    return {"op": "add", "path": path, "value": value}


def replace(path: str, value: Json) -> JsonObject:
    """Return an operation that replaces a value that must exist."""
    return {"op": "replace", "path": path, "value": value}


def remove(path: str) -> JsonObject:
    """Return an operation that removes a value that must exist."""
    return {"op": "remove", "path": path}


# pytest would collect a function of this name in a module that imports it.
test.__test__ = False  # type: ignore[attr-defined]
