"""Crashes, outages and changes that land between two writes: nothing is lost or done twice."""

from collections.abc import AsyncIterator

import pytest

from kubeio.client import Client
from kubeio.errors import ApiError, Invalid
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.changes import label, write_status
from tests.support.cluster.interface import World
from tests.support.cluster.resources import CONFIG_MAPS, INSTANCES, JOBS


def long_running(delay: str = "5s") -> Json:
    return build.operator_version(
        "long-1",
        templates={
            "job.yaml": build.template(build.job("{{ .Name }}-job")),
            "config.yaml": build.template(
                build.config_map("{{ .Name }}-config", a="{{ .Params.A }}")
            ),
            "web.yaml": build.template(build.deployment("{{ .Name }}-web", ready_delay=delay)),
        },
        plans={
            "deploy": build.plan({"job": ["job"], "config": ["config"]}, {"run": ["web"]}),
            "quick": build.plan({"config": ["config"]}),
        },
        parameters=[build.parameter("A", "1"), build.parameter("QUICK", "1", trigger="quick")],
    )


@pytest.fixture
async def reconciler(world: World) -> AsyncIterator[Client]:
    """Yield a client with the rights of the reconciler, to leave what a crash leaves."""
    async with world.client_as("reconciler") as client:
        yield client


async def in_second_phase(world: World) -> Json:
    await world.apply(long_running(), build.instance("i", "long-1"))
    return await world.until(
        "i",
        lambda i: instances.steps(i, "deploy").get("phase2.run") == "IN_PROGRESS",
        "the second phase",
    )


async def test_a_killed_reconciler_finishes_the_plan_and_creates_nothing_twice(
    world: World,
) -> None:
    before = await in_second_phase(world)
    first_job, first_config = (
        await world.get(JOBS, "i-job"),
        await world.get(CONFIG_MAPS, "i-config"),
    )

    await world.reconciler.kill()
    assert instances.status_of(await world.instance("i"), "deploy") == "IN_PROGRESS"
    await world.reconciler.start()
    after = await world.until_complete("i")

    assert instances.entry(after, "deploy")["uid"] == instances.entry(before, "deploy")["uid"]
    for kind, first in ((JOBS, first_job), (CONFIG_MAPS, first_config)):
        last = await world.get(kind, first["metadata"]["name"])
        assert last["metadata"]["uid"] == first["metadata"]["uid"]
    assert [e["reason"] for e in await world.events()] == ["PlanStarted", "PlanFinished"]


async def test_a_finished_step_is_not_run_again_after_a_crash(
    world: World, reconciler: Client
) -> None:
    await in_second_phase(world)
    await world.reconciler.kill()

    await reconciler.delete(CONFIG_MAPS, "i-config", namespace=world.namespace)
    await world.reconciler.start()

    await world.until_complete("i")
    assert await world.find(CONFIG_MAPS, "i-config") is None


async def test_finished_steps_stay_finished_over_a_crash(world: World) -> None:
    running = await in_second_phase(world)
    seen: list[dict[str, str]] = []

    await world.reconciler.kill()
    await world.reconciler.start()
    async for event in world.client.watch(
        INSTANCES,
        namespace=world.namespace,
        resource_version=running["metadata"]["resourceVersion"],
        timeout_seconds=90,
    ):
        if event.type == "MODIFIED":
            seen.append(instances.steps(event.object, "deploy"))
            if instances.idle(event.object):
                break

    assert {states["phase1.job"] for states in seen} == {"COMPLETE"}
    assert {states["phase1.config"] for states in seen} == {"COMPLETE"}
    assert seen[-1]["phase2.run"] == "COMPLETE"


async def test_a_reconciler_that_is_told_to_stop_leaves_a_state_to_go_on_from(
    world: World,
) -> None:
    await in_second_phase(world)

    await world.reconciler.stop()
    await world.reconciler.start()

    await world.until_complete("i")


