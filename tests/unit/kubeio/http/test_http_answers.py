"""Answers of hostile peers: malformed, endless, and more than was asked for."""

import asyncio
import itertools

import aiohttp
import pytest
from aiohttp.http import RawResponseMessage
from hypothesis import given
from hypothesis import strategies as st

from kubeio.connection.http.connector import MAX_OVERHEAD, Connection
from kubeio.connection.http.errors import BadAnswer, HttpError
from kubeio.connection.http.exchange import Request
from tests.unit.kubeio.fake_api import until
from tests.unit.kubeio.http.servers import (
    OK,
    Peer,
    Script,
    answers,
    asked,
    get,
    put,
    says,
    serving,
    session,
)

HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
SECRET = b"c2VjcmV0"


@pytest.mark.parametrize(
    "data",
    [
        SECRET + b"\r\n\r\n",
        b"\x15\x03\x01\x00\x02\x02\x28",
        b"HTTP/1.1 99 " + SECRET + b"\r\n\r\n",
        HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n" + SECRET,
        HEAD + b"Content-Length: 1, 1\r\n\r\n" + SECRET,
        HEAD + b"Content-Length: -1\r\n\r\n" + SECRET,
        HEAD + b"Content-Length: 99999999999999999999\r\n\r\n" + SECRET,
        HEAD + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n" + SECRET,
        CHUNKED + SECRET + b"\r\n",
        HEAD + b"A : " + SECRET + b"\r\n\r\n",
        HEAD + b"A: b\0" + SECRET + b"\r\n\r\n",
        b"HTTP/1.1 101 " + SECRET + b"\r\nUpgrade: x\r\n\r\n",
        b"HTTP/1.1 101 S\r\nConnection: upgrade\r\nUpgrade: " + SECRET + b"\r\n\r\n\0",
        HEAD + b"A: " + SECRET * 2000 + b"\r\n\r\n",
        HEAD + b"A: " + SECRET + b"\r\n" + b"A: b\r\n" * 200 + b"\r\n",
        OK + SECRET,
    ],
)
async def test_what_is_malformed_is_no_answer_and_is_not_quoted(data: bytes) -> None:
    async with serving(says(data)) as server, session(server, limit=1) as opened:
        with pytest.raises(BadAnswer, match="malformed answer") as refused:
            await asked(opened, get())
        assert len(server.requests) == 1
    error: BaseException | None = refused.value
    while error is not None:
        assert "c2V" not in f"{error!r}"
        error = error.__cause__


async def goes_on(peer: Peer, more: bytes) -> None:
    while not peer.writer.is_closing():
        await peer.say(more)
        await asyncio.sleep(0)


def endless(start: bytes, more: bytes) -> Script:
    async def script(peer: Peer) -> None:
        await says(start)(peer)
        await goes_on(peer, more)

    return script


@pytest.mark.parametrize("tls", [True, False])
@pytest.mark.parametrize(
    ("start", "more"),
    [
        (CHUNKED + b"1\r\na\r\n0\r\nA: ", b"a" * 2**14),
        (CHUNKED + b"1;", b"a" * 2**14),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
        (b"", b"HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n" * 100),
        (HEAD + b"A: ", b"a" * 2**14),
        (HEAD, b"A: b\r\n" * 100),
    ],
    ids=["trailer", "chunk extension", "100", "103", "header", "headers"],
)
async def test_what_is_no_body_does_not_go_on_for_ever(
    start: bytes, more: bytes, tls: bool
) -> None:
    async with serving(endless(start, more), tls=tls) as server, session(server) as opened:
        with pytest.raises(BadAnswer, match="malformed answer"):
            await asked(opened, put())
        await until(lambda: server.ended == 1)


@pytest.mark.parametrize("framing", [b"Content-Length: 99999999", b"Transfer-Encoding: chunked"])
@pytest.mark.parametrize(
    ("method", "status"),
    [("PUT", b"204 No Content"), ("PUT", b"304 Not Modified"), ("HEAD", b"200 OK")],
)
async def test_answers_without_a_body_end_with_their_headers(
    method: str, status: bytes, framing: bytes
) -> None:
    go_on = asyncio.Event()

    async def script(peer: Peer) -> None:
        await says(b"HTTP/1.1 " + status + b"\r\n" + framing + b"\r\n\r\n")(peer)
        await go_on.wait()
        await goes_on(peer, b"4000\r\n" + b"a" * 2**14 + b"\r\n")

    async with serving(script, answers) as server, session(server) as opened:
        response = await opened.send(Request(method, "/a", headers=(), body=b""))
        assert await response.read() == b""
        response.close()
        go_on.set()
        await until(lambda: server.ended == 1)
        assert await asked(opened, get()) == b"{}"


