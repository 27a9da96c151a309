"""Shows the Instances that a plan created below the steps that created them.

Of such a child only the plan is shown that is in progress or ran last. A child that no step of the
shown plan names, since another plan created it, follows at the end.
"""

from collections import defaultdict
from collections.abc import Iterator

from kubectl_kudo.reading.owned import Member
from kubectl_kudo.reading.plan_view import (
    NOTHING_BELOW,
    Below,
    instance_node,
    plans_node,
    shown_node,
    shown_plan,
)
from kubectl_kudo.session.blocks import Node
from kubectl_kudo.session.output import JsonObject
from kudo.api.task_kinds.kinds import KUDO_OPERATOR

_StepKey = tuple[str, str]


def family_node(member: Member, explained: Below = NOTHING_BELOW) -> Node:
    """Return the plans of an Instance, and below their steps its children.

    Args:
        member: The Instance.
        explained: What stands below its steps before the children.
    """
    below, rest = _placed(member)
    both = {
        place: [*explained.get(place, ()), *below.get(place, ())] for place in {*explained, *below}
    }
    node = plans_node(member.instance, _plans(member), both)
    node.children += rest
    return node


def _child_node(member: Member) -> Node:
    node = instance_node(member.instance)
    below, rest = _placed(member)
    if shown_plan(member.instance) is not None:
        node.children.append(shown_node(member.instance, _plans(member), below))
    node.children += rest
    return node


def _placed(member: Member) -> tuple[Below, list[Node]]:
    """Return the children by the first step that names them, and those that none does."""
    steps = dict(reversed(list(_steps_of_children(member))))
    below: dict[_StepKey, list[Node]] = defaultdict(list)
    rest: list[Node] = []
    for child in member.children:
        place = steps.get(child.instance["metadata"]["name"])
        (rest if place is None else below[place]).append(_child_node(child))
    return below, rest


def _steps_of_children(member: Member) -> Iterator[tuple[str, _StepKey]]:
    """Yield the name of a child and its step, in the order of the shown plan."""
    children = _children_of_tasks(member)
    plan = _plans(member).get(shown_plan(member.instance) or "") or {}
    for phase in plan.get("phases") or []:
        for step in phase.get("steps") or []:
            for task in step.get("tasks") or []:
                if task in children:
                    yield children[task], (phase["name"], step["name"])


def _children_of_tasks(member: Member) -> dict[str, str]:
    """Return the name of the Instance of each KudoOperator task."""
    parent = member.instance["metadata"]["name"]
    return {
        task["name"]: _child_name(parent, task.get("spec") or {})
        for task in reversed(_spec(member).get("tasks") or [])
        if task.get("kind") == KUDO_OPERATOR
    }


def _child_name(parent: str, spec: JsonObject) -> str:
    return str(spec.get("instanceName") or f"{parent}-{spec.get('package')}")


def _plans(member: Member) -> JsonObject:
    return _spec(member).get("plans") or {}


def _spec(member: Member) -> JsonObject:
    return (member.version or {}).get("spec") or {}
