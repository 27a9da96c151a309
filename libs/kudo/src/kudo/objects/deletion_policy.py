"""The annotation `kudo.dev/deletion-policy` of objects of templates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from kudo.api import names
from kudo.objects.policies import problem_of, says

if TYPE_CHECKING:  # the models cost the command line a third of its time
    from kudo.api import Json

_POLICIES: Final = ("delete", names.RETAIN)
"""`delete` is as good as none."""


def is_retained(metadata: Mapping[str, Json]) -> bool:
    """Return whether an object says that it stays when its Instance is deleted."""
    return says(metadata, names.ANNOTATION_DELETION_POLICY, names.RETAIN)


def policy_problem(metadata: Mapping[str, Json]) -> str:
    """Return what is wrong with the policy of an object of a template; empty if nothing is."""
    return problem_of(metadata, names.ANNOTATION_DELETION_POLICY, _POLICIES)
