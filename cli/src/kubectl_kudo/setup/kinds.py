"""The kinds that an installation of KUDO consists of, and the names of its objects."""

from typing import Final

from kubectl_kudo.session.output import JsonObject
from kubeio.kinds import (
    ADMISSION_POLICIES,
    ADMISSION_POLICY_BINDINGS,
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    CONFIG_MAPS,
    CRDS,
    DEPLOYMENTS,
    MUTATING_WEBHOOKS,
    NAMESPACES,
    NETWORK_POLICIES,
    POD_DISRUPTION_BUDGETS,
    ROLE_BINDINGS,
    ROLES,
    SERVICE_ACCOUNTS,
    SERVICES,
    VALIDATING_WEBHOOKS,
)
from kubeio.resource import Resource

CERT_MANAGER: Final = "cert-manager.io"

WEBHOOK: Final = "kudo-webhook"
RECONCILER: Final = "kudo-reconciler"
CONFIGURATION: Final = "kudo-instance-admission"
COMPONENT: Final = "app.kubernetes.io/component"
MANAGED_BY: Final = "app.kubernetes.io/managed-by"
OURS: Final = f"{MANAGED_BY}=kubectl-kudo,app.kubernetes.io/part-of=kudo"
"""Label selector of the objects that `init` has installed."""

_ALL: Final = (
    *(CRDS, NAMESPACES, SERVICE_ACCOUNTS, SERVICES, DEPLOYMENTS, CLUSTER_ROLE_BINDINGS),
    *(MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS, CONFIG_MAPS, CLUSTER_ROLES, ROLES, ROLE_BINDINGS),
    *(NETWORK_POLICIES, POD_DISRUPTION_BUDGETS, ADMISSION_POLICY_BINDINGS, ADMISSION_POLICIES),
    Resource(CERT_MANAGER, "v1", "Issuer", "issuers", namespaced=True),
    Resource(CERT_MANAGER, "v1", "Certificate", "certificates", namespaced=True),
)
KEPT: Final = (CRDS, NAMESPACES)
"""Kinds that are never removed with the rest: objects of users would be deleted with them."""
REMOVABLE: Final = tuple(kind for kind in _ALL if kind not in KEPT)
_BY_KIND: Final = {kind.kind: kind for kind in _ALL}


def kind_of(obj: JsonObject) -> Resource:
    """Return the API resource of an object of the manifests."""
    return _BY_KIND[obj["kind"]]


def key_of(obj: JsonObject) -> tuple[str, str]:
    """Return kind and name, which identify an object of an installation."""
    return obj["kind"], obj["metadata"]["name"]


def named(kind: Resource, name: str) -> str:
    """Return how kubectl names an object, such as `deployment.apps/kudo-webhook`."""
    group = f".{kind.group}" if kind.group else ""
    return f"{kind.kind.lower()}{group}/{name}"


def labels_of(obj: JsonObject) -> dict[str, str]:
    """Return the labels of an object."""
    return obj["metadata"].get("labels") or {}
