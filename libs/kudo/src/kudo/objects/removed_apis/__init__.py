"""Converts objects of API versions that Kubernetes no longer serves.

    modernized({"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", ...})
    -> {"apiVersion": "policy/v1", ...}

The new object means what the old one meant: where the two versions differ in a default, the old
default is written out. What only an author can decide is refused with what to change. Nothing is
asked of a cluster, and what is not understood stays as it is, so that the API server names the
field.
"""

from kudo.objects.removed_apis.catalogue import modernized, removed_in
from kudo.objects.removed_apis.conversions import NoSuccessor

__all__ = ["NoSuccessor", "modernized", "removed_in"]
