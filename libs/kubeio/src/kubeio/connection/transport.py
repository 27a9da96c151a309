"""HTTP to one API server: two connection pools, credentials, timeouts, errors.

Invariants:

* A write is sent once. aiohttp repeats PUT and DELETE on a connection that turned out to be
  dead; we stop it, because the server may have acted. GET is repeated once.
* ``before_write`` is called in the same tick in which the bytes of a write go to the socket,
  after any waiting for a connection, so that a leader checks its lease no earlier.
* A websocket is a write, too: what it is opened for may change something.
* No exception of aiohttp leaves this module; cancellation does, and closes the connection.
* Watches and websockets have a pool without limit of their own and cannot starve calls.
"""

import asyncio
import re
import socket
from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

import aiohttp
import orjson
from aiohttp.abc import AbstractStreamWriter
from yarl import URL

from kubeio.connection.config import ClusterConfig
from kubeio.connection.identity import Headers
from kubeio.connection.requests import OnRequest, observed
from kubeio.connection.warnings import WarningSink
from kubeio.errors import ApiError, ConnectionLost, error_from_response
from kubeio.types import Json

CONNECT_TIMEOUT = 5.0
_CLOSE_SECONDS = 1.0
_BUFFER = 2**21  # aiohttp's 64 KiB make large lists stop and go
_KEEPALIVE = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))
_NOT_IN_YAML = re.compile(
    rb"\x7f|\xc2[\x80-\x9f]|\xe2\x80[\xa8\xa9]|\xef\xbf[\xbe\xbf]"  # DEL, C1, U+2028/9, U+FFFE/F
)
WebSocket = aiohttp.ClientWebSocketResponse[bool]
_NO_QUERY: Mapping[str, str] = MappingProxyType({})


