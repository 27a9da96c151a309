"""Finds cluster-scoped objects that stay when an Instance is deleted: it cannot own them."""

import asyncio

from kubectl_kudo.core.output import JsonObject
from kubectl_kudo.core.session import Session
from kubeio.client import Client
from kubeio.discovery import Discovery
from kubeio.errors import KubeError
from kubeio.resource import Resource
from kudo import names
from kudo.identity import InstanceIdentity
from kudo.objects.sharing import goes_with_instance, sharers

_SELECTOR = f"{names.LABEL_HERITAGE}={names.HERITAGE}"


async def left_behind(session: Session, instance: JsonObject) -> list[str]:
    """Return the cluster-scoped objects that stay when an Instance is deleted, as `Kind name`.

    Kinds that the user may not list are left out: this is a warning, not a failure.
    """
    metadata = instance["metadata"]
    one = InstanceIdentity(metadata["namespace"], metadata["name"], metadata["uid"])
    try:
        # What cannot be created was never applied; ComponentStatus is such a kind, and listing it
        # makes the API server warn of it.
        kinds = await Discovery(session.client).cluster_scoped("list", "create")
    except KubeError:
        return []
    found = await asyncio.gather(*(_of_kind(session.client, kind, one) for kind in kinds))
    return sorted(name for names_of_kind in found for name in names_of_kind)


async def _of_kind(client: Client, kind: Resource, one: InstanceIdentity) -> list[str]:
    try:
        listing = await client.list(kind, label_selector=_SELECTOR, metadata_only=True)
    except KubeError:
        return []
    return [
        f"{kind.kind} {obj['metadata']['name']}"
        for obj in listing.items
        if one in sharers(obj["metadata"]) and _stays(kind, obj["metadata"])
    ]


def _stays(kind: Resource, metadata: JsonObject) -> bool:
    return len(sharers(metadata)) > 1 or not goes_with_instance(kind.group, kind.kind, metadata)
