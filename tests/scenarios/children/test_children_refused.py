"""What a KudoOperator task refuses: it ends the plan, with an event, and nothing is sent."""

import pytest

from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster import children
from tests.support.cluster.events import event_text, reasons
from tests.support.cluster.interface import World
from tests.support.cluster.resources import CONFIG_MAPS, INSTANCES

HAVE = children.have(parameterFile=children.FILE)
CASES: dict[str, tuple[Json, Json | None, str, str]] = {
    # parent, child, reason, text
    "a parameter file that is missing": (
        children.parent(children.have(parameterFile="nowhere.yaml")),
        children.child(),
        "TaskRenderingError",
        "error finding resource named nowhere.yaml",
    ),
    "a parameter file that cannot be rendered": (
        children.parent(HAVE, file="SIZE: {{ .Params.NOPE }}"),
        children.child(),
        "TaskRenderingError",
        f"error expanding template {children.FILE}: ",
    ),
    "a parameter file that is no mapping": (
        children.parent(HAVE, file="- a\n- b"),
        children.child(),
        "TaskRenderingError",
        f"error unmarshalling content of parameter file {children.FILE}: ",
    ),
    "a parameter file with a null value": (
        children.parent(HAVE, file="SIZE:"),
        children.child(),
        "TaskRenderingError",
        (
            "errors while unmarshaling following keys of the parameter file "
            f"{children.FILE}: SIZE has a null "
        ),
    ),
    "a value that the child does not take": (
        children.parent(HAVE, file="COUNT: many"),
        children.child(parameters=[build.parameter("COUNT", "1", **{"value-type": "integer"})]),
        "TaskApplyError",
        'parameter "COUNT" has an invalid value "many"',
    ),
    "a name that no Instance can have": (
        children.parent(children.have(instanceName="No_Name")),
        children.child(),
        "TaskEnhancementError",
        "task have: 'No_Name' cannot be the name of an Instance; set instanceName",
    ),
    "an OperatorVersion that is missing": (
        children.parent(HAVE),
        None,
        "OperatorVersionNotFound",
        "OperatorVersion NAMESPACE/child-0.1.0 does not exist; install it (kubectl kudo install ",
    ),
    "an OperatorVersion that is missing further down": (
        children.parent(HAVE),
        children.child(
            tasks=[build.task("deeper", "KudoOperator", package="leaf", operatorVersion="1.2.3")]
        ),
        "OperatorVersionNotFound",
        "failed to resolve package leaf of task deeper of child-0.1.0: OperatorVersion ",
    ),
    "versions that lead back to themselves": (
        children.parent(HAVE),
        children.child(
            tasks=[build.task("back", "KudoOperator", package="parent", operatorVersion="0.1.0")]
        ),
        "CircularDependency",
        "cyclic package dependency found: parent-0.1.0 -> child-0.1.0 -> parent-0.1.0;",
    ),
    "an Instance that would be its own child": (
        children.parent(children.have(instanceName="i")),
        children.child(),
        "CircularDependency",
        "Instance NAMESPACE/i would be a child of itself: i -> i; give task have another ",
    ),
}


@pytest.mark.parametrize("case", CASES)
async def test_a_child_that_cannot_be_ends_the_plan_with_an_event(world: World, case: str) -> None:
    version, other, reason, text = CASES[case]
    await children.install(world, version, *([] if other is None else [other]))

    failed = await world.until_failed("i")

    message = instances.messages(failed, "deploy")
    assert message.startswith("Error during execution: fatal error: "), message
    assert text.replace("NAMESPACE", world.namespace) in message
    assert await event_text(world, reason) == message
    assert await reasons(world) == ["PlanStarted", reason, "PlanFinished"]
    assert [found["metadata"]["name"] for found in await world.all(INSTANCES)] == ["i"]


async def test_nothing_of_a_plan_is_sent_whose_dependencies_are_missing(world: World) -> None:
    first = build.task("first", "Apply", "first.yaml")
    await children.install(
        world, children.parent(first, HAVE, first=build.template(build.config_map("first")))
    )

    failed = await world.until_failed("i")

    assert instances.steps(failed, "deploy") == {
        "phase1.first": "PENDING",
        "phase1.have": "PENDING",
    }
    assert await world.find(CONFIG_MAPS, "first") is None


async def test_a_descendant_cannot_have_its_ancestor_as_a_child(world: World) -> None:
    below = children.child(
        tasks=[
            build.task(
                "up", "KudoOperator", package="leaf", operatorVersion="0.1.0", instanceName="i"
            )
        ],
        plans={"deploy": build.plan({"up": ["up"]})},
    )
    await children.install(world, children.parent(), below, children.child(operator="leaf"))

    failed = await world.until_failed("i")

    text = f"Instance {world.namespace}/i would be a child of itself: i -> {children.CHILD} -> i"
    assert text in instances.messages(failed, "deploy")


async def test_an_instance_of_somebody_else_is_left_alone(world: World) -> None:
    await children.bring(
        world, children.child(), build.instance(children.CHILD, "child-0.1.0", SIZE="8")
    )
    before = await world.until_complete(children.CHILD)
    await children.install(world, children.parent())

    failed = await world.until_failed("i")

    assert (
        f"Instance {world.namespace}/{children.CHILD} exists and was not created by this Instance; "
        f"delete it (kubectl kudo uninstall --instance {children.CHILD} -n {world.namespace}), or "
        "give task have another instanceName"
    ) in instances.messages(failed, "deploy")
    assert (await world.instance(children.CHILD))["metadata"]["generation"] == before["metadata"][
        "generation"
    ]


async def test_the_child_of_another_parent_is_left_alone(world: World) -> None:
    shared = children.parent(children.have(instanceName="database"))
    await children.install(world, shared, children.child())
    await world.until_complete("i")
    await children.bring(world, build.instance("j", "parent-0.1.0"))

    failed = await world.until_failed("j")

    text = f"Instance {world.namespace}/database exists and belongs to Instance i; delete it"
    assert text in instances.messages(failed, "deploy")


async def test_a_dependency_that_was_missing_is_found_by_the_next_run(world: World) -> None:
    await children.install(world, children.parent())
    await world.until_failed("i")

    await children.bring(world, children.child())
    await children.run_again(world)

    await world.until_complete("i")


async def test_a_parameter_that_the_child_does_not_declare_can_only_come_with_it(
    world: World,
) -> None:
    file = "SIZE: 1\nOTHER: '{{ .Params.SIZE }}'"
    await children.install(world, children.parent(file=file), children.child())
    await world.until_complete("i")
    assert (await world.instance(children.CHILD))["spec"]["parameters"] == {
        "SIZE": "1",
        "OTHER": "1",
    }

    await world.patch("i", {"parameters": {"SIZE": "2"}})
    failed = await world.until_failed("i")

    text = 'failed to find parameter "OTHER" in the OperatorVersion child-0.1.0'
    assert text in instances.messages(failed, "deploy")
