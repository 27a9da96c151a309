"""The health rule of each kind, by API group and kind; the API version does not matter."""

from collections.abc import Callable
from typing import Final

from kudo.api import JsonObject
from kudo.api.names import GROUP
from kudo.objects.health.others import (
    api_service,
    custom_resource_definition,
    instance,
    namespace,
    persistent_volume_claim,
    service,
)
from kudo.objects.health.pods import job, pod
from kudo.objects.health.reading import group_of, is_terminating, items, kind_of, metadata, text
from kudo.objects.health.result import Health, by_conditions, once_observed, terminating
from kudo.objects.health.workloads import daemon_set, deployment, replica_set, stateful_set

Rule = Callable[[JsonObject], Health]
GroupKind = tuple[str, str]

_RULES: Final[dict[GroupKind, Rule]] = {
    ("apps", "Deployment"): deployment,
    ("apps", "StatefulSet"): stateful_set,
    ("apps", "DaemonSet"): daemon_set,
    ("apps", "ReplicaSet"): replica_set,
    ("batch", "Job"): job,
    ("batch", "CronJob"): once_observed,
    ("", "Pod"): pod,
    ("", "PersistentVolumeClaim"): persistent_volume_claim,
    ("", "Service"): service,
    ("", "Namespace"): namespace,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): custom_resource_definition,
    ("apiregistration.k8s.io", "APIService"): api_service,
    ("policy", "PodDisruptionBudget"): once_observed,
    ("networking.k8s.io", "Ingress"): once_observed,
    ("autoscaling", "HorizontalPodAutoscaler"): once_observed,
    (GROUP, "Instance"): instance,
}
"""The kinds with a rule of their own; any other has the health of its conditions."""

_WITH_A_RULE_FOR_TERMINATING: Final = frozenset({("batch", "Job"), ("", "Pod"), ("", "Namespace")})
"""The kinds whose rules handle deletion themselves."""

_WITHOUT_STATUS: Final = frozenset(
    {
        *(
            ("", kind)
            for kind in (
                "ConfigMap",
                "Endpoints",
                "Event",
                "LimitRange",
                "PodTemplate",
                "Secret",
                "ServiceAccount",
            )
        ),
        *(
            ("admissionregistration.k8s.io", kind)
            for kind in (
                "MutatingAdmissionPolicy",
                "MutatingAdmissionPolicyBinding",
                "MutatingWebhookConfiguration",
                "ValidatingAdmissionPolicyBinding",
                "ValidatingWebhookConfiguration",
            )
        ),
        *(
            ("rbac.authorization.k8s.io", kind)
            for kind in ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
        ),
        *(
            ("storage.k8s.io", kind)
            for kind in (
                "CSIDriver",
                "CSINode",
                "CSIStorageCapacity",
                "StorageClass",
                "VolumeAttributesClass",
            )
        ),
        ("apps", "ControllerRevision"),
        ("certificates.k8s.io", "ClusterTrustBundle"),
        ("coordination.k8s.io", "Lease"),
        ("coordination.k8s.io", "LeaseCandidate"),
        ("discovery.k8s.io", "EndpointSlice"),
        ("events.k8s.io", "Event"),
        ("networking.k8s.io", "IPAddress"),
        ("networking.k8s.io", "IngressClass"),
        ("networking.k8s.io", "NetworkPolicy"),
        ("node.k8s.io", "RuntimeClass"),
        ("resource.k8s.io", "DeviceClass"),
        ("resource.k8s.io", "ResourceClaimTemplate"),
        ("resource.k8s.io", "ResourceSlice"),
        ("scheduling.k8s.io", "PriorityClass"),
        (GROUP, "Operator"),
        (GROUP, "OperatorVersion"),
    }
)
"""The kinds of Kubernetes and of KUDO that have no status: they are healthy once they exist."""


def needs_body(api_version: str, kind: str) -> bool:
    """Return whether the health of this kind depends on more than its metadata.

    It does for every kind that is not known to have no status, custom resources among them.
    """
    return (group_of(api_version), kind) not in _WITHOUT_STATUS


def health_of(obj: JsonObject) -> Health:
    """Return the health of an object as the API server returned it.

    Never raises, whatever the object holds. An object that is being deleted is waited for: it
    disappears, and whoever needs it applies it again.
    """
    # A rule counts for all versions of a kind: the API server converts between them.
    group_kind = group_of(text(obj.get("apiVersion"))), kind_of(obj)
    if is_terminating(obj) and group_kind not in _WITH_A_RULE_FOR_TERMINATING:
        return terminating(obj)
    return _RULES.get(group_kind, by_conditions)(obj)


def readiness(objects: list[JsonObject]) -> tuple[str, ...]:
    """Return what keeps an idle Instance from being ready, sorted; empty when it is ready.

    Some pods do not count: those of Jobs, since a finished or failed try of a Job says nothing
    about the Instance, and those that are being deleted, since they have been replaced or scaled
    away.
    """
    messages = []
    for obj in objects:
        if kind_of(obj) == "Pod":
            owners = items(metadata(obj).get("ownerReferences"))
            of_job = any(owner.get("controller") and owner.get("kind") == "Job" for owner in owners)
            if of_job or is_terminating(obj):
                continue
        health = health_of(obj)
        if not health.healthy:
            messages.append(health.message)
    # Sorted, since the order of a cache changes, and each change of the text is a write.
    return tuple(sorted(messages))
