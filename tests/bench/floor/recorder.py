"""A proxy that records what a reconciler sends for the objects of one namespace.

It listens on the loopback interface in plain HTTP and goes on over TLS with the reconciler's
certificate. Bodies and answers keep their bytes; watches are streamed.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import aiohttp
import orjson
from aiohttp import web
from yarl import URL

from kubeio.connection.config import ClusterConfig
from tests.bench.floor.recording import Exchange, Json

_LIMIT: Final = 2**25
_HOP: Final = frozenset(
    {"host", "connection", "content-length", "transfer-encoding", "accept-encoding"}
)
_KEPT: Final = ("Content-Type", "Retry-After", "Warning")


@dataclass
class Recorder:
    """Forwards requests, and keeps those for a namespace.

    Attributes:
        namespace: Whose requests are kept; none if it is empty.
        exchanges: What was kept, in the order in which the requests arrived.
    """

    upstream: ClusterConfig
    session: aiohttp.ClientSession
    namespace: str = ""
    _slots: list[Exchange | None] = field(default_factory=list)

    @property
    def exchanges(self) -> list[Exchange]:
        return [one for one in self._slots if one is not None]

    @property
    def disturbed(self) -> bool:
        """Whether a request was given up before its answer, or a write refused."""
        refused = (not one.reads and one.status >= 300 for one in self.exchanges)
        return None in self._slots or any(refused)

    def follow(self, namespace: str) -> None:
        """Forget what was kept, and keep requests for another namespace."""
        self.namespace = namespace
        self._slots = []

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        place = self._place(request)
        async with self._sent(request, body) as answer:
            if request.query.get("watch") == "true":
                return await _streamed(request, answer)
            content = await answer.read()
        if place is not None:
            self._slots[place] = Exchange(
                request.method,
                request.path,
                dict(request.query),
                request.content_type,
                _decoded(body),
                answer.status,
                _decoded(content),
            )
        return web.Response(status=answer.status, headers=_kept(answer), body=content)

    def _place(self, request: web.Request) -> int | None:
        """Return where the exchange goes: in the order of arrival, whenever the answer comes."""
        if not self.namespace or f"/namespaces/{self.namespace}/" not in request.path:
            return None
        self._slots.append(None)
        return len(self._slots) - 1

    def _sent(self, request: web.Request, body: bytes) -> aiohttp.client._RequestContextManager:
        headers = {k: v for k, v in request.headers.items() if k.lower() not in _HOP}
        return self.session.request(
            request.method,
            URL(f"{self.upstream.server}{request.raw_path}", encoded=True),
            data=body or None,
            headers={**headers, "Accept-Encoding": "identity"},
            allow_redirects=False,
        )


@asynccontextmanager
async def recording(upstream: ClusterConfig) -> AsyncIterator[tuple[Recorder, str]]:
    """Yield a recorder and the URL at which it stands for the API server."""
    connector = aiohttp.TCPConnector(ssl=upstream.ssl or True, limit=0)
    async with aiohttp.ClientSession(
        connector=connector,
        auto_decompress=False,
        timeout=aiohttp.ClientTimeout(total=None),
        skip_auto_headers=("User-Agent", "Accept", "Content-Type"),
    ) as session:
        recorder = Recorder(upstream, session)
        app = web.Application(client_max_size=_LIMIT)
        app.router.add_route("*", "/{path:.*}", recorder.handle)
        runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1
        )
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            host, port = runner.addresses[0][:2]
            yield recorder, f"http://{host}:{port}"
        finally:
            await runner.cleanup()


def kubeconfig_of(server: str) -> dict[str, Json]:
    """Return a kubeconfig without credentials for a recorder."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "recorder", "cluster": {"server": server}}],
        "users": [{"name": "recorder", "user": {}}],
        "contexts": [
            {
                "name": "recorder",
                "context": {"cluster": "recorder", "user": "recorder", "namespace": "default"},
            }
        ],
        "current-context": "recorder",
    }


async def _streamed(request: web.Request, answer: aiohttp.ClientResponse) -> web.StreamResponse:
    response = web.StreamResponse(status=answer.status, headers=_kept(answer))
    await response.prepare(request)
    async for chunk in answer.content.iter_any():
        await response.write(chunk)
    await response.write_eof()
    return response


def _kept(answer: aiohttp.ClientResponse) -> dict[str, str]:
    return {name: answer.headers[name] for name in _KEPT if name in answer.headers}


def _decoded(content: bytes) -> Json:
    return orjson.loads(content) if content else None
