"""Objects that a real API server accepts, to be broken by the tests, and where they are served."""

from copy import deepcopy
from typing import Any

from kubeio.client import Client
from kubeio.errors import ApiError
from kubeio.resource import Resource
from kudo.api.names import FIELD_MANAGER
from kudo.objects.api_errors import advice, is_fatal
from kudo.objects.typed_patch import Note, mended
from tests.support.build import Json
from tests.support.cluster.resources import CONFIG_MAPS, DEPLOYMENTS, JOBS, NAMESPACES, POLICIES

THINGS = Resource("x.example.org", "v1", "Thing", "things", namespaced=True)
CRDS = Resource(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
)
BINDINGS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingAdmissionPolicyBinding",
    "validatingadmissionpolicybindings",
    namespaced=False,
)
WEBHOOKS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    namespaced=False,
)
SERVED = {
    "ConfigMap": CONFIG_MAPS,
    "CustomResourceDefinition": CRDS,
    "Deployment": DEPLOYMENTS,
    "Job": JOBS,
    "LimitRange": Resource("", "v1", "LimitRange", "limitranges", namespaced=True),
    "Namespace": NAMESPACES,
    "PersistentVolumeClaim": Resource(
        "", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", namespaced=True
    ),
    "Pod": Resource("", "v1", "Pod", "pods", namespaced=True),
    "RoleBinding": Resource(
        "rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", namespaced=True
    ),
    "Secret": Resource("", "v1", "Secret", "secrets", namespaced=True),
    "Service": Resource("", "v1", "Service", "services", namespaced=True),
    "StatefulSet": Resource("apps", "v1", "StatefulSet", "statefulsets", namespaced=True),
    "Thing": THINGS,
    "ValidatingAdmissionPolicy": POLICIES,
    "ValidatingAdmissionPolicyBinding": BINDINGS,
    "ValidatingWebhookConfiguration": WEBHOOKS,
}

_ROUNDS = 30
CONFIG_MAP_RULE = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["*"],
    "resources": ["configmaps"],
}
_POD: Json = {"containers": [{"name": "main", "image": "busybox"}]}


def obj(kind: str, /, **fields: Any) -> Json:
    """Return an object named x."""
    return {
        "apiVersion": SERVED[kind].api_version,
        "kind": kind,
        "metadata": {"name": "x"},
        **deepcopy(fields),
    }


def pod_template() -> Json:
    return {"metadata": {"labels": {"app": "x"}}, "spec": _POD}


def config_map(**data: Any) -> Json:
    return obj("ConfigMap", data=data)


def deployment() -> Json:
    selector = {"matchLabels": {"app": "x"}}
    return obj("Deployment", spec={"replicas": 0, "selector": selector, "template": pod_template()})


def stateful_set() -> Json:
    spec = deployment()["spec"]
    claim = {"metadata": {"name": "data"}, "spec": claim_spec()}
    return obj("StatefulSet", spec={**spec, "serviceName": "x", "volumeClaimTemplates": [claim]})


def job() -> Json:
    pod = {**_POD, "restartPolicy": "Never"}
    return obj("Job", spec={"suspend": True, "template": {"spec": pod}})


def service(*ports: Json) -> Json:
    return obj("Service", spec={"selector": {"app": "x"}, "ports": [*(ports or ({"port": 80},))]})


def claim_spec() -> Json:
    return {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def claim() -> Json:
    return obj("PersistentVolumeClaim", spec=claim_spec())


def pod(**spec: Any) -> Json:
    return obj("Pod", spec={**_POD, **spec})


def thing(**spec: Any) -> Json:
    return obj("Thing", spec=spec)


def thing_definition() -> Json:
    text = {"type": "string"}
    keyed = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k", "p"],
        "items": {
            "type": "object",
            "required": ["k"],
            "properties": {"k": text, "p": {"type": "integer", "default": 5}, "v": text},
        },
    }
    properties = {
        "size": {"type": "integer"},
        "keyed": keyed,
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": text},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "list": {"type": "array", "items": {"type": "object", "properties": {"a": text}}},
        "fixed": {
            **text,
            "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "is immutable"}],
        },
    }
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": properties}},
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    names = {"kind": "Thing", "listKind": "ThingList", "plural": "things", "singular": "thing"}
    spec = {"group": THINGS.group, "names": names, "scope": "Namespaced", "versions": [version]}
    return {**obj("CustomResourceDefinition", spec=spec), "metadata": {"name": THINGS.name}}


def with_at(source: Json, path: str, value: Any) -> Json:
    """Return an object with another value at a path such as `spec/containers/0/image`."""
    target = deepcopy(source)
    *way, last = path.split("/")
    node: Any = target
    for part in way:
        node = node[int(part)] if isinstance(node, list) else node.setdefault(part, {})
    node[last] = value
    return target


def found_at(source: Json, path: str) -> Any:
    """Return what an object has at a path."""
    node: Any = source
    for part in path.split("/"):
        node = node[int(part)] if isinstance(node, list) else node[part]
    return node


async def apply(client: Client, namespace: str, source: Json) -> Json:
    """Apply an object as the reconciler does, in a namespace if its kind has them."""
    resource = SERVED[source["kind"]]
    if resource.namespaced:
        source = {**source, "metadata": {**source["metadata"], "namespace": namespace}}
    return await client.apply(resource, source, field_manager=FIELD_MANAGER, force=True)


async def refusal(client: Client, namespace: str, source: Json) -> ApiError | None:
    """Return why an object is refused, None if it is not."""
    try:
        await apply(client, namespace, source)
    except ApiError as error:
        return error
    return None


def classified(source: Json, error: ApiError) -> tuple[bool, str]:
    """Return whether a refusal is fatal, and what we advise."""
    causes = [(cause.field, cause.message) for cause in error.causes]
    reasons = [cause.reason for cause in error.causes]
    fatal = is_fatal(error.status, error.reason, error.message, reasons)
    return fatal, advice(source["kind"], error.status, error.message, causes)


async def mended_and_applied(
    client: Client, namespace: str, source: Json
) -> tuple[Json, list[Note]]:
    """Mend and apply until the object is accepted; return what is stored, and the notes."""
    notes: list[Note] = []
    for _ in range(_ROUNDS):
        error = await refusal(client, namespace, source)
        if error is None:
            break
        better = mended(source, error.message)
        assert better is not None, error
        source, notes = better.target, [*notes, *better.notes]
    return await apply(client, namespace, source), notes
