"""Resource: group, version, plural name and scope of a kind, and its URL paths.

A Resource comes from discovery, or is a constant for a kind that a program always needs, which
saves a request; those of every cluster stand at the end. Invariant: every part of a path has the
form that Kubernetes gives it (`names`), so a text from user data cannot address another object.
Names are quoted as well, since those of some kinds may contain spaces or letters of any alphabet.
"""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from kubeio.errors import InvalidPath
from kubeio.names import Part, name_fault
from kubeio.types import JsonObject

_SAFE: Final = "-._~:"
_UNRESERVED: Final = re.compile(r"[-._~:0-9A-Za-z]+")


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource of the API.

    ``verbs`` and ``subresources`` come from discovery; they are empty in constants.
    """

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    verbs: frozenset[str] = frozenset()
    subresources: frozenset[str] = frozenset()

    @property
    def api_version(self) -> str:
        """Return ``group/version``, or ``version`` alone for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def name(self) -> str:
        """Return ``plural.group``, as kubectl and CRDs name it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(
        self,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
    ) -> str:
        """Return the URL path of the collection, an object, or a subresource of it.

        The namespace is ignored for a cluster-scoped resource, required for a namespaced object,
        and selects the collection of all namespaces if None.

        Raises:
            InvalidPath: a part does not have the form that Kubernetes gives it.
            ValueError: a namespace or a name is missing.
        """
        path = group_version_path(self.group, self.version)
        if self.namespaced and namespace is not None:
            path += f"/namespaces/{_checked('namespace', namespace)}"
        path += f"/{_checked('resource', self.plural)}"
        if name is not None:
            if self.namespaced and namespace is None:
                raise ValueError(f"{self.kind} {name!r} is namespaced: pass its namespace")
            path += f"/{_quoted(_checked('name', name))}"
        if subresource is not None:
            if name is None:
                raise ValueError(f"subresource {subresource!r} needs a name")
            for segment in _checked("subresource", subresource).split("/"):
                path += f"/{_quoted(segment)}"
        return path


def group_version_path(group: str, version: str) -> str:
    """Return the URL path of an API version; the core group is the empty string.

    Raises:
        InvalidPath: a part does not have the form that Kubernetes gives it.
    """
    prefix = f"/apis/{_checked('group', group)}" if group else "/api"
    return f"{prefix}/{_checked('version', version)}"


def split_api_version(api_version: str) -> tuple[str, str]:
    """Return (group, version); the core group is the empty string."""
    group, _, version = api_version.rpartition("/")
    return group, version


def namespace_of(obj: JsonObject) -> str | None:
    """Return the object's namespace, None if it names none."""
    namespace = obj.get("metadata", {}).get("namespace")
    return str(namespace) if namespace else None


def name_of(obj: JsonObject) -> str:
    """Return the object's name.

    Raises:
        ValueError: it has none.
    """
    name = obj.get("metadata", {}).get("name")
    if not name:
        raise ValueError(f"{obj.get('kind', 'object')} without metadata.name")
    return str(name)


def _checked(part: Part, text: str) -> str:
    fault = name_fault(part, text)
    if fault:
        raise InvalidPath(fault)
    return text


def _quoted(text: str) -> str:
    # `quote` takes ten times as long, and nearly every name is of these.
    return text if _UNRESERVED.fullmatch(text) else quote(text, safe=_SAFE)


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
