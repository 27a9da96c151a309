"""Asks the reconciler for upkeep of an Instance by an annotation, which it removes when done.

The events of the Instance tell what became of it.
"""

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime

from kubectl_kudo.reading.instance_state import flags_of, is_deleting, is_suspended
from kubectl_kudo.reading.runs import active, key_of
from kubectl_kudo.screens.waiting import TimedOut, observe
from kubectl_kudo.session.cells import printable
from kubectl_kudo.session.errors import CliError
from kubectl_kudo.session.kinds import INSTANCES
from kubectl_kudo.session.output import JsonObject, talk
from kubectl_kudo.session.session import Session
from kubeio.errors import KubeError
from kubeio.kinds import EVENTS

_SECONDS = 3.0
"""Time that an event may take after the request is done."""
_POLL = 0.2
_UNSEEN = "the reconciler of KUDO has not done it yet; is it running?"


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What the reconciler is asked for.

    Attributes:
        verb: The command.
        annotation: Of the Instance; its value is the time of the request.
    """

    verb: str
    annotation: str

    def requested_at(self, instance: JsonObject) -> str:
        """Return when it was requested; empty if it is not."""
        return str((instance["metadata"].get("annotations") or {}).get(self.annotation) or "")


async def request(session: Session, instance: JsonObject, upkeep: Upkeep) -> JsonObject:
    """Set the annotation, unless it is set; tell it, and return the Instance.

    Raises:
        CliError: the Instance is being deleted.
    """
    key = key_of(instance)
    if is_deleting(instance):
        raise CliError(f"instance {key} is being deleted: there is nothing to {upkeep.verb}")
    before = upkeep.requested_at(instance)
    if before:
        session.report.say(f"{upkeep.verb} of {key} instance was requested at {printable(before)}")
    else:
        instance = await _annotate(session, instance, upkeep)
        session.report.done(f"Requested {upkeep.verb} of {key} instance")
    session.report.show(instance)
    why = why_not_yet(instance)
    if why and not session.report.dry:
        talk(f"It is done later: {why}.")
    return instance


async def _annotate(session: Session, instance: JsonObject, upkeep: Upkeep) -> JsonObject:
    moment = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    metadata = instance["metadata"]
    # The uid makes the API server refuse another Instance that has this name by now.
    patch = {"metadata": {"uid": metadata["uid"], "annotations": {upkeep.annotation: moment}}}
    return await session.writes.merge_patch(INSTANCES, session.namespace, metadata["name"], patch)


def why_not_yet(instance: JsonObject) -> str:
    """Return why the reconciler does no upkeep now; empty if nothing holds it up."""
    if is_suspended(instance):
        return f"the instance is suspended (kubectl kudo resume {flags_of(key_of(instance))})"
    run = active(instance)
    return f"plan {run.plan} has to end first" if run is not None else ""


async def until_done(session: Session, instance: JsonObject, upkeep: Upkeep, *, limit: int) -> None:
    """Return when the reconciler has removed the annotation.

    After ctrl-C, as after a timeout, the request stays.

    Args:
        session: The connection.
        instance: As the request returned it.
        upkeep: What was requested.
        limit: Seconds to wait; 0 for no limit.

    Raises:
        CliError: the Instance was deleted meanwhile.
        TimedOut: the reconciler did not do it in time; the text says what holds it up.
    """
    key, seen = key_of(instance), instance
    stays = (
        f"The request stays.\nWait for it again: kubectl kudo {upkeep.verb} {flags_of(key)} --wait"
    )
    try:
        async with (
            asyncio.timeout(limit or None),
            aclosing(
                observe(session.client, session.namespace, seen["metadata"]["name"])
            ) as states,
        ):
            async for state in states:
                if state is None or state["metadata"]["uid"] != instance["metadata"]["uid"]:
                    raise CliError(f"instance {key} was deleted before {upkeep.verb} was done")
                seen = state
                if not upkeep.requested_at(seen):
                    return
    except TimeoutError:
        text = f"timed out waiting for the condition after {limit}s: {why_not_yet(seen) or _UNSEEN}"
        raise TimedOut(f"failed to wait on instance {key}: {text}\n{stays}") from None
    except asyncio.CancelledError:
        talk(f"\nStopped waiting for instance {key}. {stays}")
        raise


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