class Body(aiohttp.Payload):
    """A request body that asks permission right before it is sent, and remembers the outcome."""

    def __init__(
        self, data: bytes, content_type: str, guard: Callable[[], None] | None = None
    ) -> None:
        super().__init__(data, content_type=content_type)
        self._data = data
        self._guard = guard
        self.sent = False
        self.refusal: Exception | None = None

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
        if self._guard is not None:
            try:
                self._guard()
            except Exception as refusal:
                self.refusal = refusal
                raise
        self.sent = True
        await writer.write(self._data)


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, the headers that we use, and the raw body of one exchange."""

    status: int
    retry_after: str | None
    body: bytes


class Transport:
    """The sessions of one client. Open it inside the event loop that uses it."""

    def __init__(self, config: ClusterConfig, *, timeout: float, max_connections: int) -> None:
        self.config = config
        self.timeout = timeout
        self.before_write: Callable[[], None] | None = None
        self.on_request: OnRequest | None = None
        self.warnings = WarningSink()
        self._max_connections = max_connections
        self._calls: aiohttp.ClientSession | None = None
        self._streams: aiohttp.ClientSession | None = None
        self._options = _request_options(config)

    async def open(self) -> None:
        """Make the sessions; no connection is made yet."""
        self._calls = self._session(self._max_connections)
        self._streams = self._session(0)

    async def close(self) -> None:
        """Close every connection; calls in flight fail."""
        for session in (self._calls, self._streams):
            if session is not None:
                await session.close()
        self._calls = self._streams = None

    async def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] = _NO_QUERY,
        body: Json = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        verb: str = "",
        headers: Headers,
    ) -> Json:
        """Send one request and return the decoded body, None if it is empty.

        ``verb`` is what ``on_request`` is told; the method if empty. ``headers`` are sent as
        well, of which some may say whom the request acts as.

        A 401 makes the credential fresh and the request is sent once more: the server has done
        nothing with the first.

        Raises:
            ApiError: the server refused.
            ConnectionLost: no usable answer within ``timeout`` seconds.
            ConfigError: no credential could be obtained.
        """
        data = None if body is None else orjson.dumps(body)
        if data is not None and content_type.endswith("yaml"):
            data = _safe_as_yaml(data)
        url = self._url(path, query)
        header = await self.config.auth.header()
        verb = verb or method
        sent = _headers(accept, header, headers)
        answer = await self._observed(verb, method, url, data, content_type, sent)
        if answer.status == 401 and await self.config.auth.refresh(header):
            sent = _headers(accept, await self.config.auth.header(), headers)
            answer = await self._observed(verb, method, url, data, content_type, sent)
        if 200 <= answer.status < 300:
            return _decoded(answer.body, f"{method} {path}")
        raise _refusal(answer, f"{method} {path}")

    @asynccontextmanager
    async def answer(
        self,
        path: str,
        *,
        query: Mapping[str, str],
        accept: str,
        verb: str,
        headers: Headers,
    ) -> AsyncIterator[AsyncIterable[bytes]]:
        """Open a GET and yield the chunks of its body; closed when the block is left.

        All of it, the block included, takes ``timeout`` seconds at most. Reading inside the block
        raises ConnectionLost, too. A 401 makes the credential fresh, as in ``call``.
        """
        url, subject = self._url(path, query), f"GET {path}"
        header = await self.config.auth.header()
        for last in (False, True):
            sent = _headers(accept, header, headers)
            async with self._answered(url, sent, verb) as response:
                if response.status == 200:
                    yield response.content.iter_any()
                    return
                refusal = Answer(
                    response.status, response.headers.get("Retry-After"), await response.read()
                )
            if last or refusal.status != 401 or not await self.config.auth.refresh(header):
                raise _refusal(refusal, subject)
            header = await self.config.auth.header()

    @asynccontextmanager
    async def _answered(
        self, url: URL, headers: Headers, verb: str
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        with observed(self.on_request, verb) as exchange:
            try:
                async with (
                    asyncio.timeout(self.timeout),
                    _open(self._calls).get(url, headers=headers, **self._options) as response,
                ):
                    self.warnings.collect(response.headers.getall("Warning", ()))
                    yield response
                    # Not before: what broke half-way was no answer.
                    exchange.status = response.status
            except (aiohttp.ClientError, OSError) as error:
                raise _lost(f"GET {url.raw_path}", error) from _presentable(error)

    @asynccontextmanager
    async def stream(
        self,
        path: str,
        *,
        query: Mapping[str, str],
        accept: str,
        idle_timeout: float,
        headers: Headers,
    ) -> AsyncIterator[AsyncIterable[bytes]]:
        """Open a GET whose body goes on; closed when the block is left.

        The answer must begin within ``timeout`` seconds, and the body may pause for
        ``idle_timeout`` seconds. Reading inside the block raises ConnectionLost, too.
        """
        url = self._url(path, query)
        subject = f"GET {path}"
        header = await self.config.auth.header()
        try:
            sent = _headers(accept, header, headers)
            response = await self._open_stream(url, sent, idle_timeout)
            try:
                if response.status == 401 and await self.config.auth.refresh(header):
                    response.close()
                    sent = _headers(accept, await self.config.auth.header(), headers)
                    response = await self._open_stream(url, sent, idle_timeout)
                if response.status != 200:
                    raise await self._stream_refusal(response, subject)
                yield response.content.iter_any()
            finally:
                response.close()
        except (aiohttp.ClientError, OSError) as error:
            raise _lost(subject, error) from _presentable(error)

    @asynccontextmanager
    async def websocket(
        self,
        path: str,
        *,
        query: Sequence[tuple[str, str]],
        protocols: Sequence[str],
        verb: str,
        timeout: float | None = None,
        headers: Headers,
    ) -> AsyncIterator[AsyncIterable[bytes]]:
        """Open a websocket and yield its binary messages; closed when the block is left.

        Opening it counts as a write. Everything up to the end of the block takes ``timeout``
        seconds at most, by default those of a call. Reading inside the block raises
        ConnectionLost, too; the messages end when the server closes.
        """
        url = self._url(path, query)
        subject = f"{verb} {path}"
        try:
            async with asyncio.timeout(self.timeout if timeout is None else timeout):
                socket = await self._open_websocket(url, protocols, verb, headers)
                try:
                    yield _messages(socket, subject)
                finally:
                    await socket.close()
        except _NoWebSocket as refused:
            raise _refusal(refused.answer, subject) from None
        except (aiohttp.ClientError, OSError) as error:
            raise _lost(subject, error) from _presentable(error)

    async def _open_websocket(
        self, url: URL, protocols: Sequence[str], verb: str, headers: Headers
    ) -> WebSocket:
        header = await self.config.auth.header()
        try:
            return await self._shake_hands(url, protocols, verb, _headers("*/*", header, headers))
        except _NoWebSocket as refused:
            if refused.answer.status != 401 or not await self.config.auth.refresh(header):
                raise
        header = await self.config.auth.header()
        return await self._shake_hands(url, protocols, verb, _headers("*/*", header, headers))

    async def _shake_hands(
        self, url: URL, protocols: Sequence[str], verb: str, headers: Headers
    ) -> WebSocket:
        handshake = _Handshake(Body(b"", "application/octet-stream", self.before_write))
        with observed(self.on_request, verb) as exchange:
            try:
                async with asyncio.timeout(self.timeout), self._session_with(handshake) as session:
                    socket: WebSocket = await session.ws_connect(
                        url,
                        protocols=protocols,
                        headers=headers,
                        timeout=aiohttp.ClientWSTimeout(ws_close=_CLOSE_SECONDS),
                        **{k: v for k, v in self._options.items() if k != "allow_redirects"},
                    )
            except _NoWebSocket as refused:
                exchange.status = refused.answer.status
                raise
            except (aiohttp.ClientError, OSError) as error:
                if handshake.body.refusal is not None:
                    raise handshake.body.refusal from None
                lost = _lost(f"{verb} {url.raw_path}", error, maybe_sent=handshake.body.sent)
                raise lost from _presentable(error)
            exchange.status = 101
        return socket

    def _session_with(self, handshake: "_Handshake") -> aiohttp.ClientSession:
        """Return a session for one websocket: only a session can be told how to send its request.

        Connections are those of the streams.
        """
        streams = _open(self._streams)
        return aiohttp.ClientSession(
            connector=streams.connector,
            connector_owner=False,
            headers=streams.headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT),
            middlewares=(handshake,),
        )

    async def _observed(
        self,
        verb: str,
        method: str,
        url: URL,
        data: bytes | None,
        content_type: str,
        headers: Headers,
    ) -> Answer:
        with observed(self.on_request, verb) as exchange:
            answer = await self._exchange(method, url, data, content_type, headers)
            exchange.status = answer.status
        return answer

    async def _exchange(
        self,
        method: str,
        url: URL,
        data: bytes | None,
        content_type: str,
        headers: Headers,
    ) -> Answer:
        writes = method != "GET"
        body = Body(data or b"", content_type, self.before_write) if writes else None
        try:
            async with (
                asyncio.timeout(self.timeout),
                _open(self._calls).request(
                    method,
                    url,
                    data=body,
                    headers=headers,
                    middlewares=(_sent_once,) if writes else None,
                    **self._options,
                ) as response,
            ):
                content = await response.read()
        except (aiohttp.ClientError, OSError) as error:
            if body is not None and body.refusal is not None:
                raise body.refusal from None
            maybe_sent = body is None or body.sent
            lost = _lost(f"{method} {url.raw_path}", error, maybe_sent=maybe_sent)
            raise lost from _presentable(error)
        self.warnings.collect(response.headers.getall("Warning", ()))
        return Answer(response.status, response.headers.get("Retry-After"), content)

    async def _open_stream(
        self, url: URL, headers: Headers, idle_timeout: float
    ) -> aiohttp.ClientResponse:
        patience = aiohttp.ClientTimeout(
            total=None, sock_connect=CONNECT_TIMEOUT, sock_read=idle_timeout
        )
        headers = (*headers, ("Accept-Encoding", "identity"))
        with observed(self.on_request, "WATCH") as exchange:
            try:
                async with asyncio.timeout(self.timeout):
                    response = await _open(self._streams).get(
                        url, headers=headers, timeout=patience, **self._options
                    )
            except (aiohttp.ClientError, OSError) as error:
                raise _lost(f"GET {url.raw_path}", error) from _presentable(error)
            exchange.status = response.status
        return response

    async def _stream_refusal(self, response: aiohttp.ClientResponse, subject: str) -> ApiError:
        async with asyncio.timeout(self.timeout):
            body = await response.read()
        answer = Answer(response.status, response.headers.get("Retry-After"), body)
        return _refusal(answer, subject)

    def _url(self, path: str, query: Mapping[str, str] | Sequence[tuple[str, str]]) -> URL:
        # Segments are quoted by Resource.path; quoting twice would change names.
        tail = f"?{urlencode(query)}" if query else ""
        return URL(f"{self.config.server}{path}{tail}", encoded=True)

    def _session(self, limit: int) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            ssl=self.config.ssl or True,
            limit=limit,
            keepalive_timeout=30,
            ttl_dns_cache=30,
            socket_factory=_socket,
        )
        headers = [("User-Agent", self.config.user_agent)]
        if self.config.server.startswith("http:"):
            # Only a tunnel has a request of its own that could carry it.
            headers += _proxy_credential(self.config).items()
        if not self.config.compression:
            headers.append(("Accept-Encoding", "identity"))
        # trust_env costs 3.7 times the CPU: proxy and netrc would be resolved with each request.
        return aiohttp.ClientSession(
            connector=connector,
            headers=headers,
            trust_env=False,
            read_bufsize=_BUFFER,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT),
        )


class _NoWebSocket(Exception):
    """The server did not agree to a websocket."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status)
        self.answer = answer


