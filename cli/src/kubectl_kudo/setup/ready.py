"""Checks that the services of an installation work."""

from typing import Final

from kubectl_kudo.session.errors import describe
from kubectl_kudo.session.kinds import INSTANCES
from kubectl_kudo.session.output import JsonObject
from kubectl_kudo.setup.cluster import find
from kubectl_kudo.setup.kinds import RECONCILER, WEBHOOK, named
from kubeio.client import Client
from kubeio.errors import ApiError, KubeError
from kubeio.kinds import DEPLOYMENTS, PODS
from kudo.api.names import API_VERSION

_HOOK: Final = "instance-admission.kudo.dev"
_TRIED: Final = "kudo-verify-no-such-version"


async def not_working(client: Client, namespace: str) -> str:
    """Return why KUDO does not work; empty if it does."""
    for name in (WEBHOOK, RECONCILER):
        found = await unavailable(client, name, namespace)
        if found:
            return found
    return await webhook_not_called(client, namespace)


async def unavailable(client: Client, name: str, namespace: str) -> str:
    """Return why a Deployment is not rolled out; empty if it is."""
    found = await find(client, DEPLOYMENTS, name, namespace)
    what = named(DEPLOYMENTS, name)
    if found is None:
        return f"{what} is not installed"
    status = found.get("status") or {}
    if status.get("observedGeneration", 0) < found["metadata"]["generation"]:
        return f"{what} is being updated"
    desired = found["spec"].get("replicas", 1)
    counts = {key: status.get(f"{key}Replicas", 0) for key in ("available", "updated")}
    if min(counts.values()) >= desired and status.get("replicas", 0) == desired:
        return ""
    if status.get("replicas", 0) > desired and min(counts.values()) >= desired:
        return f"{what}: pods of the previous version still exist"
    ready, failure = min(counts.values()), _replica_failure(status)
    return f"{what}: {ready} of {desired} replicas are available{failure}"


def _replica_failure(status: JsonObject) -> str:
    """Return why pods cannot be created: a quota, a rule of admission."""
    for condition in status.get("conditions") or []:
        if condition["type"] == "ReplicaFailure" and condition["status"] == "True":
            return f"; {condition.get('message', '')}"
    return ""


async def webhook_not_called(client: Client, namespace: str) -> str:
    """Return why the API server does not call the webhook; empty if it does.

    Creates an Instance of an OperatorVersion that does not exist, as a dry run, which stores
    nothing: only the webhook denies it.
    """
    instance: JsonObject = {
        "apiVersion": API_VERSION,
        "kind": "Instance",
        "metadata": {"name": _TRIED, "namespace": namespace},
        "spec": {"operatorVersion": {"name": _TRIED}},
    }
    try:
        await client.create(INSTANCES, instance, dry_run=True)
    except ApiError as error:
        denied = error.reason == "OperatorVersionNotFound" and _HOOK in error.message
        return "" if denied else describe(error) or ""
    return "the API server does not call the webhook: its configuration is missing or empty"


async def trouble_of_pods(client: Client, name: str, namespace: str) -> str:
    """Return why the pods of a Deployment do not start, to be appended to a text."""
    component = name.removeprefix("kudo-")
    selector = f"app.kubernetes.io/part-of=kudo,app.kubernetes.io/component={component}"
    try:
        pods = await client.list(PODS, namespace=namespace, label_selector=selector)
    except KubeError:
        return ""
    texts = [text for pod in pods.items for text in _trouble(pod)]
    return f"\n  {texts[0]}" if texts else ""


def _trouble(pod: JsonObject) -> list[str]:
    status, name = pod.get("status") or {}, pod["metadata"]["name"]
    waiting = [
        state["waiting"]
        for container in status.get("containerStatuses") or []
        if (state := container.get("state") or {}).get("waiting")
    ]
    unscheduled = [
        condition
        for condition in status.get("conditions") or []
        if condition["type"] == "PodScheduled" and condition["status"] == "False"
    ]
    return [
        f"pod {name}: {found.get('reason', '')} {found.get('message', '')}".rstrip()
        for found in (*unscheduled, *waiting)
    ]
