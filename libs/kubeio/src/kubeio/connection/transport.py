"""HTTP to one API server: credentials, timeouts, errors.

Invariants:

* A write is sent once: the server may have acted on what it did not answer. GET is repeated once.
* ``before_write`` is called in the same tick in which the bytes of a write go to the socket,
  after any waiting for a connection, so that a leader checks its lease no earlier.
* A websocket is a write, too: what it is opened for may change something.
* No exception of `connection.http` leaves this module; cancellation does, and closes the
  connection.
* Watches and websockets do not count towards the limit of connections and cannot starve calls.
"""

import asyncio
import re
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlencode

import orjson

from kubeio.connection.config import ClusterConfig
from kubeio.connection.http.errors import CannotConnect, HttpError, NoWebSocket
from kubeio.connection.http.exchange import Address, HttpResponse, HttpSession, Request
from kubeio.connection.round_tripper import Call, OnRequest, ServerDate, WarningSink, observed
from kubeio.connection.tracing import TracedSession, Tracer
from kubeio.errors import ApiError, ConnectionLost, error_from_response
from kubeio.types import Headers, Json

if TYPE_CHECKING:
    from kubeio.connection.http.response import WebSocket
    from kubeio.connection.http.session import Session

_NOT_IN_YAML = re.compile(
    rb"\x7f|\xc2[\x80-\x9f]|\xe2\x80[\xa8\xa9]|\xef\xbf[\xbe\xbf]"  # DEL, C1, U+2028/9, U+FFFE/F
)
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]*")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, the headers that we use, and the raw body of one exchange."""

    status: int
    retry_after: str | None
    body: bytes

    def refusal(self, subject: str) -> ApiError:
        """Return the error that the answer tells of."""
        return error_from_response(
            self.status, self.body, retry_after=self.retry_after, subject=subject
        )


