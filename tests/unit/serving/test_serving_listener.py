"""Connections that send nothing: few, cheap, and closed for new ones. Real sockets."""

import asyncio
import gc
import itertools
import os
import resource
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from serving.connections import PortLimits
from serving.listener import ACCEPTED_AT_ONCE, BACKLOG, BEGUN_AT_ONCE, Listener
from serving.protocol import BoundedProtocol, TlsProtocol
from tests.unit.serving.test_serving_limits import GET, PATIENT, SHORT, changed, directory, port
from tests.unit.webhook.harness import until

__all__ = ["directory"]


@dataclass
class Listening:
    """A listener, what it passed on, and the clients that connected to it."""

    listener: Listener
    number: int
    closed: list[str]
    begun: list[socket.socket] = field(default_factory=list)
    clients: list[socket.socket] = field(default_factory=list)

    def connect(self, times: int = 1, data: bytes = b"") -> list[socket.socket]:
        """Connect within one iteration of the loop: the kernel does it without the listener."""
        made = [socket.create_connection(("127.0.0.1", self.number), 10) for _ in range(times)]
        for sock in made:
            sock.setblocking(False)
            if data:
                sock.send(data)
        self.clients += made
        return made

    async def reach(self, silent: int) -> None:
        """Wait for a number of connections that have sent nothing."""
        await until_true(lambda: self.listener.silent == silent)

    async def close_many(self, times: int) -> None:
        """Wait until so many connections were closed because of a limit."""
        await until_true(lambda: len(self.closed) == times)

    async def begin(self, times: int) -> None:
        """Wait until so many connections were passed on."""
        await until_true(lambda: len(self.begun) == times)


async def until_true(condition: Callable[[], bool]) -> None:
    async def holds() -> bool:
        return condition()

    await until(holds)


@asynccontextmanager
async def listening(wait: float = 60.0, **limits: Any) -> AsyncIterator[Listening]:
    sock = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
    begun, closed = list[socket.socket](), list[str]()
    made = Listener(
        sock,
        PortLimits(**limits),
        wait=wait,
        late="handshake_timeout",
        begin=begun.append,
        observe=closed.append,
    )
    served = Listening(made, sock.getsockname()[1], closed, begun)
    try:
        yield served
    finally:
        made.close()
        for one in (*begun, *served.clients):
            one.close()


def ended(client: socket.socket) -> bool:
    """Return whether the server has closed a connection."""
    try:
        return client.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


async def test_the_oldest_connection_that_has_sent_nothing_is_closed_for_the_new_one() -> None:
    async with listening(silent=8) as served:
        clients = served.connect(50)
        await served.close_many(42)
        await served.reach(8)
        assert [ended(client) for client in clients] == [True] * 42 + [False] * 8
        assert served.closed == ["too_many_silent"] * 42


async def test_one_iteration_of_the_loop_accepts_few() -> None:
    async with listening() as served:
        served.connect(2 * ACCEPTED_AT_ONCE + 1)
        counts = [0]
        while counts[-1] < 2 * ACCEPTED_AT_ONCE + 1:
            await asyncio.sleep(0)
            counts.append(served.listener.silent)
        assert max(new - old for old, new in itertools.pairwise(counts)) == ACCEPTED_AT_ONCE


async def test_one_iteration_of_the_loop_passes_few_on() -> None:
    async with listening() as served:
        clients = served.connect(3 * BEGUN_AT_ONCE)
        await served.reach(len(clients))
        for client in clients:
            client.send(b"x")
        counts = [0]
        while counts[-1] < len(clients):
            await asyncio.sleep(0)
            counts.append(len(served.begun))
        assert max(new - old for old, new in itertools.pairwise(counts)) == BEGUN_AT_ONCE


async def test_who_has_sent_something_is_passed_on_however_many_come_after() -> None:
    async with listening(silent=4) as served:
        speaking = served.connect(2 * BEGUN_AT_ONCE, b"x")
        silent = served.connect(100)
        await served.begin(len(speaking))
        await served.close_many(96)
        assert not any(ended(client) for client in speaking)
        assert [ended(client) for client in silent] == [True] * 96 + [False] * 4
        assert {sock.recv(10) for sock in served.begun} == {b"x"}


