"""Tells which parameters of an Instance are stored and not in force, and what brings them there."""

from typing import Any

from kubectl_kudo.reading.next_commands import flags_of
from kubectl_kudo.reading.runs import (
    FATAL_ERROR,
    JsonObject,
    active,
    entries,
    key_of,
    last_executed,
    status_of,
)
from kubectl_kudo.session.cells import printable

_MOST_NAMES = 5


def pending(instance: JsonObject) -> JsonObject:
    """Return `status.notInForce`; empty if all is in force, or the Instance is being deleted."""
    if "deletionTimestamp" in instance["metadata"]:
        return {}
    found: dict[str, Any] = (instance.get("status") or {}).get("notInForce") or {}
    return found


def is_due(instance: JsonObject) -> bool:
    """Return whether the reconciler is about to schedule the plan of what is not in force."""
    waits = pending(instance).get("plan") and active(instance) is None
    return bool(waits) and not _failed_plan(instance)


def not_in_force(instance: JsonObject) -> str:
    """Return the parameters that are not in force, and why; empty if there are none."""
    found = pending(instance)
    if not found:
        return ""
    names = [printable(str(name)) for name in found.get("parameters") or ()]
    more = len(names[_MOST_NAMES:]) + int(found.get("parametersLeftOut") or 0)
    shown = f"{', '.join(names[:_MOST_NAMES])}{f' and {more} more' if more else ''}"
    return f"{shown} ({_why(instance, printable(str(found.get('plan') or '')))})"


def _why(instance: JsonObject, plan: str) -> str:
    run, failed, flags = active(instance), _failed_plan(instance), flags_of(key_of(instance))
    if run is not None and plan and plan != run.plan:
        return f"plan {plan} runs when plan {printable(run.plan)} is COMPLETE"
    if run is not None:
        return f"plan {printable(run.plan)} is scheduled"
    if not plan:
        return "Ready says what forbids it"
    if failed:
        return (
            f"plan {plan} waits, since plan {printable(failed)} failed; retry that: kubectl kudo "
            f"plan retry {flags}, or run kubectl kudo plan trigger --name {plan} {flags}"
        )
    return f"plan {plan} is about to run"


def _failed_plan(instance: JsonObject) -> str:
    """Return the plan that ran last if it failed; empty if it did not."""
    plan = last_executed(instance) or ""
    return plan if status_of(entries(instance).get(plan) or {}) == FATAL_ERROR else ""
