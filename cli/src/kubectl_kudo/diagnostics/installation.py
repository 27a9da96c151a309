"""Finds and reads KUDO itself: its namespace, services, webhook configurations and CRDs."""

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from kubectl_kudo.diagnostics.families import subject_of, when
from kubectl_kudo.diagnostics.reading import Reader
from kubectl_kudo.session.kinds import DEFINED
from kubectl_kudo.session.output import JsonObject
from kubeio.resource import (
    CONFIG_MAPS,
    CRDS,
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    EVENTS,
    LEASES,
    MUTATING_WEBHOOKS,
    NAMESPACES,
    NETWORK_POLICIES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    REPLICA_SETS,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
    STATEFUL_SETS,
    VALIDATING_WEBHOOKS,
    Resource,
)

FOLDER: Final = "kudo/"
DEFAULT_NAMESPACE: Final = "kudo-system"

_OURS: Final = "app.kubernetes.io/part-of=kudo"
_ORIGINAL: Final = "app=kudo-manager"
"""Label of the objects of KUDO 0.19."""
_ORIGINAL_CONFIGURATION: Final = "kudo-manager-instance-admission-webhook-config"
_CONFIGURATIONS: Final = frozenset({"kudo-instance-admission", _ORIGINAL_CONFIGURATION})
_LABELLED: Final = (
    *(DEPLOYMENTS, STATEFUL_SETS, REPLICA_SETS, PODS, SERVICES, SERVICE_ACCOUNTS),
    *(CONFIG_MAPS, NETWORK_POLICIES, POD_DISRUPTION_BUDGETS, ENDPOINT_SLICES),
)
LEASE: Final = "kudo-reconciler"
_LEASE: Final = ((LEASES, LEASE),)
_NAMED: Final = (
    *_LEASE,
    (SECRETS, "kudo-webhook-certificate"),
    (SECRETS, "kudo-webhook-tls"),
)
"""What the services make themselves, without labels."""
_SERVICES: Final = (DEPLOYMENTS, PODS, ENDPOINT_SLICES)
"""Kinds that tell whether the services work."""
_MOST_EVENTS: Final = 500


@dataclass(slots=True)
class Installation:
    """KUDO in the cluster.

    Attributes:
        namespace: Where its services are; empty if that was not found.
        objects: Objects of the services.
        webhooks: Webhook configurations.
        crds: KUDO's CRDs, without their schemas.
        events: Events about the objects, oldest first.
        version: What the API server says of itself; None if it could not be read.
        unread: What could not be read, by its file in the bundle.
    """

    namespace: str = ""
    objects: list[JsonObject] = field(default_factory=list)
    webhooks: list[JsonObject] = field(default_factory=list)
    crds: list[JsonObject] = field(default_factory=list)
    events: list[JsonObject] = field(default_factory=list)
    version: JsonObject | None = None
    unread: frozenset[str] = frozenset()

    def of(self, kind: Resource) -> list[JsonObject]:
        """Return the objects of a kind."""
        return [obj for obj in self.objects if obj["kind"] == kind.kind]

    def everything(self) -> Iterator[JsonObject]:
        """Yield all objects."""
        yield from self.objects
        yield from self.webhooks
        yield from self.crds
        yield from self.events


async def read_installation(reader: Reader, namespace: str) -> Installation:
    """Read KUDO in a namespace; in the one where it is found if that is empty."""
    installation = Installation()
    installation.version = await reader.attempt(f"{FOLDER}version", reader.client.server_version())
    installation.webhooks = await _webhooks(reader)
    installation.crds = await _crds(reader)
    await _read_objects(reader, installation, namespace, _LABELLED, _NAMED)
    if not installation.namespace:
        return installation
    names = {(obj["kind"], obj["metadata"]["name"]) for obj in installation.objects}
    events = await reader.list(f"{FOLDER}eventlist", EVENTS, installation.namespace)
    installation.events = [
        event for event in sorted(events, key=when) if subject_of(event) in names
    ]
    del installation.events[:-_MOST_EVENTS]
    return installation


async def read_services(reader: Reader, namespace: str) -> Installation:
    """Read what tells whether the services of KUDO work, with few requests and no Secrets.

    Args:
        reader: Reads.
        namespace: Where they are; where they are found if that is empty.
    """
    installation = Installation(webhooks=await _webhooks(reader))
    await _read_objects(reader, installation, namespace, _SERVICES, _LEASE)
    return installation


