"""Objects as packages of yesterday write them, in versions that were removed since."""

import base64
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

Json = dict[str, Any]
RBAC = "rbac.authorization.k8s.io"
WEBHOOKS = "admissionregistration.k8s.io"
FLOW = "flowcontrol.apiserver.k8s.io"
CLIENT = {"url": "https://hooks.example.com/judge", "caBundle": ""}
POD = {"containers": [{"name": "main", "image": "busybox"}]}
TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": POD}


def old(api_version: str, kind: str, name: str, *parts: Json, **fields: Any) -> Json:
    """Return an object; `parts` go into its metadata."""
    metadata: Json = {"name": name}
    for part in parts:
        metadata |= part
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def budget(name: str, **spec: Any) -> Json:
    return old("policy/v1beta1", "PodDisruptionBudget", name, spec=spec)


def cron_job(api_version: str, name: str) -> Json:
    return old(
        api_version,
        "CronJob",
        name,
        spec={
            "schedule": "0 3 * * *",
            "concurrencyPolicy": "Forbid",
            "jobTemplate": {"spec": {"template": {"spec": {**POD, "restartPolicy": "Never"}}}},
        },
    )


def ingress(api_version: str, name: str) -> Json:
    backend = {"serviceName": "web", "servicePort": 80}
    paths = [{"path": "/", "backend": backend}, {"backend": {**backend, "servicePort": "http"}}]
    return old(
        api_version,
        "Ingress",
        name,
        {"annotations": {"kubernetes.io/ingress.class": "nginx"}},
        spec={
            "backend": backend,
            "tls": [{"hosts": ["a.example.com"], "secretName": "tls"}],
            "rules": [{"host": "a.example.com", "http": {"paths": paths}}],
        },
    )


def workload(api_version: str, kind: str, **spec: Any) -> Json:
    return old(api_version, kind, "web", spec={"template": TEMPLATE, **spec})


def binding(version: str, kind: str, subject: Json) -> Json:
    role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "view"}
    return old(f"{RBAC}/{version}", kind, "old", roleRef=role, subjects=[subject])


def role(version: str, kind: str) -> Json:
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    return old(f"{RBAC}/{version}", kind, "old", rules=rules)


def definition(plural: str, kind: str, group: str = "example.com", **spec: Any) -> Json:
    return old(
        "apiextensions.k8s.io/v1beta1",
        "CustomResourceDefinition",
        f"{plural}.{group}",
        {"creationTimestamp": None},
        spec={"group": group, "names": {"kind": kind, "plural": plural}, "version": "v1", **spec},
        status={
            "acceptedNames": {"kind": "", "plural": ""},
            "conditions": [],
            "storedVersions": [],
        },
    )


def webhooks(kind: str) -> Json:
    rule = {
        "apiGroups": ["example.com"],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["cups"],
    }
    webhook = {
        "name": "cups.example.com",
        "clientConfig": CLIENT,
        "rules": [rule],
        "sideEffects": "None",
    }
    return old(f"{WEBHOOKS}/v1beta1", kind, "cups", webhooks=[webhook])


def autoscaler(version: str, *metrics: Json) -> Json:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    return old(
        f"autoscaling/{version}",
        "HorizontalPodAutoscaler",
        "web",
        spec={"scaleTargetRef": target, "maxReplicas": 3, "metrics": list(metrics)},
    )


def _source(kind: str, **fields: Any) -> Json:
    return {"type": kind, f"{kind[0].lower()}{kind[1:]}": fields}


_METRICS = (
    _source("Resource", name="cpu", targetAverageUtilization=60),
    _source("Resource", name="memory", targetAverageValue="200Mi"),
    _source("ContainerResource", name="cpu", container="main", targetAverageUtilization=60),
    _source("Pods", metricName="rps", targetAverageValue="10"),
    _source(
        "Object",
        metricName="rps",
        target={"kind": "Service", "name": "web", "apiVersion": "v1"},
        targetValue="100",
    ),
    _source(
        "External",
        metricName="queue",
        metricSelector={"matchLabels": {"queue": "jobs"}},
        targetAverageValue="30",
    ),
)
_METRIC_OF_V2 = _source(
    "Resource", name="cpu", target={"type": "Utilization", "averageUtilization": 5}
)
_LIMITED = {"queuing": {"queues": 8, "handSize": 2}, "type": "Queue"}


def _level(version: str, **limited: Any) -> Json:
    spec = {"type": "Limited", "limited": {"limitResponse": _LIMITED, **limited}}
    return old(f"{FLOW}/{version}", "PriorityLevelConfiguration", "cups", spec=spec)


def _flow_schema(version: str) -> Json:
    spec = {"priorityLevelConfiguration": {"name": "global-default"}, "matchingPrecedence": 9000}
    return old(f"{FLOW}/{version}", "FlowSchema", "cups", spec=spec)


def _certificate_request() -> str:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "cup")])
    builder = x509.CertificateSigningRequestBuilder().subject_name(name)
    request = builder.sign(Ed25519PrivateKey.generate(), None)
    return base64.b64encode(request.public_bytes(Encoding.PEM)).decode()


