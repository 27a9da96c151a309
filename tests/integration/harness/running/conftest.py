"""Runs suites on the cluster of the tests, where KUDO is not needed."""

from pathlib import Path

import pytest

from kubeio.client import Client
from kudo_cluster import Cluster
from tests.integration.harness.running.suites import Runs


@pytest.fixture
def runs(cluster: Cluster, admin: Client, tmp_path: Path) -> Runs:
    """Return what runs suites in a folder of their own."""
    programs = cluster.binary("kubectl").parent
    return Runs(tmp_path, cluster.kubeconfig("admin"), admin, programs)
