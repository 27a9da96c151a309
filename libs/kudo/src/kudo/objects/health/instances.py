"""Health of child Instances that a plan applies."""

from kudo.api import ExecutionStatus, JsonObject
from kudo.objects.health.generic import is_current
from kudo.objects.health.reading import (
    condition,
    count,
    generation,
    is_true,
    items,
    mapping,
    own_message,
    spec,
    status,
    text,
    where,
)
from kudo.objects.health.result import HEALTHY, Health, failed, waiting
from kudo.plans.runs import conditions

_COMPLETE, _FATAL_ERROR = ExecutionStatus.COMPLETE.value, ExecutionStatus.FATAL_ERROR.value


def instance(obj: JsonObject) -> Health:
    """Healthy if nothing runs, the status is up to date, and the last run succeeded.

    A last run that ended in FATAL_ERROR is terminal, and so is an Instance that its controller
    refuses to run: neither goes on until somebody changes something.
    """
    scheduled = mapping(spec(obj).get("planExecution"))
    if text(scheduled.get("planName")):
        return _active(obj, scheduled)
    if count(status(obj).get("observedGeneration")) < max(generation(obj), 1):
        return _waiting(obj, "is not healthy: Waiting for spec update to be observed...")
    last = _last_run(obj)
    state = text(last.get("status"))
    if state == _FATAL_ERROR:
        plan = f"plan {text(last.get('name'))} ended with {_FATAL_ERROR}"
        return failed(": ".join(filter(None, (f"instance {where(obj)} {plan}", _failure(last)))))
    stalled = condition(obj, conditions.STALLED)
    if is_true(stalled) and is_current(obj, stalled):
        return failed(f"instance {where(obj)} has failed terminally: {own_message(stalled)}")
    if state == _COMPLETE:
        return HEALTHY
    return _waiting(obj, f"active plan is in state {state or ExecutionStatus.NEVER_RUN.value}")


def failed_plan(obj: JsonObject) -> str:
    """Return the plan whose run was the last of an Instance and failed; empty if it did not."""
    last = _last_run(obj)
    return text(last.get("name")) if last.get("status") == _FATAL_ERROR else ""


def _active(obj: JsonObject, scheduled: JsonObject) -> Health:
    entry = _entry(obj, scheduled.get("planName"))
    source = entry if entry.get("uid") == scheduled.get("uid") else scheduled
    state = text(source.get("status")) or ExecutionStatus.NEVER_RUN.value
    plan = text(scheduled.get("planName"))
    return _waiting(obj, f"active plan is in state {state} (plan {plan})")


def _last_run(obj: JsonObject) -> JsonObject:
    """Return the entry of the last run, or an empty one.

    The original did not write down which run was the last; then it is the entry with the latest
    time, which sorts as text. The record of what it left is of no run.
    """
    last = mapping(status(obj).get("lastRun"))
    if text(last.get("plan")):
        entry = _entry(obj, last.get("plan"))
        return entry if entry.get("uid") == last.get("uid") else {}
    entries = items(list(mapping(status(obj).get("planStatus")).values()))
    return max(entries, key=lambda entry: text(entry.get("lastUpdatedTimestamp")), default={})


def _entry(obj: JsonObject, plan: object) -> JsonObject:
    return mapping(mapping(status(obj).get("planStatus")).get(text(plan)))


def _failure(entry: JsonObject) -> str:
    """Return why a run failed: the message of the plan, or of its failed step."""
    steps = [step for phase in items(entry.get("phases")) for step in items(phase.get("steps"))]
    told = [entry, *(step for step in steps if step.get("status") == _FATAL_ERROR)]
    return next(filter(None, (text(one.get("message")) for one in told)), "")


def _waiting(obj: JsonObject, what: str) -> Health:
    return waiting(f"instance {where(obj)} {what}")
