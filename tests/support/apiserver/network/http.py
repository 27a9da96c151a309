"""An API server in memory over HTTP, on a thread of its own, for clients that need a socket."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from aiohttp import web

from tests.support.apiserver.reads.watching import Watch
from tests.support.apiserver.server import Request, Response

Result = TypeVar("Result")
_SECONDS = 10.0


class HttpServer:
    """Answers requests over HTTP as a function answers them in memory.

    The function and all it changes belong to the loop of the thread; `do` is the way there from
    other threads.

    Args:
        handle: Answers a request; a request for which it returns None is never answered.

    Attributes:
        url: Where the server listens, on the loopback interface.
    """

    def __init__(self, handle: Callable[[Request], Response | None]) -> None:
        self.url = ""
        self._handle = handle
        self._loop: asyncio.AbstractEventLoop
        self._stopped: asyncio.Event
        self._watches: set[Watch] = set()

    @contextmanager
    def running(self) -> Iterator["HttpServer"]:
        """Serve until the block ends; watches and requests without an answer end with it."""
        ready = threading.Event()
        thread = threading.Thread(target=lambda: asyncio.run(self._serve(ready)), daemon=True)
        thread.start()
        assert ready.wait(_SECONDS)
        try:
            yield self
        finally:
            self._loop.call_soon_threadsafe(self._stopped.set)
            thread.join(_SECONDS)

    def do(self, act: Callable[[], Result]) -> Result:
        """Call a function on the server's loop, and return what it returns."""

        async def call() -> Result:
            return act()

        return asyncio.run_coroutine_threadsafe(call(), self._loop).result(_SECONDS)

    async def _serve(self, ready: threading.Event) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application(client_max_size=2**24)
        app.router.add_route("*", "/{path:.*}", self._answer)
        # A watch stops taking changes when its client goes away.
        runner = web.AppRunner(app, shutdown_timeout=1.0, handler_cancellation=True)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        ready.set()
        await self._stopped.wait()
        for watch in self._watches:
            watch.cut()
        await runner.cleanup()
        # Transports that were told to close do so in the next rounds of the loop.
        for _ in range(10):
            await asyncio.sleep(0)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        response = self._handle(await _read(request))
        if response is None:
            await self._stopped.wait()
            return web.Response(status=503)
        headers = [("Content-Type", "application/json"), *response.headers.items()]
        # JSON quotes a string as the header's quoted-string does.
        headers += [("Warning", f"299 - {json.dumps(text)}") for text in response.warnings]
        if response.watch is None:
            return web.Response(status=response.status, body=response.body, headers=headers)
        stream = web.StreamResponse(status=response.status, headers=headers)
        await self._stream(request, response.watch, stream)
        return stream

    async def _stream(self, request: web.Request, watch: Watch, stream: web.StreamResponse) -> None:
        self._watches.add(watch)
        try:
            await stream.prepare(request)
            while (line := await watch.next_line()) is not None:
                await stream.write(line)
        finally:
            self._watches.discard(watch)
            watch.end()


async def _read(request: web.Request) -> Request:
    return Request(
        request.method,
        request.rel_url.raw_path,
        dict(request.query),
        await request.read(),
        request.content_type,
        request.headers.get("Accept", "application/json"),
        request.headers.get("User-Agent", ""),
    )