@dataclass(frozen=True, slots=True)
class _Handshake:
    """Sends the request for a websocket, once, with a body that asks permission for it."""

    body: Body

    async def __call__(
        self, request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        await request.update_body(self.body)
        response = await _sent_once(request, handler)
        if response.status == 101:
            return response
        # A redirect ends here, too: it would carry the credential to wherever it points.
        async with response:
            content = await response.read()
        raise _NoWebSocket(Answer(response.status, response.headers.get("Retry-After"), content))


async def _messages(socket: WebSocket, subject: str) -> AsyncIterator[bytes]:
    async for message in socket:
        if message.type is not aiohttp.WSMsgType.BINARY:
            raise ConnectionLost(f"{subject}: not a binary message")
        yield message.data


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


def _open(session: aiohttp.ClientSession | None) -> aiohttp.ClientSession:
    if session is None:
        raise RuntimeError("the client is closed; use it as `async with Client(config) as client`")
    return session


def _headers(accept: str, authorization: str | None, more: Headers) -> Headers:
    if authorization is None:
        return (*more, ("Accept", accept))
    return (*more, ("Accept", accept), ("Authorization", authorization))


def _request_options(config: ClusterConfig) -> dict[str, Any]:
    # A redirect would carry the credential to wherever it points.
    options: dict[str, Any] = {"allow_redirects": False}
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


def _socket(info: tuple[Any, ...]) -> socket.socket:
    # A peer that vanished without a word is noticed within a minute, also on an idle watch.
    made = socket.socket(*info[:3])
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE:
        if hasattr(socket, name):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return made


def _safe_as_yaml(data: bytes) -> bytes:
    """Escape what JSON may hold as it is, and YAML folds or refuses."""
    return _NOT_IN_YAML.sub(lambda found: b"\\u%04x" % ord(found[0].decode()), data)


def _decoded(body: bytes, subject: str) -> Json:
    if not body:
        return None
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        # The bytes are not quoted: they may be those of a Secret.
        text = f"{subject}: the answer is not JSON ({len(body)} bytes)"
        raise ConnectionLost(text) from error


def _refusal(answer: Answer, subject: str) -> ApiError:
    return error_from_response(
        answer.status, answer.body, retry_after=answer.retry_after, subject=subject
    )


def _presentable(error: Exception) -> Exception:
    # The repr of this one shows the request's headers, and with them the token.
    if isinstance(error, aiohttp.ClientResponseError):
        return aiohttp.ClientError(str(error))
    return error


def _lost(subject: str, error: Exception, *, maybe_sent: bool = True) -> ConnectionLost:
    timeout = isinstance(error, TimeoutError)
    never_sent = isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError)
    text = "no answer in time" if timeout and not str(error) else str(error) or repr(error)
    return ConnectionLost(
        f"{subject}: {text}", timeout=timeout, maybe_sent=maybe_sent and not never_sent
    )
