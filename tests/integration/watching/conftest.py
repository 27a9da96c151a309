"""A reconciler that sees the API server through a proxy, in the place of the session's own."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from kubeio.connection.config import load_config
from tests.faults.injection.faults import Rules
from tests.faults.injection.proxy import Answer, Proxy
from tests.faults.injection.reconcilers import Reconcilers
from tests.faults.injection.roles import write_of
from tests.faults.injection.strikes import Strikes
from tests.support.cluster.world import World


@dataclass
class WatchingProxy(Proxy):
    """Lets something happen before a write.

    Attributes:
        before: What happens before the write with this label goes on its way.
    """

    before: dict[str, Callable[[], Awaitable[object]]] = field(default_factory=dict)

    async def _forward(self, request: web.Request, body: bytes) -> Answer:
        write = write_of(request.method, request.path, request.content_type, body)
        happens = self.before.pop(write.label, None) if write else None
        if happens is not None:
            await happens()
        return await super()._forward(request, body)


@pytest.fixture
async def proxy(world: World) -> AsyncIterator[WatchingProxy]:
    """Yield the proxy; `reconcilers.start` begins to work behind it."""
    world.installation.reconciler.stop()
    upstream = load_config(world.installation.cluster.kubeconfig("reconciler"))
    strikes = Strikes(Reconcilers(world.installation))
    async with WatchingProxy(upstream, Rules(), strikes) as proxy:
        yield proxy


@pytest.fixture
async def reconcilers(world: World) -> AsyncIterator[Reconcilers]:
    reconcilers = Reconcilers(world.installation)
    yield reconcilers
    await reconcilers.stop(reconcilers.names)