class Transport:
    """The session of one client. Open it inside the event loop that uses it."""

    def __init__(
        self,
        config: ClusterConfig,
        *,
        timeout: float,
        max_connections: int,
        tracer: Tracer | None = None,
    ) -> None:
        self.config = config
        self._tracer = tracer
        self.timeout = timeout
        self.before_write: Callable[[], None] | None = None
        self.on_request: OnRequest | None = None
        self.last_date: ServerDate | None = None
        self.warnings = WarningSink()
        self._max_connections = max_connections
        self._session: Session | None = None
        self._traced: HttpSession | None = None
        self._address = Address.parse(config.server)

    async def open(self) -> None:
        """Make the session; no connection is made yet."""
        # Imported here: it takes longer than all that most commands do.
        from kubeio.connection.http.session import Session

        self._session = self._traced = Session(self.config, limit=self._max_connections)
        if self._tracer is not None:
            headers = (("User-Agent", self.config.user_agent),)
            self._traced = TracedSession(
                self._session, self._tracer, origin=self._address.origin, headers=headers
            )

    async def close(self) -> None:
        """Close every connection; calls in flight fail."""
        if self._session is not None:
            await self._session.close()
        self._session = self._traced = None

    async def call(self, call: Call) -> Json:
        """Send one request and return the decoded body, None if it is empty.

        A 401 makes the credential fresh and the request is sent once more: the server has done
        nothing with the first.

        Raises:
            ApiError: the server refused.
            ConnectionLost: no usable answer within ``timeout`` seconds.
            ConfigError: no credential could be obtained.
        """
        data = None if call.body is None else orjson.dumps(call.body)
        if data is not None and call.content_type.endswith("yaml"):
            data = _safe_as_yaml(data)
        credential = await self.config.auth.header()
        answer = await self._exchange(call, data, credential)
        if answer.status == 401 and await self.config.auth.refresh(credential):
            answer = await self._exchange(call, data, await self.config.auth.header())
        if 200 <= answer.status < 300:
            return _decoded(answer.body, call.subject)
        raise answer.refusal(call.subject)

    async def _exchange(self, call: Call, data: bytes | None, credential: str | None) -> Answer:
        writes = call.method != "GET"
        request = Request(
            call.method,
            self._target(call),
            headers=_headers(call, credential),
            body=data or b"" if writes else None,
            content_type=call.content_type,
            before_write=self.before_write if writes else None,
        )
        with observed(self.on_request, call.verb or call.method) as exchange:
            with _own_errors(request):
                async with asyncio.timeout(self.timeout):
                    response = await self._send(request)
                    try:
                        answer = await _whole(response)
                    finally:
                        response.close()
            self.warnings.collect(response.values("Warning"))
            exchange.status = answer.status
        return answer

    @asynccontextmanager
    async def answer(self, call: Call) -> AsyncIterator[AsyncIterable[bytes]]:
        """Open a GET and yield the chunks of its body; closed when the block is left.

        All of it, the block included, takes ``timeout`` seconds at most. Reading inside the block
        raises ConnectionLost, too. A 401 makes the credential fresh, as in ``call``.
        """
        credential = await self.config.auth.header()
        for last in (False, True):
            async with self._answered(call, credential) as response:
                if response.status == 200:
                    yield response.chunks()
                    return
                answer = await _whole(response)
            if last or answer.status != 401 or not await self.config.auth.refresh(credential):
                raise answer.refusal(call.subject)
            credential = await self.config.auth.header()

    @asynccontextmanager
    async def _answered(self, call: Call, credential: str | None) -> AsyncIterator[HttpResponse]:
        request = Request("GET", self._target(call), headers=_headers(call, credential))
        with observed(self.on_request, call.verb) as exchange, _own_errors(request):
            async with asyncio.timeout(self.timeout):
                response = await self._send(request)
                try:
                    self.warnings.collect(response.values("Warning"))
                    yield response
                finally:
                    response.close()
                # Not before: what broke half-way was no answer.
                exchange.status = response.status

    @asynccontextmanager
    async def stream(
        self, call: Call, *, idle_timeout: float
    ) -> AsyncIterator[AsyncIterable[bytes]]:
        """Open a GET whose body goes on; closed when the block is left.

        The answer must begin within ``timeout`` seconds, and the body may pause for
        ``idle_timeout`` seconds. Reading inside the block raises ConnectionLost, too.
        """
        target = self._target(call)
        credential = await self.config.auth.header()
        request = Request("GET", target, headers=_headers(call, credential))
        with _own_errors(request):
            response = await self._open_stream(request, idle_timeout)
            try:
                if response.status == 401 and await self.config.auth.refresh(credential):
                    response.close()
                    headers = _headers(call, await self.config.auth.header())
                    request = Request("GET", target, headers=headers)
                    response = await self._open_stream(request, idle_timeout)
                if response.status != 200:
                    # A server that refuses in the middle of its answer must not hold the caller.
                    async with asyncio.timeout(self.timeout):
                        answer = await _whole(response)
                    raise answer.refusal(call.subject)
                yield response.chunks()
            finally:
                response.close()

    async def _open_stream(self, request: Request, idle_timeout: float) -> HttpResponse:
        with observed(self.on_request, "WATCH") as exchange, _own_errors(request):
            async with asyncio.timeout(self.timeout):
                response = await self._send(request, idle_timeout)
            exchange.status = response.status
        return response

    @asynccontextmanager
    async def websocket(
        self, call: Call, *, protocols: Sequence[str], timeout: float | None = None
    ) -> AsyncIterator[AsyncIterable[bytes]]:
        """Open a websocket and yield its binary messages; closed when the block is left.

        Opening it counts as a write. Everything up to the end of the block takes ``timeout``
        seconds at most, by default those of a call. Reading inside the block raises
        ConnectionLost, too; the messages end when the server closes.
        """
        try:
            with _own_errors(Request(call.verb, self._target(call), headers=())):
                async with asyncio.timeout(self.timeout if timeout is None else timeout):
                    opened = await self._open_websocket(call, protocols)
                    try:
                        yield opened.messages()
                    finally:
                        await opened.close()
        except NoWebSocket as refused:
            answer = Answer(refused.status, refused.retry_after, refused.body)
            raise answer.refusal(f"{call.verb} {call.path}") from None

    async def _open_websocket(self, call: Call, protocols: Sequence[str]) -> "WebSocket":
        credential = await self.config.auth.header()
        try:
            return await self._shake_hands(call, protocols, credential)
        except NoWebSocket as refused:
            if refused.status != 401 or not await self.config.auth.refresh(credential):
                raise
        return await self._shake_hands(call, protocols, await self.config.auth.header())

    async def _shake_hands(
        self, call: Call, protocols: Sequence[str], credential: str | None
    ) -> "WebSocket":
        request = Request(
            "GET",
            self._target(call),
            headers=_headers(call, credential),
            body=b"",
            content_type="application/octet-stream",
            before_write=self.before_write,
        )
        with observed(self.on_request, call.verb) as exchange, _own_errors(request, call.verb):
            try:
                async with asyncio.timeout(self.timeout):
                    opened = await _open(self._session).open_websocket(request, protocols=protocols)
            except NoWebSocket as refused:
                exchange.status = refused.status
                raise
            exchange.status = 101
        return opened

    async def _send(self, request: Request, idle_timeout: float | None = None) -> HttpResponse:
        response = await _open(self._traced).send(request, idle_timeout=idle_timeout)
        # Now, and not after the body, which may take long: it is the time of the headers.
        now, last = asyncio.get_running_loop().time(), self.last_date
        # A Date has whole seconds, and finding the header takes four times as long as all this.
        if last is None or now - last.received_at >= 1.0:
            dates = response.values("date")
            self.last_date = ServerDate(dates[0], now) if dates else last
        return response

    def _target(self, call: Call) -> str:
        # Segments are quoted by Resource.path; quoting twice would change names.
        tail = f"?{_encoded(call.query)}" if call.query else ""
        return f"{self._address.prefix}{call.path}{tail}"


