"""Finds, stops and removes what `kubectl kudo init` of KUDO 0.19 installed in the cluster.

Its manager and our reconciler would run every plan twice, so the old one is stopped first. Its
webhook configuration stays until our webhook is called, so that every change is validated.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from kubectl_kudo.session.errors import CliError, ExitCode
from kubectl_kudo.session.kinds import FIELD_MANAGER
from kubectl_kudo.session.output import JsonObject
from kubectl_kudo.setup.cluster import find, named, remove, until, until_gone
from kubectl_kudo.setup.options import DEFAULT_NAMESPACE
from kubeio.client import Client
from kubeio.errors import NotFound
from kubeio.resource import (
    CLUSTER_ROLE_BINDINGS,
    MUTATING_WEBHOOKS,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
    STATEFUL_SETS,
)

_MANAGER: Final = "kudo-controller-manager"
_CONFIGURATION: Final = "kudo-manager-instance-admission-webhook-config"


@dataclass(frozen=True, slots=True)
class Original:
    """An installation of KUDO 0.19.

    Attributes:
        namespace: Of its manager.
        manager: Whether its StatefulSet is there.
        configuration: Whether its webhook configuration is there.
    """

    namespace: str
    manager: bool
    configuration: bool

    def __str__(self) -> str:
        manager = f"StatefulSet {self.namespace}/{_MANAGER}" if self.manager else ""
        configuration = f"{MUTATING_WEBHOOKS.kind} {_CONFIGURATION}" if self.configuration else ""
        return ", ".join(filter(None, (manager, configuration)))


async def find_original(client: Client, namespace: str) -> Original | None:
    """Return the installation, from its webhook's namespace, this one or the default one."""
    configuration = await find(client, MUTATING_WEBHOOKS, _CONFIGURATION)
    for place in dict.fromkeys((*_namespaces(configuration), namespace, DEFAULT_NAMESPACE)):
        if await find(client, STATEFUL_SETS, _MANAGER, place) is not None:
            return Original(place, manager=True, configuration=configuration is not None)
    if configuration is None:
        return None
    place = next(iter(_namespaces(configuration)), DEFAULT_NAMESPACE)
    return Original(place, manager=False, configuration=True)


def _namespaces(configuration: JsonObject | None) -> list[str]:
    clients = [hook.get("clientConfig") or {} for hook in (configuration or {}).get("webhooks", [])]
    return [config["service"]["namespace"] for config in clients if config.get("service")]


async def stop(client: Client, original: Original, seconds: float) -> None:
    """Scale the old manager to zero, and wait until its pods are gone.

    Raises:
        CliError: it still runs.
    """
    patch: JsonObject = {"spec": {"replicas": 0}}
    try:
        await client.merge_patch(
            STATEFUL_SETS,
            _MANAGER,
            patch,
            namespace=original.namespace,
            field_manager=FIELD_MANAGER,
        )
    except NotFound:
        # Only its webhook configuration is left.
        return

    async def runs() -> str:
        manager = await find(client, STATEFUL_SETS, _MANAGER, original.namespace) or {}
        status = manager.get("status") or {}
        # Until the patch is observed, `replicas` counts what was desired before.
        late = status.get("observedGeneration", 0) < manager.get("metadata", {}).get(
            "generation", 0
        )
        return "it still runs" if late or status.get("replicas") else ""

    if await until(runs, seconds):
        text = f"{original.namespace}/{_MANAGER} did not stop within {seconds:.0f}s"
        raise CliError(text, code=ExitCode.TIMED_OUT)


async def remove_original(client: Client, original: Original, seconds: float) -> AsyncIterator[str]:
    """Remove its objects, and yield the name of each one that was removed.

    Raises:
        CliError: the API server rejected it, or an object still exists after that time.
    """
    place = original.namespace
    for kind, name in (
        (MUTATING_WEBHOOKS, _CONFIGURATION),
        (STATEFUL_SETS, _MANAGER),
        (SERVICES, f"{_MANAGER}-service"),
        (SECRETS, "kudo-webhook-server-secret"),
        (CLUSTER_ROLE_BINDINGS, "kudo-manager-rolebinding"),
        (SERVICE_ACCOUNTS, "kudo-manager"),
    ):
        namespace = place if kind.namespaced else None
        if await remove(client, kind, name, namespace) is not None:
            await until_gone(client, kind, name, namespace, seconds)
            yield named(kind, name)
