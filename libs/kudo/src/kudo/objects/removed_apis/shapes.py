"""Reads and changes JSON of any shape, since tenants write it.

Go takes a field that is null for one that is missing, and so do these functions.
"""

from collections.abc import Iterator

from kudo.api import Json, JsonObject


def copied(value: Json) -> Json:
    """Copy the containers of a JSON value."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value


def mapping_at(value: Json, *path: str) -> JsonObject | None:
    """Return the mapping at a path, or None if there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else None


def child(parent: JsonObject, key: str) -> JsonObject | None:
    """Return the mapping at `key`, made if it is missing; None if something else is there."""
    set_default(parent, key, {})
    return mapping_at(parent, key)


def mappings_at(parent: JsonObject, key: str) -> Iterator[JsonObject]:
    """Yield the mappings of the list at `key`."""
    items = parent.get(key)
    if isinstance(items, list):
        yield from (item for item in items if isinstance(item, dict))


def set_default(parent: JsonObject, key: str, value: Json) -> None:
    """Set a field that is missing or null."""
    if parent.get(key) is None:
        parent[key] = value


def rename(parent: JsonObject, old: str, new: str) -> None:
    """Rename a field that is there, unless the new one is there, too."""
    if old in parent and parent.get(new) is None:
        parent[new] = parent.pop(old)
