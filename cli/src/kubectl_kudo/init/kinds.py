"""The kinds that an installation of KUDO consists of, and the names of its objects."""

from typing import Final

from kubectl_kudo.core.kinds import NAMESPACES
from kubectl_kudo.core.output import JsonObject
from kubeio.resource import Resource

ADMISSION: Final = "admissionregistration.k8s.io"
CERT_MANAGER: Final = "cert-manager.io"
_RBAC: Final = "rbac.authorization.k8s.io"

CRDS = Resource(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
)
ACCOUNTS = Resource("", "v1", "ServiceAccount", "serviceaccounts", namespaced=True)
SERVICES = Resource("", "v1", "Service", "services", namespaced=True)
SECRETS = Resource("", "v1", "Secret", "secrets", namespaced=True)
PODS = Resource("", "v1", "Pod", "pods", namespaced=True)
LEASES = Resource("coordination.k8s.io", "v1", "Lease", "leases", namespaced=True)
DEPLOYMENTS = Resource("apps", "v1", "Deployment", "deployments", namespaced=True)
STATEFUL_SETS = Resource("apps", "v1", "StatefulSet", "statefulsets", namespaced=True)
BINDINGS = Resource(_RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False)
MUTATING, VALIDATING = (
    Resource(
        ADMISSION,
        "v1",
        f"{kind}WebhookConfiguration",
        f"{kind.lower()}webhookconfigurations",
        False,
    )
    for kind in ("Mutating", "Validating")
)

WEBHOOK: Final = "kudo-webhook"
RECONCILER: Final = "kudo-reconciler"
CONFIGURATION: Final = "kudo-instance-admission"
MANAGED_BY: Final = "app.kubernetes.io/managed-by"
OURS: Final = f"{MANAGED_BY}=kubectl-kudo,app.kubernetes.io/part-of=kudo"
"""Selects what `init` has installed."""

_ALL: Final = (
    *(CRDS, NAMESPACES, ACCOUNTS, SERVICES, DEPLOYMENTS, BINDINGS, MUTATING, VALIDATING),
    Resource("", "v1", "ConfigMap", "configmaps", namespaced=True),
    Resource(_RBAC, "v1", "ClusterRole", "clusterroles", namespaced=False),
    Resource(_RBAC, "v1", "Role", "roles", namespaced=True),
    Resource(_RBAC, "v1", "RoleBinding", "rolebindings", namespaced=True),
    Resource("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", namespaced=True),
    Resource("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", namespaced=True),
    Resource(CERT_MANAGER, "v1", "Issuer", "issuers", namespaced=True),
    Resource(CERT_MANAGER, "v1", "Certificate", "certificates", namespaced=True),
)
KEPT: Final = (CRDS, NAMESPACES)
"""What is not ours to remove: with it goes what others have made."""
REMOVABLE: Final = tuple(kind for kind in _ALL if kind not in KEPT)
_BY_KIND: Final = {kind.kind: kind for kind in _ALL}


def kind_of(obj: JsonObject) -> Resource:
    """Return where an object of the manifests lives in the API."""
    return _BY_KIND[obj["kind"]]


def key_of(obj: JsonObject) -> tuple[str, str]:
    """Return what tells an object from the others of an installation."""
    return obj["kind"], obj["metadata"]["name"]


def named(kind: Resource, name: str) -> str:
    """Return how kubectl names an object, such as `deployment.apps/kudo-webhook`."""
    group = f".{kind.group}" if kind.group else ""
    return f"{kind.kind.lower()}{group}/{name}"


def labels_of(obj: JsonObject) -> dict[str, str]:
    """Return the labels of an object."""
    return obj["metadata"].get("labels") or {}
