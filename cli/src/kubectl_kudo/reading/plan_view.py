"""Shows the plans of an Instance as a tree, as `plan status` prints them.

The run that is in progress, or ran last, is shown from the status, and above all others. A run that
is scheduled but has not begun is shown as PENDING, not with the outcome of the run before it. Other
plans that have run take one line each, and those that never ran one line together.

`--all` shows the plans as KUDO 0.19 did: sorted by name, those that are not active from the
OperatorVersion.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kubectl_kudo.reading.instance_state import held_up_by, not_in_force, suspension
from kubectl_kudo.reading.runs import (
    NEVER_RUN,
    PENDING,
    SKIPPED,
    TERMINAL,
    JsonObject,
    active,
    entries,
    given_text,
    last_executed,
    mark_of,
    message_of,
    run_facts,
    status_of,
    word_of,
)
from kubectl_kudo.session.blocks import Mark, Node, ago, local_time, printable
from kudo.api.problems import listed

_INACTIVE = "NOT ACTIVE"


@dataclass(frozen=True, slots=True)
class Explanation:
    """What is known of an object that a step waits for, and how long ago it happened.

    Attributes:
        text: One line.
        age: Such as `4s`; empty if it is unknown, or if it is so now.
        minor: Whether it tells nothing where others do: an event that is no Warning.
        lines: The end of the log that the text is about; None if it is about no log.
    """

    text: str
    age: str = ""
    minor: bool = False
    lines: tuple[str, ...] | None = None

    def __str__(self) -> str:
        return f"{self.text} ({self.age} ago)" if self.age else self.text


Explanations = Mapping[str, Sequence[Explanation]]
"""By the dotted name of the step; a time limit also by that of the plan or phase."""

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


def instance_node(instance: JsonObject) -> Node:
    """Return the line of an Instance; below it its account, its pause, and what is not in force."""
    account = (instance.get("spec") or {}).get("serviceAccountName")
    acting = f"acts as service account {account}" if account else ""
    waiting = not_in_force(instance)
    nodes = [
        Node(capitalised(acting)),
        Node(capitalised(suspension(instance)), shown=capitalised(suspension(instance, ago))),
        Node(f"Waits: {missing}" if (missing := held_up_by(instance)) else ""),
        Node(f"Not in force: {waiting}" if waiting else ""),
    ]
    name, plan = instance["metadata"]["name"], shown_plan(instance) or ""
    version = (instance["spec"].get("operatorVersion") or {}).get("name", "")
    return Node(
        # Scripts written for KUDO 0.19 read this line.
        f'{name} (Operator-Version: "{version}" Active-Plan: "{plan}")',
        [node for node in nodes if node.text],
        shown=f"{name} ({version})",
    )


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
    node.children += other_plans(instance, plans)
    return node


def other_plans(instance: JsonObject, plans: JsonObject) -> list[Node]:
    """Return a line for each other plan that has run, and one for those that never did."""
    recorded, shown = entries(instance), shown_plan(instance)
    others = sorted({*plans, *recorded} - {shown})
    ran = [name for name in others if status_of(recorded.get(name) or {}) != NEVER_RUN]
    never = [name for name in others if name not in ran and name in plans]
    nodes = [_plan(instance, name, plans.get(name) or {}, recorded[name]) for name in ran]
    if never:
        nodes.append(Node(f"Never run: {', '.join(never)}", mark=Mark.IDLE))
    return nodes


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
        given = given_text((instance["spec"].get("planExecution") or {}).get("parameters"))
        return _from_version(name, plan, PENDING, below, [f"with {given}"] if given else ())
    return _from_status(instance, name, plan, below)


def is_pending(instance: JsonObject, plan: str) -> bool:
    """Return whether a run of the plan has not begun: its entry is of the run before it."""
    run, entry = active(instance), entries(instance).get(plan) or {}
    return run is not None and run.plan == plan and (entry.get("uid") or "") != run.uid


def _from_version(
    name: str, plan: JsonObject, status: str, below: Below, facts: Sequence[str] = ()
) -> Node:
    state = {"status": status}
    node = _node("Plan", name, state, plan, facts=facts)
    for phase in plan.get("phases") or []:
        at = _node("Phase", phase["name"], state, phase)
        at.children += [
            _step(step["name"], state, phase, below) for step in phase.get("steps") or []
        ]
        node.children.append(at)
    return node


def _from_status(instance: JsonObject, name: str, plan: JsonObject, below: Below) -> Node:
    entry = entries(instance).get(name) or {}
    node = _plan(instance, name, plan, entry)
    # The version may have been changed since the run began, so that it lacks a phase.
    declared = {phase["name"]: phase for phase in plan.get("phases") or []}
    for phase in entry.get("phases") or []:
        at = _node("Phase", phase["name"], phase, declared.get(phase["name"]) or {})
        at.children += [
            _step(step["name"], step, phase, below) for step in phase.get("steps") or []
        ]
        node.children.append(at)
    return node


def _plan(instance: JsonObject, name: str, plan: JsonObject, entry: JsonObject) -> Node:
    time, facts = entry.get("lastUpdatedTimestamp"), run_facts(instance, entry)
    when = [f"last updated {local_time(time)}"] if time else []
    since = f"{'' if status_of(entry) in TERMINAL else ', changed'} {ago(time)}" if time else ""
    return _node("Plan", name, entry, plan, when=when, since=since, facts=facts)


def _step(name: str, state: JsonObject, phase: JsonObject, below: Below) -> Node:
    node = _node("Step", name, state)
    outputs = [f"{task}.{output}" for task, of in _outputs(state) for output in sorted(of)]
    if outputs:
        # Their texts may be long: `-o yaml` has them.
        node.children.append(Node(printable(f"Outputs: {listed(outputs)}")))
    node.children += below.get((phase["name"], name), ())
    return node


def _outputs(state: JsonObject) -> list[tuple[str, JsonObject]]:
    return sorted((state.get("outputs") or {}).items())


def _node(
    kind: str,
    name: str,
    state: JsonObject,
    declared: JsonObject | None = None,
    *,
    when: Sequence[str] = (),
    since: str = "",
    facts: Sequence[str] = (),
) -> Node:
    """Return the line of a plan, phase or step.

    Args:
        kind: Which of the three.
        name: Its name.
        state: Its status and message.
        declared: Its declaration; steps have no strategy.
        when: When it changed, as a pipe has it.
        since: The same for a terminal.
        facts: What else is to be said.
    """
    # Pods and custom resources choose their messages, which become those of steps.
    status, message = status_of(state), printable(message_of(state))
    if state.get("skipped"):
        status, message = SKIPPED, f"when: {message}"
    strategy = "" if declared is None else declared.get("strategy") or "serial"
    text = f"{kind} {name}{f' ({strategy} strategy)' if strategy else ''} [{status}]"
    text = ", ".join([f"{text} ({message})" if message else text, *when, *facts])
    shown = f"{kind} {name}{' (parallel)' if strategy == 'parallel' else ''} {word_of(status)}"
    shown = ", ".join([f"{shown}{since}", *facts]) + (f": {message}" if message else "")
    return Node(text, shown=shown, mark=mark_of(status))
