"""Two reconcilers: what becomes of a plan whose leader is killed, told to end, or stands still."""

import asyncio
import json
import signal
import time
from collections.abc import Awaitable, Callable, Mapping

import pytest

from kudo_cluster.installation import Service
from tests.integration.ha.conftest import Start
from tests.integration.ha.support import Pair, changed, life_of, metric, versions, watching
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.resources import CONFIG_MAPS, JOBS
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World

# Nobody waits for such a lease to run out: what passes was handed over.
LONG_LEASE = ("--lease-duration=900", "--lease-renew-deadline=30", "--lease-retry=1")
USUAL_LEASE = ("--lease-duration=15", "--lease-renew-deadline=10", "--lease-retry=2")
SHORT_LEASE = ("--lease-duration=6", "--lease-renew-deadline=4", "--lease-retry=0.5")
Figure = Callable[[str], None]


def operator(delay: str = "6s") -> Json:
    """Return a version whose deploy plan runs a Job, deletes it, runs it again, and then waits.

    The plan `resize` follows SIZE. Names begin with that of the Instance.
    """

    def named(obj: Json) -> str:
        return json.dumps(obj).replace('"@', '"{{ .Name }}-')

    return build.operator_version(
        "two-1",
        templates={
            "job.yaml": named(build.job("@job")),
            "last.yaml": named(build.job("@last")),
            "slow.yaml": named(build.deployment("@slow", ready_delay=delay)),
            "config.yaml": build.template(
                named(build.config_map("@config", size="{{ .Params.SIZE }}"))
            ),
        },
        tasks=[
            build.task("job", "Apply", "job.yaml"),
            build.task("drop", "Delete", "job.yaml"),
            build.task("again", "Apply", "job.yaml"),
            build.task("slow", "Apply", "slow.yaml"),
            build.task("last", "Apply", "last.yaml"),
            build.task("config", "Apply", "config.yaml"),
        ],
        plans={
            "deploy": build.plan(
                {name: [name] for name in ("job", "drop", "again", "slow", "last", "config")}
            ),
            "resize": build.plan({"config": ["config"]}),
        },
        parameters=[build.parameter("SIZE", "1", trigger="resize")],
    )


async def until_step(world: World, name: str, step: str) -> str:
    """Wait until a step runs, and return the uid of the execution."""
    found = await world.until(
        name, lambda i: instances.steps(i, "deploy").get(f"phase1.{step}") == "IN_PROGRESS", step
    )
    return str(instances.scheduled(found)["uid"])


async def until_slow(world: World) -> None:
    await until_step(world, "i", "slow")


async def until_first_job(world: World) -> None:
    async def there() -> bool:
        return await world.find(JOBS, "i-job") is not None

    await wait_until(there, lambda: "the first Job")


async def until_dropping(world: World) -> None:
    await world.until(
        "i",
        lambda i: instances.steps(i, "deploy").get("phase1.job") == "COMPLETE",
        "the end of the Job",
    )


async def kill(service: Service) -> None:
    await asyncio.to_thread(service.kill)


async def stop(service: Service) -> None:
    await asyncio.to_thread(service.stop)


async def follow(pair: Pair, world: World, text: str, names: Mapping[str, str]) -> str:
    """Wait until the second one has finished what the first one began; return how long it took."""
    begun = time.monotonic()
    await pair.until_leads(pair.second)
    led = time.monotonic()
    for name, uid in names.items():
        ended = await world.until_complete(name)
        assert instances.entry(ended, "deploy")["uid"] == uid
    ends = time.monotonic()
    return f"leader {text}: another led after {led - begun:.1f} s, done after {ends - begun:.1f} s"


@pytest.mark.parametrize(
    ("moment", "lease"),
    [
        pytest.param(until_dropping, SHORT_LEASE, marks=pytest.mark.smoke),
        pytest.param(until_first_job, SHORT_LEASE, marks=pytest.mark.campaign),
        pytest.param(until_slow, USUAL_LEASE, marks=pytest.mark.campaign),
    ],
)
async def test_a_plan_whose_leader_is_killed_is_finished_by_the_standby(
    figure: Figure,
    world: World,
    two_reconcilers: Start,
    moment: Callable[[World], Awaitable[None]],
    lease: tuple[str, ...],
) -> None:
    async with two_reconcilers(*lease) as pair, watching(world, JOBS) as jobs:
        await world.apply(operator(), build.instance("i", "two-1"))
        await moment(world)
        uid = str(instances.scheduled(await world.instance("i"))["uid"])
        await kill(pair.first)
        figure(await follow(pair, world, f"killed {moment.__name__}", {"i": uid}))
        # The plan itself deletes the first one, and makes it again.
        assert jobs.counts() == {"i-job": 2, "i-last": 1}
        assert await life_of(world, pair, uid) == [("PlanStarted", 1), ("PlanFinished", 1)]