async def find_lease(reader: Reader) -> tuple[JsonObject | None, str] | None:
    """Return the Lease of the reconciler, None if there is none, and its namespace.

    None if it is not known where KUDO is, or whether there is a Lease: KUDO 0.19 has none.
    """
    webhooks = await _webhooks(reader)
    if any(obj["metadata"]["name"] == _ORIGINAL_CONFIGURATION for obj in webhooks):
        return None
    namespace = await _namespace(reader, webhooks)
    before = len(reader.failures)
    leases = await _named(reader, *_LEASE[0], namespace) if namespace else []
    # A Lease that may not be read is not known to be missing.
    if not namespace or len(reader.failures) > before:
        return None
    return next(iter(leases), None), namespace


async def _read_objects(
    reader: Reader,
    installation: Installation,
    namespace: str,
    labelled: Iterable[Resource],
    named: Iterable[tuple[Resource, str]],
) -> None:
    installation.namespace = namespace or await _namespace(reader, installation.webhooks)
    if installation.namespace:
        installation.objects = await _objects(reader, installation.namespace, labelled, named)
    else:
        reader.fail(
            f"{FOLDER}namespace",
            "kudo system namespace not found: name it with --kudo-namespace",
        )
    installation.unread = frozenset(
        failure.path.removeprefix(FOLDER).removesuffix(".err")
        for failure in reader.failures
        if failure.path.startswith(FOLDER)
    )


async def _webhooks(reader: Reader) -> list[JsonObject]:
    names = {MUTATING_WEBHOOKS: "mutating", VALIDATING_WEBHOOKS: "validating"}
    lists = await asyncio.gather(
        *(reader.list(f"{FOLDER}{name}webhooks", kind) for kind, name in names.items())
    )
    label, _, value = _OURS.partition("=")
    # The name, too: who restored a configuration from a backup may have lost its labels.
    return [
        obj
        for page in lists
        for obj in page
        if obj["metadata"]["name"] in _CONFIGURATIONS
        or (obj["metadata"].get("labels") or {}).get(label) == value
    ]


async def _crds(reader: Reader) -> list[JsonObject]:
    reads = (reader.find(f"{FOLDER}crds", CRDS, kind.name) for kind in DEFINED)
    crds = [crd for crd in await asyncio.gather(*reads) if crd is not None]
    for crd in crds:
        # Schemas are those of a release, and long.
        for version in crd["spec"].get("versions") or []:
            version.pop("schema", None)
    return crds


async def _namespace(reader: Reader, webhooks: Iterable[JsonObject]) -> str:
    """Return the namespace of the services, empty if it cannot be found.

    A user who may not list the Deployments of all namespaces may be able to read the webhook
    configurations, or just the usual namespace.
    """
    for configuration in webhooks:
        for hook in configuration.get("webhooks") or []:
            service = (hook.get("clientConfig") or {}).get("service") or {}
            if service.get("namespace"):
                return str(service["namespace"])
    for kind, selector in ((DEPLOYMENTS, _OURS), (STATEFUL_SETS, _ORIGINAL)):
        path = f"{FOLDER}namespace"
        services = await reader.list(path, kind, selector=selector, metadata_only=True)
        if services:
            return str(services[0]["metadata"]["namespace"])
    usual = await reader.find(f"{FOLDER}namespace", NAMESPACES, DEFAULT_NAMESPACE)
    return DEFAULT_NAMESPACE if usual is not None else ""


async def _objects(
    reader: Reader,
    namespace: str,
    labelled: Iterable[Resource],
    named: Iterable[tuple[Resource, str]],
) -> list[JsonObject]:
    lists = await asyncio.gather(
        *(_labelled(reader, kind, namespace) for kind in labelled),
        *(_named(reader, kind, name, namespace) for kind, name in named),
    )
    return [obj for page in lists for obj in page]


async def _labelled(reader: Reader, kind: Resource, namespace: str) -> list[JsonObject]:
    path = f"{FOLDER}{kind.kind.lower()}list"
    objects = await reader.list(path, kind, namespace, selector=_OURS)
    return objects or await reader.list(path, kind, namespace, selector=_ORIGINAL)


async def _named(reader: Reader, kind: Resource, name: str, namespace: str) -> list[JsonObject]:
    obj = await reader.find(f"{FOLDER}{kind.kind.lower()}list", kind, name, namespace)
    return [obj] if obj is not None else []
