"""What needs aiohttp: requests through a proxy, and websockets.

Invariants:

* A write is sent once. aiohttp repeats PUT and DELETE on a connection that turned out to be
  dead; we stop it, because the server may have acted. GET is repeated once.
* `before_write` of a request is called in the same tick in which its bytes go to the socket.
* No exception of aiohttp leaves this module: they are chained as ``__cause__``.

Importing aiohttp takes longer than all else that a command does: `transport` imports this module
when it is first needed.
"""

import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Self
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from yarl import URL

from kubeio.connection.config import ClusterConfig
from kubeio.http1.errors import CannotConnect, ConnectTimeout, HttpError, ReadTimeout
from kubeio.http1.pool import CONNECT_TIMEOUT, IDLE_SECONDS, notice_vanished_peers
from kubeio.http1.request import Request

_CLOSE_SECONDS: Final = 1.0
_BUFFER: Final = 2**21  # aiohttp's 64 KiB make large lists stop and go


class NoWebSocket(Exception):
    """The server did not agree to a websocket.

    Attributes:
        status: HTTP status code.
        retry_after: The header of that name.
        body: Of the answer.
    """

    def __init__(self, status: int, retry_after: str | None, body: bytes) -> None:
        super().__init__(status)
        self.status = status
        self.retry_after = retry_after
        self.body = body


class AiohttpSession:
    """An HttpSession through the proxy of a configuration, if it has one; see `http1.session`."""

    def __init__(self, config: ClusterConfig, *, limit: int) -> None:
        """Make a session without connections, inside the event loop that uses it.

        Args:
            config: Of the cluster.
            limit: Connections in use at a time, 0 for any number.
        """
        server = urlsplit(config.server)
        self._origin = f"{server.scheme}://{server.netloc}"
        self._options = _request_options(config)
        self._session = _session(config, limit)

    async def send(
        self, request: Request, *, idle_timeout: float | None = None
    ) -> "AiohttpResponse":
        """Send a request; see `HttpSession.send`."""
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=CONNECT_TIMEOUT, sock_read=idle_timeout
        )
        with _translated():
            response = await self._session.request(
                request.method,
                self._url(request),
                data=None if request.body is None else _Body(request),
                headers=request.headers,
                timeout=timeout,
                middlewares=None if request.method == "GET" else (_sent_once,),
                allow_redirects=False,  # it would carry the credential to wherever it points
                **self._options,
            )
        return AiohttpResponse(response)

    async def open_websocket(self, request: Request, *, protocols: Sequence[str]) -> "WebSocket":
        """Open a websocket.

        Raises:
            NoWebSocket: the server answered with something else.
            HttpError: there was no answer.
            Exception: whatever `before_write` of the request raised.
        """
        with _translated():
            async with self._session_with(_Handshake(request)) as session:
                opened = await session.ws_connect(
                    self._url(request),
                    protocols=protocols,
                    headers=request.headers,
                    timeout=aiohttp.ClientWSTimeout(ws_close=_CLOSE_SECONDS),
                    **self._options,
                )
        return WebSocket(opened)

    async def close(self) -> None:
        """Close all connections; requests on them fail."""
        await self._session.close()

    def _url(self, request: Request) -> URL:
        # The target is quoted already; quoting twice would change names.
        return URL(f"{self._origin}{request.target}", encoded=True)

    def _session_with(self, handshake: "_Handshake") -> aiohttp.ClientSession:
        """Return a session for one websocket: only a session can be told how to send its request.

        Connections are those of this session.
        """
        return aiohttp.ClientSession(
            connector=self._session.connector,
            connector_owner=False,
            headers=self._session.headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT),
            middlewares=(handshake,),
        )


