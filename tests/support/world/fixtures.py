"""One cluster with one installation of KUDO for all tests of a session.

A plugin of pytest, which `tests/integration` and `tests/scenarios` register. A test that stops or
kills a service starts it again before it ends; `installation` checks that.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kudo_cluster import Cluster
from kudo_cluster.installation import Installation
from kudo_cluster.processes.process import Supervision
from tests.support.prefork import Prefork

ROOT = Path(__file__).resolve().parents[3]
SHORT_LEASE = ["--lease-duration=3", "--lease-renew-deadline=2", "--lease-retry=0.5"]
"""Tests kill the reconciler; the one that follows waits for the Lease to run out."""


def register(config: pytest.Config) -> None:
    """Register this plugin, unless another conftest has done so."""
    module = sys.modules[__name__]
    if not config.pluginmanager.is_registered(module):
        config.pluginmanager.register(module)


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
