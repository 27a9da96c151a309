"""Reads the Warning events of a run, which the reconciler records beside its status."""

from collections.abc import Iterable

from kubectl_kudo.core.output import JsonObject
from kubectl_kudo.core.session import Session
from kubeio.errors import KubeError
from kubeio.kinds import EVENTS

_END = "PlanFinished"
"""Reason of the event that repeats how the run ended."""


async def warnings_of(session: Session, instance: JsonObject | None, uid: str) -> str:
    """Return the Warning events of a run as further lines of a text; empty if there are none.

    Empty also if events cannot be read: the error of the run itself is what matters.
    """
    if instance is None or not uid:
        return ""
    metadata = instance["metadata"]
    selector = f"involvedObject.uid={metadata['uid']},type=Warning"
    try:
        found = await session.client.list(
            EVENTS, namespace=metadata["namespace"], field_selector=selector
        )
    except KubeError:
        return ""
    return lines(found.items, f"{metadata['name']}.{uid}.")


def lines(events: Iterable[JsonObject], prefix: str) -> str:
    """Return a headline and a line for each event whose name begins with the prefix."""
    ours = [
        event
        for event in events
        if event["metadata"]["name"].startswith(prefix) and event.get("reason") != _END
    ]
    texts = [f"{event.get('reason')}: {event.get('message')}" for event in sorted(ours, key=_time)]
    return "\n  ".join(["\nWarning events of this run:", *texts]) if texts else ""


def _time(event: JsonObject) -> str:
    return str(event.get("lastTimestamp") or "")
