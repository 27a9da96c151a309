"""The kinds that the API server serves from its start, and those that CRDs add."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import orjson

from kubeio.types import Json, JsonObject
from tests.support.apiserver.status import Names
from tests.support.apiserver.types.schema import (
    ATOMIC,
    MAP,
    OPEN,
    SET,
    Schema,
    from_openapi,
    keyed,
    struct,
)

VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
Counted = Literal["", "spec", "all"]


@dataclass(frozen=True, slots=True)
class Kind:
    """A resource in one version.

    Attributes:
        counted: Changes of what raise the generation: of the spec, or of all but metadata and
            status; nothing if there is no generation.
        has_status: Whether there is a status subresource.
        custom: Whether a CustomResourceDefinition defines it.
        unconditional: Whether a PUT may leave out the resourceVersion.
        create_on_update: Whether a PUT may create the object.
        orphans: Whether a deletion leaves dependents alone if it does not say otherwise.
        fields: Fields that a field selector may name beside `metadata.name` and
            `metadata.namespace`.
    """

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    counted: Counted = ""
    has_status: bool = False
    custom: bool = False
    unconditional: bool = True
    create_on_update: bool = False
    orphans: bool = False
    fields: tuple[str, ...] = ()
    schema: Schema = OPEN
    subresources: tuple[str, ...] = ()
    verbs: tuple[str, ...] = VERBS

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def storage(self) -> tuple[str, str]:
        """Return what is the same for all versions."""
        return self.group, self.plural

    @property
    def empty(self) -> JsonObject:
        """Return what an object is before its creation: typed ones have their parts already."""
        parts = () if self.custom else ("spec", "status", "source")
        return {"metadata": {}} | {part: {} for part in parts}

    def about(self, name: str = "") -> Names:
        return Names(self.group, self.plural, name)


METADATA = struct(
    labels=MAP,
    annotations=MAP,
    finalizers=SET,
    ownerReferences=keyed(ATOMIC, uid=None),
)
_CONTAINER = struct(
    env=keyed(OPEN, name=None),
    ports=keyed(OPEN, containerPort=None, protocol="TCP"),
    volumeMounts=keyed(OPEN, mountPath=None),
    resources=struct(limits=MAP, requests=MAP),
)
_POD_SPEC = struct(
    containers=keyed(_CONTAINER, name=None),
    initContainers=keyed(_CONTAINER, name=None),
    volumes=keyed(OPEN, name=None),
    imagePullSecrets=keyed(OPEN, name=None),
    nodeSelector=ATOMIC,
)
_TEMPLATE = struct(metadata=METADATA, spec=_POD_SPEC)
_CONDITIONS = struct(conditions=keyed(OPEN, type=None))
_WORKLOAD = struct(selector=ATOMIC, template=_TEMPLATE)


def _schema(**fields: Schema) -> Schema:
    return struct(metadata=METADATA, status=_CONDITIONS, **fields)


_WITH_DATA = _schema(data=MAP, binaryData=MAP, stringData=MAP)
_POD = _schema(spec=_POD_SPEC)
_OF_WORKLOADS = _schema(spec=_WORKLOAD)
_SERVICE = _schema(spec=struct(ports=keyed(OPEN, port=None, protocol="TCP"), selector=ATOMIC))
_PLAIN = _schema()


def _core(kind: str, plural: str, schema: Schema = _PLAIN) -> Kind:
    return Kind("", "v1", kind, plural, schema=schema)


def _with_status(found: Kind) -> Kind:
    return replace(found, counted="spec", has_status=True, subresources=("status",))


def _workload(group: str, kind: str, plural: str) -> Kind:
    return _with_status(Kind(group, "v1", kind, plural, schema=_OF_WORKLOADS))


def _webhooks(kind: str, plural: str) -> Kind:
    return Kind(
        "admissionregistration.k8s.io",
        "v1",
        kind,
        plural,
        namespaced=False,
        counted="all",
        schema=_schema(webhooks=keyed(OPEN, name=None)),
    )


def _rights(kind: str, plural: str, *, namespaced: bool) -> Kind:
    group = "rbac.authorization.k8s.io"
    return Kind(group, "v1", kind, plural, namespaced=namespaced, schema=_PLAIN)


def _policies(kind: str, plural: str) -> Kind:
    """Return a kind of admission policies; they are stored, and not evaluated."""
    group = "admissionregistration.k8s.io"
    return Kind(group, "v1", kind, plural, namespaced=False, counted="spec", schema=_PLAIN)


NAMESPACE = Kind(
    "",
    "v1",
    "Namespace",
    "namespaces",
    namespaced=False,
    has_status=True,
    schema=_PLAIN,
    subresources=("finalize", "status"),
    verbs=tuple(verb for verb in VERBS if verb != "deletecollection"),
)
CRD = replace(
    _with_status(
        Kind(
            "apiextensions.k8s.io",
            "v1",
            "CustomResourceDefinition",
            "customresourcedefinitions",
            namespaced=False,
        )
    ),
    schema=_PLAIN,
)
EVENT = replace(
    _core("Event", "events", _schema(involvedObject=ATOMIC)),
    create_on_update=True,
    fields=("involvedObject.kind", "involvedObject.name", "involvedObject.uid", "reason", "type"),
)
POD = replace(
    _with_status(_core("Pod", "pods", _POD)),
    subresources=("eviction", "exec", "log", "status"),
    fields=("status.phase",),
)
DEPLOYMENT = _workload("apps", "Deployment", "deployments")
STATEFUL_SET = _workload("apps", "StatefulSet", "statefulsets")
DAEMON_SET = _workload("apps", "DaemonSet", "daemonsets")
REPLICA_SET = _workload("apps", "ReplicaSet", "replicasets")
JOB = replace(_workload("batch", "Job", "jobs"), orphans=True)
LEASE = replace(
    Kind("coordination.k8s.io", "v1", "Lease", "leases", schema=_PLAIN),
    create_on_update=True,
    unconditional=False,
)

BUILT_IN = (
    NAMESPACE,
    CRD,
    EVENT,
    POD,
    DEPLOYMENT,
    STATEFUL_SET,
    DAEMON_SET,
    REPLICA_SET,
    JOB,
    LEASE,
    Kind("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", schema=_PLAIN),
    _with_status(Kind("batch", "v1", "CronJob", "cronjobs", schema=_PLAIN)),
    _core("ConfigMap", "configmaps", _WITH_DATA),
    _core("Secret", "secrets", _WITH_DATA),
    _core("ServiceAccount", "serviceaccounts"),
    replace(
        _core("Service", "services", _SERVICE), has_status=True, subresources=("proxy", "status")
    ),
    replace(
        _core("PersistentVolumeClaim", "persistentvolumeclaims"),
        has_status=True,
        subresources=("status",),
    ),
    Kind(
        "authorization.k8s.io",
        "v1",
        "SelfSubjectAccessReview",
        "selfsubjectaccessreviews",
        namespaced=False,
        verbs=("create",),
    ),
    _rights("Role", "roles", namespaced=True),
    _rights("RoleBinding", "rolebindings", namespaced=True),
    _rights("ClusterRole", "clusterroles", namespaced=False),
    _rights("ClusterRoleBinding", "clusterrolebindings", namespaced=False),
    Kind(
        "scheduling.k8s.io",
        "v1",
        "PriorityClass",
        "priorityclasses",
        namespaced=False,
        schema=_PLAIN,
    ),
    _with_status(
        Kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", schema=_PLAIN)
    ),
    Kind(
        "networking.k8s.io",
        "v1",
        "NetworkPolicy",
        "networkpolicies",
        counted="spec",
        schema=_PLAIN,
    ),
    _webhooks("MutatingWebhookConfiguration", "mutatingwebhookconfigurations"),
    _webhooks("ValidatingWebhookConfiguration", "validatingwebhookconfigurations"),
    _with_status(_policies("ValidatingAdmissionPolicy", "validatingadmissionpolicies")),
    _policies("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"),
)


def from_definition(crd: JsonObject) -> tuple[Kind, ...]:
    """Return a kind for each version that a CustomResourceDefinition serves."""
    return _kinds(orjson.dumps(crd["spec"]))


@lru_cache
def _kinds(encoded: bytes) -> tuple[Kind, ...]:
    # Thousands of short lives begin with the same definitions.
    spec = orjson.loads(encoded)
    return tuple(_custom(spec, version) for version in spec["versions"] if version["served"])


def _custom(spec: JsonObject, version: Mapping[str, Json]) -> Kind:
    names = spec["names"]
    has_status = "status" in (version.get("subresources") or {})
    described = from_openapi(version["schema"]["openAPIV3Schema"])
    schema = replace(described, fields={**described.fields, "metadata": METADATA})
    return Kind(
        spec["group"],
        version["name"],
        names["kind"],
        names["plural"],
        namespaced=spec["scope"] == "Namespaced",
        counted="all",
        has_status=has_status,
        custom=True,
        unconditional=False,
        schema=schema,
        subresources=("status",) if has_status else (),
    )
