"""What faults do to a cluster: delete pods, restart services in pods, refuse writes of a kind.

Writes are refused in one namespace by a ValidatingAdmissionPolicy. The policy and its binding
belong to the namespace, so that Kubernetes deletes them with it if this process is killed.
Deletions are not refused, and neither are updates of objects that are being deleted: the namespace
could not be deleted otherwise.
"""

import asyncio
import contextlib
import json
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from kubeio.client import Client
from kubeio.discovery import Discovery
from kubeio.errors import ApiError, Conflict, NotFound
from kubeio.resource import CONFIG_MAPS, NAMESPACES, PODS, Resource
from kudo_harness.host import HarnessError
from kudo_harness.suite import RefuseWrites

_POLL: Final = 0.1
_RESTART_SECONDS: Final = 120.0
_Pod = dict[str, Any]


async def delete_pods(client: Client, namespace: str, labels: Mapping[str, str]) -> int:
    """Delete all pods with the labels, and wait until they are gone; return their number.

    Waits for the first one: a plan that was just started has none yet.
    """
    selector = ",".join(f"{name}={value}" for name, value in labels.items())
    pods: list[_Pod] = []
    while True:
        pods = await _pods(client, namespace, selector)
        if pods:
            break
        await asyncio.sleep(_POLL)
    await _delete(client, pods)
    uids = _uids(pods)
    while True:
        if not uids & _uids(await _pods(client, namespace, selector)):
            return len(uids)
        await asyncio.sleep(_POLL)


async def restart_pods(client: Client, service: str) -> None:
    """Kill the pods of `webhook` or `reconciler`, and wait until as many others are ready.

    Raises:
        HarnessError: there are none, or others do not become ready.
    """
    selector = f"app.kubernetes.io/name=kudo,app.kubernetes.io/component={service}"
    before = await _pods(client, None, selector)
    if not before:
        raise HarnessError(f"no pod of the {service} of KUDO: none has the labels {selector}")
    # Without grace, as a crash: the service must not hand over its work.
    await _delete(client, before, grace=0)
    old = _uids(before)
    deadline = time.monotonic() + _RESTART_SECONDS
    while True:
        pods = await _pods(client, None, selector)
        if sum(_ready(pod) and pod["metadata"]["uid"] not in old for pod in pods) >= len(old):
            return
        if time.monotonic() > deadline:
            raise HarnessError(
                f"the {service} is not ready {_RESTART_SECONDS:.0f} s after its restart"
            )
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
    return any(
        condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions
    )


_GROUP: Final = "admissionregistration.k8s.io"
_POLICIES: Final = Resource(
    _GROUP, "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies", namespaced=False
)
_BINDINGS: Final = Resource(
    _GROUP,
    "v1",
    "ValidatingAdmissionPolicyBinding",
    "validatingadmissionpolicybindings",
    namespaced=False,
)
_SECONDS: Final = 30.0
"""The API server knows a new policy, or that one is deleted, after about a second."""


@contextlib.asynccontextmanager
async def refusing(
    client: Client, namespace: str, refused: RefuseWrites, reason: str
) -> AsyncIterator[None]:
    """Refuse to create or update objects of a kind in a namespace; accepts them again at the end.

    Both ends are awaited: the API server learns of a policy with a delay.

    Raises:
        HarnessError: the kind is not served or not namespaced, or the API server does not apply the
            policy.
    """
    resource = await Discovery(client).resolve(refused.api_version, refused.kind)
    if not resource.namespaced:
        raise HarnessError(
            f"{refused.kind} is cluster-scoped; only writes in a namespace are refused"
        )
    uid = (await client.get(NAMESPACES, namespace))["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "Namespace", "name": namespace, "uid": uid}
    # Runs on one cluster must not share a policy: the first that ends would delete it.
    name = f"kudo-test-{secrets.token_hex(4)}"
    metadata = {"name": name, "ownerReferences": [owner]}
    try:
        await client.create(_POLICIES, _policy(metadata, resource, refused.reason or reason))
        await client.create(_BINDINGS, _binding(metadata, namespace))
        await _await_state(client, namespace, name, refused=True)
        yield
    finally:
        # The binding first: it is what makes the API server apply the policy.
        for kind in (_BINDINGS, _POLICIES):
            with contextlib.suppress(NotFound):
                await client.delete(kind, name)
        await _await_state(client, namespace, name, refused=False)


def _policy(metadata: dict[str, Any], resource: Resource, reason: str) -> dict[str, Any]:
    def rule(group: str, version: str, plural: str) -> dict[str, Any]:
        return {
            "apiGroups": [group],
            "apiVersions": [version],
            "resources": [plural],
            "operations": ["CREATE", "UPDATE"],
        }

    rules = [rule(resource.group, resource.version, resource.plural)]
    if resource.name != CONFIG_MAPS.name:
        # A ConfigMap of the policy's name is refused as well: by it the state is probed.
        rules.append(rule("", "v1", CONFIG_MAPS.plural))
    meant = (
        f"request.resource.group == {json.dumps(resource.group)} && "
        f"request.resource.resource == {json.dumps(resource.plural)}"
    )
    return {
        "apiVersion": _POLICIES.api_version,
        "kind": _POLICIES.kind,
        "metadata": metadata,
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": rules},
            "validations": [
                {
                    "expression": f"request.name != {json.dumps(metadata['name'])} && "
                    f"(!({meant}) || has(object.metadata.deletionTimestamp))",
                    "message": reason,
                }
            ],
        },
    }


def _binding(metadata: dict[str, Any], namespace: str) -> dict[str, Any]:
    labels = {"kubernetes.io/metadata.name": namespace}
    return {
        "apiVersion": _BINDINGS.api_version,
        "kind": _BINDINGS.kind,
        "metadata": metadata,
        "spec": {
            "policyName": metadata["name"],
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": {"matchLabels": labels}},
        },
    }


async def _await_state(client: Client, namespace: str, name: str, *, refused: bool) -> None:
    try:
        async with asyncio.timeout(_SECONDS):
            while True:
                if await _is_refused(client, namespace, name) is refused:
                    return
                await asyncio.sleep(_POLL)
    except TimeoutError:
        state = "is not applied" if refused else "is still applied"
        text = f"the policy {name} {state} by the API server after {_SECONDS:.0f} s"
        raise HarnessError(text) from None


async def _is_refused(client: Client, namespace: str, name: str) -> bool:
    probe = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
    try:
        await client.create(CONFIG_MAPS, probe, namespace=namespace, dry_run=True)
    except NotFound:
        return False  # The namespace is gone, and the policy with it.
    except ApiError as error:
        # Also refused in a namespace that is being deleted, but not by the policy.
        return name in error.message
    return False
