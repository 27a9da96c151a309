"""Shows the plans of an Instance as a tree, as `plan status` prints them.

The run that is in progress, or ran last, is shown from the status; all other plans from the
OperatorVersion as NOT ACTIVE. A run that is scheduled but has not begun is shown as PENDING, not
with the outcome of the run before it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from kubectl_kudo.core.tree import Node
from kubectl_kudo.state.runs import PENDING, JsonObject, active, entries, last_executed, status_of

_INACTIVE = "NOT ACTIVE"

Below = Mapping[tuple[str, str], Sequence[Node]]
"""What is shown below a step, by the names of its phase and itself."""
_NOTHING: Below = {}


def shown_plan(instance: JsonObject) -> str | None:
    """Return the plan that is expanded; None if none is scheduled nor ever ran."""
    run = active(instance)
    return run.plan if run else last_executed(instance)


def headline(instance: JsonObject) -> str:
    name = instance["metadata"]["name"]
    return f'Plan(s) for "{name}" in namespace "{instance["metadata"]["namespace"]}":'


def plans_node(instance: JsonObject, plans: JsonObject, below: Below = _NOTHING) -> Node:
    """Return the tree below the headline.

    Args:
        instance: The Instance.
        plans: `spec.plans` of its OperatorVersion.
        below: What is shown below steps of the plan that is expanded.
    """
    shown = shown_plan(instance) or ""
    names = sorted({*plans, *({shown} if shown else ())})
    return Node(
        label(instance),
        [
            shown_node(instance, plans, below)
            if name == shown
            else _from_version(name, plans.get(name) or {}, _INACTIVE, _NOTHING)
            for name in names
        ],
    )


def label(instance: JsonObject) -> str:
    """Return the line that stands above the plans of an Instance."""
    name, shown = instance["metadata"]["name"], shown_plan(instance) or ""
    version = (instance["spec"].get("operatorVersion") or {}).get("name", "")
    return f'{name} (Operator-Version: "{version}" Active-Plan: "{shown}")'


def shown_node(instance: JsonObject, plans: JsonObject, below: Below = _NOTHING) -> Node:
    """Return the plan that is expanded; there must be one."""
    name = shown_plan(instance) or ""
    plan = plans.get(name) or {}
    run, entry = active(instance), entries(instance).get(name) or {}
    if run and (entry.get("uid") or "") != run.uid:
        return _from_version(name, plan, PENDING, below)
    return _from_status(name, plan, entry, below)


def _from_version(name: str, plan: JsonObject, status: str, below: Below) -> Node:
    node = Node(f"Plan {name} ({_strategy(plan)} strategy) [{status}]")
    for phase in plan.get("phases") or []:
        steps = (
            Node(f"Step {step['name']} [{status}]", _at(below, phase, step))
            for step in phase.get("steps") or []
        )
        node.add(f"Phase {phase['name']} ({_strategy(phase)} strategy) [{status}]", steps)
    return node


def _at(below: Below, phase: JsonObject, step: JsonObject) -> list[Node]:
    return list(below.get((phase["name"], step["name"]), ()))


def _from_status(name: str, plan: JsonObject, entry: JsonObject, below: Below) -> Node:
    text = f"Plan {name} ({_strategy(plan)} strategy) {_state(entry)}"
    updated = local_time(entry.get("lastUpdatedTimestamp"))
    node = Node(f"{text}, last updated {updated}" if updated else text)
    for phase, declared in _with_declaration(entry.get("phases") or [], plan):
        steps = (
            Node(f"Step {step['name']} {_state(step)}", _at(below, phase, step))
            for step in phase.get("steps") or []
        )
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
    """Return a time of the API in the local zone, as KUDO 0.19 prints it."""
    if not timestamp:
        return ""
    try:
        moment = datetime.fromisoformat(timestamp)
    except ValueError:
        return timestamp
    return moment.astimezone().strftime(form)
