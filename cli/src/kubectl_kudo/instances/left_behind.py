"""Finds objects that stay when an Instance is deleted, and tells why.

A complete record names them: each is then read by name. Without one, cluster-scoped objects are
looked for in the lists of all kinds; those of the namespace are told as far as they are on record.
"""

import asyncio
from collections.abc import Iterable, Iterator

from kubectl_kudo.accounts.actors import cluster_role_name, role_name
from kubectl_kudo.reading.inventory import (
    Condition,
    Live,
    identity_of,
    read_live,
    recorded,
    why_left,
)
from kubectl_kudo.session.output import JsonObject
from kubectl_kudo.session.session import Session
from kubeio.client import Client
from kubeio.discovery import Discovery
from kubeio.errors import ApiError, KubeError
from kubeio.kinds import CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS
from kubeio.resource import Resource
from kudo.api import names
from kudo.api.identity import InstanceIdentity
from kudo.objects.inventory.record import Entry, Place, Record
from kudo.objects.sharing import goes_with_instance, is_listed, lists_all, sharers

_SELECTOR = f"{names.LABEL_HERITAGE}={names.HERITAGE}"
_IN_CLUSTER = "these cluster-scoped objects stay in the cluster"


async def left_behind(session: Session, instance: JsonObject) -> list[str]:
    """Return warnings that name what stays when an Instance is deleted; none if nothing does.

    Whatever cannot be read, this fails never: it is a warning.
    """
    one = identity_of(instance)
    try:
        found = await recorded(session, instance)
        record = found.record or Record()
        may_stay = [e for e in record if e.cluster_scoped or e.retained or e.adopted]
        if record.complete:
            return await _by_record(session.client, may_stay, one)
        listed = await _by_lists(session.client, one, record)
        namespaced = [entry for entry in may_stay if not entry.cluster_scoped]
        own = await _by_record(session.client, namespaced, one)
    except KubeError:
        return []
    return [*([f"{_IN_CLUSTER}: {', '.join(listed)}"] if listed else []), *own]


async def _by_record(client: Client, entries: Iterable[Entry], one: InstanceIdentity) -> list[str]:
    found = await read_live(client, entries, health=False)
    return [*_warnings(found, one)]


def _warnings(found: Iterable[Live], one: InstanceIdentity) -> Iterator[str]:
    shared: list[str] = []
    own: list[str] = []
    unknown: list[str] = []
    for live in found:
        place = live.entry.place
        text, why = f"{place.kind} {place.name}", why_left(live, one)
        if live.condition is Condition.UNKNOWN and not why:
            unknown.append(text)
        elif why:
            (shared if live.entry.cluster_scoped else own).append(f"{text} ({why})")
    for what, texts in (
        (_IN_CLUSTER, shared),
        (f"these objects stay in namespace {one.namespace}", own),
        ("you may not read these objects, so whether they stay is not known", unknown),
    ):
        if texts:
            yield f"{what}: {', '.join(sorted(texts))}"


async def _by_lists(client: Client, one: InstanceIdentity, record: Record) -> list[str]:
    """Return the cluster-scoped objects that stay, as `Kind name`.

    Kinds that the user may not list are left out.
    """
    # What cannot be created was never applied; ComponentStatus is such a kind, and listing it
    # makes the API server warn of it.
    kinds = await Discovery(client).cluster_scoped("list", "create")
    found = await asyncio.gather(*(_of_kind(client, kind, one, record) for kind in kinds))
    return sorted(name for names_of_kind in found for name in names_of_kind)


async def _of_kind(
    client: Client, kind: Resource, one: InstanceIdentity, record: Record
) -> list[str]:
    try:
        listing = await client.list(kind, label_selector=_SELECTOR, metadata_only=True)
    except KubeError:
        return []
    return [
        f"{kind.kind} {obj['metadata']['name']}"
        for obj in listing.items
        if _is_shared(kind, obj["metadata"], one, record) and _stays(kind, obj["metadata"])
    ]


def _is_shared(kind: Resource, metadata: JsonObject, one: InstanceIdentity, record: Record) -> bool:
    """Return whether an Instance shares an object, which may not list it."""
    place = Place(kind.group, kind.kind, "", metadata["name"])
    return is_listed(metadata, one) or record.get(place) is not None


def _stays(kind: Resource, metadata: JsonObject) -> bool:
    others = len(sharers(metadata)) > 1 or not lists_all(metadata)
    return others or not goes_with_instance(kind.group, kind.kind, metadata)


async def account_left_behind(session: Session, instance: JsonObject) -> str:
    """Return a text with the command that deletes the rights; empty if there are none."""
    account = (instance.get("spec") or {}).get("serviceAccountName")
    if not account:
        return ""
    name, namespace = instance["metadata"]["name"], instance["metadata"]["namespace"]
    role, cluster_role = role_name(name), cluster_role_name(namespace, name)
    what, commands = [], []
    if await _exists(session, ROLE_BINDINGS, role, namespace):
        what.append(f"role and rolebinding {role}")
        commands.append(f"kubectl delete role,rolebinding {role} -n {namespace}")
    if await _exists(session, CLUSTER_ROLE_BINDINGS, cluster_role, None):
        what.append(f"clusterrole and clusterrolebinding {cluster_role}")
        commands.append(f"kubectl delete clusterrole,clusterrolebinding {cluster_role}")
    if not what:
        return ""
    return (
        f"{', '.join(what)} of account {account} stay. Once the instance is gone: "
        f"{'; '.join(commands)}; also serviceaccount {account}, if nothing else uses it"
    )


async def _exists(session: Session, kind: Resource, name: str, namespace: str | None) -> bool:
    try:
        await session.client.get(kind, name, namespace=namespace)
    except (ApiError, ValueError):  # there is none, or the user may not read it
        return False
    return True
