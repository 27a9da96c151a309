"""Commands in containers: bytes, exit codes, bounds, and what ends an exec before its time."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import orjson
import pytest
from aiohttp import web

from kubeio.client import Client
from kubeio.connection.auth import StaticAuth
from kubeio.connection.config import ClusterConfig
from kubeio.connection.round_tripper import RequestSeen
from kubeio.errors import BadRequest, ConnectionLost, KubeError, NotFound, ServerError, Unauthorized
from kubeio.exec import ExecResult, OutputTooLarge
from tests.unit.kubeio.fake_api import FakeApi, Fault, refuse

PATH = "/api/v1/namespaces/ns/pods/p/exec"
EVERY_BYTE = bytes(range(256)) * 40
SUCCESS = b'\x03{"metadata":{},"status":"Success"}'

Talk = Callable[[web.WebSocketResponse], Awaitable[None]]


def failure(reason: str, *causes: tuple[str, str], message: str = "it failed") -> bytes:
    details = {"causes": [{"reason": reason, "message": text} for reason, text in causes]}
    status = {"status": "Failure", "reason": reason, "message": message, "details": details}
    return b"\x03" + orjson.dumps(status)


def ended_with(code: int) -> bytes:
    return failure("NonZeroExitCode", ("ExitCode", str(code)))


def answers(*frames: bytes, protocols: Sequence[str] = ("v5.channel.k8s.io",)) -> Fault:
    """Send these frames and close."""

    async def talk(socket: web.WebSocketResponse) -> None:
        for frame in frames:
            await socket.send_bytes(frame)

    return talks(talk, protocols)


def talks(talk: Talk, protocols: Sequence[str] = ("v5.channel.k8s.io",)) -> Fault:
    async def answer(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(protocols=protocols)
        await socket.prepare(request)
        await talk(socket)
        await socket.close()
        return socket

    return answer


async def run(client: Client, *command: str, limit: int = 100_000, **more: Any) -> ExecResult:
    return await client.exec("p", "c", command or ("true",), namespace="ns", limit=limit, **more)


@pytest.mark.parametrize("protocol", ["v5.channel.k8s.io", "v4.channel.k8s.io"])
async def test_bytes_arrive_as_they_were_written_and_apart(
    api: FakeApi, client: Client, protocol: str
) -> None:
    half = len(EVERY_BYTE) // 2 + 1
    frames = [b"\x01" + EVERY_BYTE[:half], b"\x02oh\xff", b"\x01", b"\x01" + EVERY_BYTE[half:]]
    api.handlers[PATH] = answers(*frames, SUCCESS, protocols=[protocol])
    assert await run(client) == ExecResult(0, EVERY_BYTE, b"oh\xff")


async def test_the_request_names_container_and_command_and_offers_two_protocols(
    api: FakeApi, client: Client
) -> None:
    seen: list[list[tuple[str, str]]] = []

    async def noting(request: web.Request) -> web.StreamResponse:
        seen.append(list(request.query.items()))
        return await answers(SUCCESS)(request)

    api.handlers[PATH] = noting
    await run(client, "cat", "--", "/a b&c=d/\u00e9")
    assert seen == [
        [
            ("container", "c"),
            ("stdout", "true"),
            ("stderr", "true"),
            ("command", "cat"),
            ("command", "--"),
            ("command", "/a b&c=d/\u00e9"),
        ]
    ]
    offered = api.seen[0].headers["Sec-WebSocket-Protocol"]
    assert [one.strip() for one in offered.split(",")] == ["v5.channel.k8s.io", "v4.channel.k8s.io"]
    assert api.seen[0].method == "GET"


@pytest.mark.parametrize("code", [1, 2, 126, 255])
async def test_an_exit_code_is_a_result(api: FakeApi, client: Client, code: int) -> None:
    api.handlers[PATH] = answers(b"\x02no such file", ended_with(code))
    assert await run(client) == ExecResult(code, b"", b"no such file")


@pytest.mark.parametrize(
    ("last", "error", "words"),
    [
        (failure("InternalError", message="exec: not found"), ServerError, "exec: not found"),
        (failure("NonZeroExitCode"), ServerError, "it failed"),
        (failure("NonZeroExitCode", ("ExitCode", "many")), ServerError, "it failed"),
        (b"\x03not json", ConnectionLost, "the last frame is not a Status object"),
        (b"\x03[]", ConnectionLost, "the last frame is not a Status object"),
        (b"\x09what", ConnectionLost, "a frame on an unknown channel"),
        (b"", ConnectionLost, "a frame on an unknown channel"),
        (b"\x01half of it", ConnectionLost, "closed before the command ended"),
    ],
)
async def test_what_has_no_exit_code_is_an_error(
    api: FakeApi, client: Client, last: bytes, error: type[KubeError], words: str
) -> None:
    api.handlers[PATH] = answers(b"\x01some", last)
    with pytest.raises(error, match=words):
        await run(client)


async def test_a_text_message_is_not_taken(api: FakeApi, client: Client) -> None:
    async def talk(socket: web.WebSocketResponse) -> None:
        await socket.send_str("\x01text")

    api.handlers[PATH] = talks(talk)
    with pytest.raises(ConnectionLost, match="not a binary message"):
        await run(client)


async def test_a_broken_connection_is_lost(api: FakeApi, client: Client) -> None:
    async def breaking(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(protocols=["v5.channel.k8s.io"])
        await socket.prepare(request)
        await socket.send_bytes(b"\x01half of it")
        assert request.transport is not None
        request.transport.abort()
        return socket

    api.handlers[PATH] = breaking
    with pytest.raises(ConnectionLost) as lost:
        await run(client)
    assert lost.value.maybe_sent


@pytest.mark.parametrize(("size", "fits"), [(1000, True), (1001, False)])
async def test_output_is_bounded(api: FakeApi, client: Client, size: int, fits: bool) -> None:
    async def talk(socket: web.WebSocketResponse) -> None:
        await socket.send_bytes(b"\x01" + bytes(size - 400))
        await socket.send_bytes(b"\x02" + bytes(400))
        if fits:
            await socket.send_bytes(SUCCESS)
        else:
            await socket.receive()

    api.handlers[PATH] = talks(talk)
    if fits:
        assert len((await run(client, limit=1000)).stdout) == 600
    else:
        with pytest.raises(OutputTooLarge, match="cat wrote more than 1000 bytes"):
            await run(client, "cat", limit=1000)


async def test_a_command_that_does_not_end_runs_out_of_time(api: FakeApi, client: Client) -> None:
    async def talk(socket: web.WebSocketResponse) -> None:
        await socket.send_bytes(b"\x01some")
        await asyncio.sleep(60)

    api.handlers[PATH] = talks(talk)
    with pytest.raises(ConnectionLost) as lost:
        await run(client, timeout=0.2)
    assert lost.value.timeout


async def test_a_handshake_that_does_not_end_runs_out_of_time(api: FakeApi) -> None:
    async def silent(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(60)
        raise AssertionError

    api.handlers[PATH] = silent
    seen: list[RequestSeen] = []
    async with Client(api.config, timeout=0.2) as client:
        client.on_request = seen.append
        with pytest.raises(ConnectionLost) as lost:
            await run(client, timeout=30)
    assert lost.value.timeout
    assert [(one.verb, one.status, one.ending) for one in seen] == [("EXEC", 0, "timeout")]


async def test_a_refusal_says_what_the_api_server_says(api: FakeApi, client: Client) -> None:
    api.handlers[PATH] = refuse(404, "NotFound")
    with pytest.raises(NotFound, match=r"no \(404 NotFound\)"):
        await run(client)
    api.handlers[PATH] = refuse(400, "BadRequest")
    with pytest.raises(BadRequest):
        await run(client)


async def test_a_redirect_is_not_followed(api: FakeApi, client: Client) -> None:
    api.handlers[PATH] = refuse(307, "", Location=f"{api.url}/elsewhere")
    with pytest.raises(KubeError):
        await run(client)
    assert [one.path for one in api.seen] == [PATH]


async def test_an_answer_that_is_no_websocket_is_lost(api: FakeApi, client: Client) -> None:
    async def switching(request: web.Request) -> web.StreamResponse:
        response = web.Response(status=101, headers={"Upgrade": "other", "Connection": "Upgrade"})
        await response.prepare(request)
        return response

    api.handlers[PATH] = switching
    with pytest.raises(ConnectionLost):
        await run(client)


class Renewing(StaticAuth):
    """Has a fresh token when asked for one."""

    async def refresh(self, rejected: str | None) -> bool:
        self._token = "fresh"
        return rejected == "Bearer stale"

    async def header(self) -> str:
        return f"Bearer {getattr(self, '_token', 'stale')}"


async def test_a_credential_is_made_fresh_once(api: FakeApi) -> None:
    async def choosy(request: web.Request) -> web.StreamResponse:
        fresh = request.headers["Authorization"] == "Bearer fresh"
        return await (answers(SUCCESS) if fresh else refuse(401, "Unauthorized"))(request)

    api.handlers[PATH] = choosy
    seen: list[RequestSeen] = []
    async with Client(ClusterConfig(server=api.url, auth=Renewing("stale"))) as client:
        client.on_request = seen.append
        assert (await run(client)).exit_code == 0
    assert [one.status for one in seen] == [401, 101]
    api.handlers[PATH] = refuse(401, "Unauthorized")
    async with Client(ClusterConfig(server=api.url, auth=StaticAuth("stale"))) as client:
        with pytest.raises(Unauthorized):
            await run(client)


async def test_the_write_guard_is_asked_and_nothing_is_sent_if_it_refuses(
    api: FakeApi, client: Client
) -> None:
    class NotNow(Exception):
        pass

    def refusing() -> None:
        raise NotNow

    seen: list[RequestSeen] = []
    client.before_write, client.on_request = refusing, seen.append
    with pytest.raises(NotNow):
        await run(client)
    assert (api.seen, seen) == ([], [])


async def test_the_write_guard_is_asked_for_each_exec(api: FakeApi, client: Client) -> None:
    asked: list[int] = []
    seen: list[RequestSeen] = []
    client.before_write, client.on_request = lambda: asked.append(len(api.seen)), seen.append
    api.handlers[PATH] = answers(SUCCESS)
    await run(client)
    await run(client)
    assert asked == [0, 1]
    assert [(one.verb, one.status, one.ending) for one in seen] == [("EXEC", 101, "answered")] * 2


async def test_an_exec_that_cannot_connect_was_not_sent(unused_tcp_port: int) -> None:
    config = ClusterConfig(server=f"http://127.0.0.1:{unused_tcp_port}")
    async with Client(config, timeout=5.0) as client:
        with pytest.raises(ConnectionLost) as lost:
            await run(client)
    assert not lost.value.maybe_sent


async def test_a_cancelled_exec_closes_its_connection(api: FakeApi, client: Client) -> None:
    begun, closed = asyncio.Event(), asyncio.Event()

    async def talk(socket: web.WebSocketResponse) -> None:
        begun.set()
        try:
            await socket.receive()
        finally:
            closed.set()

    api.handlers[PATH] = talks(talk)
    task = asyncio.create_task(run(client))
    async with asyncio.timeout(5):
        await begun.wait()
        task.cancel()
        await closed.wait()
    with pytest.raises(asyncio.CancelledError):
        await task
