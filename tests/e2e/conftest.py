"""One cluster with a real node for all end-to-end tests, KUDO on it, a namespace for each test.

A real node needs root. Without it the tests fail with what to do, and none is skipped.
"""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from kudo_cluster import Cluster
from kudo_cluster.installation import Installation
from kudo_cluster.progress import default, silent
from tests.support.cluster.clients import client_of
from tests.support.cluster.clients import new_namespace as new_user_namespace
from tests.support.cluster.kubectl import Kubectl, new_namespace
from tests.support.cluster.world import World

ROOT = Path(__file__).resolve().parents[2]
SHORT_LEASE = ["--lease-duration=3", "--lease-renew-deadline=2", "--lease-retry=0.5"]
"""Tests kill the reconciler; the one that follows waits for the Lease to run out."""


@pytest.fixture(scope="session")
def node_cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Yield a started cluster with a real node; its first start may build for minutes."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    assert capture is not None
    with capture.global_and_fixture_disabled():
        cluster = Cluster.start(name="e2e", profile="node", progress=default())
    with cluster:
        yield cluster


@pytest.fixture(scope="session")
def running_installation(node_cluster: Cluster) -> Iterator[Installation]:
    options = {"reconciler": SHORT_LEASE}
    with Installation.start(
        node_cluster, crds=ROOT / "crds", options=options, progress=silent
    ) as installation:
        yield installation


@pytest.fixture
def installation(running_installation: Installation) -> Installation:
    """Return KUDO with both services running, also after a test that left one stopped."""
    running_installation.webhook.start()
    running_installation.reconciler.start()
    return running_installation


@pytest.fixture
async def world(installation: Installation) -> AsyncIterator[World]:
    """Yield a namespace of its own, seen by a user without rights on workloads."""
    async with client_of(installation.cluster.kubeconfig("user")) as client:
        namespace = await new_user_namespace(client)
        yield World(installation, client, namespace, reconcilers=(installation.reconciler,))


@pytest.fixture
def kubectl(node_cluster: Cluster, tmp_path: Path) -> Iterator[Kubectl]:
    """Give kubectl as the admin, in a new namespace."""
    with new_namespace(node_cluster, tmp_path / "cache") as found:
        yield found


@pytest.fixture
def inside(world: World, node_cluster: Cluster, tmp_path: Path) -> Kubectl:
    """Give kubectl as the admin in the world's namespace, to look into its pods."""
    return Kubectl(node_cluster, tmp_path / "cache", world.namespace)
