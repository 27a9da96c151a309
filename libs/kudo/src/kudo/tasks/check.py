"""Check tasks: which objects they read, and what expressions see of these."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kubeio.names import MAX_LABEL, api_version_fault, is_subdomain, name_fault
from kudo.api import JsonObject, names
from kudo.api.known_secrets import COPIES, is_secret
from kudo.api.problems import shown
from kudo.api.task_kinds import FatalTaskError

_KIND: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_LABEL: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_SELECTOR: Final = "check.selector."
_SHOWN: Final = 200
"""Characters of a selector in a message."""
# The digest of what is in a Secret has no key: who knows that can try values.
_HIDDEN: Final = COPIES | {names.ANNOTATION_DEPENDENCY_CONTENT}


@dataclass(frozen=True, slots=True)
class Target:
    """What a Check task reads.

    Attributes:
        name: Of the only object; empty if a selector says which there are.
        labels: What the objects are selected by.
    """

    api_version: str
    kind: str
    name: str
    labels: Mapping[str, str]

    @property
    def selector(self) -> str:
        """The labels as the API server takes them."""
        return ",".join(f"{label}={value}" for label, value in self.labels.items())

    def __str__(self) -> str:
        if self.name:
            return f"{self.kind} {self.name}"
        return f"{self.kind} with {shown(self.selector, _SHOWN)}"


def target_of(texts: Mapping[str, str]) -> Target:
    """Return what the templates of a Check task name.

    Args:
        texts: What they render to, by their fields.

    Raises:
        FatalTaskError: no object can be meant, reason CheckInvalid.
    """
    labels = {
        field.removeprefix(_SELECTOR): text
        for field, text in texts.items()
        if field.startswith(_SELECTOR)
    }
    target = Target(
        texts["check.apiVersion"], texts["check.kind"], texts.get("check.name", ""), labels
    )
    if fault := _fault(target):
        raise FatalTaskError("CheckInvalid", fault)
    return target


def _fault(target: Target) -> str:
    if fault := api_version_fault(target.api_version):
        return f"check.apiVersion: {fault}"
    # The lengths come first: they bound how long the expressions can take.
    if len(target.kind) > MAX_LABEL or not _KIND.fullmatch(target.kind):
        return f"check.kind: {shown(target.kind)!r} is no kind of an object"
    if not target.labels:
        fault = name_fault("name", target.name)
        return f"check.name: {fault}" if fault else ""
    for label, value in target.labels.items():
        if not is_label_key(label):
            return f"check.selector: {shown(label)!r} is no name of a label"
        if value and not _is_label_text(value):
            return (
                f"check.selector.{label}: {shown(value)!r} is no value of a label: use at most "
                f'{MAX_LABEL} letters, digits, "-", "_" and "."'
            )
    return ""


def is_label_key(text: str) -> bool:
    """Return whether a label can have a text as its name, such as `app.kubernetes.io/name`."""
    prefix, slash, name = text.rpartition("/")
    return (not slash or is_subdomain(prefix)) and _is_label_text(name)


def _is_label_text(text: str) -> bool:
    return len(text) <= MAX_LABEL and _LABEL.fullmatch(text) is not None


def visible(obj: JsonObject) -> JsonObject:
    """Return what expressions see of an object, which is not changed: of a Secret, no value."""
    metadata = {field: part for field, part in obj["metadata"].items() if field != "managedFields"}
    if not is_secret(obj):
        return {**obj, "metadata": metadata}
    if annotations := metadata.get("annotations"):
        metadata["annotations"] = {
            name: text for name, text in annotations.items() if name not in _HIDDEN
        }
    return {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "metadata": metadata,
        "type": obj.get("type") or "",
        "data": dict.fromkeys(obj.get("data") or (), ""),
    }
