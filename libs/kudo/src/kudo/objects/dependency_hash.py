"""The dependency hash: of ConfigMaps and Secrets that pods use, byte for byte as in KUDO 0.19.

A workload carries the hash in its pod template, so pods restart when the content of a ConfigMap or
Secret that they use changes, and only then. Pods that the original started must not restart
because of us: the bytes that are hashed are those of its YAML writer over its own form of the
object.

    dependencies_of(workload) -> content of each: applied by the same task, or else the live
    object's annotations (`live_digest`), or else its body (`content_digest`), or else MISSING
    -> dependencies_hash -> with_dependencies_hash(workload)

Only what the original counts is counted: imagePullSecrets, and volumes of a ConfigMap or a Secret.
"""

import base64
import binascii
import hashlib
import hmac
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from goyaml import Limits, dump
from kudo.api import Json, JsonObject, names
from kudo.objects.enrichment import annotate_pods

MISSING: Final = bytes(16)
"""Digest of an object that does not exist, or has the annotation to be skipped."""

_POD_TEMPLATES: Final = (("spec", "template"), ("spec", "jobTemplate", "spec", "template"))
_PAYLOADS: Final = {
    "ConfigMap": ("binaryData", "data"),
    "Secret": ("data", "stringData"),
}
_SETTINGS: Final = {"ConfigMap": ("immutable",), "Secret": ("immutable", "type")}
_BASE64: Final = {("ConfigMap", "binaryData"), ("Secret", "data")}
_DIGEST: Final = re.compile(r"[0-9a-f]{32}")
_UNLIMITED: Final = Limits(size=sys.maxsize)


@dataclass(frozen=True, slots=True, order=True)
class Dependency:
    """A ConfigMap or Secret of API version v1 in the namespace of the workload that uses it.

    The kind is `ConfigMap` or `Secret`. Ordered as their contents are hashed. The name may be
    empty, which is a dependency that is always missing.
    """

    kind: str
    name: str


def dependencies_of(obj: JsonObject) -> tuple[Dependency, ...]:
    """Return what the pods of an object of any kind use, in hash order, duplicates kept."""
    dependencies: list[Dependency] = []
    for path in _POD_TEMPLATES:
        pod: Json = obj
        for key in (*path, "spec"):
            pod = _mapping(pod).get(key)
        dependencies += _used_by(_mapping(pod))
    return tuple(sorted(dependencies))


def content_digest(obj: JsonObject) -> bytes:
    """Return the 16 bytes that stand for the content of a ConfigMap or Secret.

    Args:
        obj: As enriched, with a Secret's stringData still in place, or as read from the API
            server. Its kind must be present.
    """
    metadata = _mapping(obj.get("metadata"))
    if names.ANNOTATION_SKIP_HASH in _mapping(metadata.get("annotations")):
        return MISSING
    text = dump({"object": _canonical(obj, metadata)}, limits=_UNLIMITED)
    return hashlib.md5(text.encode(), usedforsecurity=False).digest()


def keyed_digest(digest: bytes, key: bytes) -> bytes:
    """Return what stands for a content that may have the value of a secret parameter.

    Whoever may read pods reads the hash, and could guess a short value from a digest without a key.

    Args:
        digest: Of `content_digest`; `MISSING` stays what it is.
        key: Of the installation.
    """
    if digest == MISSING:
        return MISSING
    return hmac.digest(key, b"kudo.dev/dependency-content\n" + digest, "sha256")[: len(MISSING)]


def digest_text(digest: bytes) -> str:
    """Return a digest as the annotation kudo.dev/dependency-content holds it."""
    return digest.hex()


def digest_from_text(text: str) -> bytes | None:
    """Return the digest that an annotation holds, or None if it holds anything else."""
    return bytes.fromhex(text) if _DIGEST.fullmatch(text) else None


