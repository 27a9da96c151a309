"""Health of an Instance that another Instance's plan applies."""

from tests.integration.health.objects import applying, deploy_again, install
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.resources import CONFIG_MAPS, INSTANCES
from tests.support.cluster.world import World

AFTER = build.config_map("after", a="b")


def child(version: str, **parameters: str) -> Json:
    found = build.instance("child", version, **parameters)
    del found["metadata"]["labels"]
    return found


async def bring(world: World, *steps: Json, name: str) -> None:
    """Create the version of the child."""
    done = await world.apply(applying(*steps, name=name))
    assert done.code == 0, done.output


async def test_the_next_step_waits_for_the_plan_of_the_child(world: World) -> None:
    await bring(world, build.deployment("slow", ready_delay="2s"), name="slow-1")
    await install(world, child("slow-1"), AFTER)

    text = f"instance {world.namespace}/child active plan is in state"
    await world.until(
        "i", lambda i: text in instances.messages(i, "deploy"), "the child to be waited for"
    )
    assert await world.find(CONFIG_MAPS, "after") is None

    await world.until_complete("i")
    assert instances.status_of(await world.instance("child"), "deploy") == "COMPLETE"


async def test_a_child_whose_plan_fails_ends_the_plan_with_its_message(world: World) -> None:
    await bring(world, build.job("broken", exit_code=1), name="broken-1")
    await install(world, child("broken-1"), AFTER)

    failed = await world.until_failed("i")

    text = f"instance {world.namespace}/child plan deploy ended with FATAL_ERROR: "
    assert text in instances.messages(failed, "deploy")
    assert 'job "broken" has failed terminally' in instances.messages(failed, "deploy")
    assert instances.ready(failed)["reason"] == "PlanInFatalError"
    assert await world.find(CONFIG_MAPS, "after") is None


async def test_a_changed_child_is_waited_for_until_it_has_run_again(world: World) -> None:
    inner = build.config_map("inner", size="{{ .Params.SIZE }}")
    await bring(world, inner, name="sized-1")
    await install(world, child("sized-1", SIZE="{{ .Params.SIZE }}"))
    await world.until_complete("i")
    first = (await world.instance("child"))["status"]["lastRun"]["uid"]

    await world.patch("i", {"parameters": {"SIZE": "2"}})
    await world.until_complete("i")

    found = await world.instance("child")
    assert found["status"]["lastRun"]["uid"] != first
    assert (await world.get(CONFIG_MAPS, "inner"))["data"] == {"size": "2"}


async def test_an_unchanged_child_is_healthy_as_it_is(world: World) -> None:
    await bring(world, build.config_map("inner", a="b"), name="same-1")
    await install(world, child("same-1"))
    await world.until_complete("i")
    before = await world.get(INSTANCES, "child")

    await deploy_again(world)
    await world.until_complete("i")

    after = await world.get(INSTANCES, "child")
    assert after["status"]["lastRun"] == before["status"]["lastRun"]
