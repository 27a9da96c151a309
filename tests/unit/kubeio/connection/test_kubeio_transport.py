"""Requests on the wire: what is repeated and what never, timeouts, credentials, the write guard.

The servers here are sockets with scripts, since a well-behaved HTTP server cannot misbehave.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from aiohttp import web

from kubeio.client import Client
from kubeio.connection.auth import StaticAuth
from kubeio.connection.config import ClusterConfig
from kubeio.errors import ConnectionLost, ServerError, Unauthorized
from kubeio.types import JsonObject
from tests.unit.kubeio.fake_api import PATH, WIDGET, FakeApi, refuse, stream, until

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
OBJECT: JsonObject = {"metadata": {"name": "a", "namespace": "ns"}}

Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def scripted(*scripts: Script) -> AsyncIterator[tuple[ClusterConfig, list[bytes]]]:
    """Serve one script per connection; every request head that was read is recorded."""
    remaining = list(scripts)
    heads: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        script = remaining.pop(0)
        recording = _Recording(reader, heads)
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                await script(recording, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield ClusterConfig(server=f"http://127.0.0.1:{port}"), heads
    finally:
        server.close()
        await server.wait_closed()


class _Recording(asyncio.StreamReader):
    def __init__(self, inner: asyncio.StreamReader, heads: list[bytes]) -> None:
        super().__init__()
        self._inner, self._heads = inner, heads

    async def readuntil(self, separator: bytes = b"\n") -> bytes:  # type: ignore[override]
        head = await self._inner.readuntil(separator)
        self._heads.append(head.partition(b"\r\n")[0])
        return head

    async def readexactly(self, n: int) -> bytes:
        return await self._inner.readexactly(n)


async def read_request(reader: asyncio.StreamReader) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            await reader.readexactly(int(line.split(b":")[1]))


async def answer_once_then_drop(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Keep the connection alive, take the next request, and close without an answer."""
    await read_request(reader)
    writer.write(OK)
    await read_request(reader)


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        await read_request(reader)
        writer.write(OK)


