"""Which connection a request goes over, what is sent again, and what never is."""

import asyncio
import functools
import gzip
import socket
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import pytest

from kubeio.connection.http import session as module
from kubeio.connection.http.errors import (
    CannotConnect,
    ConnectTimeout,
    Disconnected,
    HttpError,
    NoWebSocket,
)
from kubeio.connection.http.exchange import Address, Request
from tests.unit.cancelling import cancel_at_each_await
from tests.unit.kubeio.fake_api import until
from tests.unit.kubeio.http.servers import (
    OK,
    Peer,
    Server,
    answers,
    answers_once_then_drops,
    asked,
    get,
    hangs,
    put,
    says,
    serving,
    session,
    unused,
)

TIMEOUT = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n"

Serve = Callable[..., AbstractAsyncContextManager[Server]]


@pytest.fixture(params=["https", "http"])
def serve(request: pytest.FixtureRequest) -> Serve:
    """Return `serving` with or without TLS."""
    return functools.partial(serving, tls=request.param == "https")


def paths(server: Server) -> list[str]:
    return [one.split(b" ")[1].decode() for one in server.requests]


async def test_requests_share_a_connection(serve: Serve) -> None:
    async with serve(answers) as server, session(server) as opened:
        for _ in range(3):
            assert await asked(opened, get()) == b"{}"
        assert await asked(opened, put()) == b"{}"
        assert server.connections == 1


async def test_requests_at_the_same_time_have_connections_of_their_own(serve: Serve) -> None:
    async with serve(answers) as server, session(server) as opened:
        await asyncio.gather(*(asked(opened, get()) for _ in range(5)))
        assert server.connections == 5
        await asyncio.gather(*(asked(opened, get()) for _ in range(5)))
        assert server.connections == 5


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        OK + OK,
    ],
)
async def test_a_connection_that_may_not_be_used_again_is_closed(answer: bytes) -> None:
    async def script(peer: Peer) -> None:
        await says(answer)(peer)
        await peer.gone()

    async with serving(script) as server, session(server) as opened:
        for _ in range(2):
            assert await asked(opened, get()) == b"{}"
        assert server.connections == 2
        await until(lambda: server.ended == 2)


async def test_a_read_is_repeated_once_on_a_new_connection() -> None:
    """Also if others are at hand: a server that restarts closes all of them."""
    both = asyncio.Barrier(2)

    async def drops(peer: Peer) -> None:
        await peer.request()
        await both.wait()
        await peer.say(OK)
        await peer.request()

    async with serving(drops, drops, answers) as server, session(server) as opened:
        await asyncio.gather(asked(opened, get("/1")), asked(opened, get("/2")))
        assert await asked(opened, get("/3")) == b"{}"
        assert server.connections == 3
        assert paths(server)[2:] == ["/3", "/3"]


async def test_a_read_is_not_repeated_twice(serve: Serve) -> None:
    async with serve(says()) as server, session(server, limit=1) as opened:
        with pytest.raises(Disconnected):
            await asked(opened, get())
        assert len(server.requests) == 2


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "HEAD"])
async def test_what_may_change_something_is_sent_once(method: str) -> None:
    async with serving(answers_once_then_drops, answers) as server, session(server) as opened:
        await asked(opened, get())
        request = Request(method, "/b", headers=(), body=b"", content_type="a/b")
        with pytest.raises(Disconnected):
            await asked(opened, request)
        assert request.sent
        assert paths(server) == ["/a", "/b"]


async def test_a_write_goes_over_another_connection_than_one_that_the_server_has_closed(
    serve: Serve,
) -> None:
    idle = asyncio.Event()

    async def closes(peer: Peer) -> None:
        await says(OK)(peer)
        await idle.wait()

    async with serve(closes, answers) as server, session(server, limit=1) as opened:
        await asked(opened, get())
        (connection,) = unused(opened)
        idle.set()
        await until(lambda: not connection.is_connected())
        assert await asked(opened, put()) == b"{}"
        assert server.connections == 2


@pytest.mark.parametrize("unasked", [TIMEOUT, TIMEOUT[:9], b"\r\n", b"more"])
async def test_what_nobody_asked_for_closes_its_connection(serve: Serve, unasked: bytes) -> None:
    idle = asyncio.Event()

    async def script(peer: Peer) -> None:
        await says(OK)(peer)
        await idle.wait()
        await peer.say(unasked)
        await peer.gone()

    async with serve(script, answers) as server, session(server) as opened:
        await asked(opened, get())
        idle.set()
        await until(lambda: server.ended == 1)
        response = await opened.send(get())
        response.close()
        assert response.status == 200


