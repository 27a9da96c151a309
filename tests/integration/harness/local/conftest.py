"""A cluster that the harness itself starts, for all tests of this folder."""

from collections.abc import AsyncIterator, Mapping
from importlib.resources import files
from pathlib import Path

import pytest
import pytest_asyncio

from kubectl_kudo.commands.test.host import HOST
from kubeio.client import Client
from kubeio.connection.config import load_config
from kudo_harness.planning.plan import Plan, PlannedNode, Where
from kudo_harness.target import RunningCluster, Target
from tests.support.cluster.clients import new_namespace

CRDS = files("kubectl_kudo") / "manifests" / "crds.yaml"


def plan_of(*labels: Mapping[str, str]) -> Plan:
    """Return the plan of a cluster with a node for each of the labels."""
    return Plan(
        where=Where.OWN,
        asked=None,
        nodes=tuple(PlannedNode(one) for one in labels),
        substitutions=(),
        commands=(),
        warnings=(),
        steps={},
    )


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def started() -> AsyncIterator[RunningCluster]:
    """Yield a cluster with two nodes and KUDO."""
    cluster = await RunningCluster.start(plan_of({}, {"zone": "b"}), CRDS)
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
            host=HOST,
        )


@pytest_asyncio.fixture(loop_scope="session")
async def namespace(target: Target) -> str:
    return await new_namespace(target.client)


@pytest.fixture(scope="session")
def package() -> Path:
    return Path(__file__).resolve().parents[4] / "examples" / "first-operator"
