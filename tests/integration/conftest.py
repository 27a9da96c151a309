"""One cluster with one installation of KUDO for all integration tests, a namespace for each.

A test that stops or kills a service starts it again before it ends; `installation` checks that.
"""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from kubeio.client import Client
from kubeio.connection.config import load_config
from kudo_cluster import Cluster
from kudo_cluster.installation import Installation
from kudo_cluster.processes.supervision import Supervision
from tests.support.cluster.clients import client_of, new_namespace
from tests.support.cluster.world import World
from tests.support.prefork import Prefork

ROOT = Path(__file__).resolve().parents[2]
SHORT_LEASE = ["--lease-duration=3", "--lease-renew-deadline=2", "--lease-retry=0.5"]
"""Tests kill the reconciler; the one that follows waits for the Lease to run out."""


@pytest.fixture(scope="session")
def programs(cluster: Cluster) -> Iterator[Prefork]:
    """Yield what starts our programs without their imports."""
    supervision = Supervision(cluster.directory / "programs.log", remove=None)
    try:
        yield Prefork.launch(cluster.directory, supervision)
    finally:
        supervision.stop()


@pytest.fixture(scope="session")
def running_installation(cluster: Cluster, programs: Prefork) -> Iterator[Installation]:
    """Yield the installation; its services start from their console scripts the first time only."""
    options = {"reconciler": SHORT_LEASE}
    with Installation.start(cluster, crds=ROOT / "crds", options=options) as installation:
        installation.webhook.supervision = installation.reconciler.supervision = programs
        yield installation


@pytest.fixture
def installation(running_installation: Installation) -> Installation:
    """Return KUDO with both services running, also after a test that left one stopped."""
    running_installation.webhook.start()
    running_installation.reconciler.start()
    return running_installation


@pytest.fixture
async def admin(cluster: Cluster) -> AsyncIterator[Client]:
    """Yield a client that may do everything."""
    async with Client(load_config(cluster.kubeconfig("admin"))) as client:
        yield client


@pytest.fixture
async def world(installation: Installation, programs: Prefork) -> AsyncIterator[World]:
    """Yield a namespace of its own, seen by a user without rights on workloads."""
    async with client_of(installation.cluster.kubeconfig("user")) as client:
        namespace = await new_namespace(client)
        yield World(installation, client, namespace, programs, (installation.reconciler,))
