"""A proxy that records what a reconciler sends for the objects of one namespace.

It listens on the loopback interface in plain HTTP and goes on over TLS with the reconciler's
certificate. Bodies and answers keep their bytes; watches are streamed.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
import orjson
from aiohttp import web

from kubeio.connection.config import ClusterConfig
from tests.bench.floor.recording import Exchange, Json
from tests.support.forwarding import Upstream, connected_to, kept, listening


@dataclass
class Recorder:
    """Forwards requests, and keeps those for a namespace.

    Attributes:
        namespace: Whose requests are kept; none if it is empty.
        exchanges: What was kept, in the order in which the requests arrived.
    """

    upstream: Upstream
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
        async with self.upstream.send(request, body) as answer:
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
        return web.Response(status=answer.status, headers=kept(answer), body=content)

    def _place(self, request: web.Request) -> int | None:
        """Return where the exchange goes: in the order of arrival, whenever the answer comes."""
        if not self.namespace or f"/namespaces/{self.namespace}/" not in request.path:
            return None
        self._slots.append(None)
        return len(self._slots) - 1


@asynccontextmanager
async def recording(upstream: ClusterConfig) -> AsyncIterator[tuple[Recorder, str]]:
    """Yield a recorder and the URL at which it stands for the API server."""
    async with connected_to(upstream) as server:
        recorder = Recorder(server)
        async with listening(recorder.handle) as url:
            yield recorder, url


async def _streamed(request: web.Request, answer: aiohttp.ClientResponse) -> web.StreamResponse:
    response = web.StreamResponse(status=answer.status, headers=kept(answer))
    await response.prepare(request)
    async for chunk in answer.content.iter_any():
        await response.write(chunk)
    await response.write_eof()
    return response


def _decoded(content: bytes) -> Json:
    return orjson.loads(content) if content else None
