"""The `spec.planExecution` that mutation writes: a new run, the stored one, or a cancelled one.

Who asked for a run and who cancelled it is what the request says of its user, never what was
submitted.
"""

from kudo.admission.change import Change
from kudo.api import ExecutionStatus, JsonObject, PlanExecution, new_run
from kudo.plans.runs.plan_choice import IDLE

_MARKS = frozenset({"cancelledBy", "requestedBy", "retryOf", "from"})
"""Fields of a run that mutation writes or that only a new run may have."""


def scheduled(plan: str, uid: str, username: str, retry: PlanExecution | None = None) -> JsonObject:
    """Return a new run, with who asked for it and what it is a retry of."""
    return _requested(new_run(plan, uid, retry), username)


def _requested(run: JsonObject, username: str) -> JsonObject:
    return {**run, "requestedBy": username} if username else run


def settled(change: Change) -> JsonObject:
    """Return the planExecution of a request that runs nothing: as stored, or empty."""
    if change.active is not None or change.new.scheduled.plan_name:
        return change.old.scheduled.to_wire()
    return {}


def cancelled(change: Change, username: str) -> JsonObject:
    """Return the stored run, marked as cancelled by the first user who asked for it."""
    stored = change.old.scheduled
    if stored.status == ExecutionStatus.FATAL_ERROR:
        return stored.to_wire()
    by = {"cancelledBy": username} if username else {}
    kept = {key: value for key, value in stored.to_wire().items() if key != "cancelledBy"}
    return {**kept, "status": str(ExecutionStatus.FATAL_ERROR), **by}


def by_hand(scheduled: PlanExecution, username: str) -> JsonObject:
    """Return a run that was named by hand, as no retry, and not cancelled.

    Nobody can have asked for its end yet.
    """
    run = _unmarked(scheduled)
    if scheduled.status == ExecutionStatus.FATAL_ERROR or scheduled.cancelled_by:
        run.pop("status", None)
    return _requested(run, username)


def has_other_marks(change: Change) -> bool:
    """Return whether a submitted run is marked otherwise than it would be stored."""
    return _marks(change.new.scheduled) != _marks(_of_the_run(change))


def marked_as_stored(change: Change) -> JsonObject:
    """Return what was submitted, marked as the run is that is stored, if it is that one."""
    return _unmarked(change.new.scheduled) | _marks(_of_the_run(change))


def _of_the_run(change: Change) -> PlanExecution:
    return change.old.scheduled if change.keeps_the_run else IDLE


def _unmarked(scheduled: PlanExecution) -> JsonObject:
    return {name: value for name, value in scheduled.to_wire().items() if name not in _MARKS}


def _marks(scheduled: PlanExecution) -> JsonObject:
    return {name: value for name, value in scheduled.to_wire().items() if name in _MARKS}
