"""Shows the plans of an Instance as a tree, as `plan status` prints them.

The run that is in progress, or ran last, is shown from the status, and above all others. A run that
is scheduled but has not begun is shown as PENDING, not with the outcome of the run before it. Other
plans that have run take one line each, and those that never ran one line together.

`--all` shows the plans as KUDO 0.19 did: sorted by name, those that are not active from the
OperatorVersion.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kubectl_kudo.core.cells import local_time, printable
from kubectl_kudo.core.tree import Node
from kubectl_kudo.state.not_in_force import not_in_force
from kubectl_kudo.state.runs import (
    NEVER_RUN,
    PENDING,
    JsonObject,
    active,
    entries,
    last_executed,
    message_of,
    run_facts,
    status_of,
)
from kubectl_kudo.state.suspension import suspension

_INACTIVE = "NOT ACTIVE"

Below = Mapping[tuple[str, str], Sequence[Node]]
"""What is shown below a step, by the names of its phase and itself."""
NOTHING_BELOW: Below = {}


def shown_plan(instance: JsonObject) -> str | None:
    """Return the plan that matters; None if none is scheduled nor ever ran."""
    run = active(instance)
    return run.plan if run else last_executed(instance)


def headline(instance: JsonObject) -> str:
    name = instance["metadata"]["name"]
    return f'Plan(s) for "{name}" in namespace "{instance["metadata"]["namespace"]}":'


def label(instance: JsonObject) -> str:
    """Return the line that stands above the plans of an Instance."""
    name, shown = instance["metadata"]["name"], shown_plan(instance) or ""
    version = (instance["spec"].get("operatorVersion") or {}).get("name", "")
    return f'{name} (Operator-Version: "{version}" Active-Plan: "{shown}")'


def instance_node(instance: JsonObject) -> Node:
    """Return the line of an Instance; below it its account, its pause, and what is not in force."""
    account = (instance.get("spec") or {}).get("serviceAccountName")
    acting = f"acts as service account {account}" if account else ""
    waiting = not_in_force(instance)
    texts = filter(
        None, (acting, suspension(instance), f"not in force: {waiting}" if waiting else "")
    )
    return Node(label(instance), [Node(capitalised(text)) for text in texts])


def capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def plans_node(instance: JsonObject, plans: JsonObject, below: Below = NOTHING_BELOW) -> Node:
    """Return the tree below the headline: the plan that matters, and all others folded.

    Args:
        instance: The Instance.
        plans: `spec.plans` of its OperatorVersion.
        below: What is shown below steps of the plan that is expanded.
    """
    node = instance_node(instance)
    if shown_plan(instance) is not None:
        node.children.append(shown_node(instance, plans, below))
    node.children += [Node(text) for text in other_plans(instance, plans)]
    return node


def other_plans(instance: JsonObject, plans: JsonObject) -> list[str]:
    """Return a line for each other plan that has run, and one for those that never did."""
    known, shown = entries(instance), shown_plan(instance)
    others = sorted({*plans, *known} - {shown})
    ran = [name for name in others if status_of(known.get(name) or {}) != NEVER_RUN]
    never = [name for name in others if name not in ran and name in plans]
    lines = [_plan_line(instance, name, plans.get(name) or {}, known[name]) for name in ran]
    return [*lines, *([f"Never run: {', '.join(never)}"] if never else [])]


def plan_node(
    instance: JsonObject, plans: JsonObject, name: str, below: Below = NOTHING_BELOW
) -> Node:
    """Return the tree below the headline with one plan alone.

    Args:
        instance: The Instance.
        plans: `spec.plans` of its OperatorVersion.
        name: The plan; the OperatorVersion or the status has it.
        below: What is shown below steps of the plan that matters.
    """
    node = instance_node(instance)
    plan, entry = plans.get(name) or {}, entries(instance).get(name) or {}
    if name == shown_plan(instance):
        node.children.append(shown_node(instance, plans, below))
    elif status_of(entry) == NEVER_RUN:
        node.children.append(_from_version(name, plan, NEVER_RUN, NOTHING_BELOW))
    else:
        node.children.append(_from_status(instance, name, plan, NOTHING_BELOW))
    return node


def original_node(instance: JsonObject, plans: JsonObject) -> Node:
    """Return the tree below the headline as KUDO 0.19 prints it."""
    shown = shown_plan(instance) or ""
    names = sorted({*plans, *({shown} if shown else ())})
    node = instance_node(instance)
    node.children += [
        shown_node(instance, plans)
        if name == shown
        else _from_version(name, plans.get(name) or {}, _INACTIVE, NOTHING_BELOW)
        for name in names
    ]
    return node


def shown_node(instance: JsonObject, plans: JsonObject, below: Below = NOTHING_BELOW) -> Node:
    """Return the plan that matters; there must be one."""
    name = shown_plan(instance) or ""
    plan = plans.get(name) or {}
    if is_pending(instance, name):
        return _from_version(name, plan, PENDING, below)
    return _from_status(instance, name, plan, below)


def is_pending(instance: JsonObject, plan: str) -> bool:
    """Return whether a run of the plan has not begun: its entry is of the run before it."""
    run, entry = active(instance), entries(instance).get(plan) or {}
    return run is not None and run.plan == plan and (entry.get("uid") or "") != run.uid


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


def _from_status(instance: JsonObject, name: str, plan: JsonObject, below: Below) -> Node:
    entry = entries(instance).get(name) or {}
    node = Node(_plan_line(instance, name, plan, entry))
    for phase, declared in _with_declaration(entry.get("phases") or [], plan):
        steps = (
            Node(f"Step {step['name']} {_state(step)}", _at(below, phase, step))
            for step in phase.get("steps") or []
        )
        node.add(f"Phase {phase['name']} ({_strategy(declared)} strategy) {_state(phase)}", steps)
    return node


def _plan_line(instance: JsonObject, name: str, plan: JsonObject, entry: JsonObject) -> str:
    text = f"Plan {name} ({_strategy(plan)} strategy) {_state(entry)}"
    updated = local_time(entry.get("lastUpdatedTimestamp"))
    facts = [*([f"last updated {updated}"] if updated else []), *run_facts(instance, entry)]
    return ", ".join([text, *facts])


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
    # Pods and custom resources choose their messages, which become those of steps.
    message = printable(message_of(part))
    return f"[{status_of(part)}] ({message})" if message else f"[{status_of(part)}]"
