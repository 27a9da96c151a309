"""A reconciler in place of the usual one, whose events the API server can be made to refuse."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest
from aiohttp import web

from kubeio.connection.config import load_config
from kudo_cluster.control_plane.network import free_ports
from kudo_cluster.installation import Service
from tests.faults.injection.faults import Rules
from tests.faults.injection.proxy import Proxy
from tests.faults.injection.reconcilers import Reconcilers
from tests.faults.injection.strikes import Strikes
from tests.support.cluster.world import World
from tests.support.forwarding import write_kubeconfig


@dataclass
class Throttle(Proxy):
    """Forwards everything; answers events with 429 while `on`, as EventRateLimit does."""

    on: bool = False

    async def _handle(self, reconciler: str, request: web.Request) -> web.StreamResponse:
        if self.on and request.method == "POST" and request.path.endswith("/events"):
            refusal = {"kind": "Status", "code": 429, "reason": "TooManyRequests"}
            return web.json_response(refusal, status=429)
        return await super()._handle(reconciler, request)


@dataclass(frozen=True)
class Throttled:
    """The reconciler, and what can be done to its events."""

    throttle: Throttle
    service: Service

    async def start(self) -> None:
        await asyncio.to_thread(self.service.start)

    async def stop(self) -> None:
        await asyncio.to_thread(self.service.stop)

    async def kill(self) -> None:
        await asyncio.to_thread(self.service.kill)


@pytest.fixture
async def throttled(world: World) -> AsyncIterator[Throttled]:
    """Yield a reconciler with one worker and a throttle that is on."""
    installation = world.installation
    await asyncio.to_thread(installation.reconciler.stop)
    async with _throttle(world) as throttle:
        kubeconfig = installation.directory / "throttled.kubeconfig"
        server = await throttle.listen("throttled")
        write_kubeconfig(kubeconfig, server)
        [port] = free_ports(1)
        stock = installation.reconciler
        options = [f"--kubeconfig={kubeconfig}", f"--probe-port={port}", "--workers=1"]
        service = replace(
            stock,
            name="throttled reconciler",
            command=[*stock.command, *options],
            log=installation.directory / "throttled.log",
            probe_port=port,
            process=None,
        )
        try:
            await asyncio.to_thread(service.start)
            yield Throttled(throttle, service)
        finally:
            await asyncio.to_thread(service.kill)
            await asyncio.to_thread(installation.reconciler.start)


@asynccontextmanager
async def _throttle(world: World) -> AsyncIterator[Throttle]:
    upstream = load_config(world.installation.cluster.kubeconfig("reconciler"))
    strikes = Strikes(Reconcilers(world.installation))
    async with Throttle(upstream, Rules(), strikes, on=True) as throttle:
        yield throttle
