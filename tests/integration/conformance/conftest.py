"""A real API server and the one in memory, with the same custom resource."""

import random
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from kubeio.client import Client
from kubeio.connection.config import load_config
from kubeio.discovery import Discovery
from kubeio.errors import AlreadyExists, UnknownKind
from kubeio.resource import Resource
from kudo_cluster import Cluster
from tests.integration.conformance.scripts.objects import WIDGETS
from tests.integration.conformance.scripts.widgets import WIDGET_DEFINITION
from tests.support.apiserver.controllers.collector import Collector
from tests.support.apiserver.network.transport import CONFIG, MemoryTransport
from tests.support.apiserver.server import ApiServer
from tests.support.cluster.waiting import wait_until

CRDS = Resource(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture
async def real(cluster: Cluster) -> AsyncIterator[Client]:
    """Yield a client for a real API server."""
    config = load_config(cluster.kubeconfig("admin"), user_agent=CONFIG.user_agent)
    async with Client(config) as client:
        await _define(client)
        yield client


@pytest.fixture
async def memory() -> AsyncIterator[Client]:
    """Yield a client for the API server in memory."""
    server = ApiServer(_now, random.Random(1))
    Collector(server.storage, server.registry, server.deleter).start()
    async with Client(CONFIG, transport=MemoryTransport(server)) as client:
        await _define(client)
        # A real one keeps no history from before its start.
        server.storage.compact()
        yield client


async def _define(client: Client) -> None:
    try:
        await client.create(CRDS, WIDGET_DEFINITION)
    except AlreadyExists:
        return
    discovery = Discovery(client)

    async def served() -> bool:
        try:
            await discovery.resolve(WIDGETS.api_version, WIDGETS.kind)
            await client.list(WIDGETS)
        except UnknownKind:
            return False
        return True

    await wait_until(served, lambda: "the custom resource to be served")
