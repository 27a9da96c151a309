"""Upgrades and new certificates while users change Instances all the time."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from tests.e2e.chart.plans import WRITTEN, apply, gated, hold, let_go, written
from tests.e2e.chart.release import COMPONENTS, USUAL, Release
from tests.support.build import Json
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World
from tests.support.cluster.writers import Writer, until_written, writing

_LEAF, _AUTHORITY = "kudo-webhook-certificate", "kudo-webhook-certificate-ca"
_WRITERS = 3
SHORT: Json = {**USUAL, "tls": {"builtIn": {"leafLifetime": "20s", "authorityLifetime": "50s"}}}
Figure = Callable[[str], None]


@asynccontextmanager
async def load(world: World, inside: Kubectl) -> AsyncIterator[list[Writer]]:
    """Have users change Instances, and a plan run, for the whole block; the plan then ends."""
    await apply(world, written())
    await hold(world, inside, gated())
    async with writing(world, WRITTEN, _WRITERS) as writers:
        await until_written(writers, 3)
        yield writers
        await until_written(writers, 3)
    let_go(inside)
    await world.until_complete("held")


def count(writers: list[Writer], what: str, figure: Figure) -> None:
    """Note what became of the requests; each of them has to be answered as it should."""
    failures = [str(failure.error) for writer in writers for failure in writer.failures]
    faults = [fault for writer in writers for fault in writer.faults]
    requests = sum(writer.changes for writer in writers) + len(failures)
    figure(f"{what}: {requests} requests, failures = {len(failures)}")
    assert failures == []
    assert faults == []


async def test_an_upgrade_that_replaces_every_pod_fails_no_write_and_no_plan(
    world: World, inside: Kubectl, release: Release, figure: Figure
) -> None:
    before = {name for component in COMPONENTS for name in release.names(component)}
    rolled: Json = {"podAnnotations": {"example.com/rolled": "yes"}}
    values = {"webhook": rolled, "reconciler": {**USUAL["reconciler"], **rolled}}

    async with load(world, inside) as writers:
        await asyncio.to_thread(release.upgrade, values)

    after = {name for component in COMPONENTS for name in release.names(component)}
    assert not before & after
    count(writers, "helm upgrade under load", figure)


async def test_certificates_and_their_authority_are_renewed_without_a_failed_write(
    world: World, inside: Kubectl, release: Release, figure: Figure
) -> None:
    leaves: set[str] = set()
    authorities: set[str] = set()

    async def renewed() -> bool:
        leaves.add(await certificate(release, _LEAF))
        authorities.add(await certificate(release, _AUTHORITY))
        return len(leaves) >= 4 and len(authorities) >= 3

    async with load(world, inside) as writers:
        await asyncio.to_thread(release.upgrade, SHORT)
        await until(renewed, lambda: f"{len(leaves)} leaves, {len(authorities)} authorities")
        await asyncio.to_thread(release.upgrade, USUAL)

    what = f"{len(leaves)} certificates of {len(authorities)} authorities under load"
    count(writers, what, figure)


async def until(condition: Callable[[], Awaitable[bool]], what: Callable[[], str]) -> None:
    await wait_until(condition, what, seconds=300)


async def certificate(release: Release, secret: str) -> str:
    found = await asyncio.to_thread(release.kubectl.get, "secret", secret)
    return str(found["data"]["tls.crt"])
