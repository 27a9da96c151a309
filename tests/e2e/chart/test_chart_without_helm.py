"""`kubectl kudo init` on a real node: the same objects, without Helm."""

from collections.abc import Iterator

import pytest

from tests.e2e.chart.plans import WRITTEN, apply, written
from tests.e2e.chart.release import USUAL, Release
from tests.support import build
from tests.support.cluster.initialising import BUILT_IN, init
from tests.support.cluster.site import Site, wait_until
from tests.support.cluster.world import World
from tools.chart.helm import NAMESPACE

_WAIT = ("--wait", "--timeout=180s")


@pytest.fixture
def empty(release: Release) -> Iterator[Site]:
    """Yield the cluster without KUDO, but for the CRDs; Helm takes it on again in the end."""
    release.uninstall()
    wait_until(lambda: not release.kubectl.get("pods")["items"], "every pod to be gone")
    yield release.site
    release.upgrade(USUAL, *_WAIT, "--take-ownership", "--force-conflicts")


async def test_what_the_plugin_installs_works_is_verified_and_goes_again(
    world: World, empty: Site
) -> None:
    installed = init(empty, BUILT_IN, "--wait")
    assert installed.code == 0, installed.output
    assert installed.stdout.splitlines()[-1] == "✅ KUDO is ready!"
    verified = init(empty, BUILT_IN, "--verify")
    assert verified.code == 0, verified.output

    await apply(world, written(), build.instance("i", WRITTEN))
    await world.until_complete("i")

    removed = init(empty, "--uninstall", "--yes")
    assert removed.code == 0, removed.output
    assert not empty.names("deployments", f"--namespace={NAMESPACE}")
    assert empty.names("instances.kudo.dev", f"--namespace={world.namespace}") == {"i"}
