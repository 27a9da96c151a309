"""Requests to one server through one session of aiohttp, which follows no redirects.

Invariants:

* A write is sent once. A server may close a connection while a request is on its way to it, and
  may have acted on it nevertheless. GET is repeated once, on a new connection.
* `before_write` of a request is called in the same tick in which its bytes go to the socket.
* No exception of aiohttp leaves this package.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from ssl import SSLContext
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from yarl import URL

from kubeio.connection.config import ClusterConfig
from kubeio.connection.http.connector import ClientRequest, Connector
from kubeio.connection.http.errors import BadAnswer, Disconnected, HttpError, NoWebSocket
from kubeio.connection.http.exchange import Address, Request
from kubeio.connection.http.response import Response, WebSocket, translated

CONNECT_TIMEOUT: Final = 5.0
"""Seconds for finding the address, the TCP handshake and the TLS handshake together."""
IDLE_SECONDS: Final = 30.0
"""How long an unused connection is kept; API servers keep theirs for three minutes."""

_CLOSE_SECONDS: Final = 1.0
_BUFFER: Final = 2**21  # aiohttp's 64 KiB make large lists stop and go


class Session:
    """An `exchange.HttpSession`. Make it inside the event loop that uses it."""

    def __init__(self, config: ClusterConfig, *, limit: int) -> None:
        """Make a session without connections.

        At most ``limit`` are in use at a time, any number if it is 0; those of answers that go on
        and of websockets are not counted.
        """
        self._origin = Address.parse(config.server).origin
        self._compression = config.compression
        self._config = config
        self._options = _request_options(config)
        self._slots = asyncio.Semaphore(limit) if limit else None
        self._connector = Connector(
            limit=0,
            keepalive_timeout=IDLE_SECONDS,
            use_dns_cache=False,
        )
        self._headers = _headers(config)
        self._session = self._opened()

    async def send(self, request: Request, *, idle_timeout: float | None = None) -> Response:
        """Send a request; see `HttpSession.send`."""
        url = self._url(request)
        slots = self._slots if idle_timeout is None else None
        if slots is not None:
            await slots.acquire()
        try:
            response = await self._send(request, url, idle_timeout)
        except BaseException:
            if slots is not None:
                slots.release()
            raise
        return Response(response, slots.release if slots is not None else None)

    async def open_websocket(self, request: Request, *, protocols: Sequence[str]) -> WebSocket:
        """Open a websocket.

        Raises:
            NoWebSocket: the server answered with something else.
            HttpError: there was no answer.
            Exception: whatever `before_write` of the request raised.
        """
        url = self._url(request)
        # A session of its own: only a session can be told how to send the request.
        with translated(self._origin):
            async with self._opened(_Handshake(request, self._connector, self._origin)) as session:
                opened = await session.ws_connect(
                    url,
                    protocols=protocols,
                    headers=[*request.headers, self._accepted(compressed=True)],
                    timeout=aiohttp.ClientWSTimeout(ws_close=_CLOSE_SECONDS),
                    ssl=self._tls(),
                    **self._options,
                )
        return WebSocket(opened)

    async def close(self) -> None:
        """Close all connections; requests on them fail."""
        await self._session.close()
        await self._connector.close()

    async def _send(
        self, request: Request, url: URL, idle_timeout: float | None
    ) -> aiohttp.ClientResponse:
        _check_open(self._connector)
        with translated(self._origin):
            response = await self._session.request(
                request.method,
                url,
                data=None if request.body is None else _Body(request),
                headers=[*request.headers, self._accepted(compressed=idle_timeout is None)],
                timeout=aiohttp.ClientTimeout(
                    total=None, connect=CONNECT_TIMEOUT, sock_read=idle_timeout
                ),
                middlewares=(_Sending(request, self._connector, self._origin),),
                ssl=self._tls(),
                allow_redirects=False,  # it would carry the credential to wherever it points
                **self._options,
            )
        if response.status == 101:
            response.close()
            raise BadAnswer("malformed answer: 101 Switching Protocols, which nobody asked for")
        return response

    def _tls(self) -> SSLContext | bool:
        # Asked for each request: connections that are made from now on trust the CA of now.
        return self._config.ssl or True

    def _accepted(self, *, compressed: bool) -> tuple[str, str]:
        return "Accept-Encoding", "gzip" if self._compression and compressed else "identity"

    def _url(self, request: Request) -> URL:
        request.check()
        # The target is quoted already; quoting twice would change names.
        url = URL(f"{self._origin}{request.target}", encoded=True)
        if url.raw_path_qs != request.target:
            raise ValueError("request: the path holds # or ends with ?; quote it")
        return url

    def _opened(self, *middlewares: aiohttp.ClientMiddlewareType) -> aiohttp.ClientSession:
        # trust_env costs 3.7 times the CPU: proxy and netrc would be resolved with each request.
        return aiohttp.ClientSession(
            connector=self._connector,
            connector_owner=False,
            headers=self._headers,
            trust_env=False,
            auto_decompress=False,
            read_bufsize=_BUFFER,
            cookie_jar=aiohttp.DummyCookieJar(),
            request_class=ClientRequest,
            timeout=aiohttp.ClientTimeout(total=None, connect=CONNECT_TIMEOUT),
            middlewares=middlewares,
        )


@dataclass(frozen=True, slots=True)
class _Sending:
    """Sends a request, and repeats a GET whose connection turned out to be dead."""

    request: Request
    connector: Connector
    origin: str

    async def __call__(
        self, request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        # aiohttp repeats what it could not send, too, but not after errors that are not its own.
        try:
            return await self._sent(request, handler)
        except Disconnected:
            if request.method != "GET" or self.request.body is not None:
                raise
        # Not on another idle one: a server that restarts closes all of them.
        assert isinstance(request, ClientRequest)
        request.fresh = True
        return await self._sent(request, handler)

    async def _sent(
        self, request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        _check_open(self.connector)
        try:
            with translated(self.origin):
                return await handler(request)
        except HttpError:
            if self.request.refusal is not None:
                raise self.request.refusal from None
            raise


@dataclass(frozen=True, slots=True)
class _Handshake:
    """Sends the request for a websocket, once, with a body that asks permission for it."""

    request: Request
    connector: Connector
    origin: str

    async def __call__(
        self, request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        await request.update_body(_Body(self.request))
        answer = await _Sending(self.request, self.connector, self.origin)(request, handler)
        if answer.status == 101:
            return answer
        # A redirect ends here, too: it would carry the credential to wherever it points.
        response = Response(answer)
        try:
            content = await response.read()
        finally:
            response.close()
        raise NoWebSocket(answer.status, answer.headers.get("Retry-After"), content)


class _Body(aiohttp.Payload):
    """The body of a request, which asks permission right before it is sent."""

    def __init__(self, request: Request) -> None:
        self._data = request.body or b""
        super().__init__(self._data, content_type=request.content_type)
        self._request = request

    @property
    def size(self) -> int:
        return len(self._data)

    @property
    def autoclose(self) -> bool:
        return True

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        return self._data.decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        # Headers are still buffered here: a refusal leaves the server without a single byte.
        self._request.permit()
        await writer.write(self._data)


def _check_open(connector: Connector) -> None:
    if connector.closed:
        raise HttpError("Connector is closed.")


def _request_options(config: ClusterConfig) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if config.tls_server_name:
        options["server_hostname"] = config.tls_server_name
    if config.proxy:
        options["proxy"] = URL(config.proxy).with_user(None)
        options["proxy_headers"] = _proxy_credential(config)
    return options


def _headers(config: ClusterConfig) -> dict[str, str]:
    headers = {"User-Agent": config.user_agent}
    server = urlsplit(config.server)
    if server.username:
        headers["Authorization"] = aiohttp.encode_basic_auth(
            unquote(server.username), unquote(server.password or "")
        )
    if server.scheme == "http":
        # Only a tunnel has a request of its own that could carry it.
        headers |= _proxy_credential(config)
    return headers


def _proxy_credential(config: ClusterConfig) -> dict[str, str]:
    # Not left in the proxy's URL, which aiohttp quotes in its errors.
    proxy = URL(config.proxy or "")
    if not proxy.user:
        return {}
    credential = aiohttp.encode_basic_auth(proxy.user, proxy.password or "")
    return {"Proxy-Authorization": credential}
