"""Tells in one line how an Instance is: Ready and why, or what it waits for and since when."""

import re
from datetime import datetime
from typing import Final

from kubectl_kudo.reading.instance_state import (
    condition,
    held_up_by,
    is_deleting,
    not_in_force,
    suspension,
)
from kubectl_kudo.reading.plan_view import is_pending
from kubectl_kudo.reading.run_progress import running_tasks
from kubectl_kudo.reading.runs import (
    FATAL_ERROR,
    RunId,
    active,
    at_fault,
    current_part,
    entries,
    last_executed,
    message_of,
    status_of,
)
from kubectl_kudo.session.blocks import duration, printable, seconds_since
from kubectl_kudo.session.output import JsonObject
from kudo.objects import finalizers

NO_LEADER: Final = "no reconciler holds the Lease"
_POD: Final = re.compile(r"\bpod [-a-z0-9]+/(?=[-.a-z0-9]+: )")


def summary_line(
    instance: JsonObject, now: datetime, *, hindrance: str = "", brief: bool = False
) -> str:
    """Return the line, with the name of the Instance before a colon.

    Args:
        instance: The Instance.
        now: The time.
        hindrance: Why no run begins and no deletion ends; empty if that is not known.
        brief: Whether the message of the step is left out, since it is shown below.
    """
    state, message = _state(instance, now, hindrance)
    more = f": {message}" if message and not brief else ""
    return printable(f"{instance['metadata']['name']}: {state}{more}")


def is_held_up(instance: JsonObject) -> bool:
    """Return whether it waits for the reconciler: a run has not begun, or it is being deleted."""
    run = active(instance)
    return is_deleting(instance) or (run is not None and is_pending(instance, run.plan))


def is_settled(instance: JsonObject) -> bool:
    """Return whether it is Ready, no run has failed last, and none waits to begin."""
    ready = condition(instance).get("status") == "True"
    last = entries(instance).get(last_executed(instance) or "") or {}
    return ready and status_of(last) != FATAL_ERROR and not is_held_up(instance)


def _state(instance: JsonObject, now: datetime, hindrance: str) -> tuple[str, str]:
    """Return how it is, and the message of the step that it is at; empty if there is none."""
    run = active(instance)
    if is_deleting(instance):
        return _deletion(instance, run, now, hindrance)
    if pause := suspension(instance):
        return f"{pause}; plan {run.plan} waits" if run else pause, ""
    if run is not None:
        return _run(instance, run, now, hindrance)
    plan = last_executed(instance) or ""
    entry = entries(instance).get(plan) or {}
    if status_of(entry) == FATAL_ERROR:
        part, message = at_fault(plan, entry)
        ago = _since(entry.get("lastUpdatedTimestamp"), now, " {} ago")
        return f"plan {plan} failed{ago} at {_within(plan, part)}", _essence(message)
    return _readiness(instance, now), ""


def _deletion(
    instance: JsonObject, run: RunId | None, now: datetime, hindrance: str
) -> tuple[str, str]:
    metadata = instance["metadata"]
    text = f"being deleted{_since(metadata.get('deletionTimestamp'), now, ' for {}')}"
    if run is not None and not is_pending(instance, run.plan):
        state, message = _run(instance, run, now, hindrance)
        return f"{text}: {state}", message
    if foreign := finalizers.foreign(metadata.get("finalizers") or []):
        return f"{text}: held by finalizer {finalizers.described(foreign)}", ""
    if metadata.get("finalizers") == [finalizers.FOREGROUND]:
        return f"{text}: waits until its objects are deleted", ""
    return f"{text}: {hindrance or 'waits for the reconciler'}", ""


def _run(instance: JsonObject, run: RunId, now: datetime, hindrance: str) -> tuple[str, str]:
    entry = entries(instance).get(run.plan) or {}
    if is_pending(instance, run.plan):
        ago = _since(_scheduled_at(instance), now, " {} ago")
        cause = hindrance or held_up_by(instance)
        why = f": {cause}" if cause else ""
        return f"plan {run.plan} scheduled{ago} and not begun{why}", ""
    part, state = current_part(run.plan, entry)
    tasks = [task for task in running_tasks(instance) if task.step == part]
    started = [str(task.state["startedAt"]) for task in tasks]
    since = _since(min(started, default=entry.get("startedAt")), now, " for {}")
    message = message_of(state)
    does = "waits" if message else "runs"
    at = f" at {_within(run.plan, part)}" if part != run.plan else ""
    return f"plan {run.plan} {does}{since}{at}", _essence(message)


def _readiness(instance: JsonObject, now: datetime) -> str:
    ready = condition(instance)
    if not ready:
        return "no plan has run yet"
    reason, message = ready.get("reason"), message_of(ready)
    if ready.get("status") != "True":
        since = _since(ready.get("lastTransitionTime"), now, " for {}")
        return f"not ready{since}: {reason}" + (f": {message}" if message else "")
    waiting = not_in_force(instance)
    return f"Ready ({reason})" + (f"; not in force: {waiting}" if waiting else "")


def _essence(message: str) -> str:
    """Return a message from the pod that it blames."""
    blamed = _POD.search(message)
    return f"pod {message[blamed.end() :]}" if blamed else message


def _within(plan: str, part: str) -> str:
    return part.removeprefix(f"{plan}.")


def _since(moment: object, now: datetime, form: str) -> str:
    """Return how long ago a time of the API was, in a form; empty if it is unknown."""
    seconds = seconds_since(str(moment or ""), now)
    return "" if seconds is None else form.format(duration(seconds))


def _scheduled_at(instance: JsonObject) -> str:
    """Return when the run that is scheduled was, by what the API server has on record."""
    metadata = instance["metadata"]
    # No field has the time. The API server notes who last changed the uid of the run, and when.
    times = [
        str(manager.get("time") or "")
        for manager in metadata.get("managedFields") or []
        if "f:uid" in _field(_field(manager.get("fieldsV1"), "f:spec"), "f:planExecution")
    ]
    # Of a run that the reconciler was told of otherwise there is no time but for the first one.
    first = "" if entries(instance) else str(metadata.get("creationTimestamp") or "")
    return max(times, default=first)


def _field(fields: object, name: str) -> JsonObject:
    field = fields.get(name) if isinstance(fields, dict) else None
    return field if isinstance(field, dict) else {}