UPGRADED: tuple[Json, ...] = (
    budget("plain", minAvailable=1, selector={"matchLabels": {"app": "web"}}),
    budget("none", maxUnavailable="10%", selector={}),
    cron_job("batch/v1beta1", "nightly"),
    cron_job("batch/v2alpha1", "nightly"),
    ingress("extensions/v1beta1", "web"),
    ingress("networking.k8s.io/v1beta1", "web"),
    old(
        "networking.k8s.io/v1beta1",
        "IngressClass",
        "web",
        spec={
            "controller": "example.com/ingress",
            "parameters": {"apiGroup": "example.com", "kind": "Parameters", "name": "web"},
        },
    ),
    old(
        "extensions/v1beta1",
        "NetworkPolicy",
        "web",
        spec={
            "podSelector": {},
            "ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}], "ports": [{"port": 80}]}],
        },
    ),
    workload("extensions/v1beta1", "Deployment", rollbackTo={"revision": 0}),
    workload("extensions/v1beta1", "Deployment", strategy={"type": "Recreate"}),
    workload("extensions/v1beta1", "DaemonSet", templateGeneration=3),
    workload("extensions/v1beta1", "ReplicaSet", replicas=2),
    workload("apps/v1beta1", "Deployment"),
    workload("apps/v1beta1", "StatefulSet", serviceName="web"),
    workload("apps/v1beta2", "Deployment", selector={"matchLabels": {"app": "web"}}),
    workload("apps/v1beta2", "DaemonSet", selector={"matchLabels": {"app": "web"}}),
    workload("apps/v1beta2", "ReplicaSet", selector={"matchLabels": {"app": "web"}}),
    workload(
        "apps/v1beta2", "StatefulSet", selector={"matchLabels": {"app": "web"}}, serviceName="web"
    ),
    old("apps/v1beta1", "ControllerRevision", "web-1", revision=1, data={"a": 1}),
    autoscaler("v2beta1", *_METRICS),
    autoscaler("v2beta2", _METRIC_OF_V2),
    role("v1beta1", "Role"),
    role("v1alpha1", "ClusterRole"),
    binding("v1beta1", "ClusterRoleBinding", {"kind": "Group", "apiGroup": RBAC, "name": "a"}),
    binding("v1beta1", "RoleBinding", {"kind": "ServiceAccount", "name": "a", "namespace": "b"}),
    binding("v1alpha1", "RoleBinding", {"kind": "User", "name": "*"}),
    binding(
        "v1alpha1",
        "ClusterRoleBinding",
        {"kind": "ServiceAccount", "apiVersion": "v1", "name": "a", "namespace": "b"},
    ),
    webhooks("MutatingWebhookConfiguration"),
    webhooks("ValidatingWebhookConfiguration"),
    old(
        "apiregistration.k8s.io/v1beta1",
        "APIService",
        "v1.cups.example.com",
        spec={
            "group": "cups.example.com",
            "version": "v1",
            "groupPriorityMinimum": 10,
            "versionPriority": 10,
            "insecureSkipTLSVerify": True,
            "service": {"namespace": "default", "name": "cups"},
        },
    ),
    old(
        "certificates.k8s.io/v1beta1",
        "CertificateSigningRequest",
        "cup",
        spec={"request": _certificate_request(), "signerName": "example.com/cups"},
    ),
    old("scheduling.k8s.io/v1beta1", "PriorityClass", "urgent", value=10),
    old("scheduling.k8s.io/v1alpha1", "PriorityClass", "urgent", value=10),
    old("storage.k8s.io/v1beta1", "StorageClass", "fast", provisioner="example.com/fast"),
    old("storage.k8s.io/v1beta1", "CSIDriver", "csi.example.com", spec={"attachRequired": False}),
    old("storage.k8s.io/v1beta1", "CSINode", "n1", spec={"drivers": []}),
    old(
        "storage.k8s.io/v1alpha1",
        "VolumeAttachment",
        "va",
        spec={
            "attacher": "csi.example.com",
            "nodeName": "n1",
            "source": {"persistentVolumeName": "pv"},
        },
    ),
    old("storage.k8s.io/v1beta1", "CSIStorageCapacity", "c", storageClassName="fast"),
    old("coordination.k8s.io/v1beta1", "Lease", "l", spec={"holderIdentity": "me"}),
    old("node.k8s.io/v1beta1", "RuntimeClass", "gvisor", handler="runsc"),
    old(
        "discovery.k8s.io/v1beta1",
        "EndpointSlice",
        "web-1",
        addressType="IPv4",
        endpoints=[
            {
                "addresses": ["10.0.0.1"],
                "topology": {
                    "kubernetes.io/hostname": "n1",
                    "topology.kubernetes.io/zone": "z1",
                    "topology.kubernetes.io/region": "r1",
                },
            }
        ],
        ports=[{"name": "http", "port": 80}],
    ),
    _flow_schema("v1beta1"),
    _flow_schema("v1beta3"),
    _level("v1beta1", assuredConcurrencyShares=5),
    _level("v1beta2", assuredConcurrencyShares=0),
    _level("v1beta3", nominalConcurrencyShares=0),
)
"""Everything but custom resource definitions; each is complete for its old version."""
