"""Reads the objects that are on record, one by one and by name, as the user."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from kubectl_kudo.session.errors import describe
from kubectl_kudo.session.output import JsonObject
from kubeio.backoff import Backoff
from kubeio.client import Client
from kubeio.errors import ApiError, ConnectionLost, NotFound, ServerError, TooManyRequests
from kubeio.resource import Resource
from kudo.objects.health import (
    health_of,
    needs_body,  # it costs commands that ask for no health 15 ms
)
from kudo.objects.inventory.record import Entry

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


def resource_of(entry: Entry) -> Resource:
    place = entry.place
    return Resource(
        place.group,
        entry.version,
        place.kind,
        entry.resource,
        namespaced=not entry.cluster_scoped,
    )


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
    return tuple(one.result() for one in reads)


async def _read(client: Client, entry: Entry, *, health: bool) -> Live:
    kind = resource_of(entry)
    # Metadata alone has no secrets, and is most of what is read.
    whole = health and _needs_body(kind)

    def read() -> Awaitable[JsonObject]:
        namespace = entry.place.namespace or None
        return client.get(kind, entry.place.name, namespace=namespace, metadata_only=not whole)

    try:
        obj = await _patiently(read)
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
    shown = {**obj, "apiVersion": kind.api_version, "kind": kind.kind}
    condition, message = _health_of(shown)
    return Live(entry, condition, message, metadata)


def _needs_body(kind: Resource) -> bool:
    return needs_body(kind.api_version, kind.kind)


def _health_of(obj: JsonObject) -> tuple[Condition, str]:
    found = health_of(obj)
    return Condition(found.state.value), found.message


async def _patiently(read: Callable[[], Awaitable[JsonObject]]) -> JsonObject:
    """Read, and again after an error that may pass."""
    backoff = Backoff(cap=5.0)
    for _ in range(_ATTEMPTS - 1):
        try:
            return await read()
        except _TRANSIENT as error:
            await asyncio.sleep(backoff.next(error))
    return await read()