async def test_a_connection_that_its_client_closes_is_forgotten() -> None:
    async with listening() as served:
        clients = served.connect(10)
        await served.reach(10)
        for client in clients:
            client.close()
        await served.reach(0)
        assert served.begun == []
        assert served.closed == []


async def test_a_connection_that_sends_nothing_in_time_is_closed() -> None:
    async with listening(wait=SHORT) as served:
        clients = served.connect(5)
        await served.reach(5)
        await served.reach(0)
        assert all(ended(client) for client in clients)
        assert served.closed == ["handshake_timeout"] * 5
        later = served.connect(1)
        await served.reach(1)
        await served.reach(0)
        assert ended(later[0])


async def test_a_closed_listener_leaves_no_connection() -> None:
    async with listening() as served:
        clients = served.connect(5)
        await served.reach(5)
        served.listener.close()
        assert all(ended(client) for client in clients)
        with pytest.raises(ConnectionError):
            served.connect(1)


@contextmanager
def descriptors_left(number: int) -> Iterator[None]:
    """Let the process open no more files than these for the block."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)
    # It takes the lowest numbers first, so all that are below are taken before the limit counts.
    taken = [lowest]
    highest = max(int(file.name) for file in Path("/proc/self/fd").iterdir())
    taken += [os.dup(0) for _ in range(highest - lowest + number)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(taken) + 1, hard))
    try:
        for free in taken[len(taken) - number :]:
            os.close(free)
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for used in taken[: len(taken) - number]:
            os.close(used)


async def test_without_a_file_descriptor_the_listener_waits_and_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with listening() as served:
        clients = served.connect(3, b"x")
        with descriptors_left(0):
            # Many iterations of the loop, none of which sees a listener that can accept.
            for _ in range(100):
                await asyncio.sleep(0)
        assert [record.getMessage() for record in caplog.records] == ["cannot accept connections"]
        assert vars(caplog.records[0])["error"] == "Too many open files"
        await served.begin(3)
        assert not any(ended(client) for client in clients)


async def test_the_last_file_descriptors_are_those_of_silent_connections() -> None:
    async with listening() as served:
        silent = served.connect(20)
        speaking = served.connect(1, b"x")
        with descriptors_left(5):
            await served.begin(1)
        # One of them stays free.
        assert [ended(client) for client in silent] == [True] * 17 + [False] * 3
        assert not ended(speaking[0])


async def test_silent_connections_take_a_quarter_of_the_files_that_may_be_open() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (400, hard))
    try:
        async with listening() as served:
            served.connect(130)
            await served.close_many(30)
            await served.reach(100)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


# On a served port


async def test_silent_connections_take_neither_slots_nor_tls(directory: Path | None) -> None:
    async with port(changed(connections=2, silent=50), directory) as served:
        used = await served.connect()
        await used.ask()
        silent = [socket.create_connection(("127.0.0.1", served.number), 10) for _ in range(200)]
        await served.reach(lambda: served.closed == ["too_many_silent"] * 150)
        assert len(served.connections) == 1
        other = await served.connect()
        for client in (used, other, used):
            assert (await client.ask()).startswith(b"HTTP/1.1 200 ")
        for sock in silent:
            sock.close()


async def test_nothing_of_an_ended_connection_waits_for_the_garbage_collector(
    directory: Path | None,
) -> None:
    # Each would keep 100 KB, which the collector does not see: it counts objects. And one that was
    # open during a full collection is frozen, so it would stay for long.
    async with port(PATIENT, directory) as served:
        gc.collect()
        gc.disable()
        try:
            for data in (GET, GET[:10], b""):
                client = await served.connect()
                client.send(data)
                if data:
                    await served.reach(lambda: bool(protocols()))
                if data == GET:
                    await client.ask(b"")
                client.writer.transport.abort()
                await served.reach(lambda: not protocols())
        finally:
            gc.enable()


def protocols() -> list[object]:
    """Return those that have come since the last collection; without one, all are young."""
    young = gc.get_objects(generation=0)
    return [one for one in young if isinstance(one, (BoundedProtocol, TlsProtocol))]
