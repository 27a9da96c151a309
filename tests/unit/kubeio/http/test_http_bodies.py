"""Bodies as they arrive: chunked, compressed, cut off, too long, and faster than their reader."""

import asyncio
import gzip
import hashlib
import zlib

import pytest

from kubeio.connection.http import response as module
from kubeio.connection.http.errors import BadAnswer, ReadTimeout
from tests.unit.kubeio.fake_api import until
from tests.unit.kubeio.http.servers import (
    OK,
    Peer,
    answers,
    asked,
    get,
    put,
    says,
    serving,
    session,
    unused,
)

HEAD = b"HTTP/1.1 200 OK\r\n"
HIGH_WATER = 2**22
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n" % len(data) + data + b"\r\n"


def sized(body: bytes, *headers: bytes) -> bytes:
    lines = b"".join(one + b"\r\n" for one in headers)
    return HEAD + lines + b"Content-Length: %d\r\n\r\n" % len(body) + body


@pytest.mark.parametrize("tls", [True, False])
async def test_chunks_are_handed_on_as_they_arrive(tls: bool) -> None:
    go_on = asyncio.Event()

    async def script(peer: Peer) -> None:
        await says(CHUNKED + chunk(b"a"))(peer)
        await go_on.wait()
        await peer.say(chunk(b"b") + b"0\r\n\r\n")
        await answers(peer)

    async with serving(script, tls=tls) as server, session(server) as opened:
        response = await opened.send(get())
        chunks = response.chunks()
        assert await anext(chunks) == b"a"
        go_on.set()
        assert [one async for one in chunks] == [b"b"]
        response.close()
        await asked(opened, get())
        assert server.connections == 1


@pytest.mark.parametrize("tls", [True, False])
async def test_a_reader_that_is_slow_stops_the_server(tls: bool) -> None:
    """16 MiB for a reader that takes none of it at first: no more than its buffer is in memory."""
    parts = [bytes([n]) * 2**20 for n in range(16)]

    async def script(peer: Peer) -> None:
        await says(HEAD + b"Content-Length: %d\r\n\r\n" % (16 * 2**20))(peer)
        for part in parts:
            await peer.say(part)

    async with serving(script, tls=tls) as server, session(server) as opened:
        response = await opened.send(get())
        leased = response._response.connection
        assert leased is not None
        connection = leased.protocol
        assert connection is not None
        await until(lambda: connection._reading_paused)
        assert response._response.content.total_bytes < HIGH_WATER + 2**20
        digest, longest = hashlib.sha256(), 0
        async for part in response.chunks():
            digest.update(part)
            longest = max(longest, len(part))
        response.close()
    assert digest.digest() == hashlib.sha256(b"".join(parts)).digest()
    assert longest < HIGH_WATER + 2**20


@pytest.mark.parametrize("tls", [True, False])
async def test_a_body_that_ends_beyond_the_buffer_leaves_a_usable_connection(tls: bool) -> None:
    """Its socket is read: otherwise nobody would notice that the server closes it."""
    idle = asyncio.Event()

    async def script(peer: Peer) -> None:
        await says(sized(b"a" * (HIGH_WATER + 1)))(peer)
        await peer.request()
        await peer.say(OK)
        await idle.wait()

    async with serving(script, answers, tls=tls) as server, session(server) as opened:
        assert len(await asked(opened, get())) == HIGH_WATER + 1
        assert await asked(opened, put()) == b"{}"
        assert server.connections == 1
        (connection,) = unused(opened)
        idle.set()
        await until(lambda: not connection.is_connected())
        assert await asked(opened, put()) == b"{}"
        assert server.connections == 2


async def test_a_body_without_a_length_ends_with_its_connection() -> None:
    async with serving(says(HEAD + b"\r\n", b"a", b"b")) as server, session(server) as opened:
        assert await asked(opened, get()) == b"ab"


@pytest.mark.parametrize("tls", [True, False])
@pytest.mark.parametrize("cut", [HEAD + b"Content-Length: 9\r\n\r\nabc", CHUNKED + chunk(b"abc")])
async def test_a_body_that_was_cut_off_is_no_answer(cut: bytes, tls: bool) -> None:
    async with serving(says(cut), tls=tls) as server, session(server, limit=1) as opened:
        response = await opened.send(get())
        chunks = response.chunks()
        assert await anext(chunks) == b"abc"
        with pytest.raises(BadAnswer, match="the answer ended too early"):
            await anext(chunks)
        response.close()
        assert len(server.requests) == 1


async def test_a_body_that_breaks_its_framing_is_no_answer() -> None:
    script = says(CHUNKED, chunk(b"abc"), b"zz\r\n")
    async with serving(script) as server, session(server, limit=1) as opened:
        with pytest.raises(BadAnswer, match="malformed answer: "):
            await asked(opened, get())


