"""An HTTP server of packages over a real socket, with or without TLS, in a thread of its own."""

import asyncio
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from tests.unit.kubeio.connection.pki import authority, issued

Answer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@dataclass
class Received:
    """A request, as the server got it."""

    path: str
    headers: dict[str, str]


@dataclass
class PackageServer:
    """What the server has and was asked.

    Attributes:
        url: Where it listens.
        files: Contents by path; they have their hash as ETag.
        answers: Other answers by path; they come first, one for each request, the last one stays.
        requests: In the order in which they came.
        ca: File with the certificate of its authority, if it speaks TLS.
    """

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    answers: dict[str, list[Answer]] = field(default_factory=dict)
    requests: list[Received] = field(default_factory=list)
    ca: Path | None = None

    def paths(self) -> list[str]:
        return [one.path for one in self.requests]

    def sent(self, header: str) -> list[str]:
        """Return what each request had in a header."""
        return [one.headers.get(header, "") for one in self.requests]

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.requests.append(Received(request.path, dict(request.headers)))
        answers = self.answers.get(request.path)
        if answers:
            return await (answers.pop(0) if len(answers) > 1 else answers[0])(request)
        if request.path not in self.files:
            return web.Response(status=404)
        content = self.files[request.path]
        etag = f'"{hash(content)}"'
        if request.headers.get("If-None-Match") == etag:
            return web.Response(status=304)
        return web.Response(body=content, headers={"ETag": etag})


def status(code: int, **headers: str) -> Answer:
    """Return an answer without content."""

    async def answer(_: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=code, headers=headers)

    return answer


def to(url: str) -> Answer:
    """Return a redirect."""
    return status(302, Location=url)


async def truncated(request: web.BaseRequest) -> web.StreamResponse:
    """Promise 100 bytes, send 4 and close the connection."""
    response = web.StreamResponse(headers={"Content-Length": "100"})
    await response.prepare(request)
    await response.write(b"only")
    assert request.transport is not None
    request.transport.close()
    return response


@contextmanager
def serving(folder: Path | None = None) -> Iterator[PackageServer]:
    """Serve; with TLS if there is a folder for the certificates."""
    server, started, loop = PackageServer(), threading.Event(), asyncio.new_event_loop()
    context = _tls(server, folder) if folder else None

    async def start() -> web.ServerRunner:
        runner = web.ServerRunner(web.Server(server.handle), shutdown_timeout=0)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        port = runner.addresses[0][1]
        server.url = f"{'https' if folder else 'http'}://localhost:{port}"
        return runner

    def run() -> None:
        runner = loop.run_until_complete(start())
        started.set()
        loop.run_forever()
        # An answer that never ends must not keep the server from ending.
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(runner.cleanup())
        loop.close()

    thread = threading.Thread(target=run, name="package server")
    thread.start()
    assert started.wait(30)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


def _tls(server: PackageServer, folder: Path) -> ssl.SSLContext:
    pair = issued("localhost")
    server.ca = folder / "ca.pem"
    server.ca.write_bytes(authority().cert)
    (folder / "server.pem").write_bytes(pair.cert + pair.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    return context