async def test_headers_may_hold_any_bytes() -> None:
    head = HEAD + b"Warning: \xe4 \r\nwarning: b\r\nContent-Length: 0\r\n\r\n"
    async with serving(says(head)) as server, session(server) as opened:
        response = await opened.send(get())
        assert response.values("Warning") == ["\ufffd", "b"]
        assert response.headers[:2] == (("warning", "\ufffd"), ("warning", "b"))
        response.close()


async def test_no_redirect_is_followed_and_no_cookie_is_kept() -> None:
    moved = b"HTTP/1.1 307 Moved\r\nLocation: /b\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n"

    async def script(peer: Peer) -> None:
        await says(moved)(peer)
        await answers(peer)

    async with serving(script) as server, session(server) as opened:
        response = await opened.send(put())
        assert response.status == 307
        response.close()
        await asked(opened, get())
    assert [one.split()[1] for one in server.requests] == [b"/a", b"/a"]
    assert b"cookie" not in server.requests[1].lower()


BODIES = st.binary(max_size=200)
INTERIM = st.sampled_from(
    [
        b"",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nContent-Encoding: gzip\r\n\r\n" * 2,
    ]
)


@st.composite
def whole_answers(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """Return the bytes of an answer, and its body."""
    body = draw(BODIES)
    framing = draw(st.sampled_from(["length", "chunked"]))
    head = draw(INTERIM) + HEAD + b"X-A: b\r\n" * draw(st.integers(0, 3))
    if framing == "length":
        return head + b"Content-Length: %d\r\n\r\n" % len(body) + body, body
    chunked = b""
    for piece in split(body, draw(st.lists(st.integers(0, len(body)), max_size=5))):
        chunked += b"%x;a=b\r\n" % len(piece) + piece + b"\r\n" if piece else b""
    trailer = draw(st.sampled_from([b"", b"X-Trailer: c\r\n"]))
    chunked += b"0\r\n" + trailer + b"\r\n"
    return head + b"Transfer-Encoding: chunked\r\n\r\n" + chunked, body


def split(data: bytes, at: list[int]) -> list[bytes]:
    edges = [0, *sorted(at), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(edges) if start < end]


@given(whole_answers(), st.lists(st.integers(0, 400), max_size=20))
def test_an_answer_is_the_same_wherever_it_is_split(
    answer: tuple[bytes, bytes], at: list[int]
) -> None:
    data, body = answer
    assert asyncio.run(read(split(data, at))) == (200, body)


@given(whole_answers(), st.integers(0, 400), st.binary(max_size=5), st.integers(1, 400))
def test_bytes_put_somewhere_end_in_an_answer_or_in_an_error(
    answer: tuple[bytes, bytes], where: int, extra: bytes, step: int
) -> None:
    data = answer[0][:where] + extra + answer[0][where:]
    asyncio.run(read([data[at : at + step] for at in range(0, len(data), step)]))


@given(whole_answers(), st.integers(1, 400))
def test_an_answer_that_was_cut_off_is_an_error(answer: tuple[bytes, bytes], cut: int) -> None:
    assert asyncio.run(read([answer[0][: -min(cut, len(answer[0]))]])) is None


class Nowhere(asyncio.Transport):
    """A transport of nothing."""

    def abort(self) -> None: ...

    def close(self) -> None: ...

    def is_closing(self) -> bool:
        return False

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


async def read(parts: list[bytes]) -> tuple[int, bytes] | None:
    """Return status and body of an answer that arrives in these parts, None after an error."""
    loop = asyncio.get_running_loop()
    connection = Connection(loop)
    connection.connection_made(Nowhere())
    connection.set_response_params(auto_decompress=False, read_bufsize=2**21)
    for part in parts:
        connection.data_received(part)
    connection.connection_lost(None)
    try:
        while True:
            message, body = await connection.read()
            assert isinstance(message, RawResponseMessage)
            if message.code >= 200:
                return message.code, await body.read()
    except (aiohttp.ClientError, HttpError):
        return None


async def test_a_server_that_speaks_first_is_not_listened_to() -> None:
    connection = Connection(asyncio.get_running_loop())
    connection.connection_made(Nowhere())
    connection.data_received(OK)
    assert not connection.is_connected()


def test_the_limit_is_that_of_what_is_no_body() -> None:
    async def told(size: int) -> bool:
        connection = Connection(asyncio.get_running_loop())
        connection.connection_made(Nowhere())
        connection.set_response_params(auto_decompress=False, read_bufsize=2**21)
        for part in (CHUNKED, b"1;", b"a" * size):
            connection.data_received(part)
        return connection.exception() is None

    assert asyncio.run(told(MAX_OVERHEAD - len(CHUNKED) - 2))
    assert not asyncio.run(told(MAX_OVERHEAD - len(CHUNKED) - 1))
