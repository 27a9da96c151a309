"""What the tests of health write: objects of every kind, and a plan that applies them."""

from typing import Any

from kubeio.client import Client
from kubeio.resource import Resource
from tests.support import build
from tests.support.build import Json
from tests.support.cluster.world import World

DEFINITIONS = Resource(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
)
API_SERVICES = Resource(
    "apiregistration.k8s.io", "v1", "APIService", "apiservices", namespaced=False
)
CLAIMS = Resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", namespaced=True)
VOLUMES = Resource("", "v1", "PersistentVolume", "persistentvolumes", namespaced=False)
PODS = Resource("", "v1", "Pod", "pods", namespaced=True)
STATEFUL_SETS = Resource("apps", "v1", "StatefulSet", "statefulsets", namespaced=True)
DAEMON_SETS = Resource("apps", "v1", "DaemonSet", "daemonsets", namespaced=True)
CRON_JOBS = Resource("batch", "v1", "CronJob", "cronjobs", namespaced=True)
BUDGETS = Resource("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", namespaced=True)
INGRESSES = Resource("networking.k8s.io", "v1", "Ingress", "ingresses", namespaced=True)
AUTOSCALERS = Resource(
    "autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", namespaced=True
)


def group_of(world: World) -> str:
    """Return the API group of the kinds that this test brings along."""
    return f"{world.namespace}.example.org"


def things(world: World) -> Resource:
    return Resource(group_of(world), "v1", "Thing", "things", namespaced=True)


def made(api_version: str, kind: str, name: str, **fields: Any) -> Json:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **fields}


def workload(kind: str, name: str, *, ready_delay: str = "0s", **spec: Any) -> Json:
    """Return a workload of `apps/v1`, whose image is the parameter IMAGE."""
    pods = {
        "metadata": {
            "labels": {"app": name},
            "annotations": {"kwok.kudo.dev/ready-delay": ready_delay},
        },
        "spec": {"containers": [{"name": "main", "image": "{{ .Params.IMAGE }}"}]},
    }
    selector = {"matchLabels": {"app": name}}
    return made("apps/v1", kind, name, spec={"selector": selector, "template": pods, **spec})


def definition(world: World, plural: str = "things", **status: Json) -> Json:
    """Return the definition of the kind Thing with a free spec.

    Args:
        world: Which test it is for.
        plural: Its plural.
        status: The schema of its status, free unless given.
    """
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": free, "status": {**free, **status}}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    spec = {
        "group": group_of(world),
        "scope": "Namespaced",
        "names": {"plural": plural, "singular": "thing", "kind": "Thing"},
        "versions": [version],
    }
    name = f"{plural}.{group_of(world)}"
    return made("apiextensions.k8s.io/v1", "CustomResourceDefinition", name, spec=spec)


def applying(*steps: Json | list[Json], name: str = "health-1") -> Json:
    """Return a version with a deploy plan that applies an object, or several, in each step."""
    templates = {
        f"t{number}.yaml": build.template(*(step if isinstance(step, list) else [step]))
        for number, step in enumerate(steps, 1)
    }
    phase = {f"s{number}": [f"t{number}"] for number in range(1, len(steps) + 1)}
    return build.operator_version(
        name,
        templates=templates,
        plans={"deploy": build.plan(phase)},
        parameters=[build.parameter("IMAGE", "busybox"), build.parameter("SIZE", "1")],
    )


async def install(world: World, *steps: Json | list[Json], **parameters: str) -> None:
    """Create the Instance `i` of such a version."""
    done = await world.apply(applying(*steps), build.instance("i", "health-1", **parameters))
    assert done.code == 0, done.output


async def deploy_again(world: World) -> None:
    await world.patch("i", {"planExecution": {"planName": "deploy"}})


async def set_status(
    client: Client, resource: Resource, name: str, namespace: str, **status: Any
) -> None:
    """Write the status of an object, as its controller would."""
    patch = {"status": status}
    await client.merge_patch(resource, name, patch, namespace=namespace, subresource="status")


def condition(kind: str, status: str, message: str, **fields: Any) -> Json:
    return {"type": kind, "status": status, "reason": "Test", "message": message, **fields}
