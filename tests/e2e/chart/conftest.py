"""One more cluster with a real node, where KUDO is installed by Helm with the images as built.

Nothing of KUDO runs beside this cluster. `make images` builds the images.
"""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import cast

import pytest

from kubeio.client import Client
from kubeio.connection.config import load_config
from kudo_cluster.installation import Installation
from kudo_cluster.progress import default
from tests.e2e.chart.release import USUAL, Release
from tests.support.cluster.clients import client_of, new_namespace
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.site import Site, new_site
from tests.support.cluster.world import World
from tools.chart.helm import NAMESPACE
from tools.images.version import ROOT

_FOLDER = Path(os.environ.get("KUDO_IMAGES") or ROOT / ".kudo" / "images")
IMAGES = {name: _FOLDER / f"kudo-{name}.tar" for name in ("webhook", "reconciler", "cli")}


@pytest.fixture(scope="session")
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    """Yield a cluster that has the images of KUDO, and a namespace for restricted pods alone."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    assert capture is not None
    if missing := [str(path) for path in IMAGES.values() if not path.exists()]:
        pytest.fail(f"missing: {', '.join(missing)}; run `make images`", pytrace=False)
    with capture.global_and_fixture_disabled():
        starting = new_site("release", "node", default())
        started = starting.__enter__()
    try:
        for path in IMAGES.values():
            started.cluster.import_image(path)
        enforce = "pod-security.kubernetes.io/enforce=restricted"
        started.kubectl("label", "namespace", NAMESPACE, enforce)
        yield started
    finally:
        starting.__exit__(None, None, None)


@pytest.fixture(scope="session")
def running_release(site: Site) -> Release:
    """Install the chart for the first time."""
    release = Release(site, Kubectl(site.cluster, site.cluster.directory / "cache", NAMESPACE))
    release.upgrade(USUAL)
    return release


@pytest.fixture
def release(running_release: Release) -> Release:
    """Return the usual release with all of its pods, whatever a test before has done to it."""
    running_release.settle()
    return running_release


@pytest.fixture
async def world(release: Release) -> AsyncIterator[World]:
    """Yield a namespace of its own, seen by a user without rights on workloads."""
    # Of an installation, a world asks only on which cluster it is; a site says that, too.
    installation = cast("Installation", release.site)
    async with client_of(release.site.cluster.kubeconfig("user")) as client:
        namespace = await new_namespace(client)
        release.allow_tenant(namespace)
        yield World(installation, client, namespace)


@pytest.fixture
async def admin(release: Release) -> AsyncIterator[Client]:
    """Yield a client that may do everything."""
    async with Client(load_config(release.site.cluster.kubeconfig("admin"))) as client:
        yield client


@pytest.fixture
def inside(world: World, release: Release, tmp_path: Path) -> Kubectl:
    """Give kubectl as the admin in the world's namespace, to look into its pods."""
    return Kubectl(release.site.cluster, tmp_path / "cache", world.namespace)
