"""A child that fails, is busy, or is changed by hand while its parent runs."""

from typing import Any

from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster import children
from tests.support.cluster.interface import World
from tests.support.cluster.resources import CONFIG_MAPS, INSTANCES

FAILING = build.template(build.job("failing-{{ .Name }}", exit_code=1))
WAITING = {"wait": build.plan({"wait": ["wait"]})}
"""A plan of the child that never ends by itself."""


def busy(**more: Any) -> Json:
    """Return a child with a plan that runs until it is cancelled."""
    return children.child(tasks=[build.dummy("wait")], plans=WAITING, **more)


async def hold(world: World, name: str = children.CHILD) -> None:
    """Have an Instance run the plan that never ends."""
    await world.patch(name, {"planExecution": {"planName": "wait"}})
    await children.until_runs(world, name, "wait")


async def let_go(world: World, name: str = children.CHILD) -> None:
    await world.patch(name, {"planExecution": {"status": "FATAL_ERROR"}})


async def test_a_child_that_fails_fails_its_parent_with_its_text(world: World) -> None:
    await children.install(world, children.parent(), children.child(settings=FAILING))

    failed = await world.until_failed("i")

    where = f"{world.namespace}/{children.CHILD}"
    message = instances.messages(failed, "deploy")
    assert message.startswith(
        f"Error during execution: fatal error: {world.namespace}/i failed in "
        f"deploy.phase1.have.have: object {where} is NOT healthy: fatal error: HealthUtil: "
        f"instance {where} plan deploy ended with FATAL_ERROR: "
    )
    assert f'job "failing-{children.CHILD}" has failed terminally' in message
    told = await world.events("FailedTerminalStateError")
    assert {event["involvedObject"]["name"] for event in told} == {"i", children.CHILD}


async def test_the_failure_of_a_grandchild_reaches_the_top(world: World) -> None:
    needs = build.task("below", "KudoOperator", package="leaf", operatorVersion="0.1.0")
    middle = children.child(tasks=[needs], plans={"deploy": build.plan({"below": ["below"]})})
    await children.install(
        world, children.parent(), middle, children.child(operator="leaf", settings=FAILING)
    )

    failed = await world.until_failed("i")

    assert f'job "failing-{children.CHILD}-leaf" has failed terminally' in instances.messages(
        failed, "deploy"
    )


async def test_a_run_that_was_cancelled_in_the_child_fails_the_parent(world: World) -> None:
    slow = build.template(build.deployment("slow", ready_delay="600s"))
    await children.install(world, children.parent(), children.child(settings=slow))
    text = "active plan is in state IN_PROGRESS (plan deploy)"
    await world.until(
        "i", lambda i: text in instances.messages(i, "deploy"), "the child to be waited for"
    )

    await let_go(world)
    failed = await world.until_failed("i")

    assert "plan deploy ended with FATAL_ERROR: cancelled by " in instances.messages(
        failed, "deploy"
    )


async def test_what_had_failed_is_run_again_once_by_the_next_run(world: World) -> None:
    await children.install(world, children.parent(), children.child(settings=FAILING))
    await world.until_failed("i")

    failed = await children.run_again(world)

    assert instances.status_of(failed, "deploy") == "FATAL_ERROR"
    assert await children.runs_of(world, children.CHILD) == ["deploy", "deploy"]


async def test_a_child_is_healthy_once_its_failed_plan_has_succeeded(world: World) -> None:
    await children.install(world, children.parent(), busy())
    await world.until_complete("i")
    await hold(world)
    await let_go(world)
    await world.until_failed(children.CHILD, "wait")

    await world.patch("i", {"planExecution": {"planName": "deploy"}})
    await children.until_runs(world, children.CHILD, "wait")
    run = instances.scheduled(await world.instance(children.CHILD))
    await let_go(world)
    failed = await world.until_failed("i")

    assert "plan wait ended with FATAL_ERROR: cancelled by " in instances.messages(failed, "deploy")
    assert instances.entry(await world.instance(children.CHILD), "wait")["uid"] == run["uid"]


