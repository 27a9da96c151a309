"""Servers of packages that mean harm: each download ends, within its bounds, with an error."""

import asyncio
import contextlib
import gzip
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from aiohttp import web

from kubectl_kudo.repositories.downloader import Downloader
from kubectl_kudo.repositories.urls import DownloadError, Unreachable
from tests.unit.cli.repositories.server import PackageServer, to

LIMIT = 1000
Serve = Callable[[asyncio.StreamWriter], Awaitable[None]]


async def get(url: str, timeout: float = 30) -> bytes | None:
    downloader = Downloader(timeout=timeout, pauses=())
    return (await downloader.get(url, limit=LIMIT)).content


@contextlib.asynccontextmanager
async def speaking(serve: Serve) -> AsyncIterator[str]:
    """Answer each request with what a function writes; nothing of HTTP is checked."""

    answers: set[asyncio.Task[object]] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        answers.add(task)
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                await reader.readuntil(b"\r\n\r\n")
                await serve(writer)
        except asyncio.CancelledError:
            """The test is over."""
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/a.tgz"
    finally:
        server.close()
        for task in answers:
            task.cancel()
        await asyncio.gather(*answers)
        await server.wait_closed()


def for_ever(start: bytes, again: bytes) -> Serve:
    async def serve(writer: asyncio.StreamWriter) -> None:
        writer.write(start)
        while True:
            writer.write(again)
            await writer.drain()

    return serve


def once(answer: bytes) -> Serve:
    async def serve(writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()

    return serve


OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("serve", "words"),
    [
        (for_ever(CHUNKED, b"ffff\r\n" + b"s3cret" * 0x2AAA + b"\0\0\0\r\n"), "larger than 1000"),
        (for_ever(OK + b"\r\n", b"s3cret" * 10_000), "larger than 1000"),
        (for_ever(OK, b"s3cret: x\r\n"), "malformed answer"),
        (for_ever(OK + b"s3cret: ", b"x" * 10_000), "malformed answer"),
        (for_ever(b"", b"HTTP/1.1 103 Early Hints\r\ns3cret: x\r\n\r\n"), "malformed answer"),
        (for_ever(CHUNKED, b"1;s3cret=" + b"x" * 10_000), "malformed answer"),
        (once(b"s3cret\r\n\r\n"), "malformed answer"),
        (once(OK + b"Content-Length: s3cret\r\n\r\n"), "malformed answer"),
        (once(OK + b"Content-Length: 99\r\n\r\ns3cret"), "ended too early"),
        (once(CHUNKED + b"5\r\ns3cre"), "ended too early"),
        (once(CHUNKED + b"s3cret\r\n"), "malformed answer"),
        (once(b"HTTP/1.1 101 Switching Protocols\r\n\r\n"), "malformed answer"),
        (once(b""), "disconnected"),
    ],
)
async def test_what_is_no_answer_or_never_ends_is_an_error(serve: Serve, words: str) -> None:
    async with speaking(serve) as url:
        with pytest.raises(DownloadError, match=f"^failed to fetch {url} : .*{words}") as problem:
            await get(url)
    assert "s3cret" not in f"{problem.value} {problem.value.__cause__!r}"


async def test_a_body_that_comes_drop_by_drop_ends_with_the_time_limit() -> None:
    async def drip(writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED)
        while True:
            writer.write(b"1\r\nx\r\n")
            await writer.drain()
            await asyncio.sleep(0.05)

    async with speaking(drip) as url:
        with pytest.raises(Unreachable, match="no answer in time"):
            await get(url, timeout=0.3)


@pytest.mark.parametrize("cut", [0, 9])
async def test_what_is_labelled_gzip_is_not_inflated(server: PackageServer, cut: int) -> None:
    """Archives are often labelled so, and the digest is that of what was sent."""
    bomb = gzip.compress(bytes(500_000))
    bomb = bomb[: len(bomb) - cut]

    async def labelled(_: web.BaseRequest) -> web.StreamResponse:
        return web.Response(body=bomb, headers={"Content-Encoding": "gzip"})

    server.answers["/a.tgz"] = [labelled]
    assert len(bomb) < LIMIT
    assert await get(f"{server.url}/a.tgz") == bomb


async def test_a_redirect_that_leads_on_and_on_ends(server: PackageServer) -> None:
    steps = itertools.count()

    async def further(_: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=302, headers={"Location": f"/{next(steps)}"})

    for path in ("/a.tgz", *(f"/{step}" for step in range(9))):
        server.answers[path] = [further]
    with pytest.raises(DownloadError, match="more than 5 redirects"):
        await get(f"{server.url}/a.tgz")
    assert len(server.requests) == 6


@pytest.mark.parametrize("target", ["gopher://x/", "file:///etc/passwd", "ws://localhost/"])
async def test_a_redirect_to_another_scheme_is_not_followed(
    server: PackageServer, target: str
) -> None:
    server.answers["/a.tgz"] = [to(target)]
    with pytest.raises(DownloadError, match="cannot follow the redirect"):
        await get(f"{server.url}/a.tgz")
    assert server.paths() == ["/a.tgz"]


async def test_a_redirect_cannot_add_a_header(server: PackageServer) -> None:
    server.answers["/a.tgz"] = [to("/b%0d%0aX-Evil:%201"), to("/c d?e=f g")]
    server.answers["/c d"] = [to("/b%0d%0aX-Evil:%201")]
    with pytest.raises(DownloadError, match="404"):
        await get(f"{server.url}/a.tgz")
    assert all("X-Evil" not in each.headers for each in server.requests)


async def test_an_odd_proxy_is_named(
    server: PackageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "socks5://localhost:1")
    with pytest.raises(DownloadError, match="only http and https proxies are supported"):
        await get("http://packages.invalid/a.tgz")
    assert server.requests == []