async def test_answers_before_the_answer_are_passed_over() -> None:
    early = b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n"
    async with serving(says(*early, OK)) as server, session(server) as opened:
        response = await opened.send(put())
        assert (response.status, response.values("A")) == (200, [])
        assert await response.read() == b"{}"
        response.close()


async def test_a_head_has_no_body() -> None:
    only = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
    async with serving(says(only)) as server, session(server, limit=1) as opened:
        for _ in range(2):
            assert await asked(opened, Request("HEAD", "/a", headers=())) == b""
        assert server.connections == 2


async def test_an_answer_before_the_end_of_the_request_ends_the_connection(serve: Serve) -> None:
    """Its rest would be taken for the next request."""
    refusal = b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n"

    async def refuses(peer: Peer) -> None:
        await peer.reader.readuntil(b"\r\n\r\n")
        await peer.say(refusal)
        await peer.gone()

    async with serve(refuses, answers) as server, session(server) as opened:
        response = await opened.send(put(b"x" * 2**26))
        assert (response.status, await response.read()) == (413, b"")
        response.close()
        await until(lambda: server.ended == 1)
        assert await asked(opened, get()) == b"{}"


async def test_a_large_request_that_is_refused_is_the_last_on_its_connection(serve: Serve) -> None:
    async def refuses(peer: Peer) -> None:
        while True:
            await peer.request()
            await peer.say(b"HTTP/1.1 409 Conflict\r\nContent-Length: 0\r\n\r\n")

    async with serve(refuses) as server, session(server) as opened:
        for size, connections in ((2**16, 1), (2**16 + 1, 1), (1, 2)):
            assert await asked(opened, put(b"x" * size)) == b""
            assert server.connections == connections


async def test_cancellation_closes_the_connection(serve: Serve) -> None:
    async with serve(hangs, answers) as server, session(server, limit=1) as opened:
        call = asyncio.ensure_future(asked(opened, put()))
        await until(lambda: server.requests)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await until(lambda: server.ended == 1)
        assert await asked(opened, get()) == b"{}"
        assert server.connections == 2


async def test_cancellation_of_who_waits_for_a_connection_takes_none() -> None:
    async with serving(hangs, answers) as server, session(server, limit=1) as opened:
        first = asyncio.ensure_future(asked(opened, get()))
        await until(lambda: server.requests)
        second, third = (asyncio.ensure_future(asked(opened, get())) for _ in range(2))
        await asyncio.sleep(0)
        second.cancel()
        first.cancel()
        assert await third == b"{}"
        await asyncio.wait([first, second])
        assert server.connections == 2


async def test_who_waits_for_a_connection_is_served_in_order() -> None:
    async with serving(answers) as server, session(server, limit=2) as opened:
        await asyncio.gather(*(asked(opened, get(f"/{n}")) for n in range(9)))
        assert server.connections == 2
        assert paths(server) == [f"/{n}" for n in range(9)]


@pytest.mark.parametrize("first", [get(), put()], ids=["read", "write"])
async def test_closing_ends_requests_under_way_and_those_that_wait(
    serve: Serve, first: Request
) -> None:
    async with serve(hangs) as server, session(server, limit=1) as opened:
        calls = [asyncio.ensure_future(asked(opened, one)) for one in (first, get(), put())]
        await until(lambda: server.requests)
        await opened.close()
        ends = await asyncio.gather(*calls, return_exceptions=True)
        assert [isinstance(one, HttpError) for one in ends] == [True] * 3
        with pytest.raises(HttpError, match="closed"):
            await opened.send(get())
        await until(lambda: server.ended == 1)
        assert (len(server.requests), server.connections) == (1, 1)


@pytest.mark.parametrize("framing", [b"Content-Length: 9\r\n", b""])
async def test_closing_ends_who_reads_a_body(serve: Serve, framing: bytes) -> None:
    async def script(peer: Peer) -> None:
        await says(b"HTTP/1.1 200 OK\r\n" + framing + b"\r\na")(peer)
        await peer.gone()

    async with serve(script) as server, session(server) as opened:
        response = await opened.send(get(), idle_timeout=60.0)
        chunks = response.chunks()
        assert await anext(chunks) == b"a"
        reading = asyncio.ensure_future(anext(chunks))
        await asyncio.sleep(0)
        await opened.close()
        with pytest.raises(HttpError, match="closed"):
            await reading
        response.close()


