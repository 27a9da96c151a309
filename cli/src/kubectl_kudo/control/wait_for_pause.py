"""Waits until the reconciler has seen that Instances are suspended, and sends nothing more."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

from kubectl_kudo.core.errors import CliError
from kubectl_kudo.core.output import JsonObject, talk
from kubectl_kudo.core.session import Session
from kubectl_kudo.state.next_commands import flags_of
from kubectl_kudo.state.observe import observe
from kubectl_kudo.state.outcome import Outcome, State
from kubectl_kudo.state.runs import key_of
from kubectl_kudo.state.suspension import is_deleting, is_suspended
from kubectl_kudo.state.waiting import TimedOut

_UNSEEN = "the reconciler of KUDO has not seen the pause yet; is it running?"


async def wait_for_pauses(session: Session, instances: Sequence[JsonObject], *, limit: int) -> None:
    """Return when the status of each Instance says that it is suspended; tell of each.

    After ctrl-C, as after a timeout, all of them stay suspended.

    Args:
        session: The connection.
        instances: Suspended Instances.
        limit: Seconds to wait for all of them; 0 for no limit.

    Raises:
        CliError: one was resumed or deleted meanwhile.
        TimedOut: the reconciler did not see all of them in time.
    """
    key = ""
    try:
        async with asyncio.timeout(limit or None):
            for instance in instances:
                key = key_of(instance)
                await _wait(session, key, instance["metadata"]["uid"])
                session.report.say(f"instance {key} is suspended: nothing more is sent")
    except TimeoutError:
        text = f"timed out waiting for the condition after {limit}s: {_UNSEEN}"
        raise TimedOut(f"failed to wait on instance {key}: {text}\n{_stays(key)}") from None
    except asyncio.CancelledError:
        talk(f"\nStopped waiting for instance {key}. {_stays(key)}")
        raise


async def _wait(session: Session, key: str, uid: str) -> None:
    namespace, _, name = key.partition("/")
    async with aclosing(observe(session.client, namespace, name)) as states:
        async for instance in states:
            outcome = outcome_of_pause(key, uid, instance)
            if outcome.state is State.FAILED:
                raise CliError(outcome.text)
            if outcome.state is State.DONE:
                return


def outcome_of_pause(key: str, uid: str, instance: JsonObject | None) -> Outcome:
    """Return whether the reconciler has seen that an Instance is suspended.

    Args:
        key: `namespace/name`, for messages.
        uid: Uid of the Instance; another one of the same name does not count.
        instance: Its present state; None if there is none.
    """
    if instance is None or instance["metadata"]["uid"] != uid:
        return Outcome(State.FAILED, f"instance {key} was deleted while waiting for its pause")
    if is_deleting(instance):
        return Outcome(State.FAILED, f"instance {key} is being deleted, which no pause holds up")
    if not is_suspended(instance):
        return Outcome(State.FAILED, f"instance {key} was resumed while waiting for its pause")
    # It is removed before anything is sent after a pause, so it is never that of an earlier one.
    seen = bool((instance.get("status") or {}).get("suspendedAt"))
    return Outcome(State.DONE) if seen else Outcome(State.WAITING, _UNSEEN)


def _stays(key: str) -> str:
    see = f"kubectl kudo plan status {flags_of(key)}"
    return f"The instance stays suspended.\nSee whether the reconciler has seen it: {see}"
