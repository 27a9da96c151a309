"""The annotation `kudo.dev/deletion-policy` of objects of templates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from kudo import names
from kudo.problems import shown

if TYPE_CHECKING:  # the models cost the command line a third of its time
    from kudo.api import Json

_POLICIES: Final = ("delete", names.RETAIN)
"""`delete` is as good as none."""


def is_retained(metadata: Mapping[str, Json]) -> bool:
    """Return whether an object says that it stays when its Instance is deleted."""
    annotations = metadata.get("annotations")
    if not isinstance(annotations, dict):
        return False
    return annotations.get(names.ANNOTATION_DELETION_POLICY) == names.RETAIN


def policy_problem(metadata: Mapping[str, Json]) -> str:
    """Return what is wrong with the policy of an object of a template; empty if nothing is."""
    annotations = metadata.get("annotations")
    key = names.ANNOTATION_DELETION_POLICY
    if not isinstance(annotations, dict) or key not in annotations:
        return ""
    policy = annotations[key]
    if policy in _POLICIES:
        return ""
    value = repr(shown(policy)) if isinstance(policy, str) else "no text"
    return f"the annotation {key} is {value}; it can be {' or '.join(_POLICIES)}"
