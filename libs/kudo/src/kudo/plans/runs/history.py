"""Ended runs: the records in `status.history`, and the ends of runs read from raw JSON.

A record is part of the write that makes the entry of its run terminal, so it costs no write and
cannot be made twice.

`has_begun` and `ended_since` read JSON without models, since their callers read ten thousand
Instances at once, or one for each event. A field of another type than in the schema counts as
empty: one Instance that was stored before there was a schema must not end the process that watches
them all.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kudo.api import (
    ExecutionStatus,
    Instance,
    InstanceStatus,
    Json,
    JsonObject,
    PlanStatus,
    RunRecord,
)
from kudo.api.bounds import HISTORY
from kudo.plans.execution import StepRef, fail, status_of, steps_of_entry
from kudo.plans.runs.run_parameters import recorded

STOPPED = "stopped: Instance is being deleted"
"""The message of the entry of a run that the deletion of its Instance stopped."""
DEFAULT_LIMIT: Final = 10
_SUPERSEDED = "superseded by plan "
_END_UNKNOWN = " ended without a recorded result"
_TERMINAL = {str(status): status for status in ExecutionStatus if status.terminal}
_MESSAGE: Final = 200


def superseded_by(plan: str) -> str:
    """Return the message of the entry of a run in whose place a run of the plan came."""
    return f"{_SUPERSEDED}{plan}"


def end_unknown(plan: str) -> str:
    """Return the message of the entry of a run of the plan whose end nobody saw."""
    return f"execution of plan {plan}{_END_UNKNOWN}"


def never_ran(instance: Instance) -> bool:
    """Return whether no run of an Instance has a status, of whatever release."""
    has_uid = any(entry.uid for entry in instance.plan_status.values())
    return instance.status.last_run is None and not has_uid


# Records of ended runs


def with_history(instance: Instance, status: InstanceStatus, reason: str = "") -> InstanceStatus:
    """Return a status that is about to be stored, with a record of each run that it ends.

    Args:
        instance: The Instance as it is stored.
        status: The status to store.
        reason: Why the scheduled run failed, in one CamelCase word; other runs that end here were
            ended by it, or by the deletion, and their messages tell.
    """
    # The stored history and not that of `status`: a status that was computed before the last write
    # may lack the records of that write.
    stored, ended = instance.status.history, list(_ended(instance, status))
    if not ended:
        return status.model_copy(update={"history": stored}) if status.history != stored else status
    records = [_record(instance, status, entry, reason) for entry in ended]
    records.sort(key=lambda record: record.finished_at or "", reverse=True)
    limit = instance.spec.history_limit
    limit = DEFAULT_LIMIT if limit is None else max(0, min(HISTORY, limit))
    kept = [*records, *(stored or ())][:limit]
    return status.model_copy(update={"history": tuple(kept) or None})


def _ended(instance: Instance, status: InstanceStatus) -> Iterator[PlanStatus]:
    """Yield the entries of runs that have ended, and had not when the Instance was stored."""
    for name, entry in (status.plan_status or {}).items():
        stored = instance.plan_status.get(name)
        if stored is entry:
            continue
        if stored is not None and stored.uid and stored.uid != entry.uid:
            if status_of(stored).running:
                # A run of the same plan takes the entry: this is the last that is seen of the old
                # run, so it is recorded as superseded here.
                yield fail(stored, superseded_by(name), entry.started_at or "")
            stored = None
        if entry.uid and status_of(entry).terminal and not status_of(stored).terminal:
            yield entry


def _record(
    instance: Instance, status: InstanceStatus, entry: PlanStatus, reason: str
) -> RunRecord:
    # Of a run that another one replaces, what it began with is in the stored status alone.
    records = filter(None, (status.last_run, instance.status.last_run))
    last = next((record for record in records if record.uid == entry.uid), None)
    failed = status_of(entry) is ExecutionStatus.FATAL_ERROR
    step = _failed_step(entry) if failed else None
    run_parameters, left_out = recorded(entry.run_parameters)
    return RunRecord(
        plan=entry.name,
        uid=entry.uid or "",
        status=entry.status,
        reason=(_reason(instance, entry, reason) or None) if failed else None,
        message=_message(entry, step) if failed else None,
        started_at=entry.started_at,
        finished_at=entry.finished_at,
        suspended_seconds=entry.suspended_seconds,
        operator_version=last.version if last else None,
        cause=last.cause if last else None,
        failed_step=str(step) if step else None,
        configuration=last.configuration if last else None,
        run_parameters=run_parameters,
        run_parameters_left_out=left_out,
    )


def _reason(instance: Instance, entry: PlanStatus, reason: str) -> str:
    message = entry.message or ""
    if message.startswith(_SUPERSEDED):
        return "PlanSuperseded"
    if message == STOPPED:
        return "PlanStopped"
    if message.endswith(_END_UNKNOWN):
        return "PlanResultUnknown"
    return reason if entry.uid == instance.scheduled.uid else ""


def _failed_step(entry: PlanStatus) -> StepRef | None:
    """Return the step that failed, else the first one that had begun and was not finished."""
    for statuses in (
        {ExecutionStatus.FATAL_ERROR},
        {ExecutionStatus.ERROR, ExecutionStatus.IN_PROGRESS},
    ):
        for ref, step in steps_of_entry(entry):
            if step.status in statuses:
                return ref
    return None


def _message(entry: PlanStatus, failed_step: StepRef | None) -> str | None:
    text = entry.message
    if not text and failed_step is not None:
        text = next(step.message for ref, step in steps_of_entry(entry) if ref == failed_step)
    if text is None or len(text) <= _MESSAGE:
        return text or None
    return f"{text[: _MESSAGE - 4]} ..."


# Ends of runs in raw JSON


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


def has_begun(instance: JsonObject) -> bool:
    """Return whether the scheduled run of an Instance has a first status."""
    run = _object(_object(instance.get("spec")).get("planExecution"))
    entry = _entries(instance).get(_text(run.get("planName")), {})
    return bool(run.get("uid")) and entry.get("uid") == run["uid"]


def ended_since(instance: JsonObject, moment: str) -> list[EndedRun]:
    """Return the last run of an Instance and the runs that it replaced, if they ended recently.

    They come in the order of their ends. Left out is what KUDO 0.19 ran, whose entries lack that
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
    last_uid = _object(instance["status"].get("lastRun")).get("uid")
    late.sort(key=lambda end: end[:2])
    runs = []
    for _, plan, entry in late:
        uid, status = _text(entry.get("uid")), _TERMINAL.get(_text(entry.get("status")))
        message = _text(entry.get("message"))
        superseded = message.startswith(_SUPERSEDED)
        counts = uid == last_uid or superseded or message == STOPPED
        if uid and status is not None and counts and not message.endswith(_END_UNKNOWN):
            runs.append(EndedRun(plan, uid, status, superseded))
    return runs


def _entries(instance: JsonObject) -> dict[str, JsonObject]:
    entries = _object(_object(instance.get("status")).get("planStatus"))
    return {plan: entry for plan, entry in entries.items() if isinstance(entry, dict)}


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