async def test_what_changes_while_no_reconciler_runs_is_done_by_the_next_one(world: World) -> None:
    await world.apply(long_running("0s"), build.instance("i", "long-1"))
    await world.until_complete("i")
    await world.reconciler.kill()

    await world.patch("i", {"parameters": {"QUICK": "2"}})
    await world.reconciler.start()

    await world.until_complete("i", "quick")


async def ended_but_not_cleared(world: World) -> Json:
    """Leave what a crash between the terminal status and the clear leaves."""
    await world.apply(long_running("0s"), build.instance("i", "long-1"))
    await world.until_complete("i")
    await world.reconciler.kill()
    started = await world.patch("i", {"planExecution": {"planName": "quick"}})
    ended = {
        **instances.entry(started, "quick"),
        "status": "COMPLETE",
        "uid": instances.scheduled(started)["uid"],
    }
    return await write_status(world, "i", {"planStatus": {"quick": ended}})


async def test_a_change_between_terminal_status_and_clear_is_not_lost(
    world: World, reconciler: Client
) -> None:
    ended = await ended_but_not_cleared(world)

    changed = await world.patch("i", {"parameters": {"A": "2"}})
    with pytest.raises(Invalid):  # the clear that the crashed reconciler would still send
        await reconciler.json_patch(
            INSTANCES,
            "i",
            [
                {
                    "op": "test",
                    "path": "/spec/planExecution/uid",
                    "value": instances.scheduled(ended)["uid"],
                },
                {"op": "replace", "path": "/spec/planExecution", "value": {}},
            ],
            namespace=world.namespace,
        )
    await world.reconciler.start()

    assert instances.scheduled(changed)["planName"] == "deploy"
    after = await world.until_complete("i")
    assert instances.entry(after, "deploy")["uid"] == instances.scheduled(changed)["uid"]
    assert (await world.get(CONFIG_MAPS, "i-config"))["data"]["a"] == "2"


async def test_a_run_that_ended_before_a_crash_is_cleared_and_reported(world: World) -> None:
    ended = await ended_but_not_cleared(world)

    await world.reconciler.start()

    after = await world.until_complete("i", "quick")
    assert instances.entry(after, "quick")["uid"] == instances.scheduled(ended)["uid"]
    events = [event["metadata"]["name"] for event in await world.events()]
    assert f"i.{instances.scheduled(ended)['uid']}.finished" in events


async def test_without_the_webhook_a_users_change_is_refused_and_bookkeeping_passes(
    world: World,
) -> None:
    await in_second_phase(world)
    async with world.unreachable_webhook():
        with pytest.raises(ApiError) as caught:
            await world.patch("i", {"parameters": {"A": "2"}})
        await label(world, team="a")
        after = await world.until_complete("i")

    assert 'failed calling webhook "mutate.instance-admission.kudo.dev"' in str(caught.value)
    assert after["metadata"]["labels"]["team"] == "a"
    await world.patch("i", {"parameters": {"A": "2"}})
    await world.until_complete("i")


async def test_without_the_webhook_an_instance_can_be_deleted(world: World) -> None:
    version = long_running("0s")
    version["spec"]["plans"]["cleanup"] = build.plan({"config": ["config"]})
    await world.apply(version, build.instance("i", "long-1"))
    await world.until_complete("i")
    async with world.unreachable_webhook():
        await world.client.delete(INSTANCES, "i", namespace=world.namespace)

        await world.until_gone(INSTANCES, "i")


async def test_a_change_without_the_mutating_configuration_is_denied(world: World) -> None:
    await world.apply(long_running("0s"), build.instance("i", "long-1"))
    await world.until_complete("i")
    async with world.without_mutating_webhook():
        with pytest.raises(ApiError) as caught:
            await world.patch("i", {"parameters": {"A": "2"}})

    assert caught.value.reason == "MutatingWebhookMissing"
