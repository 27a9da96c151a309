"""Reads Instances and what belongs to them, and prints why they are not ready."""

import asyncio
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

from kubectl_kudo.diagnostics.causes import Explained, explained
from kubectl_kudo.diagnostics.explained_text import as_data, blocks_of
from kubectl_kudo.diagnostics.families import FamilyReader, Member
from kubectl_kudo.diagnostics.installation import read_services
from kubectl_kudo.diagnostics.reading import Reader
from kubectl_kudo.reading.inventory import Condition, Live, identity_of, read_live, read_record
from kubectl_kudo.reading.summary_line import is_settled
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.errors import UsageError
from kubectl_kudo.session.kinds import INSTANCES, INVENTORIES
from kubectl_kudo.session.naming import name_fault
from kubectl_kudo.session.output import JsonObject, one, show
from kubectl_kudo.session.session import Session
from kubeio.kinds import (
    DAEMON_SETS,
    DEPLOYMENTS,
    JOBS,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    REPLICA_SETS,
    STATEFUL_SETS,
)

MOST: Final = 20
"""Instances that are explained; the others are counted."""
_KINDS: Final = (
    *(INVENTORIES, PODS, REPLICA_SETS, DEPLOYMENTS, STATEFUL_SETS, DAEMON_SETS, JOBS),
    PERSISTENT_VOLUME_CLAIMS,
)
"""Kinds that are looked for by owners and labels; all others by the record of the Instance."""


async def explain(session: Session, args: Args) -> None:
    """Print why an Instance, or each that is not ready, is as it is.

    Raises:
        CliError: the Instance does not exist, or a name is wrong.
        KubeError: the Instances cannot be read.
    """
    fault = name_fault("namespace", args.kudo_namespace) if args.kudo_namespace else ""
    if fault:
        raise UsageError(fault)
    if args.instance:
        names, total = [args.instance], 1
        await session.existing_instance(args.instance)
    else:
        listed = (await session.client.list(INSTANCES, namespace=session.namespace)).items
        names, total = _unsettled(listed), len(listed)
    reader = Reader(session.client)
    found = await _explained(session, reader, args.kudo_namespace, names[:MOST])
    unread = [failure for failure in reader.failures if not failure.absent]
    if args.output:
        print(one(as_data(found, unread, names[MOST:]), args.output), end="")
    else:
        left_out = names[MOST:]
        show(*blocks_of(found, unread, left_out, namespace=session.namespace, total=total))


def _unsettled(instances: Sequence[JsonObject]) -> list[str]:
    """Return the names of the Instances that are not ready, without children of such."""
    waiting = {obj["metadata"]["uid"]: obj for obj in instances if not is_settled(obj)}
    return [
        str(obj["metadata"]["name"])
        for obj in waiting.values()
        if waiting.keys().isdisjoint(
            owner.get("uid") for owner in obj["metadata"].get("ownerReferences") or []
        )
    ]


async def _explained(
    session: Session, reader: Reader, kudo: str, names: Sequence[str]
) -> list[Explained]:
    if not names:
        return []
    families, installation = await asyncio.gather(
        FamilyReader(reader, session.namespace, _KINDS).families(names),
        read_services(reader, kudo),
    )
    records = await asyncio.gather(
        *(_recorded(reader, [one for one in family if one.instance]) for family in families)
    )
    now = datetime.now(UTC)
    return [
        explained(family, recorded, installation, now)
        for family, recorded in zip(families, records, strict=True)
        if family[0].instance is not None
    ]


async def _recorded(reader: Reader, family: Iterable[Member]) -> dict[str, tuple[Live, ...]]:
    """Return the objects on record that are not among those of their Instance, by its name."""
    members = list(family)
    found = {member.name: await _of_member(reader, member, members) for member in members}
    for live in (live for each in found.values() for live in each):
        place = live.entry.place
        if live.condition is Condition.UNKNOWN:
            reader.fail(f"{place.kind.lower()} {place.name}", live.message)
    return found


async def _of_member(reader: Reader, member: Member, family: Sequence[Member]) -> tuple[Live, ...]:
    assert member.instance is not None
    inventories = [obj for obj in member.objects if obj["kind"] == INVENTORIES.kind]
    record = read_record(identity_of(member.instance), inventories).record or ()
    known = {(obj["kind"], obj["metadata"]["name"]) for obj in member.objects}
    known |= {(INSTANCES.kind, one.name) for one in family}
    entries = [
        entry
        for entry in record
        if not entry.orphaned_by
        and not entry.leaving
        and (entry.place.kind, entry.place.name) not in known
    ]
    return await read_live(reader.client, entries)
