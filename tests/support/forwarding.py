"""What proxies before the API server share: listeners on loopback, requests passed on, kubeconfigs.

A listener speaks plain HTTP; what it passes on goes over TLS with the certificate of a
configuration. Bodies and answers keep their bytes.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import aiohttp
from aiohttp import web
from yarl import URL

from kubeio.connection.config import ClusterConfig

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_LIMIT: Final = 2**25
_BUFFER: Final = 2**21  # aiohttp's 64 KiB make large lists stop and go
_HOP: Final = frozenset(
    {"host", "connection", "content-length", "transfer-encoding", "accept-encoding"}
)
_KEPT: Final = ("Content-Type", "Retry-After", "Warning")


class Upstream:
    """Passes requests on to an API server.

    Made by `connected_to`, inside the event loop that uses it.
    """

    def __init__(self, server: str, session: aiohttp.ClientSession) -> None:
        self._server = server
        self._session = session

    def send(self, request: web.Request, body: bytes) -> aiohttp.client._RequestContextManager:
        """Send a request as it came, with this body."""
        headers = {
            name: value for name, value in request.headers.items() if name.lower() not in _HOP
        }
        return self._session.request(
            request.method,
            URL(f"{self._server}{request.raw_path}", encoded=True),
            data=body or None,
            headers={**headers, "Accept-Encoding": "identity"},
            allow_redirects=False,
        )


@asynccontextmanager
async def connected_to(config: ClusterConfig) -> AsyncIterator[Upstream]:
    """Yield the API server of a configuration, asked with its credentials and without timeouts."""
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=config.ssl or True, limit=0),
        auto_decompress=False,
        read_bufsize=_BUFFER,
        timeout=aiohttp.ClientTimeout(total=None),
        skip_auto_headers=("User-Agent", "Accept", "Content-Type"),
    ) as session:
        yield Upstream(config.server, session)


@asynccontextmanager
async def listening(handle: Handler) -> AsyncIterator[str]:
    """Yield the URL of a listener on loopback; the handler is cancelled when a client goes."""
    app = web.Application(client_max_size=_LIMIT)
    app.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()


def kept(answer: aiohttp.ClientResponse) -> dict[str, str]:
    """Return the headers of an answer that a client of the API server reads."""
    return {name: answer.headers[name] for name in _KEPT if name in answer.headers}


def write_kubeconfig(file: Path, server: str) -> None:
    """Write a kubeconfig without credentials for a listener."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "proxy", "cluster": {"server": server}}],
        "users": [{"name": "proxy", "user": {}}],
        "contexts": [
            {
                "name": "proxy",
                "context": {"cluster": "proxy", "user": "proxy", "namespace": "default"},
            }
        ],
        "current-context": "proxy",
    }
    file.write_text(json.dumps(content), encoding="utf-8")
