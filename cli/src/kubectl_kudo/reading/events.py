"""Reads the events of an Instance: the recent ones, those of a run, those of a reason."""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from kubectl_kudo.reading.runs import message_of
from kubectl_kudo.session.blocks import printable
from kubectl_kudo.session.output import JsonObject
from kubectl_kudo.session.session import Session
from kubeio.errors import KubeError
from kubeio.resource import EVENTS

MOST = 20
"""Recent events that are shown."""
_END = "PlanFinished"
"""Reason of the event that repeats how a run ended."""
_ATTEMPTS = 5
_PAUSE_SECONDS = 0.2
_LATE_SECONDS = 3.0
"""Time that the event of a request may take after the request is done."""


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
        return cls(
            time=time_of(obj) or str(obj["metadata"].get("creationTimestamp") or ""),
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


Events = Mapping[str, Event]
"""By name."""


def time_of(event: JsonObject) -> str:
    """Return when an event was seen last; empty if it does not say so."""
    # Of a repeated event, clients of events.k8s.io write the series and leave lastTimestamp null.
    series = event.get("series") or {}
    times = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    return str(next(filter(None, times), ""))


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
    others = [obj for obj in warnings if (obj.get("involvedObject") or {}).get("uid") in uids]
    events = sorted(map(Event.of, (*own, *others)), key=lambda event: event.time)
    return events[-MOST:], True


async def _listed(session: Session, selector: str) -> list[JsonObject] | None:
    """Return the events that a selector selects; None if the user may not list them."""
    try:
        return (
            await session.client.list(EVENTS, namespace=session.namespace, field_selector=selector)
        ).items
    except KubeError:
        return None


async def warnings_of(
    session: Session, instance: JsonObject | None, uid: str, *, shown: str = ""
) -> str:
    """Return the Warning events of a run that has ended; empty if there are none.

    Empty also if events cannot be read: how the run ended is what matters.

    Args:
        session: The connection.
        instance: The Instance; None if it no longer exists.
        uid: Of the run.
        shown: What stands above; an event whose message is in it is named by its reason alone.
    """
    if instance is None or not uid:
        return ""
    metadata = instance["metadata"]
    prefix = f"{metadata['name']}.{uid}."
    events: list[JsonObject] = []
    for attempt in range(_ATTEMPTS):
        if attempt:
            await asyncio.sleep(_PAUSE_SECONDS)
        listed = await _listed(session, f"involvedObject.uid={metadata['uid']}") or []
        events = [event for event in listed if event["metadata"]["name"].startswith(prefix)]
        # The reconciler writes events beside the status, and the end event last: until that is
        # there, others may be missing. Of no event at all it waits for none: they may have expired.
        if not events or any(event.get("reason") == _END for event in events):
            break
    return lines(events, prefix, shown)


def lines(events: Iterable[JsonObject], prefix: str, shown: str = "") -> str:
    """Return a headline and a line for each Warning event whose name begins with the prefix."""
    texts: list[str] = []
    for event in sorted(events, key=time_of):
        reason, message = event.get("reason"), message_of(event)
        if (
            event["metadata"]["name"].startswith(prefix)
            and reason != _END
            and event.get("type") == "Warning"
        ):
            is_shown = message and message in shown
            texts.append(printable(f"{reason} (see above)" if is_shown else f"{reason}: {message}"))
    return "\n  ".join(["Warning events of this run:", *texts]) if texts else ""


async def events_of(session: Session, instance: JsonObject, reason: str) -> Events | None:
    """Return the events of an Instance with a reason; None if the user may not list them."""
    events = await _listed(session, f"involvedObject.uid={instance['metadata']['uid']}")
    if events is None:
        return None
    return {
        event["metadata"]["name"]: Event.of(event)
        for event in events
        if event.get("reason") == reason
    }


async def message_since(
    session: Session, instance: JsonObject, reason: str, before: Events | None
) -> str:
    """Return the message of the event that was not there before; empty if none comes."""
    try:
        # The reconciler sends events beside its writes, so one may come after what it reports.
        async with asyncio.timeout(_LATE_SECONDS):
            while before is not None:
                after = await events_of(session, instance, reason)
                for name, event in (after or {}).items():
                    if before.get(name) != event:
                        return printable(event.message)
                await asyncio.sleep(_PAUSE_SECONDS)
    except TimeoutError:
        pass
    return ""
