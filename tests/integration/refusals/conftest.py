"""A client as administrator, the kind Thing, and a namespace of its own for each test."""

from collections.abc import AsyncIterator

import pytest

from kubeio.client import Client
from kudo_cluster import Cluster
from tests.integration.refusals.kinds import apply, refusal, thing, thing_definition
from tests.support.cluster.clients import client_of, new_namespace
from tests.support.cluster.waiting import wait_until


@pytest.fixture
async def admin(cluster: Cluster) -> AsyncIterator[Client]:
    async with client_of(cluster.kubeconfig("admin")) as client:
        yield client


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
