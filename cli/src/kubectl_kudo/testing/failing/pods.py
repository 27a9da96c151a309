"""Tells why pods of an object are not ready."""

from typing import Any, Final

from kubectl_kudo.testing.failing.reading import first_page
from kubeio.client import Client
from kubeio.kinds import PODS, REPLICA_SETS
from kudo.health import cause_of, has_pods, unready_pods

JsonObject = dict[str, Any]

_MOST: Final = 3


async def pod_lines(client: Client, obj: JsonObject) -> list[str]:
    """Return why an object waits for its pods, or the pod itself is not ready; a line for each."""
    namespace = (obj.get("metadata") or {}).get("namespace")
    if obj.get("kind") == "Pod" and obj.get("apiVersion") == "v1":
        cause = cause_of(obj, (), patient=True)
        return [cause.text] if cause else []
    if not has_pods(obj) or not namespace:
        return []
    pods = await first_page(client, PODS, namespace)
    replica_sets: list[JsonObject] = []
    if obj.get("kind") == "Deployment":
        replica_sets = await first_page(client, REPLICA_SETS, namespace, metadata_only=True)
    unready = unready_pods(obj, pods, replica_sets)
    causes = (cause_of(obj, [pod], patient=True) for pod in unready)
    lines = [cause.text for cause in causes if cause is not None]
    more = len(lines) - _MOST
    return lines if more <= 0 else [*lines[:_MOST], f"and {more} more pods"]
