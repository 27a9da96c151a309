"""Scenarios: what KUDO does to Instances, told over a `World`.

`--world=memory`, the default, is the API server in memory in simulated time; `--world=real` a real
API server with one installation of KUDO.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack

import pytest

from kubeio.client import Client
from kudo_cluster.installation import Installation
from tests.support.cluster.clients import client_of, new_namespace
from tests.support.cluster.interface import World
from tests.support.cluster.world import World as RealWorld
from tests.support.loops.virtual_loop import VirtualLoop
from tests.support.selection.tiers import is_real
from tests.support.world import fixtures
from tests.support.world.memory import MemoryWorld


def pytest_configure(config: pytest.Config) -> None:
    fixtures.register(config)


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Simulate the time of scenarios in memory."""
    return {"loop": asyncio.new_event_loop if is_real(config) else VirtualLoop}


@pytest.fixture
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """Yield a namespace of its own, seen by a user without rights on workloads."""
    async with AsyncExitStack() as stack:
        if not is_real(request.config):
            yield await stack.enter_async_context(MemoryWorld.running())
            return
        installation: Installation = request.getfixturevalue("installation")
        kubeconfig = installation.cluster.kubeconfig("user")
        client = await stack.enter_async_context(client_of(kubeconfig))
        yield RealWorld(
            installation,
            client,
            await new_namespace(client),
            request.getfixturevalue("programs"),
            (installation.reconciler,),
        )


@pytest.fixture
async def admin(world: World) -> AsyncIterator[Client]:
    """Yield a client that may do everything."""
    async with world.client_as("admin") as client:
        yield client
