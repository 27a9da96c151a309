"""Reads the events that tell what became of a request."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_kudo.core.cells import printable
from kubectl_kudo.core.output import JsonObject
from kubectl_kudo.core.session import Session
from kubeio.errors import KubeError
from kubeio.kinds import EVENTS

_SECONDS = 3.0
"""Time that an event may take after the request is done."""
_POLL = 0.2


@dataclass(frozen=True, slots=True)
class Told:
    """An event: how often and when it was seen last, and its message."""

    count: int
    moment: str
    message: str


Events = Mapping[str, Told]
"""By name."""


async def events_of(session: Session, instance: JsonObject, reason: str) -> Events | None:
    """Return the events of an Instance with a reason; None if the user may not list them."""
    about = f"involvedObject.uid={instance['metadata']['uid']}"
    try:
        found = await session.client.list(EVENTS, namespace=session.namespace, field_selector=about)
    except KubeError:
        return None
    return {
        event["metadata"]["name"]: _told(event)
        for event in found.items
        if event.get("reason") == reason
    }


async def message_since(
    session: Session, instance: JsonObject, reason: str, before: Events | None
) -> str:
    """Return the message of the event that was not there before; empty if none comes.

    The reconciler sends events beside its writes, so one may come after what it tells of.
    """
    try:
        async with asyncio.timeout(_SECONDS):
            while before is not None:
                after = await events_of(session, instance, reason)
                for name, told in (after or {}).items():
                    if before.get(name) != told:
                        return told.message
                await asyncio.sleep(_POLL)
    except TimeoutError:
        pass
    return ""


def _told(event: JsonObject) -> Told:
    series = event.get("series") or {}
    moments = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    return Told(
        int(series.get("count") or event.get("count") or 1),
        str(next(filter(None, moments), "")),
        printable(str(event.get("message") or "")),
    )
