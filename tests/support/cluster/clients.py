"""Clients of a cluster, and namespaces for them."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from kubeio.client import Client
from kubeio.connection.config import load_config
from kudo_cluster.control_plane.identities import Role
from tests.support.cluster.interface import World
from tests.support.cluster.resources import NAMESPACES
from tests.support.cluster.waiting import wait_until

# For one call: a busy machine may take ten times as long as an idle one to validate 450,000 items.
CALL_SECONDS = 120.0
_CLOSING_SECONDS = 3.0


@asynccontextmanager
async def client_of(kubeconfig: Path) -> AsyncIterator[Client]:
    """Yield a client; at the end its connections are closed, those of broken off watches, too."""
    selector = asyncio.get_running_loop()._selector  # type: ignore[attr-defined]
    before = len(selector.get_map())
    async with Client(load_config(kubeconfig), timeout=CALL_SECONDS) as client:
        yield client

    async def closed() -> bool:
        return len(selector.get_map()) <= before

    # Closing says goodbye by TLS; a loop that ends first would leave the sockets open. Those of
    # other clients of the same test cannot be told apart, so this does not insist.
    with contextlib.suppress(AssertionError):
        await wait_until(closed, lambda: "every connection to be closed", _CLOSING_SECONDS)


def client_as(world: World, identity: Role) -> AbstractAsyncContextManager[Client]:
    """Yield a client with the rights of somebody."""
    return world.client_as(identity)


async def new_namespace(client: Client) -> str:
    name = f"test-{uuid.uuid4().hex[:10]}"
    await client.create(
        NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    )
    return name
