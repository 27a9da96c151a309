"""Deletes pods by labels, each by its uid, and restarts services that run in pods."""

import asyncio
import time
from collections.abc import Mapping
from typing import Any, Final

from kubectl_kudo.session.errors import CliError
from kubeio.client import Client
from kubeio.errors import Conflict, NotFound
from kubeio.kinds import PODS

_POLL: Final = 0.1
_RESTART_SECONDS: Final = 120.0
_Pod = dict[str, Any]


async def delete_pods(client: Client, namespace: str, labels: Mapping[str, str]) -> int:
    """Delete all pods with the labels, and wait until they are gone; return their number.

    Waits for the first one: a plan that was just started has none yet.
    """
    selector = ",".join(f"{name}={value}" for name, value in labels.items())
    found: list[_Pod] = []
    while True:
        found = await _pods(client, namespace, selector)
        if found:
            break
        await asyncio.sleep(_POLL)
    await _delete(client, found)
    uids = _uids(found)
    while True:
        if not uids & _uids(await _pods(client, namespace, selector)):
            return len(uids)
        await asyncio.sleep(_POLL)


async def restart_pods(client: Client, service: str) -> None:
    """Kill the pods of `webhook` or `reconciler`, and wait until as many others are ready.

    Raises:
        CliError: there are none, or others do not become ready.
    """
    selector = f"app.kubernetes.io/name=kudo,app.kubernetes.io/component={service}"
    found = await _pods(client, None, selector)
    if not found:
        raise CliError(f"no pod of the {service} of KUDO: none has the labels {selector}")
    await _delete(client, found, grace=0)
    old = _uids(found)
    deadline = time.monotonic() + _RESTART_SECONDS
    while True:
        pods = await _pods(client, None, selector)
        if sum(_ready(pod) and pod["metadata"]["uid"] not in old for pod in pods) >= len(old):
            return
        if time.monotonic() > deadline:
            raise CliError(f"the {service} is not ready {_RESTART_SECONDS:.0f} s after its restart")
        await asyncio.sleep(_POLL)


async def _pods(client: Client, namespace: str | None, selector: str) -> list[_Pod]:
    return (await client.list(PODS, namespace=namespace, label_selector=selector)).items


async def _delete(client: Client, pods: list[_Pod], *, grace: int | None = None) -> None:
    for pod in pods:
        metadata = pod["metadata"]
        try:
            await client.delete(
                PODS,
                metadata["name"],
                namespace=metadata["namespace"],
                uid=metadata["uid"],
                grace_period_seconds=grace,
            )
        except (NotFound, Conflict):
            continue  # It is gone; a new pod of its name is not meant.


def _uids(pods: list[_Pod]) -> set[str]:
    return {pod["metadata"]["uid"] for pod in pods}


def _ready(pod: _Pod) -> bool:
    conditions = pod.get("status", {}).get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