async def test_a_body_that_pauses_too_long_is_given_up() -> None:
    async def script(peer: Peer) -> None:
        await says(CHUNKED + chunk(b"a"))(peer)
        await peer.gone()

    async with serving(script) as server, session(server) as opened:
        response = await opened.send(get(), idle_timeout=0.05)
        chunks = response.chunks()
        assert await anext(chunks) == b"a"
        with pytest.raises(ReadTimeout, match="Timeout on reading data from socket"):
            await anext(chunks)
        response.close()
        await until(lambda: server.ended == 1)


async def test_a_body_that_is_left_in_the_middle_closes_its_connection() -> None:
    async def script(peer: Peer) -> None:
        await says(CHUNKED + chunk(b"a"))(peer)
        await peer.gone()

    async with serving(script, answers) as server, session(server, limit=1) as opened:
        response = await opened.send(get())
        async for _ in response.chunks():
            break
        response.close()
        response.close()
        await until(lambda: server.ended == 1)
        with pytest.raises(BadAnswer, match="closed before its end"):
            await response.read()
        both = await asyncio.gather(asked(opened, get()), asked(opened, get()))
        assert list(both) == [b"{}"] * 2
        assert server.connections == 2


async def test_an_answer_has_a_greatest_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ANSWER", 2**20)
    scripts = says(sized(b"a" * 2**20)), says(sized(b"a" * (2**20 + 1)))
    async with serving(*scripts) as server, session(server) as opened:
        assert len(await asked(opened, get())) == 2**20
        with pytest.raises(BadAnswer, match="longer than 1048576 bytes"):
            await asked(opened, get())


async def test_gzip_is_inflated() -> None:
    body = bytes(range(256)) * 4096
    packed = gzip.compress(body)
    parts = [packed[at : at + 100] for at in range(0, len(packed), 100)]
    chunked = HEAD + b"Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
    streamed = chunked + b"".join(map(chunk, parts)) + b"0\r\n\r\n"
    empty = sized(b"", b"Content-Encoding: identity")
    async with (
        serving(
            says(sized(packed, b"Content-Encoding: GZIP")), says(streamed), says(empty)
        ) as server,
        session(server, compression=True) as opened,
    ):
        assert await asked(opened, get()) == body
        assert await asked(opened, get()) == body
        assert await asked(opened, get()) == b""


async def test_a_bomb_is_inflated_bit_by_bit() -> None:
    size = module.MAX_ANSWER + 2**20
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    zeros = bytes(2**20)
    bomb = b"".join(packer.compress(zeros) for _ in range(size // 2**20)) + packer.flush()
    answer = sized(bomb, b"Content-Encoding: gzip")
    async with serving(says(answer)) as server, session(server, compression=True) as opened:
        response = await opened.send(get())
        inflated = 0
        async for part in response.chunks():
            assert len(part) <= 2**20
            inflated += len(part)
        response.close()
        assert inflated == size
        with pytest.raises(BadAnswer, match="longer than"):
            await asked(opened, get())


PACKED = gzip.compress(b"a" * 1000)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (sized(b"abc", b"Content-Encoding: gzip"), "not gzip"),
        (sized(PACKED[:-5], b"Content-Encoding: gzip"), "cut off"),
        (sized(b"", b"Content-Encoding: gzip"), "cut off"),
        (sized(PACKED + b"abc", b"Content-Encoding: gzip"), "after the end"),
        (sized(PACKED, b"Content-Encoding: br"), "was not asked for"),
        (
            sized(PACKED, b"Content-Encoding: gzip", b"Content-Encoding: gzip"),
            "was not asked for",
        ),
    ],
    # Not the bytes: gzip writes the time into them.
    ids=["no gzip", "cut off", "empty", "more at the end", "another coding", "two codings"],
)
async def test_a_body_that_cannot_be_inflated_is_no_answer(answer: bytes, problem: str) -> None:
    async with serving(says(answer)) as server, session(server, compression=True) as opened:
        with pytest.raises(BadAnswer, match=problem):
            await asked(opened, get())


async def test_many_requests_over_one_connection_stay_apart() -> None:
    async def echoes(peer: Peer) -> None:
        while True:
            request = await peer.request()
            await peer.say(sized(request.split(b" ")[1] * 500))

    async with serving(echoes) as server, session(server, limit=3) as opened:
        bodies = await asyncio.gather(*(asked(opened, get(f"/{n}")) for n in range(100)))
        assert bodies == [f"/{n}".encode() * 500 for n in range(100)]
        assert server.connections == 3
