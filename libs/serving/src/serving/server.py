"""Run an ASGI app on uvicorn as one task among others.

Signals belong to the program (`serving.signals`), so uvicorn installs no handlers. Invariants: the
socket is bound before uvicorn starts, so that a taken port is an error and not an exit of the
process; after `stop` the listener closes at once, requests in flight get `grace` seconds.
"""

import asyncio
import math
import socket
import ssl as tls
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, cast

import uvicorn
from prometheus_client import CollectorRegistry
from uvicorn.server import ServerState

from serving.connections import Connections
from serving.limits import PROBES, PortLimits
from serving.probes import AsgiApp, Probes, asgi_app
from serving.protocol import BoundedProtocol, TlsProtocol
from serving.token_gate import TokenGate

_PROBE_GRACE: Final = 1.0
"""Seconds that a probe in flight gets when the process stops."""


class ListenError(Exception):
    """The address cannot be listened on: taken, not ours, or not permitted."""

    def __init__(self, host: str, port: int, reason: str) -> None:
        self.host, self.port, self.reason = host, port, reason
        super().__init__(f"cannot listen on {host}:{port}: {reason}")


async def serve(
    app: AsgiApp,
    *,
    host: str,
    port: int,
    stop: asyncio.Event,
    grace: float,
    ssl: tls.SSLContext | None = None,
    on_started: Callable[[int], None] | None = None,
    connections: Connections | None = None,
) -> None:
    """Serve until `stop` is set, then let requests in flight finish.

    Args:
        app: The ASGI app; it gets no lifespan events.
        host: Address to listen on.
        port: Port to listen on; 0 takes a free one.
        stop: Ends the server.
        grace: Seconds that requests in flight get after `stop`; then they are cancelled.
        ssl: Serves TLS with this context; plain HTTP without.
        on_started: Called with the bound port once connections are accepted.
        connections: Bounds and counts the connections; by default with the limits of `PortLimits`.

    Raises:
        ListenError: the address cannot be listened on.
    """
    if connections is None:
        connections = Connections(PortLimits())
    config = uvicorn.Config(
        app,
        http=_protocols(connections, ssl),
        ws="none",
        lifespan="off",
        loop="none",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=math.ceil(grace),
    )
    with _listener(host, port) as listener:
        server = _Server(config, connections, stop, on_started)
        try:
            await server.serve(sockets=[listener])
        finally:
            server.close()


async def serve_probes(
    probes: Probes,
    registry: CollectorRegistry,
    *,
    host: str,
    port: int,
    stop: asyncio.Event,
    on_started: Callable[[int], None] | None = None,
    gate: TokenGate | None = None,
) -> None:
    """Serve /healthz, /readyz and /metrics until `stop` is set; arguments as for `serve`.

    With a gate, /metrics asks for a token.

    Raises:
        ListenError: the address cannot be listened on.
    """
    await serve(
        asgi_app(probes, registry, gate),
        host=host,
        port=port,
        stop=stop,
        grace=_PROBE_GRACE,
        connections=Connections(PROBES),
        on_started=on_started,
    )


def _protocols(connections: Connections, ssl: tls.SSLContext | None) -> type[asyncio.Protocol]:
    """Return the factory of the protocol of each connection."""

    def make(
        *,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: object,
    ) -> asyncio.BaseProtocol:
        if ssl is None:
            return BoundedProtocol(connections, config, server_state, app_state)
        return TlsProtocol(
            connections,
            ssl,
            lambda below: BoundedProtocol(connections, config, server_state, app_state, below),
        )

    # uvicorn asks for a class, but only calls it.
    return cast("type[asyncio.Protocol]", make)


@contextmanager
def _listener(host: str, port: int) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise ListenError(host, port, error.strerror or str(error)) from error
    with listener:
        # Connections inherit it. asyncio sets it only where it made the socket, and without it an
        # answer in two writes waits 40 ms for the client's delayed acknowledgement.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield listener


class _Server(uvicorn.Server):
    """A uvicorn server without signal handlers and without its periodic tick.

    The tick updates the Date header and limits the number of requests; both are switched off.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        connections: Connections,
        stop: asyncio.Event,
        on_started: Callable[[int], None] | None,
    ) -> None:
        super().__init__(config)
        self._connections = connections
        self._stop = stop
        self._on_started = on_started

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._on_started is not None and sockets:
            self._on_started(sockets[0].getsockname()[1])

    async def main_loop(self) -> None:
        await self._stop.wait()

    def close(self) -> None:
        """Close what a cancelled `serve` leaves open; a graceful stop leaves nothing."""
        for server in getattr(self, "servers", ()):
            server.close()
        self._connections.abort_all()
