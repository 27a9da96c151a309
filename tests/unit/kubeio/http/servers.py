"""Servers that say exactly what a test wants, over real sockets, with or without TLS."""

import asyncio
import contextlib
import ssl
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp.client_proto import ResponseHandler

from kubeio.connection.config import ClusterConfig
from kubeio.connection.http.exchange import Request
from kubeio.connection.http.session import Session
from kubeio.connection.tls import Pem, Tls, client_context
from tests.unit.kubeio.connection.pki import authority, issued

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


@dataclass
class Peer:
    """One connection of a client, as its server sees it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    requests: list[bytes]

    async def request(self) -> bytes:
        """Read a request with its body."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        body = b""
        for line in head.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                body = await self.reader.readexactly(int(line.partition(b":")[2]))
        self.requests.append(head + body)
        return head + body

    async def say(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def gone(self) -> None:
        """Wait until the client has closed the connection."""
        with contextlib.suppress(ConnectionError):
            while await self.reader.read(2**16):
                pass


Script = Callable[[Peer], Awaitable[None]]


@dataclass
class Server:
    """What a server was asked.

    Attributes:
        url: Where it listens.
        requests: In the order in which they were read.
        connections: How many were made.
        ended: How many of them have ended.
        names: Server names of the TLS handshakes.
    """

    url: str = ""
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0
    ended: int = 0
    names: list[str | None] = field(default_factory=list)


@asynccontextmanager
async def serving(
    *scripts: Script, tls: bool = True, host: str = "127.0.0.1", demand: bool = False
) -> AsyncIterator[Server]:
    """Serve the first connection by the first script and so on, and all others by the last one.

    Args:
        scripts: Each ends its connection when it returns.
        tls: Speak TLS, with a certificate of localhost and 127.0.0.1.
        host: Address to listen at.
        demand: Ask for a certificate of the client.
    """
    served = Server()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        script = scripts[min(served.connections, len(scripts) - 1)]
        served.connections += 1
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                await script(Peer(reader, writer, served.requests))
        finally:
            served.ended += 1
            writer.close()
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()

    context = _server_context(served, demand=demand) if tls else None
    server = await asyncio.start_server(serve, host, 0, ssl=context)
    port = server.sockets[0].getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    served.url = f"{'https' if tls else 'http'}://{shown}:{port}"
    try:
        yield served
    finally:
        server.close()
        await server.wait_closed()


def _server_context(served: Server, *, demand: bool) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    pair = issued("localhost")
    with tempfile.TemporaryDirectory() as folder:
        cert, key = Path(folder, "cert"), Path(folder, "key")
        cert.write_bytes(pair.cert)
        key.write_bytes(pair.key)
        context.load_cert_chain(cert, key)
    context.sni_callback = lambda _socket, name, _context: served.names.append(name)
    if demand:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=authority().cert.decode())
    return context


@asynccontextmanager
async def session(
    server: Server | str,
    *,
    limit: int = 0,
    compression: bool = False,
    tls: ssl.SSLContext | None = None,
    tls_server_name: str | None = None,
) -> AsyncIterator[Session]:
    """Open a session to a server; it trusts the authority of the tests."""
    url = server if isinstance(server, str) else server.url
    trust = Tls()
    trust.context = tls or client_context(ca=Pem(data=authority().cert))
    config = ClusterConfig(
        url,
        user_agent="test/1",
        compression=compression,
        tls=trust,
        tls_server_name=tls_server_name,
    )
    opened = Session(config, limit=limit)
    try:
        yield opened
    finally:
        await opened.close()


def unused(opened: Session) -> list[ResponseHandler]:
    """Return the connections that no request is on."""
    return [one for kept in opened._connector._conns.values() for one, _ in kept]


def get(path: str = "/a") -> Request:
    return Request("GET", path, headers=())


def put(body: bytes = b"{}", *, before_write: Callable[[], None] | None = None) -> Request:
    return Request(
        "PUT",
        "/a",
        headers=(),
        body=body,
        content_type="application/json",
        before_write=before_write,
    )


async def asked(opened: Session, request: Request) -> bytes:
    """Send a request, and return the whole body of the answer."""
    response = await opened.send(request)
    try:
        return await response.read()
    finally:
        response.close()


def says(*parts: bytes) -> Script:
    """Answer one request with these bytes, and close the connection."""

    async def script(peer: Peer) -> None:
        await peer.request()
        for part in parts:
            await peer.say(part)

    return script


async def answers(peer: Peer) -> None:
    """Answer requests as long as they come."""
    while True:
        await peer.request()
        await peer.say(OK)


async def hangs(peer: Peer) -> None:
    """Take a request, and say nothing until the client gives up."""
    await peer.request()
    await peer.gone()


async def answers_once_then_drops(peer: Peer) -> None:
    """Answer a request, take another one, and close without an answer."""
    await peer.request()
    await peer.say(OK)
    await peer.request()
