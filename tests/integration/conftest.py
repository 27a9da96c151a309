"""A namespace for each integration test, on one cluster with one installation of KUDO."""

from collections.abc import AsyncIterator

import pytest

from kubeio.client import Client
from kubeio.connection.config import load_config
from kudo_cluster import Cluster
from kudo_cluster.installation import Installation
from tests.support.cluster.clients import client_of, new_namespace
from tests.support.cluster.world import World
from tests.support.prefork import Prefork
from tests.support.world import fixtures
from tests.support.world.fixtures import ROOT as ROOT


def pytest_configure(config: pytest.Config) -> None:
    fixtures.register(config)


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
