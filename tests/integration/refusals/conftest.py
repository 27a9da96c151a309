"""A client as administrator, the kind Thing, and a namespace of its own for each test."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from kubeio.client import Client
from kubeio.config import load_config
from kudo_cluster import Cluster
from tests.integration.refusals.kinds import apply, refusal, thing, thing_definition
from tests.integration.support import new_namespace, wait_until


@pytest.fixture
async def admin(cluster: Cluster) -> AsyncIterator[Client]:
    selector = asyncio.get_running_loop()._selector  # type: ignore[attr-defined]
    before = len(selector.get_map())
    async with Client(load_config(cluster.kubeconfig("admin"))) as client:
        yield client

    async def closed() -> bool:
        return len(selector.get_map()) <= before

    # A body that the server did not want to read is still being sent when its client is closed.
    await wait_until(closed, lambda: "every connection to be closed")


@pytest.fixture
async def namespace(admin: Client) -> str:
    return await new_namespace(admin)


@pytest.fixture
async def things(admin: Client, namespace: str) -> None:
    """Serve the kind Thing."""
    await apply(admin, namespace, thing_definition())
    probe = {**thing(), "metadata": {"name": "probe"}}

    async def served() -> bool:
        return await refusal(admin, namespace, probe) is None

    await wait_until(served, lambda: "the kind Thing to be served")
