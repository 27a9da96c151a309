"""A kubeio RoundTripper to the API server in memory.

Errors, time limits and hooks are those of `kubeio.connection.transport`. A request that was sent is
carried out even if nobody waits for its answer any more, as on a real network.
"""

import asyncio
import contextvars
import json
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

import orjson

from kubeio.connection.config import ClusterConfig
from kubeio.connection.round_tripper import Call, OnRequest, ServerDate, WarningSink, observed
from kubeio.errors import ApiError, ConnectionLost, error_from_response
from kubeio.types import Json
from tests.support.apiserver.network.faults import Network, Quiet
from tests.support.apiserver.reads.watching import Watch
from tests.support.apiserver.server import ApiServer, Command, Request, Response, refusal
from tests.support.apiserver.status import StatusError

CONFIG = ClusterConfig("http://memory.invalid", user_agent="kubeio")


class MemoryTransport:
    """Carries the requests of one process to the server.

    Args:
        user: Whom the server takes it for.
        timeout: Seconds for one call.
    """

    def __init__(
        self,
        server: ApiServer,
        *,
        config: ClusterConfig = CONFIG,
        user: str = "admin",
        timeout: float = 30.0,
        network: Network | None = None,
    ) -> None:
        self.server = server
        self.config, self.user, self.timeout = config, user, timeout
        self.network = network or Quiet()
        self.before_write: Callable[[], None] | None = None
        self.on_request: OnRequest | None = None
        self.last_date: ServerDate | None = None
        self.warnings = WarningSink()
        # In the order of their opening, so that a run goes the same way each time.
        self._watches: dict[Watch, None] = {}
        self._cut_off = False

    async def open(self) -> None: ...

    async def close(self) -> None:
        self.cut_watches()

    def cut_off(self) -> None:
        """Let nothing through from now on; what is under way to the server arrives."""
        self._cut_off = True
        self.cut_watches()

    def cut_watches(self) -> None:
        """Break every watch."""
        for watch in tuple(self._watches):
            watch.cut()

    async def call(self, call: Call) -> Json:
        request = self._request(call)
        with observed(self.on_request, call.verb or call.method) as exchange:
            response = await self._exchange(request)
            exchange.status = response.status
        if not 200 <= response.status < 300:
            raise _refused(response, call.subject)
        return orjson.loads(response.body) if response.body else None

    @asynccontextmanager
    async def answer(self, call: Call) -> AsyncIterator[AsyncIterable[bytes]]:
        request = self._request(call)
        with observed(self.on_request, call.verb) as exchange:
            response = await self._exchange(request)
            exchange.status = response.status
        if response.status != 200:
            raise _refused(response, call.subject)
        yield _chunks(response.body)

    @asynccontextmanager
    async def stream(
        self, call: Call, *, idle_timeout: float
    ) -> AsyncIterator[AsyncIterable[bytes]]:
        request = self._request(call)
        with observed(self.on_request, "WATCH") as exchange:
            response = await self._exchange(request)
            exchange.status = response.status
        watch = response.watch
        if watch is None:
            raise _refused(response, call.subject)
        self._watches[watch] = None
        try:
            yield self._lines(watch, call.subject, idle_timeout)
        finally:
            self._watches.pop(watch, None)
            watch.end()

    async def _lines(
        self, watch: Watch, subject: str, idle_timeout: float
    ) -> AsyncGenerator[bytes, None]:
        loop = asyncio.get_running_loop()
        lasts = self.network.watch_lasts(watch.name[1])
        broken = loop.call_later(lasts, watch.cut) if lasts is not None else None
        try:
            while True:
                async with asyncio.timeout(idle_timeout):
                    line = await watch.next_line()
                if line is None:
                    break
                yield line
        except TimeoutError:
            raise ConnectionLost(f"{subject}: no answer in time", timeout=True) from None
        finally:
            if broken is not None:
                broken.cancel()
        if watch.broken:
            raise ConnectionLost(f"{subject}: the connection broke")

    @asynccontextmanager
    async def websocket(
        self, call: Call, *, protocols: Sequence[str], timeout: float | None = None
    ) -> AsyncIterator[AsyncIterable[bytes]]:
        del protocols, timeout
        request = replace(self._request(call), method="POST", query={})
        arguments = [value for key, value in _pairs(call) if key == "command"]
        with observed(self.on_request, call.verb) as exchange:
            response = await self._sent(request, partial(self._run, call.path, arguments))
            exchange.status = response.status
        if response.status != 200:
            raise _refused(response, f"{call.verb} {call.path}")
        yield _frames(response.body)

    def _run(self, path: str, arguments: Sequence[str]) -> Response:
        *_, namespace, _, pod, _ = path.split("/")
        try:
            self.server.find_pod(namespace, pod)
            ran = self.server.execute(Command(namespace, pod, arguments))
        except StatusError as error:
            return refusal(error)
        result = [ran.exit_code, ran.stdout.decode("latin-1"), ran.stderr.decode("latin-1")]
        return Response(200, orjson.dumps(result))

    def _request(self, call: Call) -> Request:
        body = b"" if call.body is None else orjson.dumps(call.body)
        agent = self.config.user_agent
        user = dict(call.headers).get("Impersonate-User", self.user)
        query = dict(_pairs(call))
        return Request(
            call.method, call.path, query, body, call.content_type, call.accept, agent, user
        )

    async def _exchange(self, request: Request) -> Response:
        return await self._sent(request, partial(self.server.handle, request))

    async def _sent(self, request: Request, act: Callable[[], Response]) -> Response:
        if self._cut_off:
            raise ConnectionLost(f"{request.method} {request.path}: cut off", maybe_sent=False)
        if request.method != "GET" and self.before_write is not None:
            self.before_write()
        fate = self.network.fate(request)
        loop = asyncio.get_running_loop()
        arrived: asyncio.Future[Response] = loop.create_future()

        def arrive() -> None:
            if fate.lost == "request":
                _settle(arrived, _broken(request))
                return
            try:
                response = act() if fate.refused is None else refusal(fate.refused)
            except Exception as bug:  # noqa: BLE001 - of the server: whoever waits has to see it
                _settle(arrived, bug)
                return
            if response.watch is not None:
                plural = response.watch.name[1]
                response.watch.delay = lambda: self.network.event_delay(plural)
            dated = replace(response, headers={**response.headers, "Date": self.server.date()})
            outcome = _broken(request) if fate.lost == "answer" else dated
            _later(loop, fate.after, lambda: _settle(arrived, outcome))

        if fate.held is not None:
            fate.held(arrive)
        else:
            _later(loop, fate.before, arrive)
        try:
            async with asyncio.timeout(self.timeout):
                response = await arrived
        except TimeoutError:
            text = f"{request.method} {request.path}: no answer in time"
            raise ConnectionLost(text, timeout=True) from None
        self.last_date = ServerDate(response.headers["Date"], loop.time())
        self.warnings.collect(f"299 - {json.dumps(text)}" for text in response.warnings)
        return response