def _open(session: T | None) -> T:
    if session is None:
        raise RuntimeError("the client is closed; use it as `async with Client(config) as client`")
    return session


def _headers(call: Call, credential: str | None) -> Headers:
    headers = (*call.headers, ("Accept", call.accept))
    return headers if credential is None else (*headers, ("Authorization", credential))


def _encoded(query: Mapping[str, str] | Sequence[tuple[str, str]]) -> str:
    pairs = query.items() if isinstance(query, Mapping) else query
    # What most queries hold needs no quotes, and `urlencode` takes a tenth of a whole request.
    if all(map(_UNRESERVED.fullmatch, (text for pair in pairs for text in pair))):
        return "&".join(f"{key}={value}" for key, value in pairs)
    return urlencode(query)


def _safe_as_yaml(data: bytes) -> bytes:
    """Escape what JSON may hold as it is, and YAML folds or refuses."""
    # Of a body of 3 KB the search takes 40 µs, a third of the whole request.
    if data.isascii() and b"\x7f" not in data:
        return data
    return _NOT_IN_YAML.sub(lambda match: b"\\u%04x" % ord(match[0].decode()), data)


def _decoded(body: bytes, subject: str) -> Json:
    if not body:
        return None
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        # The bytes are not quoted: they may be those of a Secret.
        text = f"{subject}: the answer is not JSON ({len(body)} bytes)"
        raise ConnectionLost(text) from error


async def _whole(response: HttpResponse) -> Answer:
    body = await response.read()
    retry_after = response.values("Retry-After")
    return Answer(response.status, retry_after[0] if retry_after else None, body)


@contextmanager
def _own_errors(request: Request, verb: str = "") -> Iterator[None]:
    """Raise ConnectionLost if the request fails, or what ``before_write`` has raised."""
    try:
        yield
    except (HttpError, OSError) as error:
        if request.refusal is not None:
            raise request.refusal from None
        timeout = isinstance(error, TimeoutError)
        text = "no answer in time" if timeout and not str(error) else str(error) or repr(error)
        subject = f"{verb or request.method} {request.target.partition('?')[0]}"
        # A read changes nothing: whether it was sent is told only where no connection was made.
        maybe_sent = request.sent or (request.body is None and not isinstance(error, CannotConnect))
        raise ConnectionLost(
            f"{subject}: {text}", timeout=timeout, maybe_sent=maybe_sent, reason=text
        ) from error
