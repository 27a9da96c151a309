"""An ASGI app embedded in a TaskGroup."""

import asyncio
import signal
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import pytest

from serving.server import ListenError, serve

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class App:
    """Answers once `gate` is open."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.asked = asyncio.Event()

    async def __call__(self, _scope: Any, _receive: Any, send: Send) -> None:
        self.asked.set()
        await self.gate.wait()
        headers = [(b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"ok"})


class Served:
    """A server in a task, on a free port."""

    def __init__(self, group: asyncio.TaskGroup, app: App, *, grace: float = 5.0) -> None:
        self.stop = asyncio.Event()
        self._port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.task = group.create_task(
            serve(
                app,
                host="127.0.0.1",
                port=0,
                stop=self.stop,
                grace=grace,
                on_started=self._port.set_result,
            )
        )

    async def port(self) -> int:
        async with asyncio.timeout(10):
            return await asyncio.shield(self._port)

    async def get(self) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", await self.port())
        try:
            writer.write(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            return await reader.read()
        finally:
            writer.close()
            await writer.wait_closed()


async def test_it_serves_until_it_is_told_to_stop() -> None:
    app = App()
    app.gate.set()
    async with asyncio.TaskGroup() as group:
        served = Served(group, app)
        answer = await served.get()
        served.stop.set()
    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.endswith(b"ok")


async def test_a_request_in_flight_is_answered_after_the_listener_has_closed() -> None:
    app = App()
    async with asyncio.TaskGroup() as group:
        served = Served(group, app)
        request = group.create_task(served.get())
        await app.asked.wait()
        served.stop.set()
        await refused(await served.port())
        app.gate.set()
    assert request.result().endswith(b"ok")


async def refused(port: int) -> None:
    async with asyncio.timeout(10):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except ConnectionError:
                return
            writer.close()


async def test_a_request_that_outlives_the_grace_is_cut_off() -> None:
    app = App()
    async with asyncio.TaskGroup() as group:
        served = Served(group, app, grace=0.0)
        request = group.create_task(served.get())
        await app.asked.wait()
        served.stop.set()
        async with asyncio.timeout(10):
            await served.task
            assert not (await request).endswith(b"ok")


async def test_cancelling_closes_the_listener() -> None:
    async with asyncio.TaskGroup() as group:
        served = Served(group, App())
        port = await served.port()
        served.task.cancel()
    await refused(port)


async def test_a_taken_port_is_an_error_that_names_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ListenError, match=f"127.0.0.1:{port}: Address already in use"):
            await serve(App(), host="127.0.0.1", port=port, stop=asyncio.Event(), grace=1.0)


async def test_an_address_that_is_not_ours_is_an_error() -> None:
    with pytest.raises(ListenError, match=r"192\.0\.2\.1:0"):
        await serve(App(), host="192.0.2.1", port=0, stop=asyncio.Event(), grace=1.0)


async def test_signal_handlers_are_left_alone() -> None:
    before = signal.getsignal(signal.SIGTERM)
    async with asyncio.TaskGroup() as group:
        served = Served(group, App())
        await served.port()
        assert signal.getsignal(signal.SIGTERM) is before
        served.stop.set()


async def test_stop_before_start_ends_at_once() -> None:
    stop = asyncio.Event()
    stop.set()
    async with asyncio.timeout(10):
        await serve(App(), host="127.0.0.1", port=0, stop=stop, grace=1.0)


async def test_the_connections_of_clients_send_small_writes_at_once() -> None:
    # Without TCP_NODELAY each answer in two writes would take 40 ms.
    app = App()
    app.gate.set()
    async with asyncio.TaskGroup() as group:
        served = Served(group, app)
        reader, writer = await asyncio.open_connection("127.0.0.1", await served.port())
        begin = asyncio.get_running_loop().time()
        for _ in range(100):
            writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            await reader.readuntil(b"\r\n\r\nok")
        took = asyncio.get_running_loop().time() - begin
        writer.close()
        await writer.wait_closed()
        served.stop.set()
    assert took < 3.0