def last_applied_digest(annotations: Mapping[str, str]) -> bytes | None:
    """Return the digest of what KUDO 0.19 applied last, or None if its annotation is of no use."""
    try:
        applied = json.loads(annotations.get(names.ANNOTATION_LAST_APPLIED, ""))
    except (ValueError, RecursionError):
        return None
    kind = _text(_mapping(applied).get("kind"))
    return content_digest(applied) if kind in _PAYLOADS else None


def live_digest(annotations: Mapping[str, str]) -> bytes | None:
    """Return the digest that the annotations of a live ConfigMap or Secret tell.

    None means that they tell nothing: `content_digest` of the body is the answer then.
    """
    if names.ANNOTATION_SKIP_HASH in annotations:
        return MISSING
    own = digest_from_text(annotations.get(names.ANNOTATION_DEPENDENCY_CONTENT, ""))
    return own if own is not None else last_applied_digest(annotations)


def dependencies_hash(digests: Sequence[bytes]) -> str:
    """Return the hash over the contents of all dependencies, given in their order.

    An object without dependencies carries no hash.
    """
    return hashlib.md5(b"".join(digests), usedforsecurity=False).hexdigest()


def with_dependencies_hash(obj: JsonObject, value: str) -> JsonObject:
    """Return the object with the hash in its pod template.

    Kinds that are no workloads of Kubernetes come back as they are, as in the original.
    """
    return annotate_pods(obj, {names.ANNOTATION_DEPENDENCIES_HASH: value})


def _used_by(pod: JsonObject) -> Iterator[Dependency]:
    for secret in _mappings(pod.get("imagePullSecrets")):
        yield Dependency("Secret", _text(secret.get("name")))
    for volume in _mappings(pod.get("volumes")):
        if isinstance(volume.get("configMap"), dict):
            yield Dependency("ConfigMap", _text(volume["configMap"].get("name")))
        if isinstance(volume.get("secret"), dict):
            yield Dependency("Secret", _text(volume["secret"].get("secretName")))


def _canonical(obj: JsonObject, metadata: JsonObject) -> JsonObject:
    """Return what the original hashes: the object as its typed form, without what changes alone.

    Fields that its types of ConfigMap and Secret do not have are dropped, as are empty ones.
    """
    kind = _text(obj.get("kind"))
    labels, name = _texts(metadata.get("labels")), _text(metadata.get("name"))
    # In the original's form these fields are always there, and empty.
    canonical: JsonObject = {
        "apiVersion": "",
        "kind": "",
        "metadata": {
            "annotations": {},
            "deletionGracePeriodSeconds": 0,
            "finalizers": [],
            "managedFields": [],
            "ownerReferences": [],
            "remainingItemCount": 0,
            **({"labels": labels} if labels else {}),
            **({"name": name} if name else {}),
        },
    }
    for field in _PAYLOADS.get(kind, ()):
        values: JsonObject = _texts(obj.get(field))
        if (kind, field) in _BASE64:
            texts = _mapping(obj.get(field))
            values = {key: _rewritten(texts[key]) for key in values}
        if values:
            canonical[field] = values
    for field in _SETTINGS.get(kind, ()):
        value = obj.get(field)
        if isinstance(value, bool) if field == "immutable" else _text(value):
            canonical[field] = value
    return canonical


def _texts(values: Json) -> dict[str, str]:
    """Read a map of texts as Go does: null is the empty text."""
    # What can be no text is refused by the API server, so it never counts.
    return {
        key: _text(value)
        for key, value in _mapping(values).items()
        if value is None or isinstance(value, str)
    }


def _rewritten(encoded: str | None) -> str | None:
    """Return base64 text as Go writes it again; what is none stays as it is."""
    if encoded is None:
        return None
    try:
        content = base64.b64decode(encoded.replace("\r", "").replace("\n", ""), validate=True)
    except (binascii.Error, ValueError):
        return encoded
    return base64.b64encode(content).decode()


def _at(value: Json, path: tuple[str, ...]) -> Json:
    for key in path:
        value = _mapping(value).get(key)
    return value


def _mapping(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _mappings(value: Json) -> list[JsonObject]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
