"""API versions that were removed: since which release, their successors, and how to convert."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from kudo.api import JsonObject
from kudo.objects.removed_apis import conversions
from kudo.objects.removed_apis.conversions import NoSuccessor, NotMechanical, copied
from kudo.objects.removed_apis.definitions import upgrade_definition

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


def _unchanged(_: JsonObject) -> None:
    """Convert an object whose versions differ in nothing but their name."""


def _same(*kinds: str) -> dict[str, Convert]:
    return dict.fromkeys(kinds, _unchanged)


_ADMISSION: Final = "admissionregistration.k8s.io"
_FLOW: Final = "flowcontrol.apiserver.k8s.io"
_NETWORKING: Final = "networking.k8s.io"
_RBAC: Final = "rbac.authorization.k8s.io"
_SCHEDULING: Final = "scheduling.k8s.io"
_STORAGE: Final = "storage.k8s.io"

_ADMISSION_POLICIES: Final = _same("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
_INGRESS: Final[dict[str, Convert]] = {"Ingress": conversions.upgrade_ingress}
_ASSURED: Final[dict[str, Convert]] = {
    "FlowSchema": _unchanged,
    "PriorityLevelConfiguration": conversions.upgrade_assured_shares,
}

_MOVED: Final[tuple[tuple[str, str, str, dict[str, Convert]], ...]] = (
    (
        "extensions/v1beta1",
        "1.16",
        "apps/v1",
        {
            "Deployment": conversions.upgrade_extensions_deployment,
            "DaemonSet": conversions.upgrade_extensions_daemon_set,
            "ReplicaSet": conversions.default_selector,
        },
    ),
    (
        "apps/v1beta1",
        "1.16",
        "apps/v1",
        {
            "Deployment": conversions.upgrade_apps_deployment,
            "StatefulSet": conversions.upgrade_apps_stateful_set,
            "ControllerRevision": _unchanged,
        },
    ),
    (
        "apps/v1beta2",
        "1.16",
        "apps/v1",
        _same("Deployment", "DaemonSet", "ReplicaSet", "StatefulSet", "ControllerRevision"),
    ),
    ("batch/v2alpha1", "1.21", "batch/v1", _same("CronJob")),
    ("batch/v1beta1", "1.25", "batch/v1", _same("CronJob")),
    (
        "policy/v1beta1",
        "1.25",
        "policy/v1",
        {"PodDisruptionBudget": conversions.upgrade_disruption_budget},
    ),
    (
        "autoscaling/v2beta1",
        "1.25",
        "autoscaling/v2",
        {"HorizontalPodAutoscaler": conversions.upgrade_v2beta1},
    ),
    ("autoscaling/v2beta2", "1.26", "autoscaling/v2", _same("HorizontalPodAutoscaler")),
    ("extensions/v1beta1", "1.16", f"{_NETWORKING}/v1", _same("NetworkPolicy")),
    ("extensions/v1beta1", "1.22", f"{_NETWORKING}/v1", _INGRESS),
    (f"{_NETWORKING}/v1beta1", "1.22", f"{_NETWORKING}/v1", _INGRESS | _same("IngressClass")),
    (
        f"{_RBAC}/v1alpha1",
        "1.23",
        f"{_RBAC}/v1",
        {
            "Role": _unchanged,
            "ClusterRole": _unchanged,
            "RoleBinding": conversions.upgrade_alpha_binding,
            "ClusterRoleBinding": conversions.upgrade_alpha_binding,
        },
    ),
    (
        f"{_RBAC}/v1beta1",
        "1.22",
        f"{_RBAC}/v1",
        _same("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"),
    ),
    (
        "apiextensions.k8s.io/v1beta1",
        "1.22",
        "apiextensions.k8s.io/v1",
        {"CustomResourceDefinition": upgrade_definition},
    ),
    (
        "apiregistration.k8s.io/v1beta1",
        "1.22",
        "apiregistration.k8s.io/v1",
        _same("APIService"),
    ),
    (
        f"{_ADMISSION}/v1beta1",
        "1.22",
        f"{_ADMISSION}/v1",
        {
            "MutatingWebhookConfiguration": conversions.upgrade_webhooks,
            "ValidatingWebhookConfiguration": conversions.upgrade_webhooks,
        },
    ),
    (f"{_ADMISSION}/v1alpha1", "1.32", f"{_ADMISSION}/v1", _ADMISSION_POLICIES),
    (f"{_ADMISSION}/v1beta1", "1.34", f"{_ADMISSION}/v1", _ADMISSION_POLICIES),
    (
        "certificates.k8s.io/v1beta1",
        "1.22",
        "certificates.k8s.io/v1",
        {"CertificateSigningRequest": conversions.upgrade_signing_request},
    ),
    (
        "discovery.k8s.io/v1beta1",
        "1.25",
        "discovery.k8s.io/v1",
        {"EndpointSlice": conversions.upgrade_endpoint_slice},
    ),
    (f"{_SCHEDULING}/v1alpha1", "1.23", f"{_SCHEDULING}/v1", _same("PriorityClass")),
    (f"{_SCHEDULING}/v1beta1", "1.22", f"{_SCHEDULING}/v1", _same("PriorityClass")),
    (
        f"{_STORAGE}/v1alpha1",
        "1.24",
        f"{_STORAGE}/v1",
        _same("VolumeAttachment", "CSIStorageCapacity"),
    ),
    (
        f"{_STORAGE}/v1beta1",
        "1.22",
        f"{_STORAGE}/v1",
        _same("StorageClass", "CSIDriver", "CSINode", "VolumeAttachment"),
    ),
    (f"{_STORAGE}/v1beta1", "1.27", f"{_STORAGE}/v1", _same("CSIStorageCapacity")),
    ("coordination.k8s.io/v1beta1", "1.22", "coordination.k8s.io/v1", _same("Lease")),
    ("node.k8s.io/v1beta1", "1.25", "node.k8s.io/v1", _same("RuntimeClass")),
    ("events.k8s.io/v1beta1", "1.25", "events.k8s.io/v1", _same("Event")),
    (f"{_FLOW}/v1alpha1", "1.21", f"{_FLOW}/v1", _ASSURED),
    (f"{_FLOW}/v1beta1", "1.26", f"{_FLOW}/v1", _ASSURED),
    (f"{_FLOW}/v1beta2", "1.29", f"{_FLOW}/v1", _ASSURED),
    (
        f"{_FLOW}/v1beta3",
        "1.32",
        f"{_FLOW}/v1",
        {
            "FlowSchema": _unchanged,
            "PriorityLevelConfiguration": conversions.upgrade_nominal_shares,
        },
    ),
)
"""Old version, release that removed it, new version, and what changes in each kind."""

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

REMOVED: Final[dict[tuple[str, str], Fate]] = {
    **{
        (old, kind): Moved(release, new, convert)
        for old, release, new, kinds in _MOVED
        for kind, convert in kinds.items()
    },
    **_GONE,
}
"""By apiVersion and kind."""


def modernized(obj: JsonObject) -> JsonObject | None:
    """Return a new object in the version served today, or None if no successor is known.

    To be asked only where the server does not serve the version of the object. Of a malformed
    object, what is not understood stays as it is.

    Raises:
        NoSuccessor: the kind is known and was removed, and the change is not mechanical; the text
            says what to change.
    """
    api_version, kind = obj.get("apiVersion"), obj.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return None
    fate = REMOVED.get((api_version, kind))
    if fate is None:
        return None
    if isinstance(fate, Gone):
        raise NoSuccessor(api_version, kind, fate.release, fate.advice)
    target: JsonObject = copied(obj)
    target["apiVersion"] = fate.api_version
    try:
        fate.convert(target)
    except NotMechanical as error:
        raise NoSuccessor(api_version, kind, fate.release, str(error)) from error
    return target


def removed_in(api_version: str, kind: str) -> str | None:
    """Return the Kubernetes release, such as `1.25`, that no longer serves a kind in a version.

    None means that it is served, or not known here.
    """
    fate = REMOVED.get((api_version, kind))
    return None if fate is None else fate.release