def _pairs(call: Call) -> Sequence[tuple[str, str]]:
    return tuple(call.query.items()) if isinstance(call.query, Mapping) else call.query


def _later(loop: asyncio.AbstractEventLoop, seconds: float, act: Callable[[], None]) -> None:
    # What is on the wire belongs to no process: it goes on when the sender is paused or dies.
    if seconds > 0:
        loop.call_later(seconds, act, context=contextvars.Context())
    else:
        loop.call_soon(act, context=contextvars.Context())


def _settle(arrived: asyncio.Future[Response], outcome: Response | Exception) -> None:
    if arrived.done():
        return
    if isinstance(outcome, Exception):
        arrived.set_exception(outcome)
    else:
        arrived.set_result(outcome)


def _broken(request: Request) -> ConnectionLost:
    return ConnectionLost(f"{request.method} {request.path}: Server disconnected")


def _refused(response: Response, subject: str) -> ApiError:
    return error_from_response(
        response.status,
        response.body,
        retry_after=response.headers.get("Retry-After"),
        subject=subject,
    )


async def _chunks(body: bytes) -> AsyncIterator[bytes]:
    yield body


async def _frames(body: bytes) -> AsyncIterator[bytes]:
    """Yield the frames of an exec: output, errors, and how it ended."""
    code, stdout, stderr = orjson.loads(body)
    for channel, text in ((b"\x01", stdout), (b"\x02", stderr)):
        if text:
            yield channel + text.encode("latin-1")
    yield b"\x03" + orjson.dumps(_ended(code))


def _ended(code: int) -> Json:
    if code == 0:
        return {"status": "Success"}
    causes = [{"reason": "ExitCode", "message": str(code)}]
    return {"status": "Failure", "reason": "NonZeroExitCode", "details": {"causes": causes}}
