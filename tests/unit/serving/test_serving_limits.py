"""What a client of a port may take: time, connections, bytes. Real sockets and real TLS."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from serving.connections import Connections, PortLimits
from serving.server import serve
from tests.unit.webhook.harness import any_certificate, until, write_pair

LONG = 60.0
SHORT = 0.2
PATIENT = PortLimits(handshake=LONG, head=LONG, body=LONG, answer=LONG, idle=LONG)
GET = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"


def post(size: int) -> bytes:
    return b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % size


class App:
    """Reads the body and answers with its length, once `gate` is open."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.gate.set()
        self.asked = 0
        self.answer = b""
        self.read = True

    async def __call__(self, _scope: Any, receive: Any, send: Any) -> None:
        self.asked += 1
        size, more = 0, self.read
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            size += len(message["body"])
            more = message["more_body"]
        await self.gate.wait()
        body = self.answer or b"%d" % size
        headers = [(b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


@dataclass
class Client:
    """One connection to the port."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def ask(self, data: bytes = GET) -> bytes:
        """Send a request and return its answer, head and body."""
        self.send(data)
        async with asyncio.timeout(20):
            head = await self.reader.readuntil(b"\r\n\r\n")
            size = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            return head + await self.reader.readexactly(size)

    async def rest(self) -> bytes:
        """Return what comes until the connection ends; a reset is an end, too."""
        found = b""
        async with asyncio.timeout(20):
            try:
                while data := await self.reader.read(65536):
                    found += data
            except (ConnectionError, ssl.SSLError):
                pass
        return found

    async def trickle(self, data: bytes) -> bytes:
        """Send byte after byte for as long as there is a connection; return what came back."""
        end = asyncio.create_task(self.rest())
        while not end.done():
            self.send(data)
            await asyncio.wait({end}, timeout=SHORT / 20)
        return end.result()


@dataclass
class Port:
    """A served port."""

    number: int
    app: App
    connections: Connections
    closed: list[str]
    tls: ssl.SSLContext | None
    clients: list[Client] = field(default_factory=list)

    async def connect(self) -> Client:
        name = "localhost" if self.tls else None
        pair = await asyncio.open_connection(
            "127.0.0.1", self.number, ssl=self.tls, server_hostname=name
        )
        self.clients.append(Client(*pair))
        return self.clients[-1]

    async def reach(self, condition: Callable[[], bool]) -> None:
        async def holds() -> bool:
            return condition()

        await until(holds)

    async def asked(self, times: int) -> None:
        await self.reach(lambda: self.app.asked == times)


@asynccontextmanager
async def port(limits: PortLimits, directory: Path | None = None) -> AsyncIterator[Port]:
    """Serve; with TLS where there is a directory for the certificate."""
    context = None
    if directory is not None:
        write_pair(directory)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(directory / "tls.crt", directory / "tls.key")
    app, stop, closed = App(), asyncio.Event(), list[str]()
    started: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    connections = Connections(limits, closed.append)
    async with asyncio.TaskGroup() as group:
        group.create_task(
            serve(
                app,
                host="127.0.0.1",
                port=0,
                stop=stop,
                grace=0.0,
                ssl=context,
                connections=connections,
                on_started=started.set_result,
            )
        )
        tls = any_certificate() if context else None
        served = Port(await started, app, connections, closed, tls)
        try:
            yield served
        finally:
            for client in served.clients:
                client.writer.transport.abort()
            app.gate.set()
            stop.set()
    assert len(connections) == 0
    assert connections.held == 0


@pytest.fixture(params=["plain", "tls"])
def directory(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return tmp_path if request.param == "tls" else None


def changed(**values: Any) -> PortLimits:
    settings = {name: getattr(PATIENT, name) for name in PortLimits.__dataclass_fields__}
    return PortLimits(**{**settings, "linger": SHORT, **values})


# Time


async def test_a_handshake_that_does_not_end_is_ended(tmp_path: Path) -> None:
    async with port(changed(handshake=SHORT), tmp_path) as served:
        reader, writer = await asyncio.open_connection("127.0.0.1", served.number)
        writer.write(b"\x16\x03\x01")
        assert await Client(reader, writer).rest() == b""
        assert served.closed == ["handshake_timeout"]
        writer.transport.abort()


async def test_what_is_no_tls_is_told_so_by_an_alert(tmp_path: Path) -> None:
    async with port(PATIENT, tmp_path) as served:
        reader, writer = await asyncio.open_connection("127.0.0.1", served.number)
        writer.write(b"\x16\x03\x01\x00\x05hello")
        answer = await Client(reader, writer).rest()
        assert answer[:1] == b"\x15"
        assert served.closed == ["handshake_failed"]
        writer.transport.abort()


async def test_a_byte_of_a_header_now_and_then_keeps_no_connection(directory: Path | None) -> None:
    async with port(changed(head=SHORT), directory) as served:
        client = await served.connect()
        client.send(b"GET / HTTP/1.1\r\nx: ")
        assert (await client.trickle(b"x")).startswith(b"HTTP/1.1 408 ")
        assert served.closed == ["head_timeout"]


async def test_empty_lines_before_a_request_are_no_way_to_stay() -> None:
    async with port(changed(head=SHORT)) as served:
        client = await served.connect()
        assert (await client.trickle(b"\r\n")).startswith(b"HTTP/1.1 408 ")
        assert served.closed == ["head_timeout"]


async def test_a_byte_of_a_body_now_and_then_keeps_no_connection(directory: Path | None) -> None:
    async with port(changed(body=SHORT), directory) as served:
        client = await served.connect()
        client.send(post(10_000_000))
        assert (await client.trickle(b"x")).startswith(b"HTTP/1.1 408 ")
        assert served.closed == ["body_timeout"]


async def test_the_rest_of_a_body_whose_answer_is_out_has_the_same_time() -> None:
    async with port(changed(body=SHORT)) as served:
        served.app.read = False
        client = await served.connect()
        answer = await client.ask(post(10_000_000))
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert await client.trickle(b"x") == b""
        assert served.closed == ["body_timeout"]


async def test_a_connection_serves_again_after_an_early_answer() -> None:
    async with port(PATIENT) as served:
        served.app.read = False
        client = await served.connect()
        await client.ask(post(5))
        assert (await client.ask(b"hello" + post(3) + b"abc")).endswith(b"\r\n\r\n0")
        served.app.read = True
        assert (await client.ask(post(3) + b"abc")).endswith(b"\r\n\r\n3")
        assert served.closed == []


async def test_who_does_not_read_its_answer_loses_the_connection(directory: Path | None) -> None:
    async with port(changed(answer=SHORT), directory) as served:
        served.app.answer = b"x" * 32_000_000
        client = await served.connect()
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        client.send(GET)
        await served.reach(lambda: served.closed == ["answer_timeout"])
        await served.reach(lambda: len(served.connections) == 0)


async def test_an_idle_connection_is_closed_after_its_time(directory: Path | None) -> None:
    async with port(changed(idle=SHORT), directory) as served:
        used, unused = await served.connect(), await served.connect()
        await used.ask()
        assert [await used.rest(), await unused.rest()] == [b"", b""]
        assert served.closed == []


async def test_an_idle_connection_stays_where_requests_have_little_time(
    directory: Path | None,
) -> None:
    async with port(changed(handshake=SHORT, head=SHORT, body=SHORT), directory) as served:
        idle, other = await served.connect(), await served.connect()
        await idle.ask(post(2) + b"ab")
        other.send(post(2))
        await other.rest()
        assert (await idle.ask()).startswith(b"HTTP/1.1 200 ")


# Sizes


@pytest.mark.parametrize(
    "head",
    [
        b"GET /" + b"x" * 2000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nx: " + b"x" * 2000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"x:y\r\n" * 50 + b"\r\n",
        b"GET / HTTP/1.1\r\nx: " + b"x" * 5000,
    ],
    ids=["path", "header", "many headers", "header without end"],
)
async def test_a_head_that_is_too_large_is_answered_with_431(head: bytes) -> None:
    async with port(changed(head_bytes=1000)) as served:
        client = await served.connect()
        client.send(head)
        assert (await client.rest()).startswith(b"HTTP/1.1 431 ")
        assert served.closed == ["head_too_large"]
        assert served.app.asked == 0


async def test_trailers_count_as_headers() -> None:
    async with port(changed(head_bytes=1000)) as served:
        client = await served.connect()
        client.send(b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n" + b"x:y\r\n" * 50)
        assert (await client.rest()).startswith(b"HTTP/1.1 431 ")
        assert served.closed == ["head_too_large"]


async def test_what_surrounds_chunks_counts_as_part_of_the_request() -> None:
    async with port(changed(request_bytes=10_000)) as served:
        client = await served.connect()
        client.send(b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n")
        client.send(b"1;" + b"x" * 20_000)
        assert (await client.rest()).startswith(b"HTTP/1.1 413 ")
        assert served.closed == ["request_too_large"]


async def test_pipelined_requests_are_not_even_parsed(directory: Path | None) -> None:
    async with port(PATIENT, directory) as served:
        client = await served.connect()
        client.send(GET * 1000)
        answer = await client.rest()
        assert answer.count(b"HTTP/1.1 200 ") == 1
        assert b"connection: close" in answer
        assert served.app.asked == 1


async def test_a_request_to_upgrade_is_answered_as_any_other() -> None:
    async with port(PATIENT) as served:
        client = await served.connect()
        client.send(b"GET / HTTP/1.1\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n")
        assert (await client.rest()).startswith(b"HTTP/1.1 200 ")


async def test_what_is_no_http_is_counted_and_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with port(changed()) as served:
        client = await served.connect()
        client.send(b"hello\r\n\r\n")
        assert (await client.rest()).startswith(b"HTTP/1.1 400 ")
        assert served.closed == ["bad_request"]
        assert caplog.records == []


# Connections


async def test_the_oldest_incomplete_connection_makes_room(directory: Path | None) -> None:
    async with port(changed(connections=3), directory) as served:
        idle, first, second = [await served.connect() for _ in range(3)]
        await idle.ask()
        for times, client in enumerate((first, second), 2):
            client.send(post(5))
            await served.asked(times)
        newest = await served.connect()
        assert (await newest.ask()).startswith(b"HTTP/1.1 200 ")
        assert await first.rest() == b""
        assert (await second.ask(b"hello")).endswith(b"5")
        assert (await idle.ask()).startswith(b"HTTP/1.1 200 ")
        assert served.closed == ["too_many_connections"]


async def test_half_a_handshake_makes_room_first(tmp_path: Path) -> None:
    async with port(changed(connections=2), tmp_path) as served:
        reader, writer = await asyncio.open_connection("127.0.0.1", served.number)
        writer.write(b"\x16")
        await served.reach(lambda: len(served.connections) == 1)
        first, second = await served.connect(), await served.connect()
        assert await Client(reader, writer).rest() == b""
        for client in (first, second):
            assert (await client.ask()).startswith(b"HTTP/1.1 200 ")
        writer.transport.abort()


async def test_the_connection_that_is_idle_for_longest_makes_room() -> None:
    async with port(changed(connections=2)) as served:
        first, second = await served.connect(), await served.connect()
        for client in (second, first):
            await client.ask()
        newest = await served.connect()
        await newest.ask()
        assert await second.rest() == b""
        assert (await first.ask()).startswith(b"HTTP/1.1 200 ")


async def test_a_request_that_is_complete_is_answered_whoever_comes(
    directory: Path | None,
) -> None:
    async with port(changed(connections=2), directory) as served:
        served.app.gate.clear()
        asking = [await served.connect(), await served.connect()]
        for client in asking:
            client.send(GET)
        await served.asked(2)
        reader, writer = await asyncio.open_connection("127.0.0.1", served.number)
        writer.write(b"\x16")
        assert await Client(reader, writer).rest() == b""
        writer.transport.abort()
        served.app.gate.set()
        for client in asking:
            assert (await client.ask(b"")).startswith(b"HTTP/1.1 200 ")
        assert (await asking[0].ask()).startswith(b"HTTP/1.1 200 ")


async def test_hundreds_of_half_open_requests_lock_nobody_out(tmp_path: Path) -> None:
    async with port(changed(connections=20), tmp_path) as served:
        async with asyncio.TaskGroup() as group:
            half = [group.create_task(served.connect()) for _ in range(20)]
        for task in half:
            task.result().send(b"POST / HTTP/1.1\r\nhost: ")
        for _ in range(200):
            (await served.connect()).send(b"POST / HTTP/1.1\r\nhost: ")
        client = await served.connect()
        assert (await client.ask()).startswith(b"HTTP/1.1 200 ")
        assert len(served.connections) <= 20


# Bytes of bodies: connections=4 and held_bytes=80,000 keep 10,000 of each body, and leave 40,000.

BYTES = {"connections": 4, "held_bytes": 80_000}


async def test_a_large_body_without_end_makes_room_for_another(directory: Path | None) -> None:
    async with port(changed(**BYTES), directory) as served:
        held = await served.connect()
        held.send(post(60_000) + b"x" * 45_000)
        await served.reach(lambda: served.connections.held == 45_000)
        other = await served.connect()
        assert (await other.ask(post(45_000) + b"x" * 45_000)).endswith(b"\r\n\r\n45000")
        answer = await held.rest()
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: 1\r\n" in answer
        assert served.closed == ["too_many_bytes"]
        await served.reach(lambda: served.connections.held == 0)


async def test_where_large_bodies_are_complete_the_newcomer_gets_503(
    directory: Path | None,
) -> None:
    async with port(changed(**BYTES), directory) as served:
        served.app.gate.clear()
        first, second, small = [await served.connect() for _ in range(3)]
        first.send(post(45_000) + b"x" * 45_000)
        await served.reach(lambda: served.connections.held == 45_000)
        assert (await second.ask(post(45_000) + b"x" * 45_000)).startswith(b"HTTP/1.1 503 ")
        small.send(post(10_000) + b"x" * 10_000)
        await served.reach(lambda: served.connections.held == 55_000)
        served.app.gate.set()
        assert (await first.ask(b"")).endswith(b"45000")
        assert (await small.ask(b"")).endswith(b"10000")


async def test_held_bodies_never_exceed_their_bound() -> None:
    async with port(changed(connections=16, held_bytes=1_600_000)) as served:
        clients = [await served.connect() for _ in range(16)]
        for client in clients:
            client.send(post(1_000_000) + b"x" * 500_000)
        await served.reach(lambda: len(served.closed) >= 14)
        assert served.connections.held <= 1_600_000
