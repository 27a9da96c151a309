"""What a KudoOperator task refuses: it ends the plan, with an event, and nothing is sent."""

import pytest

from tests.integration.children.family import (
    CHILD,
    FILE,
    bring,
    child,
    have,
    install,
    parent,
    run_again,
)
from tests.integration.lifecycle.helpers import event_text, reasons, task
from tests.integration.support import (
    CONFIG_MAPS,
    INSTANCES,
    Json,
    World,
    config_map,
    messages,
    new_instance,
    parameter,
    plan,
    steps,
    template,
)

HAVE = have(parameterFile=FILE)
CASES: dict[str, tuple[Json, Json | None, str, str]] = {
    # parent, child, reason, text
    "a parameter file that is missing": (
        parent(have(parameterFile="nowhere.yaml")),
        child(),
        "TaskRenderingError",
        "error finding resource named nowhere.yaml",
    ),
    "a parameter file that cannot be rendered": (
        parent(HAVE, file="SIZE: {{ .Params.NOPE }}"),
        child(),
        "TaskRenderingError",
        f"error expanding template {FILE}: ",
    ),
    "a parameter file that is no mapping": (
        parent(HAVE, file="- a\n- b"),
        child(),
        "TaskRenderingError",
        f"error unmarshalling content of parameter file {FILE}: ",
    ),
    "a parameter file with a null value": (
        parent(HAVE, file="SIZE:"),
        child(),
        "TaskRenderingError",
        f"errors while unmarshaling following keys of the parameter file {FILE}: SIZE has a null ",
    ),
    "a value that the child does not take": (
        parent(HAVE, file="COUNT: many"),
        child(parameters=[parameter("COUNT", "1", **{"value-type": "integer"})]),
        "TaskApplyError",
        'parameter "COUNT" has an invalid value "many"',
    ),
    "a name that no Instance can have": (
        parent(have(instanceName="No_Name")),
        child(),
        "TaskEnhancementError",
        "task have: 'No_Name' cannot be the name of an Instance; set instanceName",
    ),
    "an OperatorVersion that is missing": (
        parent(HAVE),
        None,
        "OperatorVersionNotFound",
        "OperatorVersion NAMESPACE/child-0.1.0 does not exist; install it (kubectl kudo install ",
    ),
    "an OperatorVersion that is missing further down": (
        parent(HAVE),
        child(tasks=[task("deeper", "KudoOperator", package="leaf", operatorVersion="1.2.3")]),
        "OperatorVersionNotFound",
        "failed to resolve package leaf of task deeper of child-0.1.0: OperatorVersion ",
    ),
    "versions that lead back to themselves": (
        parent(HAVE),
        child(tasks=[task("back", "KudoOperator", package="parent", operatorVersion="0.1.0")]),
        "CircularDependency",
        "cyclic package dependency found: parent-0.1.0 -> child-0.1.0 -> parent-0.1.0;",
    ),
    "an Instance that would be its own child": (
        parent(have(instanceName="i")),
        child(),
        "CircularDependency",
        "Instance NAMESPACE/i would be a child of itself: i -> i; give task have another ",
    ),
}


@pytest.mark.parametrize("case", CASES)
async def test_a_child_that_cannot_be_ends_the_plan_with_an_event(world: World, case: str) -> None:
    version, other, reason, text = CASES[case]
    await install(world, version, *([] if other is None else [other]))

    failed = await world.until_failed("i")

    message = messages(failed, "deploy")
    assert message.startswith("Error during execution: fatal error: "), message
    assert text.replace("NAMESPACE", world.namespace) in message
    assert await event_text(world, reason) == message
    assert await reasons(world) == ["PlanStarted", reason, "PlanFinished"]
    assert [found["metadata"]["name"] for found in await world.all(INSTANCES)] == ["i"]


async def test_nothing_of_a_plan_is_sent_whose_dependencies_are_missing(world: World) -> None:
    first = task("first", "Apply", "first.yaml")
    await install(world, parent(first, HAVE, first=template(config_map("first"))))

    failed = await world.until_failed("i")

    assert steps(failed, "deploy") == {"phase1.first": "PENDING", "phase1.have": "PENDING"}
    assert await world.find(CONFIG_MAPS, "first") is None


async def test_a_descendant_cannot_have_its_ancestor_as_a_child(world: World) -> None:
    below = child(
        tasks=[
            task("up", "KudoOperator", package="leaf", operatorVersion="0.1.0", instanceName="i")
        ],
        plans={"deploy": plan({"up": ["up"]})},
    )
    await install(world, parent(), below, child(operator="leaf"))

    failed = await world.until_failed("i")

    text = f"Instance {world.namespace}/i would be a child of itself: i -> {CHILD} -> i"
    assert text in messages(failed, "deploy")


async def test_an_instance_of_somebody_else_is_left_alone(world: World) -> None:
    await bring(world, child(), new_instance(CHILD, "child-0.1.0", SIZE="8"))
    before = await world.until_complete(CHILD)
    await install(world, parent())

    failed = await world.until_failed("i")

    assert (
        f"Instance {world.namespace}/{CHILD} exists and was not created by this Instance; delete "
        f"it (kubectl kudo uninstall --instance {CHILD} -n {world.namespace}), or give task have "
        "another instanceName"
    ) in messages(failed, "deploy")
    assert (await world.instance(CHILD))["metadata"]["generation"] == before["metadata"][
        "generation"
    ]


async def test_the_child_of_another_parent_is_left_alone(world: World) -> None:
    shared = parent(have(instanceName="database"))
    await install(world, shared, child())
    await world.until_complete("i")
    await bring(world, new_instance("j", "parent-0.1.0"))

    failed = await world.until_failed("j")

    text = f"Instance {world.namespace}/database exists and belongs to Instance i; delete it"
    assert text in messages(failed, "deploy")


async def test_a_dependency_that_was_missing_is_found_by_the_next_run(world: World) -> None:
    await install(world, parent())
    await world.until_failed("i")

    await bring(world, child())
    await run_again(world)

    await world.until_complete("i")


async def test_a_parameter_that_the_child_does_not_declare_can_only_come_with_it(
    world: World,
) -> None:
    file = "SIZE: 1\nOTHER: '{{ .Params.SIZE }}'"
    await install(world, parent(file=file), child())
    await world.until_complete("i")
    assert (await world.instance(CHILD))["spec"]["parameters"] == {"SIZE": "1", "OTHER": "1"}

    await world.patch("i", {"parameters": {"SIZE": "2"}})
    failed = await world.until_failed("i")

    text = 'failed to find parameter "OTHER" in the OperatorVersion child-0.1.0'
    assert text in messages(failed, "deploy")
