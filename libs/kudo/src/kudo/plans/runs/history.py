"""Writes `status.history`: a record of each run that has ended.

A record is part of the write that makes the entry of its run terminal, so it costs no write and
cannot be made twice.
"""

from collections.abc import Iterator
from typing import Final

from kudo.api import ExecutionStatus, Instance, InstanceStatus, LastRun, PlanStatus, RunRecord
from kudo.api.bounds import HISTORY
from kudo.plans.execution import StepRef, fail, status_of, steps_of_entry
from kudo.plans.runs.recorded import STOPPED, is_end_unknown, is_superseded, superseded_by

DEFAULT_LIMIT: Final = 10
_MESSAGE: Final = 200


def with_history(instance: Instance, status: InstanceStatus, reason: str = "") -> InstanceStatus:
    """Return a status that is about to be stored, with a record of each run that it ends.

    What it adds to is the stored history: a status that was computed before the last write may lack
    the records of that write.

    Args:
        instance: The Instance as it is stored.
        status: The status to store.
        reason: Why the scheduled run failed, in one CamelCase word; other runs that end here were
            ended by it, or by the deletion, and their messages tell.
    """
    known, ended = instance.status.history, list(_ended(instance, status))
    if not ended:
        return status.model_copy(update={"history": known}) if status.history != known else status
    records = [_record(instance, status, entry, reason) for entry in ended]
    records.sort(key=lambda record: record.finished_at or "", reverse=True)
    kept = [*records, *(known or ())][: _limit(instance)]
    return status.model_copy(update={"history": tuple(kept) or None})


def _limit(instance: Instance) -> int:
    limit = instance.spec.history_limit
    return DEFAULT_LIMIT if limit is None else max(0, min(HISTORY, limit))


def _ended(instance: Instance, status: InstanceStatus) -> Iterator[PlanStatus]:
    """Yield the entries of runs that have ended, and had not when the Instance was stored."""
    for name, entry in (status.plan_status or {}).items():
        stored = instance.plan_status.get(name)
        if stored is entry:
            continue
        if stored is not None and stored.uid and stored.uid != entry.uid:
            if status_of(stored).running:
                # A run of the same plan takes its entry.
                yield fail(stored, superseded_by(name), entry.started_at or "")
            stored = None
        if entry.uid and status_of(entry).terminal and not status_of(stored).terminal:
            yield entry


def _record(
    instance: Instance, status: InstanceStatus, entry: PlanStatus, reason: str
) -> RunRecord:
    last = _last_run(instance, status, entry.uid)
    failed = status_of(entry) is ExecutionStatus.FATAL_ERROR
    step = _failed_step(entry) if failed else None
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
    )


def _last_run(instance: Instance, status: InstanceStatus, uid: str | None) -> LastRun | None:
    """Return the record of what a run began with; of a replaced one it is the stored one."""
    for last in (status.last_run, instance.status.last_run):
        if last is not None and last.uid == uid:
            return last
    return None


def _reason(instance: Instance, entry: PlanStatus, reason: str) -> str:
    message = entry.message or ""
    if is_superseded(message):
        return "PlanSuperseded"
    if message == STOPPED:
        return "PlanStopped"
    if is_end_unknown(message):
        return "PlanResultUnknown"
    return reason if entry.uid == instance.scheduled.uid else ""


def _failed_step(entry: PlanStatus) -> StepRef | None:
    """Return the step that failed, else the first one that had begun and was not finished."""
    found = list(steps_of_entry(entry))
    for statuses in (
        {ExecutionStatus.FATAL_ERROR},
        {ExecutionStatus.ERROR, ExecutionStatus.IN_PROGRESS},
    ):
        for ref, step in found:
            if step.status in statuses:
                return ref
    return None


def _message(entry: PlanStatus, step: StepRef | None) -> str | None:
    text = entry.message
    if not text and step is not None:
        text = next(one.message for ref, one in steps_of_entry(entry) if ref == step)
    if text is None or len(text) <= _MESSAGE:
        return text or None
    return f"{text[: _MESSAGE - 4]} ..."
