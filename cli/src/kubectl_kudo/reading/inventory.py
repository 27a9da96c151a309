"""What an Instance owns by its Inventories, how these objects are, and whether they are deleted.

What is on record is a hint: the live object decides. See docs/design/20261123.inventory.md.

The annotation of a cluster-scoped object lists its sharers; those that are gone stay in it.
`LivingSharers` asks, as the user, whether they still exist.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from itertools import islice
from typing import Final

from kubectl_kudo.session.errors import describe
from kubectl_kudo.session.kinds import INSTANCES, INVENTORIES
from kubectl_kudo.session.output import JsonObject
from kubectl_kudo.session.session import Session
from kubeio.backoff import Backoff
from kubeio.client import Client
from kubeio.errors import ApiError, ConnectionLost, NotFound, ServerError, TooManyRequests
from kubeio.names import MAX_LABEL
from kubeio.resource import Resource
from kudo.api import names
from kudo.api.identity import InstanceIdentity
from kudo.api.names import LABEL_INSTANCE
from kudo.objects.health import health_of, needs_body
from kudo.objects.inventory.orphans import why_kept
from kudo.objects.inventory.record import Entry, Record, inventory_name, owner_of, read_entries
from kudo.objects.policies import is_retained
from kudo.objects.sharing import MOST_LISTED, goes_with_instance, is_of_kudo, lists_all, sharers


@dataclass(frozen=True, slots=True)
class Recorded:
    """The record of an Instance, as far as the user may read it.

    Attributes:
        record: None if there is none, or it cannot be read.
        ignored: Entries that no plan can have made, which were left out.
        problem: Why there is no record, after "because"; empty if the Instance just has none yet.
        served: Whether the cluster has Inventories; an older release of KUDO has none.
    """

    record: Record | None = None
    ignored: int = 0
    problem: str = ""
    served: bool = True

    @property
    def complete(self) -> bool:
        """Whether everything that the Instance ever applied is on record."""
        return self.record is not None and self.record.complete

    def orphans(self) -> tuple[Entry, ...]:
        """Return the objects that no task applies any more."""
        return tuple(entry for entry in self.record or () if entry.orphaned_by)


def identity_of(instance: JsonObject) -> InstanceIdentity:
    metadata = instance["metadata"]
    return InstanceIdentity(metadata["namespace"], metadata["name"], metadata["uid"])


async def recorded(session: Session, instance: JsonObject) -> Recorded:
    """Read the record of an Instance.

    Raises:
        KubeError: there is no answer.
    """
    owner = identity_of(instance)
    # A longer name is in no label: all of the namespace are read then.
    selector = f"{LABEL_INSTANCE}={owner.name}" if len(owner.name) <= MAX_LABEL else None
    try:
        listing = await session.client.list(
            INVENTORIES, namespace=owner.namespace, label_selector=selector
        )
    except NotFound:
        text = f"the cluster does not serve {INVENTORIES.name}: upgrade KUDO"
        return Recorded(problem=text, served=False)
    except ApiError as error:
        return Recorded(problem=str(describe(error)))
    return read_record(owner, listing.items)


def read_record(owner: InstanceIdentity, inventories: Iterable[JsonObject]) -> Recorded:
    """Return the record that Inventories hold; those of other Instances are left out."""
    # Whoever may create Inventories could have one with the label of an Instance that is not his.
    own = {
        obj["metadata"]["name"]: obj for obj in inventories if owner_of(obj["metadata"]) == owner
    }
    if inventory_name(owner, 0) not in own:
        return Recorded()
    record, ignored = Record(), 0
    for number in range(len(own)):
        obj = own.get(inventory_name(owner, number))
        if obj is None:  # as the reconciler, which takes those with other names for not its own
            break
        if number == 0:
            record = Record(complete=obj.get("complete") is True)
        entries, left_out = read_entries(obj)
        record, ignored = record.merged(entries), ignored + left_out
    return Recorded(record, ignored)


AT_ONCE: Final = 16
"""Objects that are read at the same time."""
_ATTEMPTS: Final = 4
_TRANSIENT: Final = (ConnectionLost, ServerError, TooManyRequests)


class Condition(Enum):
    """What is known about an object on record."""

    PRESENT = "present"
    """It exists; its health was not asked for."""
    HEALTHY = "healthy"
    WAITING = "waiting"
    FAILED = "failed"
    MISSING = "missing"
    """It does not exist."""
    UNKNOWN = "unknown"
    """It could not be read."""


@dataclass(frozen=True, slots=True)
class Live:
    """An object on record, as it is in the cluster.

    Attributes:
        entry: The object on record.
        condition: Whether it exists and is healthy.
        message: What it waits for, why it failed, or why it could not be read.
        metadata: Without managedFields; None unless it exists and was read.
    """

    entry: Entry
    condition: Condition
    message: str = ""
    metadata: JsonObject | None = None


async def read_live(
    client: Client, entries: Iterable[Entry], *, health: bool = True
) -> tuple[Live, ...]:
    """Return each object as it is, in the order of the entries.

    Args:
        client: The connection, as the user.
        entries: What to read.
        health: Whether to read what health depends on; else metadata alone.

    Raises:
        ConnectionLost: the API server does not answer any more.
    """
    slots = asyncio.Semaphore(AT_ONCE)

    async def read(entry: Entry) -> Live:
        async with slots:
            return await _read(client, entry, health=health)

    try:
        async with asyncio.TaskGroup() as group:
            reads = [group.create_task(read(entry), name="object") for entry in entries]
    except ExceptionGroup as errors:
        # All requests go to the same API server: one error is enough.
        raise errors.exceptions[0] from None
    return tuple(task.result() for task in reads)


async def _read(client: Client, entry: Entry, *, health: bool) -> Live:
    place, namespaced = entry.place, not entry.cluster_scoped
    kind = Resource(place.group, entry.version, place.kind, entry.resource, namespaced=namespaced)
    # Metadata alone has no secrets, and is most of what is read.
    whole = health and needs_body(kind.api_version, kind.kind)
    backoff, attempts = Backoff(cap=5.0), _ATTEMPTS
    try:
        while True:
            try:
                obj = await client.get(
                    kind, place.name, namespace=place.namespace or None, metadata_only=not whole
                )
                break
            except _TRANSIENT as error:
                attempts -= 1
                if not attempts:
                    raise
                await asyncio.sleep(backoff.next(error))
    except NotFound as error:
        if error.details:
            return Live(entry, Condition.MISSING)
        # The answer is about the path: the kind, or this version of it, is not served.
        return Live(entry, Condition.UNKNOWN, f"{kind.api_version} {kind.plural} is not served")
    except ApiError as error:
        return Live(entry, Condition.UNKNOWN, str(describe(error)))
    except ValueError as error:  # no object can have such a name
        return Live(entry, Condition.UNKNOWN, str(error))
    metadata = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    if not health:
        return Live(entry, Condition.PRESENT, metadata=metadata)
    # Of metadata alone the API server names another kind.
    result = health_of({**obj, "apiVersion": kind.api_version, "kind": kind.kind})
    return Live(entry, Condition(result.state.value), result.message, metadata)


_ASKED: Final = MOST_LISTED
"""Instances of an object that are read at most; anybody who may change the object can list more."""
_SHARED_BY_MANY: Final = f"{MOST_LISTED} Instances or more shared it"
_MANY: Final = f"{MOST_LISTED} Instances or more share it"
_ASKS: Final = f'{names.ANNOTATION_DELETE_WITH_INSTANCE}: "true"'


def others(metadata: JsonObject, owner: InstanceIdentity) -> tuple[InstanceIdentity, ...]:
    """Return the other Instances that the annotation lists; they may be gone."""
    return tuple(other for other in sharers(metadata) if other != owner)


def shared_with(live: Live, owner: InstanceIdentity) -> str:
    """Return who else shares a cluster-scoped object; empty if nobody does."""
    if live.metadata is None or not live.entry.cluster_scoped:
        return ""
    if not lists_all(live.metadata):
        return _MANY.removesuffix(" share it")
    *rest, last = [*map(str, others(live.metadata, owner))] or [""]
    return f"{', '.join(rest)} and {last}" if rest else last


def why_orphan_stays(live: Live, owner: InstanceIdentity) -> str:
    """Return why pruning may leave an orphan; empty if it deletes it.

    By the rules of the reconciler, on what the user may see. The annotation is believed: an
    Instance that it names may be gone, and then pruning deletes the object. See `LivingSharers`.
    """
    if live.metadata is None:
        return ""
    if live.entry.cluster_scoped and not lists_all(live.metadata):
        return _MANY
    other = next(iter(others(live.metadata, owner)), None) if live.entry.cluster_scoped else None
    return why_kept(live.entry, live.metadata, owner, shared_with=other)


def why_left(live: Live, owner: InstanceIdentity) -> str:
    """Return why an object stays when its Instance is deleted; empty if it does not stay."""
    entry, metadata = live.entry, live.metadata
    if live.condition is Condition.MISSING:
        return ""
    if metadata is None:
        return "by the record" if entry.retained or entry.adopted else ""
    if is_retained(metadata):
        return "retained"
    if not entry.cluster_scoped:
        references = metadata.get("ownerReferences") or ()
        owned = any(reference.get("uid") == owner.uid for reference in references)
        return "it existed before" if entry.adopted and not owned else ""
    if not is_of_kudo(metadata):
        return ""  # it is somebody else's
    shared = shared_with(live, owner)
    if shared:
        return f"shared with {shared}"
    group, kind = entry.place.group, entry.place.kind
    if goes_with_instance(group, kind, metadata):
        return ""
    asking = {"annotations": {names.ANNOTATION_DELETE_WITH_INSTANCE: "true"}}
    return f"without {_ASKS}" if goes_with_instance(group, kind, asking) else "its kind stays"


@dataclass(frozen=True, slots=True)
class Sharing:
    """Who shares an object.

    Attributes:
        living: Another Instance that shares it and exists; None if none is known.
        doubt: Why there may be one all the same; empty if there is none.
    """

    living: InstanceIdentity | None = None
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class LivingSharers:
    """Tells who shares objects; each Instance is read once."""

    client: Client
    _exists: dict[InstanceIdentity, bool | None] = field(default_factory=dict)
    """Whether an Instance exists; None if that is not known."""

    async def of(self, metadata: JsonObject, owner: InstanceIdentity) -> Sharing:
        """Return who shares a cluster-scoped object beside an Instance.

        Raises:
            ConnectionLost: the API server does not answer any more.
        """
        listed, doubt = others(metadata, owner), ""
        for other in islice(listed, _ASKED):
            if other not in self._exists:
                self._exists[other] = await self._read(other)
            if self._exists[other]:
                return Sharing(other)
            if self._exists[other] is None:
                doubt = doubt or f"you may not read whether Instance {other} exists"
        if len(listed) > _ASKED or not lists_all(metadata):
            return Sharing(doubt=_SHARED_BY_MANY)
        return Sharing(doubt=doubt)

    async def _read(self, identity: InstanceIdentity) -> bool | None:
        try:
            instance = await self.client.get(
                INSTANCES, identity.name, namespace=identity.namespace, metadata_only=True
            )
        except NotFound as error:
            # Without details the answer is about the path: KUDO's kinds are not served.
            return None if not error.details else False
        except ApiError:
            return None
        except ValueError:  # no Instance can have such a name
            return False
        # Another Instance of that name shares nothing.
        return bool(instance["metadata"]["uid"] == identity.uid)
