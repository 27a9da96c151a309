"""The metadata that the server fills in, keeps, and checks."""

import re
from collections.abc import Iterator, Mapping

from kubeio.types import Json, JsonObject
from tests.support.apiserver.status import Cause
from tests.support.apiserver.types.kinds import Kind

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_NAME_LENGTH = 253
_OF_SERVER = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "name",
    "namespace",
)
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_LABELS = frozenset({"Namespace"})
_ANY_NAME = frozenset({"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"})


def name_problems(kind: Kind, metadata: Mapping[str, Json]) -> Iterator[Cause]:
    """Yield what is wrong with an object's name."""
    name = metadata.get("name") or ""
    if not name:
        text = "Required value: name or generateName is required"
        yield Cause("FieldValueRequired", text, "metadata.name")
    elif kind.kind in _ANY_NAME:
        return
    elif kind.kind in _LABELS and not _LABEL.fullmatch(name):
        text = f'Invalid value: "{name}": {_LABEL_RULE}'
        yield Cause("FieldValueInvalid", text, "metadata.name")
    elif not _SUBDOMAIN.fullmatch(name) or len(name) > _NAME_LENGTH:
        text = f'Invalid value: "{name}": {_SUBDOMAIN_RULE}'
        yield Cause("FieldValueInvalid", text, "metadata.name")


_IMMUTABLE = ("uid", "deletionTimestamp")


def update_problems(old: JsonObject, new: JsonObject, given: JsonObject) -> Iterator[Cause]:
    """Yield what an update must not do to the metadata, which the request gives."""
    for name in _IMMUTABLE:
        value = given.get(name)
        if value and value != old["metadata"].get(name):
            text = f'Invalid value: "{value}": field is immutable'
            yield Cause("FieldValueInvalid", text, f"metadata.{name}")
    if not old["metadata"].get("deletionTimestamp"):
        return
    before = old["metadata"].get("finalizers") or ()
    added = [one for one in new["metadata"].get("finalizers") or () if one not in before]
    if not added:
        return
    listed = ", ".join(f'"{one}"' for one in added)
    text = (
        "Forbidden: no new finalizers can be added if the object is being deleted, found new "
        f"finalizers []string{{{listed}}}"
    )
    yield Cause("FieldValueForbidden", text, "metadata.finalizers")


def kept(old: JsonObject, new: JsonObject) -> JsonObject:
    """Return the metadata of an update, with what only the server writes as it was."""
    before = old["metadata"]
    found = {key: value for key, value in new["metadata"].items() if key not in _OF_SERVER}
    return found | {key: before[key] for key in _OF_SERVER if key in before}


def without_empty(metadata: JsonObject) -> JsonObject:
    """Return metadata without empty maps and lists, as typed metadata is written."""
    return {key: value for key, value in metadata.items() if value not in (None, {}, [], "")}


def initials(kind: Kind, obj: JsonObject, uid: str, now: str) -> JsonObject:
    """Return the metadata of a new object."""
    given = {
        key: value
        for key, value in obj["metadata"].items()
        if key not in _OF_SERVER or key in ("name", "namespace")
    }
    made = {"uid": uid, "creationTimestamp": now}
    return given | made | ({"generation": 1} if kind.counted else {})


def counts(kind: Kind, old: JsonObject, new: JsonObject) -> bool:
    """Return whether an update raises the generation."""
    if kind.counted == "spec":
        return bool(old.get("spec") != new.get("spec"))
    if kind.counted == "all":
        left_out = {"metadata", "status"} if kind.has_status else {"metadata"}
        before = {key: value for key, value in old.items() if key not in left_out}
        return before != {key: value for key, value in new.items() if key not in left_out}
    return False
