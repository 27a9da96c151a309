"""Events that the API server refuses for a while: nothing waits for them, and none is forgotten."""

from tests.integration.events.conftest import Throttled
from tests.integration.ha.support import metric
from tests.support import build
from tests.support.cluster.resources import INSTANCES
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World

RUN = ["PlanStarted", "PlanFinished"]


async def install(world: World, *names: str) -> None:
    version = build.operator_version(
        "v",
        templates={"c.yaml": build.template(build.config_map("{{ .Name }}-c"))},
        plans={"deploy": build.plan({"c": ["c"]})},
    )
    await world.apply(version, *(build.instance(name, "v") for name in names))
    for name in names:
        await world.until_complete(name)


async def reasons(world: World, name: str = "i") -> list[str]:
    events = await world.events()
    return [event["reason"] for event in events if event["involvedObject"]["name"] == name]


async def until_told(world: World, name: str, *expected: str) -> None:
    async def told() -> bool:
        return await reasons(world, name) == list(expected)

    await wait_until(told, lambda: f"the events {expected} of {name}")


async def test_deploys_wait_for_no_event_and_none_is_lost(
    world: World, throttled: Throttled
) -> None:
    """With one worker, each event that held it would be given up before the next."""
    names = [f"i{number}" for number in range(5)]
    await install(world, *names)

    # Those of the runs of other tests, which ended lately, are repeated by the new leader.
    assert (metric(throttled.service, "kudo_events_waiting") or 0) >= 2 * len(names)
    assert metric(throttled.service, "kudo_events_lost_total") == 0
    assert await world.events() == []

    throttled.throttle.on = False
    for name in names:
        await until_told(world, name, *RUN)
    assert metric(throttled.service, "kudo_events_lost_total") == 0


async def test_a_clean_stop_delivers_what_is_queued(world: World, throttled: Throttled) -> None:
    await install(world, "i")
    assert await reasons(world) == []

    throttled.throttle.on = False
    await throttled.stop()

    assert await reasons(world) == RUN


async def test_what_a_crash_lost_is_made_good_at_the_next_start(
    world: World, throttled: Throttled
) -> None:
    await install(world, "i")
    await throttled.kill()
    assert await reasons(world) == []

    throttled.throttle.on = False
    await throttled.start()

    await until_told(world, "i", *RUN)


async def test_the_cleanup_of_an_instance_that_goes_is_told_all_the_same(
    world: World, throttled: Throttled
) -> None:
    version = build.operator_version(
        "leaving",
        templates={"c.yaml": build.template(build.config_map("{{ .Name }}-c"))},
        plans={"deploy": build.plan({"c": ["c"]}), "cleanup": build.plan({"c": ["c"]})},
    )
    await world.apply(version, build.instance("i", "leaving"))
    await world.until_complete("i")
    await world.client.delete(INSTANCES, "i", namespace=world.namespace)
    await world.until_gone(INSTANCES, "i")
    assert await reasons(world) == []

    throttled.throttle.on = False

    await until_told(world, "i", *RUN, *RUN)
