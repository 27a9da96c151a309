"""Asks for maintenance of an Instance by an annotation, which the reconciler removes when done."""

import asyncio
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime

from kubectl_kudo.reading.instance_state import flags_of, is_deleting, is_suspended
from kubectl_kudo.reading.runs import active, key_of
from kubectl_kudo.screens.waiting import TimedOut, observe
from kubectl_kudo.session.blocks import printable
from kubectl_kudo.session.errors import CliError
from kubectl_kudo.session.kinds import INSTANCES
from kubectl_kudo.session.output import JsonObject, talk
from kubectl_kudo.session.session import Session

_UNSEEN = "the reconciler of KUDO has not done it yet; is it running?"


@dataclass(frozen=True, slots=True)
class Maintenance:
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

    async def request(self, session: Session, instance: JsonObject) -> JsonObject:
        """Set the annotation, unless it is set; say so, and return the Instance.

        Raises:
            CliError: the Instance is being deleted.
        """
        key, metadata, report = key_of(instance), instance["metadata"], session.report
        if is_deleting(instance):
            raise CliError(f"instance {key} is being deleted: there is nothing to {self.verb}")
        before = self.requested_at(instance)
        if before:
            report.say(f"{self.verb} of {key} instance was requested at {printable(before)}")
        else:
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            # The uid makes the API server refuse another Instance that has this name by now.
            patch = {"metadata": {"uid": metadata["uid"], "annotations": {self.annotation: now}}}
            instance = await session.writes.merge_patch(
                INSTANCES, session.namespace, metadata["name"], patch
            )
            report.done(f"Requested {self.verb} of {key} instance")
        report.show(instance)
        why = _why_not_yet(instance)
        if why and not report.dry:
            talk(f"It is done later: {why}.")
        return instance

    async def until_done(self, session: Session, instance: JsonObject, *, limit: int) -> None:
        """Return when the reconciler has removed the annotation.

        After ctrl-C, as after a timeout, the request stays.

        Args:
            session: The connection.
            instance: As the request returned it.
            limit: Seconds to wait; 0 for no limit.

        Raises:
            CliError: the Instance was deleted meanwhile.
            TimedOut: the reconciler did not do it in time; the text says what holds it up.
        """
        key, latest = key_of(instance), instance
        again = f"kubectl kudo {self.verb} {flags_of(key)} --wait"
        stays = f"The request stays.\nWait for it again: {again}"
        states = observe(session.client, session.namespace, instance["metadata"]["name"])
        try:
            async with asyncio.timeout(limit or None), aclosing(states):
                async for state in states:
                    if state is None or state["metadata"]["uid"] != instance["metadata"]["uid"]:
                        raise CliError(f"instance {key} was deleted before {self.verb} was done")
                    latest = state
                    if not self.requested_at(latest):
                        return
        except TimeoutError:
            why = _why_not_yet(latest) or _UNSEEN
            text = f"timed out waiting for the condition after {limit}s: {why}"
            raise TimedOut(f"failed to wait on instance {key}: {text}\n{stays}") from None
        except asyncio.CancelledError:
            talk(f"\nStopped waiting for instance {key}. {stays}")
            raise


def _why_not_yet(instance: JsonObject) -> str:
    """Return why the reconciler does no maintenance now; empty if nothing holds it up."""
    if is_suspended(instance):
        return f"the instance is suspended (kubectl kudo resume {flags_of(key_of(instance))})"
    run = active(instance)
    # A run writes the record and the objects that maintenance is about.
    return f"plan {run.plan} has to end first" if run is not None else ""