@pytest.mark.smoke
async def test_a_leader_told_to_end_hands_its_plan_over(
    figure: Figure, world: World, two_reconcilers: Start
) -> None:
    async with two_reconcilers(*LONG_LEASE) as pair, watching(world, JOBS) as jobs:
        await world.apply(operator(), build.instance("i", "two-1"))
        uid = await until_step(world, "i", "slow")
        await stop(pair.first)
        figure(await follow(pair, world, "told to end", {"i": uid}))
        assert jobs.counts() == {"i-job": 2, "i-last": 1}
        assert await life_of(world, pair, uid) == [("PlanStarted", 1), ("PlanFinished", 1)]


async def test_a_standby_is_warm_and_works_on_nothing(world: World, two_reconcilers: Start) -> None:
    async with two_reconcilers(*LONG_LEASE) as pair:
        await world.apply(operator("0s"), build.instance("i", "two-1"))
        await world.until_complete("i")
        assert pair.second.get("/readyz")[0] == 200
        assert metric(pair.first, "kudo_leader") == 1.0
        assert metric(pair.second, "kudo_leader") == 0.0
        assert (metric(pair.second, "kudo_instances") or 0.0) >= 1.0
        assert metric(pair.first, "kudo_plan_runs_started_total") == 1.0
        assert metric(pair.second, "kudo_plan_runs_started_total") == 0.0


@pytest.mark.parametrize(
    ("stand_still", "go_on"),
    [
        pytest.param(signal.SIGSTOP, signal.SIGCONT, id="frozen"),
        pytest.param(
            signal.SIGUSR1,
            signal.SIGUSR2,
            id="only its loop stands still",
            marks=pytest.mark.campaign,
        ),
    ],
)
async def test_a_frozen_leader_changes_nothing_when_it_goes_on(
    figure: Figure,
    world: World,
    two_reconcilers: Start,
    stand_still: signal.Signals,
    go_on: signal.Signals,
) -> None:
    async with two_reconcilers(*SHORT_LEASE) as pair, watching(world, JOBS) as jobs:
        names = [f"i{number}" for number in range(6)]
        await world.apply(operator("2s"), *(build.instance(name, "two-1") for name in names))
        await until_step(world, "i0", "slow")
        pair.first.send_signal(stand_still)
        uids = {name: str(instances.scheduled(await world.instance(name))["uid"]) for name in names}
        figure(await follow(pair, world, f"given {stand_still.name}", uids))
        for name in names:
            await world.patch(name, {"parameters": {"SIZE": "2"}})
        for name in names:
            await world.until_complete(name, "resize")
        before = await versions(world, pair)

        pair.first.send_signal(go_on)

        async def steps_down() -> bool:
            return await asyncio.to_thread(metric, pair.first, "kudo_leader") == 0.0

        await wait_until(steps_down, lambda: "the former leader to step down")
        passes = metric(pair.first, "kudo_reconcile_total")
        await until_looked_again(world, pair)
        assert metric(pair.first, "kudo_reconcile_total") == passes
        assert changed(before, await versions(world, pair), "late") == {}
        for name, uid in uids.items():
            found = await world.get(CONFIG_MAPS, f"{name}-config")
            assert found["data"] == {"size": "2"}
            assert await life_of(world, pair, uid) == [("PlanStarted", 1), ("PlanFinished", 1)]
            assert jobs.counts()[f"{name}-job"] == 2
            assert jobs.counts()[f"{name}-last"] == 1

        # It leads again when it is its turn.
        await stop(pair.second)
        await pair.until_leads(pair.first)
        await world.patch("i0", {"parameters": {"SIZE": "3"}})
        await wait_until(
            lambda: sized(world, "i0-config", "3"), lambda: "the former leader to work again"
        )
        assert (
            instances.status_of(await world.until_complete("i0", "resize"), "deploy") == "COMPLETE"
        )


async def sized(world: World, name: str, size: str) -> bool:
    return bool((await world.get(CONFIG_MAPS, name))["data"] == {"size": size})


async def until_looked_again(world: World, pair: Pair) -> None:
    """Wait until the former leader has seen a change that was made after it went on."""
    await world.apply(build.instance("late", "two-1"))
    await world.until_complete("late")
    seen = metric(pair.second, "kudo_instances")
    assert seen is not None

    async def caught_up() -> bool:
        return await asyncio.to_thread(metric, pair.first, "kudo_instances") == seen

    await wait_until(caught_up, lambda: "the former leader to see what has happened")
