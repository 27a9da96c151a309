"""The tree of `plan status`: the plan of an Instance, its children, and what steps wait for.

The Instances that a plan created stand below the steps that created them. Of such a child only the
plan is shown that is in progress or ran last. A child that no step of the shown plan names, since
another plan created it, follows at the end.
"""

from collections import defaultdict

from kubectl_kudo.reading.explanations import explanations, waiting_steps
from kubectl_kudo.reading.instance_state import suspension
from kubectl_kudo.reading.log_ends import LogReader
from kubectl_kudo.reading.owned import Member, members_below
from kubectl_kudo.reading.plan_view import (
    NOTHING_BELOW,
    Below,
    Explanation,
    capitalised,
    headline,
    instance_node,
    plans_node,
    shown_node,
    shown_plan,
)
from kubectl_kudo.session.blocks import Block, Mark, Node, Prose, Tree
from kubectl_kudo.session.output import JsonObject
from kubectl_kudo.session.session import Session
from kudo.api.task_kinds.kinds import KUDO_OPERATOR

_StepKey = tuple[str, str]
"""The names of a phase and of a step."""


async def plan_tree(session: Session, instance: JsonObject) -> list[Block]:
    """Return the plan that runs or ran last as a tree, with what its steps wait for.

    Raises:
        CliError: the OperatorVersion does not exist.
        KubeError: the API server did not answer.
    """
    if shown_plan(instance) is None:
        return no_plan(instance)
    version = await session.existing_version_of(instance)
    children = await members_below(session, instance)
    # A child stands below its step with its own plan: an explanation would repeat that.
    explained = await explained_steps(session, instance, children=not children)
    return below_headline(instance, family_node(Member(instance, version, children), explained))


def no_plan(instance: JsonObject) -> list[Block]:
    """Return what is shown of an Instance that no plan ever ran for."""
    name, pause = instance["metadata"]["name"], suspension(instance)
    text = f"No plan ever run for instance - nothing to show for instance {name}"
    return [Prose(text), *([Prose(capitalised(pause))] if pause else [])]


def below_headline(instance: JsonObject, node: Node) -> list[Block]:
    return [Prose(headline(instance)), Tree([node]), Prose()]


async def explained_steps(
    session: Session, instance: JsonObject, *, children: bool = True
) -> Below:
    """Return what is known of the objects that the steps of the shown plan wait for."""
    plan = shown_plan(instance)
    if plan is None:
        return {}
    steps = waiting_steps(instance, plan)
    logs = LogReader(session.client)
    by_step = await explanations(session, steps, children=children, logs=logs)
    return {
        (step.phase, step.step): [*map(_explained, by_step.get(step.path, ()))] for step in steps
    }


def _explained(line: Explanation) -> Node:
    """Return an explanation; of a log each line is cut to the width of a terminal."""
    if line.lines is not None:
        return Node(str(line), [Node(text, most=1) for text in line.lines])
    return Node(str(line), mark=None if line.minor else Mark.WARNING)


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
    node = plans_node(member.instance, _spec(member).get("plans") or {}, both)
    node.children += rest
    return node


def _placed(member: Member) -> tuple[Below, list[Node]]:
    """Return the children by the first step that names them, and those that none does."""
    parent, spec = member.instance["metadata"]["name"], _spec(member)
    plan = (spec.get("plans") or {}).get(shown_plan(member.instance) or "") or {}
    child_of_task: dict[str, str] = {}
    for task in spec.get("tasks") or []:
        fields = task.get("spec") or {}
        if task.get("kind") == KUDO_OPERATOR:
            name = str(fields.get("instanceName") or f"{parent}-{fields.get('package')}")
            child_of_task.setdefault(task["name"], name)
    steps: dict[str, _StepKey] = {}
    for phase in plan.get("phases") or []:
        for step in phase.get("steps") or []:
            for task in step.get("tasks") or []:
                if task in child_of_task:
                    steps.setdefault(child_of_task[task], (phase["name"], step["name"]))
    below: dict[_StepKey, list[Node]] = defaultdict(list)
    rest: list[Node] = []
    for child in member.children:
        node = instance_node(child.instance)
        of_child, rest_of_child = _placed(child)
        if shown_plan(child.instance) is not None:
            plans = _spec(child).get("plans") or {}
            node.children.append(shown_node(child.instance, plans, of_child))
        node.children += rest_of_child
        place = steps.get(child.instance["metadata"]["name"])
        (rest if place is None else below[place]).append(node)
    return below, rest


def _spec(member: Member) -> JsonObject:
    return (member.version or {}).get("spec") or {}
