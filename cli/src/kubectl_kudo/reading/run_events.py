"""Reads the Warning events of a run, which the reconciler records beside its status."""

import asyncio
from collections.abc import Iterable

from kubectl_kudo.reading.runs import message_of
from kubectl_kudo.session.cells import printable
from kubectl_kudo.session.output import JsonObject
from kubectl_kudo.session.session import Session
from kubeio.errors import KubeError
from kubeio.kinds import EVENTS

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
