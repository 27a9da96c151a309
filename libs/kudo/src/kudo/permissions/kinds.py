"""Plurals and scopes of the kinds of Kubernetes and KUDO, for where no cluster can be asked."""

from typing import Final

from kudo.api import names
from kudo.permissions.model import Kind, Served

_NAMESPACED: Final = {
    "": "Binding ConfigMap Endpoints Event LimitRange PersistentVolumeClaim Pod PodTemplate "
    "ReplicationController ResourceQuota Secret Service ServiceAccount",
    "apps": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
    "autoscaling": "HorizontalPodAutoscaler",
    "batch": "CronJob Job",
    "coordination.k8s.io": "Lease",
    "discovery.k8s.io": "EndpointSlice",
    "events.k8s.io": "Event",
    "networking.k8s.io": "Ingress NetworkPolicy",
    "policy": "PodDisruptionBudget",
    "rbac.authorization.k8s.io": "Role RoleBinding",
    "resource.k8s.io": "ResourceClaim ResourceClaimTemplate",
    "storage.k8s.io": "CSIStorageCapacity",
    names.GROUP: "Instance Inventory Operator OperatorVersion",
}
_CLUSTER_SCOPED: Final = {
    "": "Namespace Node PersistentVolume",
    "admissionregistration.k8s.io": "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding "
    "MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding "
    "ValidatingWebhookConfiguration",
    "apiextensions.k8s.io": "CustomResourceDefinition",
    "apiregistration.k8s.io": "APIService",
    "certificates.k8s.io": "CertificateSigningRequest ClusterTrustBundle",
    "flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
    "networking.k8s.io": "IngressClass IPAddress ServiceCIDR",
    "node.k8s.io": "RuntimeClass",
    "rbac.authorization.k8s.io": "ClusterRole ClusterRoleBinding",
    "resource.k8s.io": "DeviceClass ResourceSlice",
    "scheduling.k8s.io": "PriorityClass",
    "storage.k8s.io": "CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass",
}


def _plural(kind: str) -> str:
    """Return the plural that tools make of a kind."""
    word = kind.lower()
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "x", "ch", "sh")) else f"{word}s"


_IRREGULAR: Final = {"Endpoints": "endpoints"}
_BUILT_IN: Final = {
    (group, kind): Served(group, _IRREGULAR.get(kind) or _plural(kind), namespaced)
    for table, namespaced in ((_NAMESPACED, True), (_CLUSTER_SCOPED, False))
    for group, kinds in table.items()
    for kind in kinds.split()
}


def built_in(kind: Kind) -> Served | None:
    """Return how a kind of Kubernetes or KUDO is served; None for any other kind."""
    return _BUILT_IN.get((kind.group, kind.kind))


def guessed(kind: Kind) -> Served:
    """Return how a kind is probably served: namespaced, with the usual plural."""
    return Served(kind.group, _plural(kind.kind), namespaced=True, guess=True)
