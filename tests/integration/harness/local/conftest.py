"""A cluster that the harness itself starts, for all tests of this folder."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
import pytest_asyncio

from kubectl_kudo.testing.local.cluster import RunningCluster
from kubectl_kudo.testing.local.planned import Plan, PlannedNode, Where
from kubectl_kudo.testing.target import Target
from kubeio.client import Client
from kubeio.connection.config import load_config
from tests.support.cluster.clients import new_namespace


def plan_of(*labels: Mapping[str, str]) -> Plan:
    """Return the plan of a cluster with a node for each of the labels."""
    return Plan(
        where=Where.OWN,
        asked=None,
        nodes=tuple(PlannedNode(one) for one in labels),
        lines=(),
        commands=(),
        warnings=(),
        steps={},
    )


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def started() -> AsyncIterator[RunningCluster]:
    """Yield a cluster with two nodes and KUDO."""
    cluster = await RunningCluster.start(plan_of({}, {"zone": "b"}))
    try:
        await cluster.install_kudo()
        yield cluster
    finally:
        await cluster.stop()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def target(started: RunningCluster) -> AsyncIterator[Target]:
    async with Client(load_config(started.kubeconfig)) as client:
        yield Target(
            client=client,
            kubeconfig=started.kubeconfig,
            programs=started.programs,
            local=started,
            faults=True,
        )


@pytest_asyncio.fixture(loop_scope="session")
async def namespace(target: Target) -> str:
    return await new_namespace(target.client)


@pytest.fixture(scope="session")
def package() -> Path:
    return Path(__file__).resolve().parents[4] / "examples" / "first-operator"
