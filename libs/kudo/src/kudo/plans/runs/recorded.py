"""Reads the runs of Instances from JSON, without parsing whole objects.

Callers that read ten thousand Instances at once, or one for each event, cannot afford models. A
field of another type than in the schema counts as empty: one Instance that was stored before there
was a schema must not end the process that watches them all.
"""

from dataclasses import dataclass

from kudo.api import ExecutionStatus, Instance, Json, JsonObject

_SUPERSEDED = "superseded by plan "
_END_UNKNOWN = " ended without a recorded result"
STOPPED = "stopped: Instance is being deleted"
"""The message of the entry of a run that the deletion of its Instance stopped."""
_TERMINAL = {str(status): status for status in ExecutionStatus if status.terminal}


@dataclass(frozen=True, slots=True)
class EndedRun:
    """A run that has ended.

    Attributes:
        superseded: Whether another run replaced it.
    """

    plan: str
    uid: str
    status: ExecutionStatus
    superseded: bool = False


def superseded_by(plan: str) -> str:
    """Return the message of the entry of a run in whose place a run of the plan came."""
    return f"{_SUPERSEDED}{plan}"


def end_unknown(plan: str) -> str:
    """Return the message of the entry of a run of the plan whose end nobody saw."""
    return f"execution of plan {plan}{_END_UNKNOWN}"


def is_superseded(message: str) -> bool:
    """Whether the message of an entry is that of `superseded_by`."""
    return message.startswith(_SUPERSEDED)


def is_end_unknown(message: str) -> bool:
    """Whether the message of an entry is that of `end_unknown`."""
    return message.endswith(_END_UNKNOWN)


def has_begun(instance: JsonObject) -> bool:
    """Return whether the scheduled run of an Instance has a first status."""
    run = _object(_object(instance.get("spec")).get("planExecution"))
    entry = _entries(instance).get(_text(run.get("planName")), {})
    return bool(run.get("uid")) and entry.get("uid") == run["uid"]


def never_ran(instance: Instance) -> bool:
    """Return whether no run of an Instance has a status, of whatever release."""
    known = any(entry.uid for entry in instance.plan_status.values())
    return instance.status.last_run is None and not known


def ended_since(instance: JsonObject, moment: str) -> list[EndedRun]:
    """Return the last run of an Instance and the runs that it replaced, if they ended recently.

    They come in the order of their ends. Left out is what the original ran, whose entries lack that
    time, and runs whose end nobody saw.

    Args:
        instance: The Instance.
        moment: From when on, in UTC and whole seconds as RFC 3339 has them in a status.
    """
    # Such times are compared as they are: they have the same length and order as their texts.
    late = [
        (entry["finishedAt"], plan, entry)
        for plan, entry in _entries(instance).items()
        if _text(entry.get("finishedAt")) >= moment
    ]
    if not late:
        return []
    last = _object(instance["status"].get("lastRun")).get("uid")
    late.sort(key=lambda found: found[:2])
    return [run for _, plan, entry in late if (run := _ended(plan, entry, last)) is not None]


def _ended(plan: str, entry: JsonObject, last: str | None) -> EndedRun | None:
    uid, status = _text(entry.get("uid")), _TERMINAL.get(_text(entry.get("status")))
    message = _text(entry.get("message"))
    superseded = is_superseded(message)
    counts = uid == last or superseded or message == STOPPED
    if not uid or status is None or not counts or is_end_unknown(message):
        return None
    return EndedRun(plan, uid, status, superseded)


def _entries(instance: JsonObject) -> dict[str, JsonObject]:
    found = _object(_object(instance.get("status")).get("planStatus"))
    return {plan: entry for plan, entry in found.items() if isinstance(entry, dict)}


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
