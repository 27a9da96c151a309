"""Whose the finalizers are that keep an object from being deleted, by their names."""

from collections.abc import Iterable
from typing import Final

from kudo.api.names import FINALIZER_CLEANUP, FINALIZER_CLUSTER_RESOURCES

FOREGROUND: Final = "foregroundDeletion"
IN_USE: Final = "kubernetes.io/pvc-protection"

_EXPECTED: Final = frozenset({FINALIZER_CLEANUP, FINALIZER_CLUSTER_RESOURCES, FOREGROUND, "orphan"})
"""Those of KUDO, and of Kubernetes while it deletes or releases what an object owns."""
_OWNERS: Final = {
    FINALIZER_CLEANUP: "KUDO, until plan cleanup has ended",
    FINALIZER_CLUSTER_RESOURCES: "KUDO, until it has released cluster-scoped objects",
    FOREGROUND: "Kubernetes, until what the object owns is deleted",
    "orphan": "Kubernetes, until what the object owns is released",
    IN_USE: "Kubernetes, while a pod uses the claim",
    "kubernetes.io/pv-protection": "Kubernetes, while a claim uses the volume",
    "kubernetes": "Kubernetes, until the namespace is empty",
    "service.kubernetes.io/load-balancer-cleanup": "Kubernetes, until the load balancer is deleted",
    "customresourcecleanup.apiextensions.k8s.io": "Kubernetes, until its objects are deleted",
    "batch.kubernetes.io/job-tracking": "Kubernetes, until its Job has counted the pod",
    "resources-finalizer.argocd.argoproj.io": "Argo CD",
    "finalizers.fluxcd.io": "Flux",
}


def foreign(finalizers: Iterable[object]) -> list[str]:
    """Return the finalizers that neither KUDO nor a deletion has set."""
    return [str(name) for name in finalizers if name not in _EXPECTED]


def owner_of(finalizer: str) -> str:
    """Return who removes a finalizer, as far as its name tells: that, or the domain of its name."""
    if owner := _OWNERS.get(finalizer):
        return owner
    domain, _, rest = finalizer.partition("/")
    if not (rest or "." in domain):
        return "its name does not say whose"
    if domain.endswith((".kubernetes.io", ".k8s.io")):
        return "Kubernetes"
    return f"the controller of {domain}"


def described(finalizers: Iterable[object]) -> str:
    """Return finalizers, each with who removes it; empty if there are none."""
    return ", ".join(f"{name} ({owner_of(str(name))})" for name in finalizers)
