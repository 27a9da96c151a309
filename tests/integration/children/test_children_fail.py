"""A child that fails, is busy, or is changed by hand while its parent runs."""

from typing import Any

from tests.integration.children.family import (
    CHILD,
    child,
    have,
    install,
    parent,
    run_again,
    runs_of,
    until_runs,
)
from tests.integration.lifecycle.helpers import dummy, task
from tests.integration.support import (
    CONFIG_MAPS,
    INSTANCES,
    Json,
    World,
    config_map,
    deployment,
    entry,
    job,
    messages,
    plan,
    scheduled,
    status_of,
    template,
)

FAILING = template(job("failing-{{ .Name }}", exit_code=1))
WAITING = {"wait": plan({"wait": ["wait"]})}
"""A plan of the child that never ends by itself."""


def busy(**more: Any) -> Json:
    """Return a child with a plan that runs until it is cancelled."""
    return child(tasks=[dummy("wait")], plans=WAITING, **more)


async def hold(world: World, name: str = CHILD) -> None:
    """Have an Instance run the plan that never ends."""
    await world.patch(name, {"planExecution": {"planName": "wait"}})
    await until_runs(world, name, "wait")


async def let_go(world: World, name: str = CHILD) -> None:
    await world.patch(name, {"planExecution": {"status": "FATAL_ERROR"}})


async def test_a_child_that_fails_fails_its_parent_with_its_text(world: World) -> None:
    await install(world, parent(), child(settings=FAILING))

    failed = await world.until_failed("i")

    where = f"{world.namespace}/{CHILD}"
    message = messages(failed, "deploy")
    assert message.startswith(
        f"Error during execution: fatal error: {world.namespace}/i failed in "
        f"deploy.phase1.have.have: object {where} is NOT healthy: fatal error: HealthUtil: "
        f"instance {where} plan deploy ended with FATAL_ERROR: "
    )
    assert f'job "failing-{CHILD}" has failed terminally' in message
    told = await world.events("FailedTerminalStateError")
    assert {event["involvedObject"]["name"] for event in told} == {"i", CHILD}


async def test_the_failure_of_a_grandchild_reaches_the_top(world: World) -> None:
    needs = task("below", "KudoOperator", package="leaf", operatorVersion="0.1.0")
    middle = child(tasks=[needs], plans={"deploy": plan({"below": ["below"]})})
    await install(world, parent(), middle, child(operator="leaf", settings=FAILING))

    failed = await world.until_failed("i")

    assert f'job "failing-{CHILD}-leaf" has failed terminally' in messages(failed, "deploy")


async def test_a_run_that_was_cancelled_in_the_child_fails_the_parent(world: World) -> None:
    slow = template(deployment("slow", ready_delay="600s"))
    await install(world, parent(), child(settings=slow))
    text = "active plan is in state IN_PROGRESS (plan deploy)"
    await world.until("i", lambda i: text in messages(i, "deploy"), "the child to be waited for")

    await let_go(world)
    failed = await world.until_failed("i")

    assert "plan deploy ended with FATAL_ERROR: cancelled by " in messages(failed, "deploy")


async def test_what_had_failed_is_run_again_once_by_the_next_run(world: World) -> None:
    await install(world, parent(), child(settings=FAILING))
    await world.until_failed("i")

    failed = await run_again(world)

    assert status_of(failed, "deploy") == "FATAL_ERROR"
    assert await runs_of(world, CHILD) == ["deploy", "deploy"]


async def test_a_child_is_healthy_once_its_failed_plan_has_succeeded(world: World) -> None:
    await install(world, parent(), busy())
    await world.until_complete("i")
    await hold(world)
    await let_go(world)
    await world.until_failed(CHILD, "wait")

    await world.patch("i", {"planExecution": {"planName": "deploy"}})
    await until_runs(world, CHILD, "wait")
    run = scheduled(await world.instance(CHILD))
    await let_go(world)
    failed = await world.until_failed("i")

    assert "plan wait ended with FATAL_ERROR: cancelled by " in messages(failed, "deploy")
    assert entry(await world.instance(CHILD), "wait")["uid"] == run["uid"]