async def test_an_unused_connection_is_closed_after_a_while(
    monkeypatch: pytest.MonkeyPatch,
    serve: Serve,
) -> None:
    monkeypatch.setattr(module, "IDLE_SECONDS", 0.01)
    async with serve(answers) as server, session(server) as opened:
        await asyncio.gather(asked(opened, get()), asked(opened, get()))
        await until(lambda: server.ended == 2, seconds=10.0)
        assert await asked(opened, get()) == b"{}"
        assert server.connections == 3


async def test_the_kernel_notices_that_a_peer_has_vanished(serve: Serve) -> None:
    async with serve(answers) as server, session(server) as opened:
        await asked(opened, get())
        (connection,) = unused(opened)
        assert connection.transport is not None
        made = connection.transport.get_extra_info("socket")
        assert made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)


async def test_a_handshake_for_a_websocket_is_sent_once(serve: Serve) -> None:
    async with serve(answers_once_then_drops, answers) as server, session(server) as opened:
        await asked(opened, get())
        request = Request("GET", "/exec", headers=(), body=b"")
        with pytest.raises(Disconnected):
            await opened.open_websocket(request, protocols=())
        assert paths(server) == ["/a", "/exec"]


async def test_a_refused_websocket_has_the_inflated_answer(serve: Serve) -> None:
    packed = gzip.compress(b"why")
    head = b"HTTP/1.1 403 Forbidden\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
    async with serve(says(head % len(packed) + packed)) as server, session(server) as opened:
        with pytest.raises(NoWebSocket) as refused:
            await opened.open_websocket(get(), protocols=())
    assert (refused.value.status, refused.value.body) == (403, b"why")


async def test_a_server_that_does_not_shake_hands_ends_in_a_timeout(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "CONNECT_TIMEOUT", 0.05)

    async def silent(peer: Peer) -> None:
        await peer.gone()

    async with serving(silent, tls=False) as server:
        url = server.url.replace("http:", "https:")
        async with session(url) as opened:
            request = put()
            with pytest.raises(ConnectTimeout, match=f"Connection timeout to host {url}"):
                await opened.send(request)
            assert not request.sent
        await until(lambda: server.ended == 1)


async def test_where_nobody_listens_nothing_is_sent() -> None:
    async with serving(answers) as server:
        pass
    async with session(server) as opened:
        request = put()
        with pytest.raises(
            CannotConnect, match=r"cannot connect to 127\.0\.0\.1:\d+: Connection refused"
        ):
            await opened.send(request)
    assert not request.sent


@pytest.mark.parametrize("host", ["nowhere.invalid", "a..b", "x" * 70])
async def test_a_host_without_an_address_is_a_failed_connection(host: str) -> None:
    async with session(f"https://{host}") as opened:
        with pytest.raises(CannotConnect, match=f"cannot connect to {host}:443: "):
            await opened.send(get())


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://A.example", Address("https://a.example", "")),
        ("http://a:8080/b/c/", Address("http://a:8080", "/b/c")),
        ("https://[fd00::1]:6443", Address("https://[fd00::1]:6443", "")),
        ("http://u:p@[::1]:80/ü%2F", Address("http://[::1]", "/%C3%BC%2F")),
        ("https://bücher.example", Address("https://xn--bcher-kva.example", "")),
    ],
)
def test_the_parts_of_a_url(url: str, address: Address) -> None:
    assert Address.parse(url) == address


@pytest.mark.parametrize("url", ["ftp://a", "a:80", "https://", "https://a:b"])
def test_what_is_no_url_of_a_server(url: str) -> None:
    with pytest.raises(ValueError, match=r"no http or https URL|[Pp]ort"):
        Address.parse(url)


@pytest.mark.parametrize("fresh", [True, False])
async def test_a_request_that_is_cancelled_at_any_await_gives_its_connection_back(
    serve: Serve, fresh: bool
) -> None:
    async def in_parts(peer: Peer) -> None:
        while True:
            await peer.request()
            for part in (OK[:20], OK[20:-1], OK[-1:]):
                await peer.say(part)
                await asyncio.sleep(0)

    async with serve(in_parts) as server, session(server, limit=1) as opened:

        async def another_is_answered() -> None:
            async with asyncio.timeout(60):
                assert await asked(opened, get()) == b"{}"
            if fresh:
                for connection in unused(opened):
                    connection.abort()

        assert await cancel_at_each_await(lambda: asked(opened, get()), another_is_answered) > 2
        # Whatever was cancelled is closed, and the server has noticed.
        await until(lambda: server.connections - server.ended == (0 if fresh else 1))
