"""What was removed, in which release, and what has become of it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from kudo.api import JsonObject
from kudo.removed_apis import (
    admission,
    autoscaling,
    certificates,
    discovery,
    flowcontrol,
    ingress,
    policy,
    rbac,
    workloads,
)
from kudo.removed_apis.definitions import upgrade_definition

Convert = Callable[[JsonObject], None]
"""Changes an object in place; its apiVersion is the new one already."""


@dataclass(frozen=True, slots=True)
class Moved:
    """Served in another version.

    Attributes:
        release: Kubernetes release that no longer serves the old version.
        api_version: The version to use.
        convert: What changes beside the version; may raise NotMechanical.
    """

    release: str
    api_version: str
    convert: Convert


@dataclass(frozen=True, slots=True)
class Gone:
    """Served in no version.

    Attributes:
        release: Kubernetes release that no longer serves it.
        advice: What to do instead.
    """

    release: str
    advice: str


Fate = Moved | Gone
_Entry = tuple[tuple[str, str], Fate]


def _unchanged(_: JsonObject) -> None:
    """Convert an object whose versions differ in nothing but their name."""


def _to(
    new: str, removed: dict[str, str], *kinds: str, convert: Convert = _unchanged
) -> Iterator[_Entry]:
    """Yield the entries of kinds that moved; `removed` maps each old version to a release."""
    for old, release in removed.items():
        for kind in kinds:
            yield (old, kind), Moved(release, new, convert)


def _moved() -> Iterator[_Entry]:
    yield from _workloads()
    yield from _cluster_extensions()
    yield from _infrastructure()

    roles = ("Role", "ClusterRole")
    bindings = ("RoleBinding", "ClusterRoleBinding")
    group = "rbac.authorization.k8s.io"
    yield from _to(f"{group}/v1", {f"{group}/v1beta1": "1.22"}, *roles, *bindings)
    yield from _to(f"{group}/v1", {f"{group}/v1alpha1": "1.23"}, *roles)
    alpha = {f"{group}/v1alpha1": "1.23"}
    yield from _to(f"{group}/v1", alpha, *bindings, convert=rbac.upgrade_alpha_binding)

    budgets = {"policy/v1beta1": "1.25"}
    kind = "PodDisruptionBudget"
    yield from _to("policy/v1", budgets, kind, convert=policy.upgrade_disruption_budget)

    both = {"extensions/v1beta1": "1.22", "networking.k8s.io/v1beta1": "1.22"}
    yield from _to("networking.k8s.io/v1", both, "Ingress", convert=ingress.upgrade_ingress)
    yield from _to("networking.k8s.io/v1", {"networking.k8s.io/v1beta1": "1.22"}, "IngressClass")
    yield from _to("networking.k8s.io/v1", {"extensions/v1beta1": "1.16"}, "NetworkPolicy")


def _workloads() -> Iterator[_Entry]:
    extensions, apps1 = {"extensions/v1beta1": "1.16"}, {"apps/v1beta1": "1.16"}
    apps2 = {"apps/v1beta2": "1.16"}
    new = "apps/v1"
    yield from _to(new, extensions, "Deployment", convert=workloads.upgrade_extensions_deployment)
    yield from _to(new, extensions, "DaemonSet", convert=workloads.upgrade_extensions_daemon_set)
    yield from _to(new, extensions, "ReplicaSet", convert=workloads.default_selector)
    yield from _to(new, apps1, "Deployment", convert=workloads.upgrade_apps_deployment)
    yield from _to(new, apps1, "StatefulSet", convert=workloads.upgrade_apps_stateful_set)
    yield from _to(new, apps1, "ControllerRevision")
    kinds = ("Deployment", "DaemonSet", "ReplicaSet", "StatefulSet", "ControllerRevision")
    yield from _to(new, apps2, *kinds)
    jobs = {"batch/v1beta1": "1.25", "batch/v2alpha1": "1.21"}
    yield from _to("batch/v1", jobs, "CronJob")

    kind = "HorizontalPodAutoscaler"
    beta1 = {"autoscaling/v2beta1": "1.25"}
    yield from _to("autoscaling/v2", beta1, kind, convert=autoscaling.upgrade_v2beta1)
    yield from _to("autoscaling/v2", {"autoscaling/v2beta2": "1.26"}, kind)


def _cluster_extensions() -> Iterator[_Entry]:
    definitions = {"apiextensions.k8s.io/v1beta1": "1.22"}
    new, kind = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
    yield from _to(new, definitions, kind, convert=upgrade_definition)
    services = {"apiregistration.k8s.io/v1beta1": "1.22"}
    yield from _to("apiregistration.k8s.io/v1", services, "APIService")
    group = "admissionregistration.k8s.io"
    hooks = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
    beta = {f"{group}/v1beta1": "1.22"}
    yield from _to(f"{group}/v1", beta, *hooks, convert=admission.upgrade_webhooks)
    policies = {f"{group}/v1alpha1": "1.32", f"{group}/v1beta1": "1.34"}
    kinds = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    yield from _to(f"{group}/v1", policies, *kinds)
    requests = {"certificates.k8s.io/v1beta1": "1.22"}
    new, kind = "certificates.k8s.io/v1", "CertificateSigningRequest"
    yield from _to(new, requests, kind, convert=certificates.upgrade_signing_request)


def _infrastructure() -> Iterator[_Entry]:
    group = "scheduling.k8s.io"
    old = {f"{group}/v1alpha1": "1.23", f"{group}/v1beta1": "1.22"}
    yield from _to(f"{group}/v1", old, "PriorityClass")
    group = "storage.k8s.io"
    kinds = ("StorageClass", "CSIDriver", "CSINode", "VolumeAttachment")
    yield from _to(f"{group}/v1", {f"{group}/v1beta1": "1.22"}, *kinds)
    yield from _to(f"{group}/v1", {f"{group}/v1alpha1": "1.24"}, "VolumeAttachment")
    capacity = {f"{group}/v1alpha1": "1.24", f"{group}/v1beta1": "1.27"}
    yield from _to(f"{group}/v1", capacity, "CSIStorageCapacity")
    yield from _to("coordination.k8s.io/v1", {"coordination.k8s.io/v1beta1": "1.22"}, "Lease")
    yield from _to("node.k8s.io/v1", {"node.k8s.io/v1beta1": "1.25"}, "RuntimeClass")
    yield from _to("events.k8s.io/v1", {"events.k8s.io/v1beta1": "1.25"}, "Event")
    slices = {"discovery.k8s.io/v1beta1": "1.25"}
    new = "discovery.k8s.io/v1"
    yield from _to(new, slices, "EndpointSlice", convert=discovery.upgrade_endpoint_slice)

    group = "flowcontrol.apiserver.k8s.io"
    assured = {f"{group}/v1alpha1": "1.21", f"{group}/v1beta1": "1.26", f"{group}/v1beta2": "1.29"}
    nominal = {f"{group}/v1beta3": "1.32"}
    kind = "PriorityLevelConfiguration"
    yield from _to(f"{group}/v1", assured | nominal, "FlowSchema")
    yield from _to(f"{group}/v1", assured, kind, convert=flowcontrol.upgrade_assured_shares)
    yield from _to(f"{group}/v1", nominal, kind, convert=flowcontrol.upgrade_nominal_shares)


_POD_SECURITY: Final = (
    "use Pod Security admission instead: label the namespace with "
    "pod-security.kubernetes.io/enforce, and remove the policy and the RBAC rules that name it"
)
_GONE: Final[dict[tuple[str, str], Fate]] = {
    ("policy/v1beta1", "PodSecurityPolicy"): Gone("1.25", _POD_SECURITY),
    ("extensions/v1beta1", "PodSecurityPolicy"): Gone("1.16", _POD_SECURITY),
    ("settings.k8s.io/v1alpha1", "PodPreset"): Gone(
        "1.20", "write what it would inject into the pod templates of the package"
    ),
    ("auditregistration.k8s.io/v1alpha1", "AuditSink"): Gone(
        "1.19", "configure an audit webhook of the API server instead"
    ),
    ("admissionregistration.k8s.io/v1alpha1", "InitializerConfiguration"): Gone(
        "1.14", "use a MutatingWebhookConfiguration of admissionregistration.k8s.io/v1 instead"
    ),
    ("extensions/v1beta1", "ThirdPartyResource"): Gone(
        "1.8", "use a CustomResourceDefinition of apiextensions.k8s.io/v1 instead"
    ),
}

REMOVED: Final[dict[tuple[str, str], Fate]] = {**dict(_moved()), **_GONE}
"""By apiVersion and kind."""