async def test_changed_parameters_heal_a_child_that_had_failed(world: World) -> None:
    failing = build.template(
        {**build.job("try-{{ .Params.SIZE }}"), "spec": build.job("x", exit_code=1)["spec"]}
    )
    settings = f"{{{{ if eq .Params.SIZE `1` }}}}{failing}{{{{ end }}}}"
    await children.install(world, children.parent(), children.child(settings=settings))
    await world.until_failed("i")

    await world.patch("i", {"parameters": {"SIZE": "2"}})
    await world.until_complete("i")

    assert await children.runs_of(world, children.CHILD) == ["deploy", "deploy"]


# Busy, or changed by hand


async def test_a_child_that_runs_another_plan_is_waited_for(world: World) -> None:
    await children.install(world, children.parent(), busy())
    await world.until_complete("i")
    await hold(world)

    await world.patch("i", {"parameters": {"SIZE": "2"}})
    child = f"{world.namespace}/{children.CHILD}"
    text = (
        f"instance {child} active plan is in state IN_PROGRESS (plan wait); "
        f"Instance {child} is updated after it"
    )
    await world.until(
        "i", lambda i: text in instances.messages(i, "deploy"), "the child to be waited for"
    )
    assert (await world.instance(children.CHILD))["spec"]["parameters"] == {"SIZE": "1"}

    await let_go(world)
    await world.until_complete("i")
    assert (await world.get(CONFIG_MAPS, children.CHILD))["data"] == {"size": "2"}


async def test_what_is_changed_by_hand_while_the_parent_waits_is_put_back(world: World) -> None:
    slow = build.template(
        build.config_map("{{ .Name }}", size="{{ .Params.SIZE }}"),
        build.deployment("slow", ready_delay="4s"),
    )
    await children.install(world, children.parent(), children.child(settings=slow))
    await children.until_runs(world, children.CHILD)

    await world.patch(children.CHILD, {"parameters": {"SIZE": "by hand"}})
    await world.until_complete("i")

    assert (await world.instance(children.CHILD))["spec"]["parameters"] == {"SIZE": "1"}
    assert (await world.get(CONFIG_MAPS, children.CHILD))["data"] == {"size": "1"}


async def test_a_child_that_is_deleted_while_its_parent_waits_is_made_anew(world: World) -> None:
    settings = build.template(build.config_map("size-{{ .Params.SIZE }}"))
    await children.install(world, children.parent(), busy(settings=settings))
    await world.until_complete("i")
    await hold(world)
    await world.patch("i", {"parameters": {"SIZE": "2"}})
    await world.until(
        "i", lambda i: "updated after it" in instances.messages(i, "deploy"), "the parent to wait"
    )

    await world.client.delete(INSTANCES, children.CHILD, namespace=world.namespace)
    await world.until_complete("i")

    assert (await world.instance(children.CHILD))["spec"]["parameters"] == {"SIZE": "2"}


async def test_a_finished_child_is_left_alone_in_the_rest_of_the_run(world: World) -> None:
    hold_on = build.task("rest", "Apply", "rest.yaml")
    version = children.parent(
        children.have(), hold_on, rest=build.template(build.deployment("rest", ready_delay="600s"))
    )
    await children.install(world, version, busy())
    waits = "rest"
    await world.until(
        "i", lambda i: waits in instances.messages(i, "deploy"), "the last step to wait"
    )

    await world.patch(children.CHILD, {"parameters": {"SIZE": "by hand"}})
    await world.until_complete(children.CHILD)

    assert (await world.instance(children.CHILD))["spec"]["parameters"] == {"SIZE": "by hand"}
    assert instances.status_of(await world.instance("i"), "deploy") == "IN_PROGRESS"


async def test_cancelling_the_parent_leaves_the_child_to_itself(world: World) -> None:
    slow = build.template(build.deployment("slow", ready_delay="3s"))
    await children.install(world, children.parent(), children.child(settings=slow))
    await children.until_runs(world, children.CHILD)

    await let_go(world, "i")
    await world.until_failed("i")

    await world.until_complete(children.CHILD)


async def test_a_crash_of_the_reconciler_restarts_nothing(world: World) -> None:
    slow = build.template(build.deployment("slow", ready_delay="4s"))
    await children.install(world, children.parent(), children.child(settings=slow))
    text = "active plan is in state"
    await world.until(
        "i", lambda i: text in instances.messages(i, "deploy"), "the child to be waited for"
    )

    await world.reconciler.kill()
    await world.reconciler.start()
    await world.until_complete("i")

    assert await children.runs_of(world, children.CHILD) == ["deploy"]
    assert await children.runs_of(world, "i") == ["deploy"]
