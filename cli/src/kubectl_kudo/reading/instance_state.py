"""Fields of an Instance that several views show, and the commands that messages about it name.

They are true also where no reconciler runs: a run that was scheduled and has not begun is PENDING.
"""

from collections.abc import Callable
from typing import Final

from kubectl_kudo.reading.runs import (
    FATAL_ERROR,
    PENDING,
    active,
    entries,
    key_of,
    last_executed,
    status_of,
)
from kubectl_kudo.session.blocks import local_time, printable
from kubectl_kudo.session.output import JsonObject


def flags_of(key: str) -> str:
    """Return the flags that name the Instance with a `namespace/name`."""
    namespace, _, name = key.partition("/")
    return f"--instance {name} -n {namespace}"


def see_why(key: str) -> str:
    """Return the line that names the command which tells why an Instance is not ready."""
    namespace, _, name = key.partition("/")
    return f"See why: kubectl kudo why {name} -n {namespace}"


Key = tuple[str, str]
"""Namespace and name of an object."""


def version_key(instance: JsonObject) -> Key:
    """Return namespace and name of the OperatorVersion that an Instance names."""
    named = (instance.get("spec") or {}).get("operatorVersion") or {}
    return named.get("namespace") or instance["metadata"]["namespace"], named.get("name") or ""


def last_plan(instance: JsonObject) -> tuple[str, str]:
    """Return the plan that runs or ran last, and its state; both empty if none ever did."""
    run = active(instance)
    plan = run.plan if run else last_executed(instance)
    if plan is None:
        return "", ""
    entry = entries(instance).get(plan) or {}
    if run is not None and (entry.get("uid") or "") != run.uid:
        return plan, PENDING
    return plan, status_of(entry)


def condition(instance: JsonObject, kind: str = "Ready") -> JsonObject:
    """Return a condition of an Instance, empty if it has none of that type."""
    conditions = (instance.get("status") or {}).get("conditions") or []
    return next((each for each in conditions if each.get("type") == kind), {})


def owner_name(instance: JsonObject) -> str:
    """Return the name of the Instance that owns this one; empty if none does."""
    owners = instance["metadata"].get("ownerReferences") or []
    return next((str(each.get("name")) for each in owners if each.get("kind") == "Instance"), "")


def account_name(instance: JsonObject) -> str:
    """Return the service account that plans act as, as far as the Instance tells it."""
    run = (instance.get("status") or {}).get("lastRun") or {}
    spec = instance.get("spec") or {}
    return str(spec.get("serviceAccountName") or run.get("serviceAccountName") or "")


def orphans_of(instance: JsonObject) -> tuple[list[JsonObject], int]:
    """Return the orphans that the status names, and how many more there are."""
    status = instance.get("status") or {}
    return list(status.get("orphans") or ()), int(status.get("orphansLeftOut") or 0)


MEANING = "what was sent is observed, nothing more is sent"


def is_deleting(instance: JsonObject) -> bool:
    return "deletionTimestamp" in instance["metadata"]


def is_suspended(instance: JsonObject) -> bool:
    """Return whether nothing may be sent for its runs; a deletion ends the pause."""
    return bool((instance.get("spec") or {}).get("suspend")) and not is_deleting(instance)


def suspension(instance: JsonObject, form: Callable[[str], str] = local_time) -> str:
    """Return since when an Instance is suspended and how to resume it; empty if it is not.

    Args:
        instance: The Instance.
        form: How the time is told.
    """
    if not is_suspended(instance):
        return ""
    flags = flags_of(key_of(instance))
    moment = (instance.get("status") or {}).get("suspendedAt")
    # The reconciler writes the time when it first sees the pause.
    since = f" since {form(moment)}" if moment else "; the reconciler has not seen it yet"
    return f"suspended{since} (kubectl kudo resume {flags})"


_HELD: Final = frozenset(
    {
        *("ParameterSourceMissing", "ParameterSourceForbidden", "ParameterSourceUnusable"),
        *("DigestKeyMissing", "ServiceAccountNotFound", "UnknownFields"),
    }
)
"""Reasons of Ready while a run is held; `kudo.plans.runs.conditions` has them, but loads models."""


def held_up_by(instance: JsonObject) -> str:
    """Return what the scheduled run is held by, as the reconciler says; empty if it is not."""
    ready = condition(instance)
    waits = ready.get("reason") in _HELD and ready.get("status") == "False"
    scheduled = ((instance.get("spec") or {}).get("planExecution") or {}).get("planName")
    return str(ready.get("message") or "") if waits and scheduled else ""


_MOST_NAMES = 5


def pending(instance: JsonObject) -> JsonObject:
    """Return `status.notInForce`; empty if all is in force, or the Instance is being deleted."""
    if is_deleting(instance):
        return {}
    field: JsonObject = (instance.get("status") or {}).get("notInForce") or {}
    return field


def is_due(instance: JsonObject) -> bool:
    """Return whether the reconciler is about to schedule the plan of what is not in force."""
    waits = pending(instance).get("plan") and active(instance) is None
    return bool(waits) and not _failed_plan(instance)


def not_in_force(instance: JsonObject) -> str:
    """Return the parameters that are not in force, and why; empty if there are none."""
    field = pending(instance)
    if not field:
        return ""
    names = [printable(str(name)) for name in field.get("parameters") or ()]
    more = len(names[_MOST_NAMES:]) + int(field.get("parametersLeftOut") or 0)
    shown = f"{', '.join(names[:_MOST_NAMES])}{f' and {more} more' if more else ''}"
    plan = printable(str(field.get("plan") or ""))
    run, failed, flags = active(instance), _failed_plan(instance), flags_of(key_of(instance))
    if run is not None and plan and plan != run.plan:
        why = f"plan {plan} runs when plan {printable(run.plan)} is COMPLETE"
    elif run is not None:
        why = f"plan {printable(run.plan)} is scheduled"
    elif not plan:
        why = "Ready says what forbids it"
    elif failed:
        # Nothing follows a failed run by itself: it would run on what that one left half done.
        why = (
            f"plan {plan} waits, since plan {printable(failed)} failed; retry that: kubectl kudo "
            f"plan retry {flags}, or run kubectl kudo plan trigger --name {plan} {flags}"
        )
    else:
        why = f"plan {plan} is about to run"
    return f"{shown} ({why})"


def _failed_plan(instance: JsonObject) -> str:
    """Return the plan that ran last if it failed; empty if it did not."""
    plan = last_executed(instance) or ""
    return plan if status_of(entries(instance).get(plan) or {}) == FATAL_ERROR else ""
