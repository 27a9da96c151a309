"""Reads the events of an Instance: the recent ones, those of a run, those of a reason."""

import asyncio
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from kubectl_kudo.reading.runs import message_of
from kubectl_kudo.session.cells import printable
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
        _listed(session, f"involvedObject.uid={instance['metadata']['uid']}"),
        _listed(session, "type=Warning"),
    )
    if own is None or warnings is None:
        return [], False
    others = (one for one in warnings if (one.get("involvedObject") or {}).get("uid") in uids)
    found = sorted(map(Event.of, (*own, *others)), key=lambda event: event.time)
    return found[-MOST:], True


async def _listed(session: Session, selector: str) -> list[JsonObject] | None:
    try:
        found = await session.client.list(
            EVENTS, namespace=session.namespace, field_selector=selector
        )
    except KubeError:
        return None
    return found.items


_END = "PlanFinished"
"""Reason of the event that repeats how the run ended."""
_PATIENCE = 5
"""Times that events are listed until the end event of the run is among them: the reconciler writes
them beside the status, and the end event last."""
_PAUSE_SECONDS = 0.2


async def warnings_of(
    session: Session, instance: JsonObject | None, uid: str, *, told: str = ""
) -> str:
    """Return the Warning events of a run that has ended; empty if there are none.

    Empty also if events cannot be read: how the run ended is what matters.

    Args:
        session: The connection.
        instance: The Instance; None if it no longer exists.
        uid: Of the run.
        told: What is shown above; an event whose message is in it is named by its reason alone.
    """
    if instance is None or not uid:
        return ""
    metadata = instance["metadata"]
    prefix = f"{metadata['name']}.{uid}."
    try:
        events = await _events(session, metadata, prefix)
    except KubeError:
        return ""
    return lines(events, prefix, told)


async def _events(session: Session, metadata: JsonObject, prefix: str) -> list[JsonObject]:
    selector = f"involvedObject.uid={metadata['uid']}"
    ours: list[JsonObject] = []
    for attempt in range(_PATIENCE):
        if attempt:
            await asyncio.sleep(_PAUSE_SECONDS)
        found = await session.client.list(
            EVENTS, namespace=metadata["namespace"], field_selector=selector
        )
        ours = [one for one in found.items if one["metadata"]["name"].startswith(prefix)]
        if not ours or any(one.get("reason") == _END for one in ours):
            break
    return ours


def lines(events: Iterable[JsonObject], prefix: str, told: str = "") -> str:
    """Return a headline and a line for each Warning event whose name begins with the prefix."""
    ours = [
        event
        for event in events
        if event["metadata"]["name"].startswith(prefix)
        and event.get("reason") != _END
        and event.get("type") == "Warning"
    ]
    texts = [printable(_line(event, told)) for event in sorted(ours, key=_time)]
    return "\n  ".join(["Warning events of this run:", *texts]) if texts else ""


def _line(event: JsonObject, told: str) -> str:
    reason, message = event.get("reason"), message_of(event)
    return f"{reason} (see above)" if message and message in told else f"{reason}: {message}"


def _time(event: JsonObject) -> str:
    return str(event.get("lastTimestamp") or "")
