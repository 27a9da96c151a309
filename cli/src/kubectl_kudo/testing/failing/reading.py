"""Reads what explains a failure, with bounded requests; what cannot be read is said in a word."""

import asyncio
from collections.abc import Awaitable, Iterable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final

from kubectl_kudo.reading.recent_events import Event
from kubectl_kudo.session.errors import CliError, describe
from kubectl_kudo.session.report import Report
from kubectl_kudo.session.session import Session
from kubectl_kudo.session.writes import Sent
from kubeio.client import Client
from kubeio.errors import KubeError
from kubeio.kinds import EVENTS, SECRETS
from kubeio.resource import Resource
from kubeio.types import Transform
from kudo.api.known_secrets import KnownValues
from kudo.api.task_errors import cause_in
from kudo.redaction.objects import Redactor

JsonObject = dict[str, Any]

_SECONDS: Final = 15.0
"""For all requests of one section."""
_MOST_EVENTS: Final = 10
_MOST: Final = 100
"""Objects of one list."""
_LONGEST_EVENT: Final = 400
_LONGEST_SECRET: Final = 8_192
"""Characters of a value of a Secret, in base64."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the details of a failure.

    Attributes:
        title: Its first line.
        lines: What it tells; without any, it is left out.
    """

    title: str
    lines: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join((f"{self.title}:", *(f"  {line}".rstrip() for line in self.lines)))


async def section(title: str, lines: Awaitable[list[str]]) -> Section:
    """Return a section, or one that says why it could not be read."""
    try:
        async with asyncio.timeout(_SECONDS):
            return Section(title, tuple(await lines))
    except TimeoutError:
        why = f"no answer within {_SECONDS:.0f} s"
    except (KubeError, CliError) as error:
        why = describe(error) or str(error)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        # Objects of a case may have any shape, where no schema forbids it.
        why = f"an object is not as expected ({type(error).__name__})"
    return Section(title, (f"(cannot be read: {why})",))


def session_of(client: Client, namespace: str) -> Session:
    """Return a session as commands have it, for reads."""
    return Session(client, namespace, Sent(client), Report())


async def first_page(
    client: Client,
    resource: Resource,
    namespace: str | None,
    *,
    field_selector: str = "",
    metadata_only: bool = False,
    transform: Transform | None = None,
) -> list[JsonObject]:
    """Return the first objects of a list, 100 at most."""
    pages = client.pages(
        resource,
        namespace=namespace,
        field_selector=field_selector or None,
        limit=_MOST,
        metadata_only=metadata_only,
        transform=transform,
    )
    async with aclosing(pages):
        async for page in pages:
            return page.items
    return []


async def redactor_of(client: Client, namespace: str, names: Iterable[str] = ()) -> Redactor:
    """Return what removes the values of a namespace's Secrets, as far as they may be read.

    Args:
        client: The connection.
        namespace: The namespace.
        names: Names that stay readable although a secret may be the same, such as of objects.
    """
    redactor = Redactor(KnownValues(public={namespace, *names}))
    try:
        async with asyncio.timeout(_SECONDS):
            redactor.learn(await first_page(client, SECRETS, namespace, transform=_short_values))
    except (KubeError, TimeoutError):
        pass
    return redactor


def _short_values(secret: JsonObject) -> JsonObject:
    """Leave out long values, such as releases of Helm: a message can show the beginning alone."""
    data = secret.get("data")
    if not isinstance(data, dict):
        return secret
    short = {key: value for key, value in data.items() if len(str(value)) <= _LONGEST_SECRET}
    return {**secret, "data": short}


async def event_lines(client: Client, obj: JsonObject, redactor: Redactor) -> list[str]:
    """Return the newest events of an object, oldest first."""
    metadata = obj.get("metadata") or {}
    namespace, uid = metadata.get("namespace") or "default", metadata.get("uid")
    if not uid:
        return []
    found = await first_page(client, EVENTS, namespace, field_selector=f"involvedObject.uid={uid}")
    # Several events have the same second.
    found.sort(key=lambda event: (Event.of(event).time, _written(event)))
    return [redactor.text(_line(Event.of(event))) for event in found[-_MOST_EVENTS:]]


def _written(obj: JsonObject) -> int:
    version = str((obj.get("metadata") or {}).get("resourceVersion") or "")
    return int(version) if version.isdecimal() else 0


def _line(event: Event) -> str:
    message = " ".join(cause_in(event.message).split())[:_LONGEST_EVENT]
    times = f" (x{event.count})" if event.count > 1 else ""
    return f"{event.time} {event.type} {event.reason}: {message}{times}"
