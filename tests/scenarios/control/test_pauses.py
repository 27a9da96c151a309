"""Suspended Instances: nothing is sent, changes wait, and a deletion ends the pause."""

from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.changes import delete
from tests.support.cluster.interface import World
from tests.support.cluster.resources import CONFIG_MAPS, INSTANCES
from tests.support.world.operators import (
    installed,
    operator,
    trigger,
    until_observed,
    until_step,
)

HELD_UP = ("False", "Suspended")


async def suspend(world: World) -> Json:
    """Suspend the Instance, and return it when the reconciler has seen that."""
    await world.patch("i", {"suspend": True})
    return await world.until("i", lambda i: "suspendedAt" in i["status"], "the pause")


async def resume(world: World) -> None:
    await world.patch("i", {"suspend": False})


async def paused(world: World) -> str:
    """Suspend the Instance during the first step of a run, and return the uid of the run."""
    await installed(world)
    uid = await trigger(world, "slow")
    await until_step(world, "phase1.web", "IN_PROGRESS", "slow")
    await suspend(world)
    return uid


async def test_a_paused_run_records_what_becomes_healthy_sends_nothing_and_goes_on_when_resumed(
    world: World,
) -> None:
    uid = await paused(world)

    await until_step(world, "phase1.web", "COMPLETE", "slow")
    seen = await until_observed(world)

    assert instances.steps(seen, "slow")["phase2.last"] == "PENDING"
    assert await world.find(CONFIG_MAPS, "i-last") is None
    assert instances.reason_of(seen) == HELD_UP
    assert instances.reason_of(seen, "Reconciling") == ("True", "Suspended")
    await resume(world)
    ended = await world.until_complete("i", "slow")
    assert instances.entry(ended, "slow")["uid"] == uid
    assert instances.entry(ended, "slow")["suspendedSeconds"] > 0
    assert "suspendedAt" not in ended["status"]
    assert instances.reason_of(ended) == ("True", "ResourcesReady")
    assert len(await world.events("PlanStarted")) == 2


async def test_an_idle_instance_stays_ready_and_a_change_waits_for_the_end_of_the_pause(
    world: World,
) -> None:
    await installed(world)
    idle = await suspend(world)
    assert instances.reason_of(idle) == ("True", "ResourcesReady")
    assert instances.conditions(idle) == ["Ready"]
    assert idle["status"]["suspendedAt"]

    await world.patch("i", {"parameters": {"A": "2"}})
    held = await world.until("i", lambda i: instances.reason_of(i) == HELD_UP, "it to be held up")

    assert instances.conditions(held) == ["Ready", "Reconciling"]
    assert instances.reason_of(held, "Reconciling") == ("True", "Suspended")
    assert "plan deploy is held up" in instances.ready(held)["message"]
    assert (await world.get(CONFIG_MAPS, "i-first"))["data"] == {"a": "1"}
    assert len(await world.events("PlanStarted")) == 1
    await resume(world)
    ended = await world.until_complete("i")
    assert (await world.get(CONFIG_MAPS, "i-first"))["data"] == {"a": "2"}
    assert "suspendedSeconds" not in instances.entry(ended, "deploy")


async def test_a_deletion_ends_the_pause_and_cleans_up(world: World) -> None:
    await paused(world)

    await delete(world)
    await world.until_gone(INSTANCES, "i")

    texts = [event["message"] for event in await world.events("PlanFinished")]
    assert texts[-2:] == [
        "Execution of plan slow finished with status FATAL_ERROR",
        "Execution of plan cleanup finished with status COMPLETE",
    ]


async def test_an_instance_that_is_created_suspended_installs_nothing_until_it_is_resumed(
    world: World,
) -> None:
    instance = build.instance("i", "control-1")
    instance["spec"]["suspend"] = True
    await world.apply(operator(), instance)

    held = await world.until("i", lambda i: instances.reason_of(i) == HELD_UP, "it to be held up")

    assert "planStatus" not in held["status"]
    assert await world.find(CONFIG_MAPS, "i-first") is None
    await resume(world)
    await world.until_complete("i")
