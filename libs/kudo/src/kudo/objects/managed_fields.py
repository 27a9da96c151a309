"""Migrates `managedFields` to server-side apply, so that an apply owns what we wrote before.

Server-side apply removes a field that the template dropped only if it knows that we applied it. An
object of KUDO 0.19 carries its fields as an Update of the manager `manager`; one that we created by
a plain POST, or annotated by a patch, as an Update of `kudo`. Before the next apply both become
fields that `kudo` has applied.
"""

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from kudo.api import Json, JsonObject, names
from kudo.objects.removed_apis import NoSuccessor, modernized

_ORIGINAL_MANAGER = "manager"


class Writer(NamedTuple):
    """An entry of `managedFields` without the fields: manager, operation and subresource."""

    manager: str
    operation: str
    subresource: str


@lru_cache(maxsize=1000)
def _shared(writer: Writer) -> Writer:
    # Thousands of objects have the same writers.
    return writer


def writers(metadata: Mapping[str, Json]) -> tuple[Writer, ...]:
    """Return who wrote an object, from its metadata as the API server gives it."""
    return tuple(_shared(writer_of(entry)) for entry in entries_of(metadata))


def needs_migration(written_by: Iterable[Writer], annotations: Mapping[str, Json]) -> bool:
    """Return whether we or the original wrote fields in another way than by server-side apply.

    Args:
        written_by: Who wrote the object.
        annotations: Of the object; the one of the original goes with the first apply.
    """
    return names.ANNOTATION_LAST_APPLIED in annotations or any(
        _is_ours(writer, annotations) and writer.operation != "Apply" for writer in written_by
    )


def migrated(metadata: Mapping[str, Json], api_version: str) -> list[JsonObject] | None:
    """Return the `managedFields` with our fields in one entry of server-side apply.

    Args:
        metadata: Of the object as the API server gives it.
        api_version: In which it will be applied; the API server converts fields of other versions.

    Returns:
        None if they are already migrated, or no entry is ours.
    """
    annotations = metadata.get("annotations") or {}
    entries = entries_of(metadata)
    ours = [entry for entry in entries if _is_ours(writer_of(entry), annotations)]
    if all(entry.get("operation") == "Apply" for entry in ours):
        return None
    merged = {
        "manager": names.FIELD_MANAGER,
        "operation": "Apply",
        "apiVersion": api_version,
        "time": max(str(entry.get("time") or "") for entry in ours),
        "fieldsType": "FieldsV1",
        "fieldsV1": united(entry.get("fieldsV1") for entry in ours),
    }
    return [merged, *(entry for entry in entries if entry not in ours)]


def last_applied(live: JsonObject) -> JsonObject | None:
    """Return what the original applied last, as it would be applied today.

    Null and empty fields, which its typed objects produced, are removed.

    Returns:
        None if there is no such annotation, or none that can be read.
    """
    annotations = live["metadata"].get("annotations") or {}
    try:
        applied = json.loads(annotations.get(names.ANNOTATION_LAST_APPLIED, ""))
    except (ValueError, RecursionError):
        return None
    if not isinstance(applied, dict) or not isinstance(applied.get("metadata"), dict):
        return None
    pruned = _pruned({key: value for key, value in applied.items() if key != "status"})
    try:
        # KUDO 0.19 may have applied it in an API version that is no longer served.
        modern = modernized(pruned) or pruned
    except NoSuccessor:
        modern = pruned
    applied_metadata = pruned.get("metadata", {})
    annotations = applied_metadata.get("annotations")
    # Anybody can write the annotation: whatever it names, it counts for this object alone.
    place = {key: live["metadata"][key] for key in ("name", "namespace") if key in live["metadata"]}
    metadata = {
        **{key: value for key, value in applied_metadata.items() if key != "namespace"},
        **place,
        # So that the annotation goes with the next apply.
        "annotations": {
            **(annotations if isinstance(annotations, dict) else {}),
            names.ANNOTATION_LAST_APPLIED: "",
        },
    }
    return {**modern, "apiVersion": live["apiVersion"], "metadata": metadata}


def with_entry_of(metadata: Mapping[str, Json], planned: Mapping[str, Json]) -> list[JsonObject]:
    """Return the `managedFields` of an object with our entry of server-side apply from another."""
    ours = [
        entry
        for entry in entries_of(planned)
        if _is_ours(writer_of(entry), {}) and entry.get("operation") == "Apply"
    ]
    rest = [entry for entry in entries_of(metadata) if not _is_ours(writer_of(entry), {})]
    return [*ours, *rest]


def _pruned(value: Json) -> Json:
    """Return a JSON value without null and empty fields; the items of lists all stay."""
    if isinstance(value, list):
        return [_pruned(item) for item in value]
    if not isinstance(value, dict):
        return value
    below = {key: _pruned(item) for key, item in value.items()}
    return {key: item for key, item in below.items() if item not in (None, {}, [])}


def entries_of(metadata: Mapping[str, Json]) -> list[JsonObject]:
    """Return the entries of `managedFields`."""
    return [entry for entry in metadata.get("managedFields") or () if isinstance(entry, dict)]


def writer_of(entry: JsonObject) -> Writer:
    """Return who wrote the fields of an entry."""
    fields = (entry.get(key) for key in ("manager", "operation", "subresource"))
    return Writer(*(str(field or "") for field in fields))


def _is_ours(writer: Writer, annotations: Mapping[str, Json]) -> bool:
    if writer.subresource:
        return False
    if writer.manager == names.FIELD_MANAGER:
        return True
    # Many controllers are called `manager`; only the original annotates what it applied.
    original = (writer.manager, writer.operation) == (_ORIGINAL_MANAGER, "Update")
    return original and names.ANNOTATION_LAST_APPLIED in annotations


def united(sets: Iterable[Json]) -> JsonObject:
    """Return the union of sets of fields, each a tree whose leaves are empty."""
    union: JsonObject = {}
    for fields in sets:
        if isinstance(fields, dict):
            for key, below in fields.items():
                union[key] = united((union.get(key), below))
    return union