class AiohttpResponse:
    """An HttpResponse of aiohttp; see `http1.response`."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.status = response.status
        self._response = response

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        return tuple((name.lower(), value) for name, value in self._response.headers.items())

    def values(self, name: str) -> Sequence[str]:
        return self._response.headers.getall(name, ())

    async def read(self) -> bytes:
        with _translated():
            return await self._response.read()

    def chunks(self) -> AsyncIterator[bytes]:
        return _Chunks(self._response)

    def close(self) -> None:
        if self._response.content.at_eof():
            self._response.release()
        else:
            self._response.close()


class WebSocket:
    """An open websocket; `close` has to be called."""

    def __init__(self, opened: aiohttp.ClientWebSocketResponse[bool]) -> None:
        self._opened = opened

    async def messages(self) -> AsyncIterator[bytes]:
        """Yield the binary messages until the server closes.

        Raises:
            HttpError: the connection broke, or a message is not binary.
        """
        with _translated():
            async for message in self._opened:
                if message.type is not aiohttp.WSMsgType.BINARY:
                    raise HttpError("not a binary message")
                yield message.data

    async def close(self) -> None:
        """Close it, and wait at most a second for the close frame of the server."""
        with _translated():
            await self._opened.close()


class _Chunks:
    # No generator: one that is left in the middle is closed later, by the event loop.
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._chunks = aiter(response.content.iter_any())

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        with _translated():
            return await anext(self._chunks)


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


@dataclass(frozen=True, slots=True)
class _Handshake:
    """Sends the request for a websocket, once, with a body that asks permission for it."""

    request: Request

    async def __call__(
        self, request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        await request.update_body(_Body(self.request))
        response = await _sent_once(request, handler)
        if response.status == 101:
            return response
        # A redirect ends here, too: it would carry the credential to wherever it points.
        async with response:
            content = await response.read()
        raise NoWebSocket(response.status, response.headers.get("Retry-After"), content)


async def _sent_once(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    try:
        return await handler(request)
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        # aiohttp repeats after these two types, and after no others.
        raise aiohttp.ClientConnectionError(str(error)) from error


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except aiohttp.ConnectionTimeoutError as error:
        raise ConnectTimeout(str(error)) from error
    except aiohttp.ClientConnectorError as error:
        raise CannotConnect.to(error.host, error.port, _cause(error)) from error
    except aiohttp.SocketTimeoutError as error:
        raise ReadTimeout from error
    except aiohttp.ClientError as error:
        raise HttpError(str(error) or repr(error)) from _presentable(error)


def _cause(error: aiohttp.ClientConnectorError) -> Exception:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return error.certificate_error
    return error.os_error


def _presentable(error: aiohttp.ClientError) -> Exception:
    # The repr of this one shows the request's headers, and with them the token.
    if isinstance(error, aiohttp.ClientResponseError):
        return aiohttp.ClientError(str(error))
    return error


def _request_options(config: ClusterConfig) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if config.tls_server_name:
        options["server_hostname"] = config.tls_server_name
    if config.proxy:
        options["proxy"] = URL(config.proxy).with_user(None)
        options["proxy_headers"] = _proxy_credential(config)
    return options


def _proxy_credential(config: ClusterConfig) -> dict[str, str]:
    # Not left in the proxy's URL, which aiohttp quotes in its errors.
    proxy = URL(config.proxy or "")
    if not proxy.user:
        return {}
    credential = aiohttp.encode_basic_auth(proxy.user, proxy.password or "")
    return {"Proxy-Authorization": credential}


def _session(config: ClusterConfig, limit: int) -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(
        ssl=config.ssl or True,
        limit=limit,
        keepalive_timeout=IDLE_SECONDS,
        ttl_dns_cache=30,
        socket_factory=_socket,
    )
    headers = [("User-Agent", config.user_agent)]
    if config.server.startswith("http:"):
        # Only a tunnel has a request of its own that could carry it.
        headers += _proxy_credential(config).items()
    headers.append(("Accept-Encoding", "gzip" if config.compression else "identity"))
    # trust_env costs 3.7 times the CPU: proxy and netrc would be resolved with each request.
    return aiohttp.ClientSession(
        connector=connector,
        headers=headers,
        trust_env=False,
        read_bufsize=_BUFFER,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT),
    )


def _socket(info: tuple[Any, ...]) -> socket.socket:
    made = socket.socket(*info[:3])
    notice_vanished_peers(made)
    return made
