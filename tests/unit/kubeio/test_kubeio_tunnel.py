"""TLS through the tunnel of a proxy, and requests that neither it nor the server may see."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from kubeio.client import Client
from kubeio.connection.config import ClusterConfig
from kubeio.connection.tls import Pem, Tls
from tests.unit.kubeio.connection.pki import authority
from tests.unit.kubeio.http.servers import Peer, answers, serving


@asynccontextmanager
async def tunnels() -> AsyncIterator[tuple[str, list[bytes]]]:
    """Serve a proxy for CONNECT; yield its URL and the request lines that it got."""
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        asked.append(head.partition(b"\r\n")[0])
        host, _, port = head.split()[1].decode().rpartition(":")
        there, back = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        async with asyncio.TaskGroup() as group:
            group.create_task(pump(reader, back))
            group.create_task(pump(there, writer))

    async def pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await source.read(2**16):
                target.write(data)
        target.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", asked
    finally:
        server.close()
        await server.wait_closed()


async def test_tls_goes_through_a_tunnel() -> None:
    async with serving(answers) as server, tunnels() as (proxy, asked):
        tls = Tls()
        tls.load(ca=Pem(data=authority().cert), cert=Pem(), key=Pem())
        config = ClusterConfig(server=server.url, tls=tls, proxy=proxy)
        async with Client(config) as client:
            assert await client.raw("GET", "/version") == {}
        host = server.url.removeprefix("https://").encode()
        assert asked == [b"CONNECT %s HTTP/1.1" % host]


async def test_a_header_that_would_split_the_request_sends_nothing() -> None:
    async def unreached(peer: Peer) -> None:
        await peer.request()

    async with serving(unreached, tls=False) as server:
        config = ClusterConfig(server=server.url, headers=(("Impersonate-User", "a\r\nB: c"),))
        for proxy in (None, server.url):
            async with Client(replace(config, proxy=proxy)) as client:
                with pytest.raises(ValueError, match=r"[Hh]eader"):
                    await client.raw("POST", "/a", body={})
        assert server.requests == []
