"""A client as administrator, and a namespace of its own for each test."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable

import pytest

from kubeio.client import Client
from kubeio.connection.config import load_config
from kubeio.resource import Resource
from kudo_cluster import Cluster
from tests.support.loops.lacking import within

CONFIG_MAP = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)
NAMESPACE = Resource("", "v1", "Namespace", "namespaces", namespaced=False)
DEPLOYMENT = Resource("apps", "v1", "Deployment", "deployments", namespaced=True)
CRD = Resource(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
)

_numbers = itertools.count(1)


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    async with Client(load_config(cluster.kubeconfig("admin"))) as opened:
        yield opened


@pytest.fixture
async def namespace(client: Client) -> AsyncIterator[str]:
    name = f"kubeio-{next(_numbers)}"
    await client.create(NAMESPACE, {"metadata": {"name": name}})
    yield name
    await client.delete(NAMESPACE, name)


async def until(condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait until a condition holds; the API server is real, so is the time."""
    async with within(seconds, condition):
        while not condition():  # noqa: ASYNC110 - the condition is anything at all
            await asyncio.sleep(0.02)
