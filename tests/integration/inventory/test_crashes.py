"""SIGKILL after writes of a run that adds objects, drops others and prunes them.

On each landing where the record has more than there is, in campaigns after every write; the matrix
in memory (`tests/unit/reconciler/matrix`) has the story of what an Instance owns.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace

import pytest

from kudo_cluster.installation import Installation
from tests.faults.cells.campaign import Campaign
from tests.faults.injection.faults import WATCH, Fault, Rule
from tests.integration.faults.test_kills_between_tasks import struck
from tests.support import build
from tests.support.cluster.clients import new_namespace
from tests.support.cluster.resources import CONFIG_MAPS
from tests.support.cluster.world import World
from tests.support.world.records import (
    config,
    configs,
    install,
    is_complete,
    orphaned,
    record,
    shards,
    tasks_on,
    until_record,
    until_told,
    upgrade,
    version,
)

SERVICE = build.template(
    {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "{{ .Name }}-s"},
        "spec": {"ports": [{"port": 80}], "selector": {"a": "b"}},
    }
)
BEFORE = version("v1", {"first": [config("a"), config("b")], "second": [config("c"), SERVICE]})
AFTER = version("v2", {"first": [config("a")], "second": [config("c"), config("d")]}, prune=True)
LEFT = {
    "ConfigMap i-a": ("deploy", "first"),
    "ConfigMap i-c": ("deploy", "second"),
    "ConfigMap i-d": ("deploy", "second"),
}
SAVED = "update inventories.kudo.dev record 0 of i, {} objects, {} orphans"
AHEAD = (SAVED.format(5, 0), "delete services i-s")
"""Writes after which the record has an object that is not there: not yet, and not any more."""
TRIES = 3
AT_ONCE = 4
"""Namespaces in which a run is going on: after each kill, all of them begin again."""


@dataclass
class Nth(Rule):
    """Strikes when a write comes by again, after so many others with its label."""

    skip: int = 0

    def meets(self, label: str, *, begun: bool) -> bool:
        if label == self.label and self.skip and not self.struck:
            self.skip -= 1
            return False
        return super().meets(label, begun=begun)


@dataclass(frozen=True)
class Kills:
    """Namespaces whose reconciler is killed."""

    world: World
    campaign: Campaign

    async def deployed(self) -> World:
        """Return a further namespace with the Instance in its first version, and a whole record.

        A crash of another namespace may come between the start of its first run and the record.
        That one is never complete: as far as the next process knows, an older release began the
        run, and created objects without a record.
        """
        for _ in range(TRIES):
            world = replace(self.world, namespace=await new_namespace(self.world.client))
            await install(world, BEFORE)
            if await is_complete(world):
                return world
        raise AssertionError(f"{TRIES} first runs in a row left a record that is not complete")

    async def writes(self) -> Counter[str]:
        """Return how often each write comes by without a crash, in their order."""
        world, rules = await self.deployed(), self.campaign.lives.rules
        rules.arm(world.namespace, None)
        await settled(world)
        seen = rules.withdraw(world.namespace)
        kept = [one for one in seen if not one.startswith((WATCH, "create events"))]
        return Counter({one: seen[one] for one in kept})

    async def killed_after(self, label: str, skip: int) -> str:
        """Have the reconciler killed after a write; return what is wrong then."""
        for _ in range(TRIES):
            world, rules = await self.deployed(), self.campaign.lives.rules
            before = (await world.get(CONFIG_MAPS, "i-a"))["metadata"]["uid"]
            rule = Nth(world.namespace, label, Fault.KILL_AFTER, skip=skip)
            rules.arm(world.namespace, rule)
            try:
                await settled(world)
                assert (await world.get(CONFIG_MAPS, "i-a"))["metadata"]["uid"] == before
            except AssertionError as error:
                return f"{label} ({skip}): {error}"
            finally:
                rules.withdraw(world.namespace)
            if rule.struck:
                return ""
            # A crash of another namespace has changed the order of the writes.
        return f"{label} ({skip}): never came by"


async def settled(world: World) -> None:
    """Upgrade the Instance, and wait until nothing is left to do."""
    await upgrade(world, AFTER)
    found = await until_record(world, *LEFT)
    assert tasks_on(found) == LEFT
    await until_told(world)
    assert await configs(world) == {"i-a", "i-c", "i-d"}
    assert orphaned(await record(world)) == set()
    assert await is_complete(world)
    assert len(await shards(world)) == 1
    assert await services(world) == set()


async def services(world: World) -> set[str]:
    done = await world.kubectl("get", "services", "-o=name")
    assert done.code == 0, done.output
    return set(done.stdout.split())


@pytest.fixture
async def kills(running_installation: Installation) -> AsyncIterator[Kills]:
    await asyncio.to_thread(running_installation.webhook.start)
    async with struck(running_installation) as (world, campaign):
        yield Kills(world, campaign)


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(AHEAD, id="where the record has more"),
        pytest.param(None, id="every write", marks=pytest.mark.campaign),
    ],
)
async def test_a_run_ends_as_it_would_have_without_a_crash(
    kills: Kills, after: tuple[str, ...] | None, figure: Callable[[str], None]
) -> None:
    writes = await kills.writes()
    check_order(list(writes))

    wanted = [
        (label, skip)
        for label, times in writes.items()
        if after is None or label in after
        for skip in range(times)
    ]
    assert len(wanted) >= len(AHEAD)
    turns = asyncio.Semaphore(AT_ONCE)

    async def killed_after(label: str, skip: int) -> str:
        async with turns:
            return await kills.killed_after(label, skip)

    problems = await asyncio.gather(*(killed_after(*one) for one in wanted))

    assert [problem for problem in problems if problem] == []
    killed = kills.campaign.lives.strikes.killed
    figure(f"inventory: killed {killed} times after {len(wanted)} writes of a run")
    # One kill may have met several namespaces.
    assert killed > (1 if after is None else 0)


def check_order(seen: list[str]) -> None:
    """Check the order of the writes: recorded before it is sent, and the reverse of kinds."""
    order = [
        SAVED.format(5, 0),
        "apply configmaps i-d",
        SAVED.format(5, 2),
        "update instances.kudo.dev/status run ended of i",
        "delete services i-s",
        "delete configmaps i-b",
        SAVED.format(3, 0),
    ]
    assert [one for one in seen if one in order] == order, seen
