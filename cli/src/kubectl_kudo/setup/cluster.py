"""The objects of an installation of KUDO: their kinds and names, and requests for single ones."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Final

from kubectl_kudo.session.errors import CliError, ExitCode, describe
from kubectl_kudo.session.kinds import FIELD_MANAGER
from kubectl_kudo.session.output import JsonObject
from kubeio.client import Client, Propagation
from kubeio.errors import ApiError, ConnectionLost, NotFound, ServerError, TooManyRequests
from kubeio.resource import (
    ADMISSION_POLICIES,
    ADMISSION_POLICY_BINDINGS,
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    CONFIG_MAPS,
    CRDS,
    DEPLOYMENTS,
    MUTATING_WEBHOOKS,
    NAMESPACES,
    NETWORK_POLICIES,
    POD_DISRUPTION_BUDGETS,
    ROLE_BINDINGS,
    ROLES,
    SERVICE_ACCOUNTS,
    SERVICES,
    STATEFUL_SETS,
    VALIDATING_WEBHOOKS,
    Resource,
)

CERT_MANAGER: Final = "cert-manager.io"
_POLL: Final = 0.5
_WITH_PODS: Final = (DEPLOYMENTS, STATEFUL_SETS)

WEBHOOK: Final = "kudo-webhook"
RECONCILER: Final = "kudo-reconciler"
CONFIGURATION: Final = "kudo-instance-admission"
COMPONENT: Final = "app.kubernetes.io/component"
MANAGED_BY: Final = "app.kubernetes.io/managed-by"
OURS: Final = f"{MANAGED_BY}=kubectl-kudo,app.kubernetes.io/part-of=kudo"
"""Label selector of the objects that `init` has installed."""

_ALL: Final = (
    *(CRDS, NAMESPACES, SERVICE_ACCOUNTS, SERVICES, DEPLOYMENTS, CLUSTER_ROLE_BINDINGS),
    *(MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS, CONFIG_MAPS, CLUSTER_ROLES, ROLES, ROLE_BINDINGS),
    *(NETWORK_POLICIES, POD_DISRUPTION_BUDGETS, ADMISSION_POLICY_BINDINGS, ADMISSION_POLICIES),
    Resource(CERT_MANAGER, "v1", "Issuer", "issuers", namespaced=True),
    Resource(CERT_MANAGER, "v1", "Certificate", "certificates", namespaced=True),
)
KEPT: Final = (CRDS, NAMESPACES)
"""Kinds that are never removed with the rest: objects of users would be deleted with them."""
REMOVABLE: Final = tuple(kind for kind in _ALL if kind not in KEPT)
_BY_KIND: Final = {kind.kind: kind for kind in _ALL}


def kind_of(obj: JsonObject) -> Resource:
    """Return the API resource of an object of the manifests."""
    return _BY_KIND[obj["kind"]]


def key_of(obj: JsonObject) -> tuple[str, str]:
    """Return kind and name, which identify an object of an installation."""
    return obj["kind"], obj["metadata"]["name"]


def named(kind: Resource, name: str) -> str:
    """Return how kubectl names an object, such as `deployment.apps/kudo-webhook`."""
    group = f".{kind.group}" if kind.group else ""
    return f"{kind.kind.lower()}{group}/{name}"


def labels_of(obj: JsonObject) -> dict[str, str]:
    """Return the labels of an object."""
    return obj["metadata"].get("labels") or {}


class StillThere(CliError):
    """An object was deleted and still exists: a finalizer holds it."""

    code = ExitCode.TIMED_OUT


async def find(
    client: Client, kind: Resource, name: str, namespace: str | None = None
) -> JsonObject | None:
    """Return an object, or None if it does not exist or its kind is not served."""
    try:
        return await client.get(kind, name, namespace=namespace)
    except NotFound:
        return None


async def minor_version(client: Client) -> tuple[int, ...]:
    """Return major and minor version of the API server; empty if it names none."""
    text = str((await client.server_version()).get("gitVersion") or "")
    match = re.match(r"v(\d+)\.(\d+)", text)
    return tuple(map(int, match.groups())) if match else ()


async def apply(client: Client, obj: JsonObject) -> None:
    """Apply an object with server-side apply and `force`, whoever manages its fields.

    Raises:
        CliError: the API server rejected it, or did not answer; the text names object and reason.
    """
    kind = kind_of(obj)
    try:
        await client.apply(kind, obj, field_manager=FIELD_MANAGER, force=True)
    except (ApiError, ConnectionLost) as error:
        what = named(kind, obj["metadata"]["name"])
        raise CliError(f"failed to apply {what}: {describe(error)}") from error


async def remove(
    client: Client, kind: Resource, name: str, namespace: str | None = None
) -> JsonObject | None:
    """Delete an object; return it as it was, or None if it does not exist.

    Raises:
        CliError: the API server rejected it; the text names the object and its reason.
    """
    try:
        obj = await client.get(kind, name, namespace=namespace)
        # The uid: an object that somebody creates under this name meanwhile is not deleted.
        uid = obj["metadata"]["uid"]
        # A Deployment or StatefulSet is deleted after its pods: nothing runs once it is gone.
        # No other kind waits for the garbage collector, which learns of new kinds late.
        order: Propagation = "Foreground" if kind in _WITH_PODS else "Background"
        await client.delete(kind, name, namespace=namespace, uid=uid, propagation=order)
    except NotFound:
        return None
    except ApiError as error:
        raise CliError(f"failed to delete {named(kind, name)}: {describe(error)}") from error
    return obj


async def installed(client: Client, namespace: str) -> list[JsonObject]:
    """Return the objects that `init` of this or an earlier version has installed.

    Kinds that are not served are left out, as are CRDs and namespaces, which are not removed.
    """
    objects: list[JsonObject] = []
    for kind in REMOVABLE:
        try:
            place = namespace if kind.namespaced else None
            page = await client.list(kind, namespace=place, label_selector=OURS)
        except NotFound:
            # The API server answers so for a kind that it does not serve: no cert-manager, say.
            continue
        objects += page.items
    return objects


async def until(problem: Callable[[], Awaitable[str]], seconds: float) -> str:
    """Wait until there is no problem; return the one that is left in the end, or an empty string.

    An API server that does not answer for a moment is a problem like any other.

    Args:
        problem: Returns the problem; empty if there is none.
        seconds: Time to wait.
    """
    clock = asyncio.get_running_loop().time
    deadline = clock() + seconds
    while True:
        try:
            text = await problem()
        except (ConnectionLost, ServerError, TooManyRequests) as error:
            text = describe(error) or ""
        if not text or clock() >= deadline:
            return text
        await asyncio.sleep(_POLL)


async def until_gone(
    client: Client, kind: Resource, name: str, namespace: str | None, seconds: float
) -> None:
    """Wait until an object does not exist any more.

    Raises:
        StillThere: it exists after that time.
    """

    async def still_there() -> str:
        if await find(client, kind, name, namespace) is None:
            return ""
        return f"{named(kind, name)} is still there after {seconds:.0f}s"

    left = await until(still_there, seconds)
    if left:
        raise StillThere(left)
