"""The end of a release: what stays is what docs/installing.md says, and nothing is locked."""

import asyncio

from tests.e2e.chart.plans import WRITTEN, apply, written
from tests.e2e.chart.release import Release
from tests.support.cluster.resources import CONFIG_MAPS
from tests.support.cluster.site import CONFIGURATION_KINDS, CRDS
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World
from tests.support.cluster.writers import until_written, writing
from tools.chart.helm import NAMESPACE

_OURS = "--selector=app.kubernetes.io/name=kudo"
_NAMESPACED = "deployments,services,serviceaccounts,roles,rolebindings,networkpolicies,configmaps"
_SECRETS = {"kudo-webhook-certificate", "kudo-webhook-certificate-ca"}


async def test_an_uninstalled_release_locks_nothing_and_leaves_what_is_documented(
    world: World, release: Release
) -> None:
    await apply(world, written())
    async with writing(world, WRITTEN, 2) as writers:
        await until_written(writers, 3)
        for writer in writers:
            await until_applied(world, writer.name)
        await asyncio.to_thread(release.uninstall)
        await until_written(writers, 3)
    failures = [str(failure.error) for writer in writers for failure in writer.failures]
    assert failures == []

    site, there = release.site, f"--namespace={NAMESPACE}"
    assert {*CRDS} <= site.names("crds")
    assert site.names("instances.kudo.dev", f"--namespace={world.namespace}") == {
        "written-0", "written-1"
    }  # fmt: skip
    assert not {name for kind in CONFIGURATION_KINDS for name in site.names(kind)}
    assert not site.names(_NAMESPACED, there, _OURS)
    assert not site.names("clusterroles,clusterrolebindings", _OURS)
    assert site.names("secrets", there) == _SECRETS
    assert site.names("leases", there) == {"kudo-reconciler"}
    assert await world.get(CONFIG_MAPS, "written-0")

    await until_no_pods(release)
    # What was changed meanwhile is done by the next installation.
    await asyncio.to_thread(release.settle)
    for number in (0, 1):
        await world.until_complete(f"written-{number}")


async def until_applied(world: World, name: str) -> None:
    # A change supersedes the plan before it, so what was written says nothing of what was applied.
    async def applied() -> bool:
        return await world.find(CONFIG_MAPS, name) is not None

    await wait_until(applied, lambda: f"ConfigMap {name}")


async def until_no_pods(release: Release) -> None:
    async def gone() -> bool:
        return not release.kubectl.get("pods")["items"]

    await wait_until(gone, lambda: "every pod to be gone")
