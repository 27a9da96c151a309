"""A client that may do everything, and a namespace."""

from collections.abc import AsyncIterator

import pytest

from kubeio.client import Client
from kubeio.config import load_config
from kudo_cluster import Cluster
from tests.integration.support import new_namespace


@pytest.fixture
async def admin(cluster: Cluster) -> AsyncIterator[Client]:
    async with Client(load_config(cluster.kubeconfig("admin"))) as client:
        yield client


@pytest.fixture
async def namespace(admin: Client) -> str:
    return await new_namespace(admin)
