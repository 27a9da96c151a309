"""A small API server for one kind, over real sockets: lists in pages, watches, and faults.

It keeps objects and their history as etcd would, so that what an informer ends up with can be
compared with what the server holds. Faults are queued: each replaces one answer.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web

from kubeio.connection.config import ClusterConfig
from kubeio.resource import Resource
from kubeio.types import JsonObject
from tests.support.loops.lacking import within

WIDGET = Resource("example.dev", "v1", "Widget", "widgets", namespaced=True)
PATH = "/apis/example.dev/v1/widgets"

Fault = Callable[[web.Request], Awaitable[web.StreamResponse]]


def status_body(code: int, reason: str, message: str = "no", **more: Any) -> JsonObject:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
        **more,
    }


def refuse(code: int, reason: str, **headers: str) -> Fault:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.json_response(status_body(code, reason), status=code, headers=headers)

    return answer


def stream(*lines: bytes, hang: bool = False, abort: bool = False) -> Fault:
    """Answer a watch with these bytes, then end it, break it, or say nothing more."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for line in lines:
            await response.write(line)
        if hang:
            await asyncio.sleep(60)
        if abort and request.transport is not None:
            request.transport.abort()
        return response

    return answer


def error_event(code: int, reason: str) -> bytes:
    return orjson.dumps({"type": "ERROR", "object": status_body(code, reason)}) + b"\n"


@dataclass
class Seen:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes


@dataclass
class FakeApi:
    url: str = ""
    version: int = 10
    compacted: int = 0
    objects: dict[str, JsonObject] = field(default_factory=dict)
    log: list[tuple[int, bytes]] = field(default_factory=list)
    snapshots: dict[str, list[JsonObject]] = field(default_factory=dict)
    seen: list[Seen] = field(default_factory=list)
    list_faults: deque[Fault] = field(default_factory=deque)
    watch_faults: deque[Fault] = field(default_factory=deque)
    handlers: dict[str, Fault] = field(default_factory=dict)
    watchers: list[asyncio.Queue[bytes | None]] = field(default_factory=list)
    begins: dict[asyncio.Queue[bytes | None], int] = field(default_factory=dict)
    uids: int = 0
    silent: bool = False

    @property
    def config(self) -> ClusterConfig:
        return ClusterConfig(server=self.url)

    @property
    def lists(self) -> list[Seen]:
        return [one for one in self._reads if one.query.get("limit") != "1"]

    @property
    def checks(self) -> list[Seen]:
        """Return the lists of one object, which ask for the version alone."""
        return [one for one in self._reads if one.query.get("limit") == "1"]

    @property
    def _reads(self) -> list[Seen]:
        return [one for one in self.seen if one.path == PATH and "watch" not in one.query]

    @property
    def watches(self) -> list[Seen]:
        return [one for one in self.seen if "watch" in one.query]

    def put(self, name: str, *, note: str = "", labels: dict[str, str] | None = None) -> JsonObject:
        self.version += 1
        known = self.objects.get(name)
        if known is None:
            self.uids += 1
        obj: JsonObject = {
            "apiVersion": "example.dev/v1",
            "kind": "Widget",
            "metadata": {
                "name": name,
                "namespace": "ns",
                "uid": known["metadata"]["uid"] if known else f"uid-{self.uids}",
                "resourceVersion": str(self.version),
                "labels": labels or {},
                "managedFields": [{"manager": "somebody"}],
            },
            "spec": {"note": note},
        }
        self.objects[name] = obj
        self.emit("MODIFIED" if known else "ADDED", obj)
        copy: JsonObject = orjson.loads(orjson.dumps(obj))
        return copy

    def delete(self, name: str) -> JsonObject:
        self.version += 1
        obj = self.objects.pop(name)
        last = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(self.version)}}
        self.emit("DELETED", last)
        return last

    def bookmark(self) -> None:
        version = {"metadata": {"resourceVersion": str(self.version)}}
        self._send(orjson.dumps({"type": "BOOKMARK", "object": version}) + b"\n")

    def emit(self, kind: str, obj: JsonObject) -> None:
        line = orjson.dumps({"type": kind, "object": obj}) + b"\n"
        self.log.append((self.version, line))
        self._send(line)

    def compact(self) -> None:
        """Forget the history: watches from before now get 410."""
        self.compacted = self.version

    def restore(self, version: int, *names: str) -> None:
        """Go back to an earlier version, in which there were these objects, and go on from there.

        Watches go on; what a real API server does with them is in
        `docs/design/20261122.watches-and-waits.md`.
        """
        self.version = version
        self.objects = {name: self.objects[name] for name in names}
        self.log.clear()

    def end_watches(self) -> None:
        for queue in self.watchers:
            queue.put_nowait(None)

    def _send(self, line: bytes) -> None:
        for queue in () if self.silent else self.watchers:
            # A watch from the future is accepted, and silent until its version is reached.
            if self.version >= self.begins[queue]:
                queue.put_nowait(line)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.seen.append(
            Seen(
                request.method,
                request.raw_path.partition("?")[0],
                dict(request.query),
                dict(request.headers),
                await request.read(),
            )
        )
        custom = self.handlers.get(request.path)
        if custom is not None:
            return await custom(request)
        if request.path != PATH:
            return await refuse(404, "NotFound")(request)
        faults = self.watch_faults if "watch" in request.query else self.list_faults
        if faults:
            return await faults.popleft()(request)
        return await (
            self._watch(request) if "watch" in request.query else self.answer_list(request)
        )

    async def answer_list(self, request: web.Request) -> web.StreamResponse:
        """Answer a list, or one page of it."""
        limit = int(request.query.get("limit", "0")) or 10_000
        start, _, version = request.query.get("continue", f"0@{self.version}").partition("@")
        if int(version) < self.compacted:
            return await refuse(410, "Expired")(request)
        if "continue" not in request.query:
            # All pages of a list are of one moment.
            self.snapshots[version] = [self.objects[name] for name in sorted(self.objects)]
        everything = self.snapshots[version]
        metadata = {"resourceVersion": version}
        if int(start) + limit < len(everything):
            metadata["continue"] = f"{int(start) + limit}@{version}"
        items = everything[int(start) : int(start) + limit]
        return web.json_response({"kind": "WidgetList", "metadata": metadata, "items": items})

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        since = int(request.query["resourceVersion"])
        if since < self.compacted:
            return await refuse(410, "Expired")(request)
        response = web.StreamResponse()
        await response.prepare(request)
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        for version, line in self.log:
            if version > since:
                queue.put_nowait(line)
        self.begins[queue] = since
        self.watchers.append(queue)
        try:
            while (line_or_end := await queue.get()) is not None:
                await response.write(line_or_end)
        finally:
            self.watchers.remove(queue)
        return response


@asynccontextmanager
async def fake_api() -> AsyncIterator[FakeApi]:
    api = FakeApi()
    app = web.Application(client_max_size=2**26)
    app.router.add_route("*", "/{tail:.*}", api.handle)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    api.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield api
    finally:
        await runner.cleanup()


async def until(condition: Callable[[], object], seconds: float = 30.0) -> None:
    """Wait until a condition holds; the sockets are real, so is the time."""
    async with within(seconds, condition):
        while not condition():  # noqa: ASYNC110 - the condition is anything at all
            await asyncio.sleep(0.005)
