"""Validation of the metadata that caches, indexers and handlers rely on.

kube-apiserver always sends valid metadata; a proxy, or an aggregated API server, may not, and one
such object must not end the process that watches the kind. Values are not quoted: an object may be
a Secret.
"""

from collections.abc import Mapping
from typing import Final

from kubeio.types import Json

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


def _of_wrong_type(metadata: Mapping[str, Json]) -> str:
    if not isinstance(metadata["name"], str):
        return "name"
    for field in _TEXTS:
        if not isinstance(metadata.get(field), str | None):
            return field
    for field in _MAPS:
        if not _are_texts(metadata.get(field)):
            return field
    return next((field for field in _LISTS if not _LISTS[field](metadata.get(field))), "")


def _are_texts(value: Json) -> bool:
    if value is None:
        return True
    return isinstance(value, dict) and all(isinstance(one, str) for one in value.values())


def _are_finalizers(value: Json) -> bool:
    return value is None or (isinstance(value, list) and all(isinstance(one, str) for one in value))


def _are_owners(value: Json) -> bool:
    return value is None or (
        isinstance(value, list)
        and all(
            isinstance(one, dict) and all(isinstance(one.get(field), str) for field in _OWNER)
            for one in value
        )
    )


def _are_objects(value: Json) -> bool:
    return value is None or (
        isinstance(value, list) and all(isinstance(one, dict) for one in value)
    )


_LISTS: Final = {
    "finalizers": _are_finalizers,
    "ownerReferences": _are_owners,
    "managedFields": _are_objects,
}
