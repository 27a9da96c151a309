"""Reads all that belongs to one Instance, and prints it as text or as data."""

import asyncio
from datetime import UTC, datetime

from kubectl_kudo.core.output import one
from kubectl_kudo.core.session import Session
from kubectl_kudo.get.description import Description
from kubectl_kudo.get.description_text import text_of
from kubectl_kudo.get.owned_objects import objects_of
from kubectl_kudo.get.recent_events import recent_events
from kubectl_kudo.state.children import members_below


async def describe_instance(session: Session, name: str, output: str) -> None:
    """Print an Instance with its parameters, plans, children, objects and events.

    Raises:
        CliError: there is none of that name.
    """
    instance = await session.existing_instance(name)
    version, children, found = await asyncio.gather(
        session.version_of(instance),
        members_below(session, instance),
        objects_of(session, instance),
    )
    uids = {str(obj.metadata.get("uid")) for obj in found.objects}
    events, all_read = await recent_events(session, instance, uids)
    unlisted = found.unlisted if all_read else ("events", *found.unlisted)
    description = Description(
        instance, version, children, found.objects, tuple(events), tuple(unlisted)
    )
    if output:
        print(one(description.to_data(), output), end="")
    else:
        print(text_of(description, datetime.now(UTC)), end="")
