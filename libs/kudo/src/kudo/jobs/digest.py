"""The job `digest`: the digest of the content of a ConfigMap or Secret, for dependency hashes."""

from typing import Final

import orjson

from kudo.api import JsonObject, names
from kudo.objects.dependency_hash import content_digest, live_digest

NAME: Final = "digest"
_COUNTED: Final = ("binaryData", "data", "immutable", "kind", "stringData", "type")
_ANNOTATIONS: Final = (
    names.ANNOTATION_DEPENDENCY_CONTENT,
    names.ANNOTATION_LAST_APPLIED,
    names.ANNOTATION_SKIP_HASH,
)
_INLINE_SIZE: Final = 16 << 10
_INLINE_KEYS: Final = 200


def is_small(obj: JsonObject) -> bool:
    """Return whether an event loop can compute the digest: a character takes up to 1 µs."""
    size = keys = 0
    for field in ("binaryData", "data", "stringData"):
        values = obj.get(field)
        if isinstance(values, dict):
            keys += len(values)
            if keys > _INLINE_KEYS:
                return False
            size += sum(len(key) + _length(value) for key, value in values.items())
    metadata = obj.get("metadata") or {}
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    if isinstance(labels, dict):
        keys += len(labels)
        size += sum(len(key) + _length(value) for key, value in labels.items())
    if isinstance(annotations, dict):
        size += _length(annotations.get(names.ANNOTATION_LAST_APPLIED))
    return size <= _INLINE_SIZE and keys <= _INLINE_KEYS


def _length(value: object) -> int:
    return len(value) if isinstance(value, str) else 0


def digest(obj: JsonObject, *, live: bool) -> bytes:
    """Return the 16 bytes that stand for the content of a ConfigMap or Secret.

    Args:
        obj: The object; its kind must be present.
        live: Whether it is in the cluster, so that its annotations tell what was last applied.
    """
    recorded = live_digest(obj["metadata"].get("annotations") or {}) if live else None
    return content_digest(obj) if recorded is None else recorded


def encode_request(obj: JsonObject, *, live: bool) -> bytes:
    """Encode what counts of an object, which may have much more."""
    metadata = obj["metadata"]
    annotations = metadata.get("annotations") or {}
    kept = {
        "name": metadata.get("name"),
        "labels": metadata.get("labels"),
        "annotations": {name: annotations[name] for name in _ANNOTATIONS if name in annotations},
    }
    fields = {field: obj[field] for field in _COUNTED if field in obj}
    return orjson.dumps([{**fields, "metadata": kept}, live])


def handle(request: bytes) -> bytes:
    obj, live = orjson.loads(request)
    return digest(obj, live=live)