async def test_changed_parameters_heal_a_child_that_had_failed(world: World) -> None:
    failing = template({**job("try-{{ .Params.SIZE }}"), "spec": job("x", exit_code=1)["spec"]})
    settings = f"{{{{ if eq .Params.SIZE `1` }}}}{failing}{{{{ end }}}}"
    await install(world, parent(), child(settings=settings))
    await world.until_failed("i")

    await world.patch("i", {"parameters": {"SIZE": "2"}})
    await world.until_complete("i")

    assert await runs_of(world, CHILD) == ["deploy", "deploy"]


# Busy, or changed by hand


async def test_a_child_that_runs_another_plan_is_waited_for(world: World) -> None:
    await install(world, parent(), busy())
    await world.until_complete("i")
    await hold(world)

    await world.patch("i", {"parameters": {"SIZE": "2"}})
    text = (
        f"instance {world.namespace}/{CHILD} active plan is in state IN_PROGRESS (plan wait); "
        f"Instance {world.namespace}/{CHILD} is changed after it"
    )
    await world.until("i", lambda i: text in messages(i, "deploy"), "the child to be waited for")
    assert (await world.instance(CHILD))["spec"]["parameters"] == {"SIZE": "1"}

    await let_go(world)
    await world.until_complete("i")
    assert (await world.get(CONFIG_MAPS, CHILD))["data"] == {"size": "2"}


async def test_what_is_changed_by_hand_while_the_parent_waits_is_put_back(world: World) -> None:
    slow = template(
        config_map("{{ .Name }}", size="{{ .Params.SIZE }}"), deployment("slow", ready_delay="4s")
    )
    await install(world, parent(), child(settings=slow))
    await until_runs(world, CHILD)

    await world.patch(CHILD, {"parameters": {"SIZE": "by hand"}})
    await world.until_complete("i")

    assert (await world.instance(CHILD))["spec"]["parameters"] == {"SIZE": "1"}
    assert (await world.get(CONFIG_MAPS, CHILD))["data"] == {"size": "1"}


async def test_a_child_that_is_deleted_while_its_parent_waits_is_made_anew(world: World) -> None:
    settings = template(config_map("size-{{ .Params.SIZE }}"))
    await install(world, parent(), busy(settings=settings))
    await world.until_complete("i")
    await hold(world)
    await world.patch("i", {"parameters": {"SIZE": "2"}})
    await world.until(
        "i", lambda i: "changed after it" in messages(i, "deploy"), "the parent to wait"
    )

    await world.client.delete(INSTANCES, CHILD, namespace=world.namespace)
    await world.until_complete("i")

    assert (await world.instance(CHILD))["spec"]["parameters"] == {"SIZE": "2"}


async def test_a_finished_child_is_left_alone_in_the_rest_of_the_run(world: World) -> None:
    hold_on = task("rest", "Apply", "rest.yaml")
    version = parent(have(), hold_on, rest=template(deployment("rest", ready_delay="600s")))
    await install(world, version, busy())
    waits = "rest"
    await world.until("i", lambda i: waits in messages(i, "deploy"), "the last step to wait")

    await world.patch(CHILD, {"parameters": {"SIZE": "by hand"}})
    await world.until_complete(CHILD)

    assert (await world.instance(CHILD))["spec"]["parameters"] == {"SIZE": "by hand"}
    assert status_of(await world.instance("i"), "deploy") == "IN_PROGRESS"


async def test_cancelling_the_parent_leaves_the_child_to_itself(world: World) -> None:
    slow = template(deployment("slow", ready_delay="3s"))
    await install(world, parent(), child(settings=slow))
    await until_runs(world, CHILD)

    await let_go(world, "i")
    await world.until_failed("i")

    await world.until_complete(CHILD)


async def test_a_crash_of_the_reconciler_restarts_nothing(world: World) -> None:
    slow = template(deployment("slow", ready_delay="4s"))
    await install(world, parent(), child(settings=slow))
    text = "active plan is in state"
    await world.until("i", lambda i: text in messages(i, "deploy"), "the child to be waited for")

    world.installation.reconciler.kill()
    world.installation.reconciler.start()
    await world.until_complete("i")

    assert await runs_of(world, CHILD) == ["deploy"]
    assert await runs_of(world, "i") == ["deploy"]
