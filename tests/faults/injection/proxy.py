"""A proxy between reconcilers and the API server that does what networks and servers do.

Each reconciler has a listener of its own, on the loopback interface and in plain HTTP; what comes
there goes on over TLS with the reconciler's certificate. Without a rule the proxy changes nothing:
answers keep their bytes, and watches are streamed line by line.
"""

import socket
import struct
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from http import HTTPStatus
from types import TracebackType
from typing import Self

import aiohttp
import orjson
from aiohttp import web

from kubeio.connection.config import ClusterConfig
from kubeio.errors import ConnectionLost
from kubeio.watch import lines
from tests.faults.injection.faults import WATCH, Fault, Requests, Rule, Rules
from tests.faults.injection.paths import Target, target_of
from tests.faults.injection.roles import write_of
from tests.faults.injection.strikes import Strikes, refusal
from tests.support.forwarding import Upstream, connected_to, kept, listening


@dataclass(frozen=True, slots=True)
class Answer:
    """What the API server answered to a request that is no watch."""

    status: int
    headers: dict[str, str]
    body: bytes

    def response(self) -> web.Response:
        return web.Response(status=self.status, headers=self.headers, body=self.body)


@dataclass
class Proxy:
    """Forwards, and strikes where a rule says so.

    Attributes:
        upstream: The API server, and as whom to ask it.
        rules: What is to go wrong.
        strikes: What is done to processes.
    """

    upstream: ClusterConfig
    rules: Rules
    strikes: Strikes
    _api_server: Upstream = field(init=False)
    _open: AsyncExitStack = field(init=False)
    _lists: dict[tuple[str, str], Answer] = field(default_factory=dict)
    _stale: set[tuple[str, str]] = field(default_factory=set)

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            self._api_server = await stack.enter_async_context(connected_to(self.upstream))
            self._open = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._open.aclose()

    async def listen(self, reconciler: str) -> str:
        """Open a listener for a reconciler and return its URL."""

        async def handle(request: web.Request) -> web.StreamResponse:
            try:
                return await self._handle(reconciler, request)
            except (aiohttp.ClientError, ConnectionError):
                return _broken(request)

        return await self._open.enter_async_context(listening(handle))

    async def _handle(self, reconciler: str, request: web.Request) -> web.StreamResponse:
        target = target_of(request.path)
        lasting = None if target is None else self.rules.strike_lasting(_asked(request, target))
        if lasting is Fault.HANG:
            await self.strikes.client_gone()
        elif lasting is not None:
            return refusal(lasting)
        if target is not None and request.query.get("watch") == "true":
            return await self._watch(reconciler, request, target)
        body = await request.read()
        write = write_of(request.method, request.path, request.content_type, body)
        if write is None:
            return await self._read(reconciler, request, target)
        self.strikes.wrote(reconciler, write)
        rule = self.rules.strike(write.namespace, write.label)
        if rule is None:
            return (await self._forward(request, body)).response()
        return await self._strike(reconciler, request, body, rule)

    async def _forward(self, request: web.Request, body: bytes) -> Answer:
        async with self._api_server.send(request, body) as response:
            return await _answer(response)

    # Writes

    async def _strike(
        self, reconciler: str, request: web.Request, body: bytes, rule: Rule
    ) -> web.StreamResponse:
        strikes = self.strikes
        match rule.fault:
            case Fault.CONFLICT | Fault.THROTTLED | Fault.ERROR:
                return refusal(rule.fault)
            case Fault.RESET_BEFORE:
                return _broken(request)
            case Fault.RESET_AFTER:
                await self._forward(request, body)
                return _broken(request)
            case Fault.HANG:
                await strikes.client_gone()
            case Fault.LATE:
                await strikes.later(rule.namespace, lambda: self._forward(request, body))
            case Fault.KILL_BEFORE:
                strikes.kill(reconciler)
            case Fault.KILL_AFTER:
                await self._forward(request, body)
                strikes.kill(reconciler)
            case Fault.STALE_START:
                await self._forward(request, body)
                self._stale |= {key for key in self._lists if key[0] == reconciler}
                strikes.kill(reconciler)
            case Fault.PAUSED_BEFORE | Fault.PAUSED_LATE:
                await strikes.pause(reconciler, rule).wait()
                return (await self._forward(request, body)).response()
            case Fault.PAUSED_AFTER:
                over = strikes.pause(reconciler, rule)
                answer = await self._forward(request, body)
                await over.wait()
                return answer.response()
        return _broken(request)

    # Lists and watches

    async def _read(
        self, reconciler: str, request: web.Request, target: Target | None
    ) -> web.StreamResponse:
        answer = await self._forward(request, b"")
        if target is None or target.name or target.namespace:
            return answer.response()
        key = (reconciler, request.raw_path)
        if key in self._stale:
            self._stale.discard(key)
            return self._lists[key].response()
        self._lists[key] = answer
        return answer.response()

    async def _watch(
        self, reconciler: str, request: web.Request, target: Target
    ) -> web.StreamResponse:
        async with self._api_server.send(request, b"") as upstream:
            if upstream.status != HTTPStatus.OK:
                return (await _answer(upstream)).response()
            response = web.StreamResponse(headers=kept(upstream))
            await response.prepare(request)
            try:
                async for line in lines(upstream.content.iter_any()):
                    rule = self._struck(target, line)
                    if rule is None:
                        await response.write(line + b"\n")
                    elif rule.fault is Fault.SILENT:
                        await self.strikes.client_gone()
                    elif rule.fault is not Fault.DROPPED:
                        if rule.fault is Fault.STALE:
                            self._make_stale(reconciler, target)
                        await response.write(_GONE)
                        break
            except ConnectionLost:
                return _broken(request)
            await response.write_eof()
            return response

    def _struck(self, target: Target, line: bytes) -> Rule | None:
        event = orjson.loads(line)
        namespace = event["object"].get("metadata", {}).get("namespace", "")
        return self.rules.strike(namespace, f"{WATCH}{target.resource}")

    def _make_stale(self, reconciler: str, target: Target) -> None:
        for key in self._lists:
            path = key[1].partition("?")[0]
            if key[0] == reconciler and target_of(path) == target:
                self._stale.add(key)


def _asked(request: web.Request, target: Target) -> Requests:
    """Return what a lasting fault knows a request by."""
    if target.subresource:
        return Requests(target.subresource, target.resource)
    if request.method == "POST":
        return Requests("create", target.resource)
    is_list = request.method == "GET" and not target.name and "watch" not in request.query
    return Requests("list" if is_list else "", target.resource)


async def _answer(response: aiohttp.ClientResponse) -> Answer:
    return Answer(response.status, kept(response), await response.read())


_GONE = (
    orjson.dumps(
        {
            "type": "ERROR",
            "object": {
                "kind": "Status",
                "apiVersion": "v1",
                "status": "Failure",
                "code": 410,
                "reason": "Expired",
                "message": "too old resource version",
            },
        }
    )
    + b"\n"
)


def _broken(request: web.Request) -> web.Response:
    """Break the connection as a crashing server does; what is returned reaches nobody."""
    transport = request.transport
    if transport is not None:
        found = transport.get_extra_info("socket")
        if found is not None:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
    return web.Response()
