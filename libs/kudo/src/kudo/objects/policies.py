"""The annotations by which templates choose what happens to their objects.

* `kudo.dev/deletion-policy: retain` keeps an object when its Instance is deleted.
* `kudo.dev/apply-policy: create` creates an object if it does not exist, and leaves it as it is if
  it does: a template may give it random content, such as a password. What counts is the template:
  an object whose template has the policy no more is applied as any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from kudo.api import names
from kudo.api.problems import shown

if TYPE_CHECKING:  # the models cost the command line a third of its time
    from kudo.api import Json

# The first value of each is as good as no annotation.
_DELETION_POLICIES: Final = ("delete", names.RETAIN)
_APPLY_POLICIES: Final = ("apply", names.CREATE)


def is_retained(metadata: Mapping[str, Json]) -> bool:
    """Return whether an object says that it stays when its Instance is deleted."""
    return _has(metadata, names.ANNOTATION_DELETION_POLICY, names.RETAIN)


def is_only_created(metadata: Mapping[str, Json]) -> bool:
    """Return whether an object of a template is left as it is if it exists."""
    return _has(metadata, names.ANNOTATION_APPLY_POLICY, names.CREATE)


def policy_problem(metadata: Mapping[str, Json]) -> str:
    """Return what is wrong with the deletion policy of an object of a template, or nothing."""
    return problem_of(metadata, names.ANNOTATION_DELETION_POLICY, _DELETION_POLICIES)


def apply_policy_problem(metadata: Mapping[str, Json], *, namespaced: bool) -> str:
    """Return what is wrong with the apply policy of an object of a template; empty if nothing is.

    A cluster-scoped object cannot have it: Instances share such an object, and each of them has to
    write that it does.
    """
    problem = problem_of(metadata, names.ANNOTATION_APPLY_POLICY, _APPLY_POLICIES)
    if problem or namespaced or not is_only_created(metadata):
        return problem
    return (
        f"the annotation {names.ANNOTATION_APPLY_POLICY} is {names.CREATE!r}, which only objects "
        "in a namespace can have: cluster-scoped ones are shared; remove it"
    )


def problem_of(metadata: Mapping[str, Json], key: str, values: tuple[str, ...]) -> str:
    """Return what is wrong with an annotation; empty if nothing is, or if there is none."""
    annotations = metadata.get("annotations")
    if not isinstance(annotations, dict) or key not in annotations:
        return ""
    value = annotations[key]
    if value in values:
        return ""
    text = repr(shown(value)) if isinstance(value, str) else "no text"
    return f"the annotation {key} is {text}; it can be {' or '.join(values)}"


def _has(metadata: Mapping[str, Json], key: str, value: str) -> bool:
    # A template may give anything here, also what is no mapping.
    annotations = metadata.get("annotations")
    return isinstance(annotations, dict) and annotations.get(key) == value
