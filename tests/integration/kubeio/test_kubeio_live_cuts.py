"""An informer behind a network that cuts, blocks and swallows, in front of a real API server."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from kubeio.cache.informer import Informer
from kubeio.cache.reflector import Status, Timing
from kubeio.client import Client
from kubeio.connection.config import load_config
from kubeio.errors import ConnectionLost
from kubeio.types import JsonObject
from kudo_cluster import Cluster
from tests.integration.kubeio.conftest import CONFIG_MAP, until


class Wire:
    """Forwards TCP to the API server; can cut what is open, refuse what comes, or go silent."""

    def __init__(self) -> None:
        self.open: set[asyncio.StreamWriter] = set()
        self.refusing = False
        self.flowing = asyncio.Event()
        self.flowing.set()

    def cut(self) -> None:
        for writer in self.open:
            writer.transport.abort()

    async def serve(
        self, target: tuple[str, int], down: asyncio.StreamReader, up: asyncio.StreamWriter
    ) -> None:
        if self.refusing:
            up.transport.abort()
            return
        reader, writer = await asyncio.open_connection(*target)
        self.open |= {up, writer}
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pump(down, writer))
                group.create_task(self._pump(reader, up))
        finally:
            self.open -= {up, writer}
            for one in (up, writer):
                one.close()

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(2**16):
                await self.flowing.wait()
                sink.write(data)
                await sink.drain()
        except ConnectionError:
            pass
        sink.close()


@asynccontextmanager
async def wired(cluster: Cluster) -> AsyncIterator[tuple[Wire, Client]]:
    config = load_config(cluster.kubeconfig("admin"))
    url = urlsplit(config.server)
    assert url.hostname is not None
    assert url.port is not None
    wire, target = Wire(), (url.hostname, url.port)
    server = await asyncio.start_server(
        lambda reader, writer: wire.serve(target, reader, writer), "127.0.0.1", 0
    )
    port = server.sockets[0].getsockname()[1]
    try:
        async with Client(replace(config, server=f"https://127.0.0.1:{port}"), timeout=2) as client:
            yield wire, client
    finally:
        wire.flowing.set()
        wire.cut()
        server.close()
        await server.wait_closed()
        await until(lambda: not wire.open)


@asynccontextmanager
async def running(
    client: Client, namespace: str, timing: Timing
) -> AsyncIterator[tuple[Informer, list[Status]]]:
    statuses: list[Status] = []
    informer = Informer(
        client, CONFIG_MAP, namespace=namespace, timing=timing, on_status=statuses.append
    )
    async with asyncio.TaskGroup() as group:
        task = group.create_task(informer.run())
        await informer.wait_synced(10)
        yield informer, statuses
        task.cancel()


def config_map(namespace: str, name: str, value: str = "") -> JsonObject:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"v": value}}


async def truth(client: Client, namespace: str) -> dict[str, str]:
    found = await client.list(CONFIG_MAP, namespace=namespace)
    return versions(found.items)


def versions(items: list[JsonObject]) -> dict[str, str]:
    return {one["metadata"]["name"]: one["metadata"]["resourceVersion"] for one in items}


async def test_nothing_is_lost_however_often_the_line_is_cut(
    cluster: Cluster, client: Client, namespace: str
) -> None:
    rng = random.Random(3)
    timing = Timing(backoff=(0.01, 0.1))
    async with (
        wired(cluster) as (wire, distant),
        running(distant, namespace, timing) as (informer, statuses),
    ):
        for number in range(120):
            name = f"m{rng.randrange(10)}"
            if number % 20 == 10:
                wire.refusing = True
                wire.cut()
            if number % 20 == 18:
                wire.refusing = False
            if rng.random() < 0.3 and name in await truth(client, namespace):
                await client.delete(CONFIG_MAP, name, namespace=namespace)
            else:
                obj = config_map(namespace, name, str(number))
                await client.apply(CONFIG_MAP, obj, field_manager="kubeio-test")
        wire.refusing = False
        expected = await truth(client, namespace)
        await until(lambda: versions(informer.list()) == expected)
    assert sum(isinstance(one.error, ConnectionLost) for one in statuses) >= 6


@pytest.mark.campaign
async def test_a_line_gone_silent_is_noticed_and_made_up_for(
    cluster: Cluster, client: Client, namespace: str
) -> None:
    timing = Timing(watch=(4, 4), idle=3.5, backoff=(0.01, 0.1))
    async with (
        wired(cluster) as (wire, distant),
        running(distant, namespace, timing) as (informer, statuses),
    ):
        # A watch of four seconds has its bookmark after two, and ends two later.
        await until(lambda: informer._reflector._bookmarks)
        lost = len(statuses)
        wire.flowing.clear()
        await client.apply(CONFIG_MAP, config_map(namespace, "a"), field_manager="kubeio-test")
        await until(lambda: any(isinstance(one.error, ConnectionLost) for one in statuses[lost:]))
        assert informer.get(namespace, "a") is None
        wire.flowing.set()
        await until(lambda: informer.get(namespace, "a"))
