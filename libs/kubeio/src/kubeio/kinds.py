"""Kinds that every cluster serves, written down so that no discovery is needed to reach them."""

from typing import Final

from kubeio.resource import Resource

CONFIG_MAPS: Final = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)
EVENTS: Final = Resource("", "v1", "Event", "events", namespaced=True)
NAMESPACES: Final = Resource("", "v1", "Namespace", "namespaces", namespaced=False)
PERSISTENT_VOLUME_CLAIMS: Final = Resource(
    "", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", namespaced=True
)
PODS: Final = Resource("", "v1", "Pod", "pods", namespaced=True)
SECRETS: Final = Resource("", "v1", "Secret", "secrets", namespaced=True)
SERVICE_ACCOUNTS: Final = Resource("", "v1", "ServiceAccount", "serviceaccounts", namespaced=True)
SERVICES: Final = Resource("", "v1", "Service", "services", namespaced=True)

DAEMON_SETS: Final = Resource("apps", "v1", "DaemonSet", "daemonsets", namespaced=True)
DEPLOYMENTS: Final = Resource("apps", "v1", "Deployment", "deployments", namespaced=True)
REPLICA_SETS: Final = Resource("apps", "v1", "ReplicaSet", "replicasets", namespaced=True)
STATEFUL_SETS: Final = Resource("apps", "v1", "StatefulSet", "statefulsets", namespaced=True)

JOBS: Final = Resource("batch", "v1", "Job", "jobs", namespaced=True)

LEASES: Final = Resource("coordination.k8s.io", "v1", "Lease", "leases", namespaced=True)
ENDPOINT_SLICES: Final = Resource(
    "discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", namespaced=True
)
NETWORK_POLICIES: Final = Resource(
    "networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", namespaced=True
)
POD_DISRUPTION_BUDGETS: Final = Resource(
    "policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", namespaced=True
)

_RBAC: Final = "rbac.authorization.k8s.io"
CLUSTER_ROLES: Final = Resource(_RBAC, "v1", "ClusterRole", "clusterroles", namespaced=False)
CLUSTER_ROLE_BINDINGS: Final = Resource(
    _RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False
)
ROLES: Final = Resource(_RBAC, "v1", "Role", "roles", namespaced=True)
ROLE_BINDINGS: Final = Resource(_RBAC, "v1", "RoleBinding", "rolebindings", namespaced=True)

CRDS: Final = Resource(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
)
_ADMISSION: Final = "admissionregistration.k8s.io"
MUTATING_WEBHOOKS: Final = Resource(
    _ADMISSION,
    "v1",
    "MutatingWebhookConfiguration",
    "mutatingwebhookconfigurations",
    namespaced=False,
)
ADMISSION_POLICIES: Final = Resource(
    _ADMISSION, "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies", namespaced=False
)
ADMISSION_POLICY_BINDINGS: Final = Resource(
    _ADMISSION,
    "v1",
    "ValidatingAdmissionPolicyBinding",
    "validatingadmissionpolicybindings",
    namespaced=False,
)
VALIDATING_WEBHOOKS: Final = Resource(
    _ADMISSION,
    "v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    namespaced=False,
)
