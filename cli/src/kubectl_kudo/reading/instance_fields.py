"""Fields of an Instance that several views show.

They are true also where no reconciler runs: a run that was scheduled and has not begun is PENDING.
"""

from kubectl_kudo.reading.runs import PENDING, active, entries, last_executed, status_of
from kubectl_kudo.session.output import JsonObject

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
    found = (instance.get("status") or {}).get("conditions") or []
    return next((one for one in found if one.get("type") == kind), {})


def owner_name(instance: JsonObject) -> str:
    """Return the name of the Instance that owns this one; empty if none does."""
    owners = instance["metadata"].get("ownerReferences") or []
    return next((str(one.get("name")) for one in owners if one.get("kind") == "Instance"), "")


def account_name(instance: JsonObject) -> str:
    """Return the service account that plans act as, as far as the Instance tells it."""
    run = (instance.get("status") or {}).get("lastRun") or {}
    spec = instance.get("spec") or {}
    return str(spec.get("serviceAccountName") or run.get("serviceAccountName") or "")


def orphans_of(instance: JsonObject) -> tuple[list[JsonObject], int]:
    """Return the orphans that the status names, and how many more there are."""
    status = instance.get("status") or {}
    return list(status.get("orphans") or ()), int(status.get("orphansLeftOut") or 0)
