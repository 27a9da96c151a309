"""Run an ASGI app on uvicorn as one task among others.

Signals belong to the program (`serving.program`), so uvicorn installs no handlers. Invariants: the
socket is bound before uvicorn starts, so that a taken port is an error and not an exit of the
process; after `stop` the listener closes at once, requests in flight get `grace` seconds.
"""

import asyncio
import math
import socket
import ssl as tls
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import uvicorn
from prometheus_client import CollectorRegistry

from serving.connections import PROBES, Connections, PortLimits, Slot
from serving.listener import BACKLOG, Listener, reset
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
        http="httptools",
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
    with _bound(host, port) as sock:
        server = _Server(config, sock, connections, ssl, stop, on_started)
        try:
            await server.serve()
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


@contextmanager
def _bound(host: str, port: int) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        sock = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise ListenError(host, port, error.strerror or str(error)) from error
    with sock:
        # Connections inherit it. asyncio sets it only where it made the socket, and without it an
        # answer in two writes waits 40 ms for the client's delayed acknowledgement.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield sock


class _Server(uvicorn.Server):
    """A uvicorn server on a `Listener`, without signal handlers and without its periodic tick.

    The tick updates the Date header and limits the number of requests; both are switched off.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        sock: socket.socket,
        connections: Connections,
        ssl: tls.SSLContext | None,
        stop: asyncio.Event,
        on_started: Callable[[int], None] | None,
    ) -> None:
        super().__init__(config)
        self._sock = sock
        self._connections = connections
        self._ssl = ssl
        self._stop = stop
        self._on_started = on_started
        self._listener: Listener | None = None

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:  # noqa: ARG002
        # uvicorn would have asyncio listen; it closes what stands here.
        self.servers = []
        port = self._sock.getsockname()[1]
        limits = self._connections.limits
        self._listener = Listener(
            self._sock,
            limits,
            # A client of TLS speaks first. Without, Go's clients open connections before they have
            # requests for them.
            wait=limits.handshake if self._ssl else limits.idle,
            late="handshake_timeout" if self._ssl else None,
            begin=self._begin,
            observe=self._connections.observe,
        )
        self.started = True
        if self._on_started is not None:
            self._on_started(port)

    async def main_loop(self) -> None:
        await self._stop.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._close_listener()
        await super().shutdown(sockets)

    def close(self) -> None:
        """Close what a cancelled `serve` leaves open; a graceful stop leaves nothing."""
        self._close_listener()
        self._connections.abort_all()

    def _close_listener(self) -> None:
        if self._listener is not None:
            self._listener.close()

    def _begin(self, sock: socket.socket) -> None:
        """Serve a connection that has sent something, if there is a slot for it."""
        slot = self._connections.admit()
        if slot is None:
            reset(sock)
            return
        # `connect_accepted_socket` does the same in a task. In between, nothing could end the
        # connection to make room for another one.
        make: Callable[..., asyncio.Transport]
        make = asyncio.get_running_loop()._make_socket_transport  # type: ignore[attr-defined]  # noqa: SLF001
        slot.abort = make(sock, self._protocol(slot)).abort

    def _protocol(self, slot: Slot) -> asyncio.BaseProtocol:
        http = BoundedProtocol(
            self._connections,
            slot,
            self.config,
            self.server_state,
            self.lifespan.state,
            tls=self._ssl is not None,
        )
        return TlsProtocol(self._connections, slot, self._ssl, http) if self._ssl else http
