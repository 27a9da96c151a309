"""A TCP balancer in front of webhooks, as a Service has one: no tests of its own.

New connections go to replicas that are ready, in turn; one that refuses is passed over. What is
connected stays connected, whatever readiness says later.
"""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from kudo_cluster.installation import Service

_HOST = "127.0.0.1"
_PROBE_SECONDS = 0.05


@dataclass
class Replica:
    """One webhook behind the balancer.

    Attributes:
        service: The process.
        port: Its admission port.
        ready: What its probe said last.
        connections: How many connections it was given.
        open: How many of them are open.
    """

    service: Service
    port: int
    ready: bool = False
    connections: int = 0
    open: int = 0


@dataclass
class Balancer:
    """A running balancer."""

    replicas: Sequence[Replica]
    port: int = 0
    _turn: Iterator[int] = field(default_factory=itertools.count)

    async def probe(self) -> None:
        """Keep the readiness of every replica up to date, until cancelled."""
        while True:
            for replica in self.replicas:
                status, _ = await asyncio.to_thread(replica.service.get, "/readyz")
                replica.ready = status == 200
            await asyncio.sleep(_PROBE_SECONDS)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Connect a client with a replica until either side closes."""
        found = await self._connect()
        if found is None:
            return await _close(writer)
        replica, replica_reader, replica_writer = found
        replica.open += 1
        try:
            await _first(_pump(reader, replica_writer), _pump(replica_reader, writer))
        finally:
            await _close(replica_writer)
            await _close(writer)
            replica.open -= 1

    async def _connect(
        self,
    ) -> tuple[Replica, asyncio.StreamReader, asyncio.StreamWriter] | None:
        first = next(self._turn)
        for offset in range(len(self.replicas)):
            replica = self.replicas[(first + offset) % len(self.replicas)]
            if replica.ready:
                with contextlib.suppress(OSError):
                    streams = await asyncio.open_connection(_HOST, replica.port)
                    replica.connections += 1
                    return replica, *streams
        return None


@asynccontextmanager
async def balancing(replicas: Sequence[Replica]) -> AsyncIterator[Balancer]:
    """Run a balancer on a free port for the block."""
    balancer, clients = Balancer(replicas), set[asyncio.Task[None]]()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = asyncio.create_task(balancer.serve(reader, writer))
        clients.add(client)
        client.add_done_callback(clients.discard)

    server = await asyncio.start_server(accept, _HOST, 0)
    balancer.port = server.sockets[0].getsockname()[1]
    probing = asyncio.create_task(balancer.probe())
    try:
        yield balancer
    finally:
        server.close()
        tasks = [probing, *clients]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _first(*coroutines: Coroutine[None, None, None]) -> None:
    """Run coroutines until one ends, and cancel the others."""
    tasks = [asyncio.create_task(coroutine) for coroutine in coroutines]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
