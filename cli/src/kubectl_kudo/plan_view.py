"""Shows the plans of an Instance as a tree, as `plan status` prints them.

The run that is in progress, or ran last, is shown from the status; all other plans from the
OperatorVersion as NOT ACTIVE. A run that is scheduled but was not taken up yet is shown as PENDING,
not with the outcome of the run before it.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

from kubectl_kudo.runs import PENDING, JsonObject, active, entries, last_executed, status_of
from kubectl_kudo.tree import Node

_INACTIVE = "NOT ACTIVE"


def shown_plan(instance: JsonObject) -> str | None:
    """Return the plan that is expanded; None if none is scheduled nor ever ran."""
    run = active(instance)
    return run.plan if run else last_executed(instance)


def headline(instance: JsonObject) -> str:
    name = instance["metadata"]["name"]
    return f'Plan(s) for "{name}" in namespace "{instance["metadata"]["namespace"]}":'


def plans_node(instance: JsonObject, plans: JsonObject) -> Node:
    """Return the tree below the headline.

    Args:
        instance: The Instance.
        plans: `spec.plans` of its OperatorVersion.
    """
    shown = shown_plan(instance) or ""
    version = (instance["spec"].get("operatorVersion") or {}).get("name", "")
    label = f'{instance["metadata"]["name"]} (Operator-Version: "{version}" Active-Plan: "{shown}")'
    names = sorted({*plans, *({shown} if shown else ())})
    return Node(label, [_plan(instance, name, plans.get(name) or {}, shown) for name in names])


def _plan(instance: JsonObject, name: str, plan: JsonObject, shown: str) -> Node:
    if name != shown:
        return _from_version(name, plan, _INACTIVE)
    run, entry = active(instance), entries(instance).get(name) or {}
    if run and (entry.get("uid") or "") != run.uid:
        return _from_version(name, plan, PENDING)
    return _from_status(name, plan, entry)


def _from_version(name: str, plan: JsonObject, status: str) -> Node:
    node = Node(f"Plan {name} ({_strategy(plan)} strategy) [{status}]")
    for phase in plan.get("phases") or []:
        steps = (Node(f"Step {step['name']} [{status}]") for step in phase.get("steps") or [])
        node.add(f"Phase {phase['name']} ({_strategy(phase)} strategy) [{status}]", steps)
    return node


def _from_status(name: str, plan: JsonObject, entry: JsonObject) -> Node:
    text = f"Plan {name} ({_strategy(plan)} strategy) {_state(entry)}"
    updated = local_time(entry.get("lastUpdatedTimestamp"))
    node = Node(f"{text}, last updated {updated}" if updated else text)
    for phase, declared in _with_declaration(entry.get("phases") or [], plan):
        steps = (Node(f"Step {step['name']} {_state(step)}") for step in phase.get("steps") or [])
        node.add(f"Phase {phase['name']} ({_strategy(declared)} strategy) {_state(phase)}", steps)
    return node


def _with_declaration(
    phases: Iterable[JsonObject], plan: JsonObject
) -> Iterator[tuple[JsonObject, JsonObject]]:
    """Yield each phase of a status with that of the same plan of the version."""
    declared = {phase["name"]: phase for phase in plan.get("phases") or []}
    for phase in phases:
        yield phase, declared.get(phase["name"]) or {}


def _strategy(declared: JsonObject) -> str:
    return declared.get("strategy") or "serial"


def _state(part: JsonObject) -> str:
    message = part.get("message")
    return f"[{status_of(part)}] ({message})" if message else f"[{status_of(part)}]"


def local_time(timestamp: str | None, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    """Return a time of the API in the local zone, as the original prints it."""
    if not timestamp:
        return ""
    try:
        moment = datetime.fromisoformat(timestamp)
    except ValueError:
        return timestamp
    return moment.astimezone().strftime(form)
