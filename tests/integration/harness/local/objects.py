"""Objects on the cluster of the harness, and what becomes of them."""

from collections.abc import Callable
from typing import Any

from kubeio.client import Client
from kubeio.resource import DEPLOYMENTS, PODS
from tests.support.cluster.waiting import wait_until

Json = dict[str, Any]


def deployment(name: str, replicas: int, **pod: Any) -> Json:
    labels = {"app": name}
    containers = [{"name": "main", "image": "example.com/main"}]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": containers, **pod}},
        },
    }


async def create_ready(client: Client, namespace: str, obj: Json) -> None:
    """Create a Deployment and wait until all its pods are available."""
    await client.create(DEPLOYMENTS, obj, namespace=namespace)
    wanted = obj["spec"]["replicas"]
    await await_available(client, namespace, obj["metadata"]["name"], lambda n: n == wanted)


async def await_available(
    client: Client, namespace: str, name: str, fits: Callable[[int], bool]
) -> None:
    async def available() -> bool:
        found = await client.get(DEPLOYMENTS, name, namespace=namespace)
        return fits(found.get("status", {}).get("availableReplicas", 0))

    await wait_until(available, lambda: f"the available pods of {name}")


async def pod_uids(client: Client, namespace: str, name: str) -> set[str]:
    found = await client.list(PODS, namespace=namespace, label_selector=f"app={name}")
    return {
        pod["metadata"]["uid"] for pod in found.items if "deletionTimestamp" not in pod["metadata"]
    }
