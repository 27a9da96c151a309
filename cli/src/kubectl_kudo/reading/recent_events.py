"""Reads the recent events of an Instance, and the Warnings of its objects."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass

from kubectl_kudo.session.output import JsonObject
from kubectl_kudo.session.session import Session
from kubeio.errors import KubeError
from kubeio.kinds import EVENTS

MOST = 20
"""Events that are shown."""


@dataclass(frozen=True, slots=True)
class Event:
    """An event, as far as it is shown."""

    time: str
    type: str
    reason: str
    about: str
    message: str
    count: int

    @classmethod
    def of(cls, obj: JsonObject) -> "Event":
        about = obj.get("involvedObject") or {}
        series = obj.get("series") or {}
        times = (
            series.get("lastObservedTime"),
            obj.get("lastTimestamp"),
            obj.get("eventTime"),
            obj["metadata"].get("creationTimestamp"),
        )
        return cls(
            time=str(next(filter(None, times), "")),
            type=str(obj.get("type") or ""),
            reason=str(obj.get("reason") or ""),
            about=f"{about.get('kind')}/{about.get('name')}",
            message=str(obj.get("message") or ""),
            count=int(series.get("count") or obj.get("count") or 1),
        )

    def to_data(self) -> JsonObject:
        return {
            "lastSeen": self.time,
            "type": self.type,
            "reason": self.reason,
            "object": self.about,
            "message": self.message,
            "count": self.count,
        }


async def recent_events(
    session: Session, instance: JsonObject, uids: Collection[str]
) -> tuple[list[Event], bool]:
    """Return the newest events, oldest first, and whether all of them could be read.

    Args:
        session: The connection.
        instance: The Instance; all its events count.
        uids: Of its objects, whose Warnings count.
    """
    own, warnings = await asyncio.gather(
        _events(session, f"involvedObject.uid={instance['metadata']['uid']}"),
        _events(session, "type=Warning"),
    )
    if own is None or warnings is None:
        return [], False
    others = (one for one in warnings if (one.get("involvedObject") or {}).get("uid") in uids)
    found = sorted(map(Event.of, (*own, *others)), key=lambda event: event.time)
    return found[-MOST:], True


async def _events(session: Session, selector: str) -> list[JsonObject] | None:
    try:
        found = await session.client.list(
            EVENTS, namespace=session.namespace, field_selector=selector
        )
    except KubeError:
        return None
    return found.items
