"""Refuses writes of a kind in one namespace for a while, by a ValidatingAdmissionPolicy.

The policy and its binding belong to the namespace, so that Kubernetes deletes them with it if this
process is killed. Deletions are not refused, and neither are updates of objects that are being
deleted: the namespace could not be deleted otherwise.
"""

import asyncio
import contextlib
import json
import secrets
from collections.abc import AsyncIterator
from typing import Any, Final

from kubectl_kudo.session.errors import CliError
from kubeio.client import Client
from kubeio.discovery import Discovery
from kubeio.errors import ApiError, NotFound
from kubeio.kinds import CONFIG_MAPS, NAMESPACES
from kubeio.resource import Resource
from kudo_harness.suite import RefuseWrites

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
_POLL: Final = 0.1
_SECONDS: Final = 30.0
"""The API server knows a new policy, or that one is deleted, after about a second."""


@contextlib.asynccontextmanager
async def refusing(
    client: Client, namespace: str, refused: RefuseWrites, reason: str
) -> AsyncIterator[None]:
    """Refuse to create or update objects of a kind in a namespace; accepts them again at the end.

    Both ends are awaited: the API server learns of a policy with a delay.

    Raises:
        CliError: the kind is not served or not namespaced, or the API server does not apply the
            policy.
    """
    resource = await Discovery(client).resolve(refused.api_version, refused.kind)
    if not resource.namespaced:
        raise CliError(f"{refused.kind} is cluster-scoped; only writes in a namespace are refused")
    owner = await _owner(client, namespace)
    name = f"kudo-test-{secrets.token_hex(4)}"
    metadata = {"name": name, "ownerReferences": [owner]}
    try:
        await client.create(_POLICIES, _policy(metadata, resource, refused.reason or reason))
        await client.create(_BINDINGS, _binding(metadata, namespace))
        await _await_state(client, namespace, name, refused=True)
        yield
    finally:
        for kind in (_BINDINGS, _POLICIES):
            with contextlib.suppress(NotFound):
                await client.delete(kind, name)
        await _await_state(client, namespace, name, refused=False)


async def _owner(client: Client, namespace: str) -> dict[str, Any]:
    found = await client.get(NAMESPACES, namespace)
    uid = found["metadata"]["uid"]
    return {"apiVersion": "v1", "kind": "Namespace", "name": namespace, "uid": uid}


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
        raise CliError(text) from None


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
