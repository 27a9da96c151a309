"""The events of a namespace, as lines of a log."""

from typing import Any, Final

from kubectl_kudo.reading.runs import message_of
from kubeio.client import Client
from kubeio.errors import KubeError
from kubeio.kinds import EVENTS
from kubeio.types import JsonObject

_MOST: Final = 200
"""Events that are shown, the latest."""
_LONGEST: Final = 1000
"""Characters of a message."""


async def event_lines(client: Client, namespace: str) -> list[str]:
    """Return a line for each of the latest events of a namespace, in their order."""
    latest: list[JsonObject] = []
    total = 0
    try:
        async for page in client.pages(EVENTS, namespace=namespace):
            total += len(page.items)
            latest = sorted([*latest, *page.items], key=_moment)[-_MOST:]
    except KubeError as error:
        return [f"the events of namespace {namespace} cannot be read: {error}"]
    if not latest:
        return [f"no events in namespace {namespace}"]
    shown = f", the latest {_MOST} of {total}" if total > _MOST else ""
    return [f"events of namespace {namespace}{shown}:", *map(_line, latest)]


def _moment(event: JsonObject) -> str:
    found = event.get("lastTimestamp") or event.get("eventTime") or event.get("firstTimestamp")
    return str(found or event["metadata"].get("creationTimestamp") or "")


def _line(event: JsonObject) -> str:
    about: Any = event.get("involvedObject")
    about = about if isinstance(about, dict) else {}
    message = message_of(event).strip()
    return (
        f"{_moment(event)}\t{event.get('type')}\t{about.get('kind')} {about.get('name')}\t"
        f"{event.get('reason')}\t{message[:_LONGEST]}"
    )
