"""Files read out of a pod: what ends the plan, and what is worth another try."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import orjson
import pytest
from aiohttp import web

from kubeio.cache.reflector import Timing
from kubeio.client import Client
from kubeio.connection.config import ClusterConfig
from kubeio.leader_election.elector import NotLeading
from kudo.admission.tenancy import Tenancy
from kudo.api import JsonObject, PipeFile
from kudo.api.task_kinds import FatalTaskError, TransientTaskError
from kudo_reconciler.common.keys import Key
from kudo_reconciler.execution.tasks.pipe_pods import PipePods
from kudo_reconciler.objects.observer import Observer
from kudo_reconciler.tenancy.accounts import Accounts, Directory

POD: JsonObject = {"metadata": {"namespace": "ns", "name": "p", "uid": "u"}}
FILES = [
    PipeFile.from_wire({"file": path, "kind": "ConfigMap", "key": "k"})
    for path in ("/out/a", "/out/b")
]
SUCCESS = b'\x03{"status":"Success"}'
TWO_AND_THREE = b"\x012 regular file\n3 regular file\n"


def exit_code(code: int) -> bytes:
    causes = [{"reason": "ExitCode", "message": str(code)}]
    status = {"status": "Failure", "reason": "NonZeroExitCode", "details": {"causes": causes}}
    return b"\x03" + orjson.dumps(status)


@asynccontextmanager
async def pod_that_says(**frames: list[bytes]) -> AsyncIterator[tuple[PipePods, Client]]:
    """Serve a pod in which each program, found by its name, writes these frames."""

    async def run(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(protocols=["v5.channel.k8s.io"])
        await socket.prepare(request)
        for frame in frames[request.query["command"]]:
            await socket.send_bytes(frame)
        await socket.close()
        return socket

    app = web.Application()
    app.router.add_get("/api/v1/namespaces/ns/pods/p/exec", run)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    config = ClusterConfig(server=f"http://127.0.0.1:{runner.addresses[0][1]}")
    try:
        async with Client(config, timeout=5.0) as client, asyncio.TaskGroup() as group:
            woken: list[Key] = []
            accounts = Accounts(client, Tenancy.COMPAT, ("kudo-system",), Directory(client))
            yield PipePods(accounts, Observer(client, group, woken.append, Timing())), client
    finally:
        await runner.cleanup()


async def test_files_are_told_apart_by_their_sizes() -> None:
    cat = [b"\x01\x00\n", b"\x01\xffb", b"\x01c", SUCCESS]
    async with pod_that_says(stat=[TWO_AND_THREE, SUCCESS], cat=cat) as (pods, client):
        assert await pods.read(POD, FILES, client=client) == [b"\x00\n", b"\xffbc"]


async def test_empty_files_are_files() -> None:
    stat = [b"\x010 regular empty file\n0 regular empty file\n", SUCCESS]
    async with pod_that_says(stat=stat, cat=[SUCCESS]) as (pods, client):
        assert await pods.read(POD, FILES, client=client) == [b"", b""]


@pytest.mark.parametrize(
    ("stat", "cat", "error", "text"),
    [
        (
            [b"\x02stat: no", exit_code(1)],
            [],
            FatalTaskError,
            "pipe files cannot be copied from pod ns/p: stat ended with exit code 1: stat: no",
        ),
        (
            [TWO_AND_THREE, SUCCESS],
            [b"\x02cat: no", exit_code(2)],
            FatalTaskError,
            "pipe files cannot be copied from pod ns/p: cat ended with exit code 2: cat: no",
        ),
        (
            [b"\x012 regular file\n4096 directory\n", SUCCESS],
            [],
            FatalTaskError,
            "pipe file /out/b is a directory, not a regular file",
        ),
        (
            [b"\x012 regular file\n1048577 regular file\n", SUCCESS],
            [],
            FatalTaskError,
            "pipe file /out/b size 1048577 exceeds maximum file size of 1048576 bytes",
        ),
        (
            [b"\x012 regular file\n", SUCCESS],
            [],
            TransientTaskError,
            "stat in pod ns/p reported 1 files instead of 2",
        ),
        (
            [TWO_AND_THREE, SUCCESS],
            [b"\x01only", SUCCESS],
            TransientTaskError,
            "4 bytes were copied from pod ns/p instead of 5",
        ),
        (
            [TWO_AND_THREE, SUCCESS],
            [b"\x01" + bytes(100_000), SUCCESS],
            TransientTaskError,
            "pod ns/p: cat wrote more than 65541 bytes",
        ),
        (
            [TWO_AND_THREE],
            [],
            TransientTaskError,
            (
                "stat cannot be run in pod ns/p: exec stat: "
                "the connection closed before the command ended"
            ),
        ),
    ],
)
async def test_only_what_the_pod_itself_refuses_ends_the_plan(
    stat: list[bytes], cat: list[bytes], error: type[FatalTaskError], text: str
) -> None:
    async with pod_that_says(stat=stat, cat=cat) as (pods, client):
        with pytest.raises(error) as caught:
            await pods.read(POD, FILES, client=client)
    assert (caught.value.reason, str(caught.value)) == ("PipeTaskError", text)


async def test_a_replica_that_does_not_lead_reads_nothing() -> None:
    def refuse() -> None:
        raise NotLeading("the Lease is another's")

    async with pod_that_says() as (pods, client):
        client.before_write = refuse
        with pytest.raises(NotLeading):
            await pods.read(POD, FILES, client=client)
