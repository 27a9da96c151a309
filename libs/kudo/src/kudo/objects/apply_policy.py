"""The annotation `kudo.dev/apply-policy` of objects of templates.

An object with the policy `create` is created if it does not exist, and left as it is if it does: a
template may give it random content, such as a password. What counts is the template: an object
whose template has the policy no more is applied as any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from kudo.api import names
from kudo.objects.policies import problem_of, says

if TYPE_CHECKING:  # the models cost the command line a third of its time
    from kudo.api import Json

_POLICIES: Final = ("apply", names.CREATE)
"""`apply` is as good as none."""


def is_only_created(metadata: Mapping[str, Json]) -> bool:
    """Return whether an object of a template is left as it is if it exists."""
    return says(metadata, names.ANNOTATION_APPLY_POLICY, names.CREATE)


def apply_policy_problem(metadata: Mapping[str, Json], *, namespaced: bool) -> str:
    """Return what is wrong with the policy of an object of a template; empty if nothing is.

    A cluster-scoped object cannot have it: Instances share such an object, and each of them has to
    write that it does.
    """
    problem = problem_of(metadata, names.ANNOTATION_APPLY_POLICY, _POLICIES)
    if problem or namespaced or not is_only_created(metadata):
        return problem
    return (
        f"the annotation {names.ANNOTATION_APPLY_POLICY} is {names.CREATE!r}, which only objects "
        "in a namespace can have: cluster-scoped ones are shared; remove it"
    )