async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Say nothing until the client gives up."""
    await read_request(reader)
    await reader.readexactly(1)


def sends(content: bytes) -> Script:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(content)
        await writer.drain()

    return script


async def test_a_read_on_a_dead_connection_is_repeated_once() -> None:
    async with scripted(answer_once_then_drop, answer) as (config, heads), Client(config) as client:
        await client.get(WIDGET, "a", namespace="ns")
        await client.get(WIDGET, "b", namespace="ns")
    assert [head.split(b"/")[-2][:1] for head in heads] == [b"a", b"b", b"b"]


@pytest.mark.parametrize("verb", ["create", "apply", "merge_patch", "json_patch", "put", "delete"])
async def test_a_write_on_a_dead_connection_is_never_repeated(verb: str) -> None:
    async with scripted(answer_once_then_drop, answer) as (config, heads), Client(config) as client:
        await client.get(WIDGET, "a", namespace="ns")
        with pytest.raises(ConnectionLost) as lost:
            await write(client, verb)
    assert len(heads) == 2
    assert lost.value.maybe_sent
    assert not lost.value.timeout


async def write(client: Client, verb: str) -> JsonObject:
    match verb:
        case "create":
            return await client.create(WIDGET, OBJECT)
        case "apply":
            return await client.apply(WIDGET, OBJECT, field_manager="me")
        case "merge_patch":
            return await client.merge_patch(WIDGET, "a", {}, namespace="ns")
        case "json_patch":
            return await client.json_patch(WIDGET, "a", [], namespace="ns")
        case "put":
            return await client.replace(WIDGET, OBJECT)
        case _:
            return await client.delete(WIDGET, "a", namespace="ns")


async def test_a_server_that_says_nothing_ends_in_a_timeout() -> None:
    async with scripted(hang) as (config, _), Client(config, timeout=0.05) as client:
        with pytest.raises(ConnectionLost, match="no answer in time") as lost:
            await client.create(WIDGET, OBJECT)
    assert lost.value.timeout
    assert lost.value.maybe_sent


async def test_a_refused_connection_certainly_sent_nothing(unused_port: int) -> None:
    config = ClusterConfig(server=f"http://127.0.0.1:{unused_port}")
    async with Client(config) as client:
        with pytest.raises(ConnectionLost) as lost:
            await client.create(WIDGET, OBJECT)
    assert not lost.value.maybe_sent
    assert lost.value.__cause__ is not None


@pytest.fixture
async def unused_port() -> int:
    server = await asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", 0)
    port: int = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    return port


async def test_waiting_for_a_connection_counts_towards_the_timeout() -> None:
    async with (
        scripted(hang) as (config, heads),
        Client(config, timeout=0.5, max_connections=1) as client,
    ):
        first = asyncio.ensure_future(client.get(WIDGET, "a", namespace="ns"))
        await until(lambda: heads)
        client._http.timeout = 0.05
        with pytest.raises(ConnectionLost) as lost:
            await client.create(WIDGET, OBJECT)
        with pytest.raises(ConnectionLost):
            await first
    assert lost.value.timeout
    assert not lost.value.maybe_sent
    assert len(heads) == 1


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"garbage\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 20_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    ],
)
async def test_unreadable_answers_are_lost_connections(content: bytes) -> None:
    async with scripted(sends(content), sends(content)) as (config, _), Client(config) as client:
        with pytest.raises(ConnectionLost):
            await client.get(WIDGET, "a", namespace="ns")


async def test_no_token_is_in_what_an_error_shows() -> None:
    content = b"garbage\r\n\r\n"
    async with scripted(sends(content), sends(content)) as (config, _):
        config = replace(config, auth=StaticAuth.bearer("s3cret"))
        async with Client(config) as client:
            with pytest.raises(ConnectionLost) as lost:
                await client.get(WIDGET, "a", namespace="ns")
    assert "s3cret" not in f"{lost.value!r} {lost.value.__cause__!r}"
    assert lost.value.__cause__ is not None


async def test_a_redirect_is_not_followed() -> None:
    moved = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
    async with scripted(sends(moved)) as (config, _), Client(config) as client:
        with pytest.raises(Exception, match=r"\(302"):
            await client.get(WIDGET, "a", namespace="ns")


async def test_cancelling_a_call_ends_it_at_once() -> None:
    async with scripted(hang) as (config, heads), Client(config) as client:
        call = asyncio.ensure_future(client.create(WIDGET, OBJECT))
        await until(lambda: heads)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call


class Rotating:
    """Credentials that are stale until they are refreshed."""

    def __init__(self) -> None:
        self.generation = 0

    async def header(self) -> str | None:
        return f"Bearer {self.generation}"

    async def refresh(self, rejected: str | None) -> bool:
        self.generation += rejected == f"Bearer {self.generation}"
        return True


def demands(token: str) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def handler(request: web.Request) -> web.StreamResponse:
        if request.headers.get("Authorization") != token:
            return await refuse(401, "Unauthorized")(request)
        if "watch" in request.query:
            return await stream(
                b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1"}}}\n'
            )(request)
        return web.json_response({})

    return handler


async def test_a_401_refreshes_the_credential_and_tries_once_more(api: FakeApi) -> None:
    api.handlers[PATH] = demands("Bearer 1")
    async with Client(replace(api.config, auth=Rotating())) as client:
        await client.raw("POST", PATH, body={"a": 1})
    assert [one.body for one in api.seen] == [b'{"a":1}', b'{"a":1}']


async def test_a_second_401_is_raised(api: FakeApi) -> None:
    api.handlers[PATH] = demands("Bearer 7")
    async with Client(replace(api.config, auth=Rotating())) as client:
        with pytest.raises(Unauthorized):
            await client.raw("GET", PATH)
    assert len(api.seen) == 2


async def test_a_credential_that_cannot_change_is_not_tried_twice(api: FakeApi) -> None:
    api.handlers[PATH] = demands("Bearer 7")
    async with Client(replace(api.config, auth=StaticAuth.bearer("x"))) as client:
        with pytest.raises(Unauthorized):
            await client.raw("GET", PATH)
    assert len(api.seen) == 1


async def test_a_watch_refreshes_its_credential_too(api: FakeApi) -> None:
    api.handlers[PATH] = demands("Bearer 1")
    async with Client(replace(api.config, auth=Rotating())) as client:
        events = [one async for one in client.watch(WIDGET, resource_version="1")]
    assert [one.type for one in events] == ["BOOKMARK"]
    assert len(api.seen) == 2


async def test_the_guard_runs_right_before_a_write_and_not_before_a_read(api: FakeApi) -> None:
    calls: list[int] = []
    async with Client(api.config) as client:
        client.before_write = lambda: calls.append(len(api.seen))
        assert client.before_write is not None
        await client.list(WIDGET)
        with pytest.raises(Exception, match="404"):
            await client.create(WIDGET, OBJECT)
    assert calls == [1]


async def test_a_write_that_the_guard_refuses_sends_nothing(api: FakeApi) -> None:
    class LeaseLostError(Exception):
        pass

    def guard() -> None:
        raise LeaseLostError

    async with Client(api.config) as client:
        client.before_write = guard
        with pytest.raises(LeaseLostError):
            await client.create(WIDGET, OBJECT)
        with pytest.raises(LeaseLostError):
            await client.delete(WIDGET, "a", namespace="ns")
        client.before_write = None
        await client.list(WIDGET)
    assert [one.method for one in api.seen] == ["GET"]


async def test_the_guard_runs_after_the_wait_for_a_connection() -> None:
    released = asyncio.Event()
    order: list[str] = []

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        await released.wait()
        order.append("answered")
        writer.write(OK)
        await read_request(reader)
        writer.write(OK)

    async with scripted(slow) as (config, _), Client(config, max_connections=1) as client:
        first = asyncio.ensure_future(client.get(WIDGET, "a", namespace="ns"))
        await asyncio.sleep(0.05)
        client.before_write = lambda: order.append("guarded")
        second = asyncio.ensure_future(client.create(WIDGET, OBJECT))
        await asyncio.sleep(0.05)
        released.set()
        await asyncio.gather(first, second)
    assert order == ["answered", "guarded"]


async def test_configured_headers_are_sent(api: FakeApi) -> None:
    config = replace(
        api.config,
        user_agent="kudo-test/1",
        headers=(("Impersonate-User", "jane"),),
        compression=False,
        auth=StaticAuth.basic("u", "p"),
    )
    async with Client(config) as client:
        await client.list(WIDGET)
    sent = api.seen[0].headers
    assert sent["User-Agent"] == "kudo-test/1"
    assert sent["Impersonate-User"] == "jane"
    assert sent["Accept-Encoding"] == "identity"
    assert sent["Authorization"] == "Basic dTpw"


async def test_a_path_prefix_of_the_server_is_kept(api: FakeApi) -> None:
    config = replace(api.config, server=f"{api.url}/k8s/clusters/c-1")
    async with Client(config) as client:
        with pytest.raises(Exception, match="404"):
            await client.list(WIDGET)
    assert api.seen[0].path == f"/k8s/clusters/c-1{PATH}"


async def test_quoted_names_arrive_as_they_were_quoted(api: FakeApi) -> None:
    async with Client(api.config) as client:
        with pytest.raises(Exception, match="404"):
            await client.get(WIDGET, "a b?c#ü", namespace="ns")
    assert api.seen[0].path.endswith("/widgets/a%20b%3Fc%23%C3%BC")


async def test_plain_http_goes_through_the_proxy_with_its_credential() -> None:
    seen: list[bytes] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader._inner.readuntil(b"\r\n\r\n"))  # type: ignore[attr-defined]
        writer.write(OK)

    async with scripted(proxy) as (at, _):
        address = at.server.removeprefix("http://")
        config = ClusterConfig(server="http://k8s.invalid", proxy=f"http://me:pw@{address}")
        async with Client(config) as client:
            await client.get(WIDGET, "a", namespace="ns")
    assert seen[0].startswith(b"GET http://k8s.invalid/apis/")
    assert b"Proxy-Authorization: Basic bWU6cHc=" in seen[0]
    assert "pw" not in repr(config)


async def test_a_proxy_that_refuses_is_named_without_its_password() -> None:
    refusal = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"
    async with scripted(sends(refusal)) as (at, heads):
        address = at.server.removeprefix("http://")
        config = ClusterConfig(server="https://k8s.invalid", proxy=f"http://me:s3cret@{address}")
        async with Client(config) as client:
            with pytest.raises(ConnectionLost, match="407") as lost:
                await client.get(WIDGET, "a", namespace="ns")
    assert heads == [b"CONNECT k8s.invalid:443 HTTP/1.1"]
    assert "s3cret" not in f"{lost.value} {lost.value.__cause__} {config}"


async def test_warnings_reach_the_callback(api: FakeApi) -> None:
    async def warn(request: web.Request) -> web.StreamResponse:
        headers = [("Warning", '299 - "one"'), ("Warning", '299 - "two"')]
        return web.json_response({}, headers=headers)

    heard: list[str] = []
    api.handlers[PATH] = warn
    async with Client(api.config) as client:
        client.on_warning = heard.append
        assert client.on_warning is not None
        for _ in range(2):
            await client.raw("POST", PATH, body={})
    assert heard == ["one", "two"]


async def test_an_error_page_of_a_proxy_is_quoted_in_brief(api: FakeApi) -> None:
    async def page(request: web.Request) -> web.StreamResponse:
        return web.Response(status=503, text="<html>try later</html>", headers={"Retry-After": "9"})

    api.handlers[PATH] = page
    async with Client(api.config) as client:
        with pytest.raises(ServerError, match="try later") as failed:
            await client.list(WIDGET)
    assert failed.value.retry_after == 9.0


async def test_a_closed_client_says_so() -> None:
    client = Client(ClusterConfig(server="http://127.0.0.1:1"))
    with pytest.raises(RuntimeError, match="async with Client"):
        await client.get(WIDGET, "a", namespace="ns")


async def test_watches_do_not_use_up_the_connections_of_calls(api: FakeApi) -> None:
    async with Client(api.config, timeout=2.0, max_connections=1) as client:
        watches = [client.watch(WIDGET, resource_version="10") for _ in range(5)]
        readers = [asyncio.ensure_future(anext(one)) for one in watches]
        await until(lambda: len(api.watchers) == 5)
        assert (await client.list(WIDGET)).items == []
        api.put("a")
        assert [event.type for event in await asyncio.gather(*readers)] == ["ADDED"] * 5
        for one in watches:
            await one.aclose()


async def test_a_body_of_more_than_a_megabyte_is_sent(api: FakeApi) -> None:
    async with Client(api.config) as client:
        with pytest.raises(Exception, match="404"):
            await client.create(WIDGET, {**OBJECT, "spec": "x" * 1_500_000})
    assert len(api.seen[0].body) > 1_500_000
