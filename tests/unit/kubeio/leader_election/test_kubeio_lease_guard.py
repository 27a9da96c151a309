"""A leader's writes over real sockets: all of them pass the guard, and reads need no lease."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from kubeio.client import Client
from kubeio.errors import ApiError, KubeError
from kubeio.leader_election.elector import LeaderElector, LeaseTimes, NotLeading
from kubeio.types import JsonObject
from tests.unit.kubeio.fake_api import PATH, WIDGET, FakeApi, until
from tests.unit.kubeio.leader_election.lease_server import Server

COLLECTION = "/apis/coordination.k8s.io/v1/namespaces/ns/leases"
OBJECT: JsonObject = {"metadata": {"name": "a", "namespace": "ns"}}

WRITES: dict[str, Callable[[Client], Awaitable[object]]] = {
    "create": lambda client: client.create(WIDGET, OBJECT),
    "apply": lambda client: client.apply(WIDGET, OBJECT, field_manager="me"),
    "merge patch": lambda client: client.merge_patch(WIDGET, "a", {}, namespace="ns"),
    "JSON patch": lambda client: client.json_patch(WIDGET, "a", [], namespace="ns"),
    "status": lambda client: client.replace(WIDGET, OBJECT, subresource="status"),
    "replace": lambda client: client.replace(WIDGET, OBJECT),
    "delete": lambda client: client.delete(WIDGET, "a", namespace="ns"),
    "raw without a body": lambda client: client.raw("DELETE", PATH),
    "raw with a body": lambda client: client.raw("POST", PATH, body={}),
    "dry run": lambda client: client.create(WIDGET, OBJECT, dry_run=True),
}


@asynccontextmanager
async def elected(api: FakeApi, times: LeaseTimes) -> AsyncIterator[tuple[LeaderElector, Client]]:
    """Yield the only candidate and its work client; it runs until the block is left."""
    server = Server()

    async def answer(request: web.Request) -> web.StreamResponse:
        try:
            body = await request.json() if request.method != "GET" else {}
            act = {"POST": server.create, "PUT": server.replace}.get(request.method)
            return web.json_response(act(body) if act else server.get())
        except ApiError as error:
            text = {"kind": "Status", "code": error.status, "reason": error.reason}
            return web.json_response(text, status=error.status)

    api.handlers[COLLECTION] = api.handlers[f"{COLLECTION}/l"] = answer
    async with Client(api.config, timeout=5) as client:
        elector = LeaderElector(
            lambda: Client(api.config, timeout=5),
            namespace="ns",
            name="l",
            identity="me",
            times=times,
        )
        client.before_write = elector.check
        async with asyncio.TaskGroup() as group:
            running = group.create_task(elector.run(asyncio.Event().wait))  # type: ignore[arg-type]
            yield elector, client
            running.cancel()


@pytest.mark.parametrize("verb", WRITES)
async def test_no_write_is_sent_by_who_does_not_lead(api: FakeApi, verb: str) -> None:
    async with Client(api.config) as client:
        elector = LeaderElector(lambda: Client(api.config), namespace="ns", name="l", identity="me")
        client.before_write = elector.check
        with pytest.raises(NotLeading, match="lease ns/l is not held by me"):
            await WRITES[verb](client)
    assert api.seen == []


async def test_reads_need_no_lease(api: FakeApi, client: Client) -> None:
    api.put("a")
    elector = LeaderElector(lambda: Client(api.config), namespace="ns", name="l", identity="me")
    client.before_write = elector.check
    assert len((await client.list(WIDGET)).items) == 1
    api.put("b")
    api.end_watches()
    stream = client.watch(WIDGET, resource_version="11")
    async for event in stream:
        assert event.object["metadata"]["name"] == "b"
        break
    await stream.aclose()
    with pytest.raises(KubeError, match="404"):
        await client.get(WIDGET, "a", namespace="ns")


async def test_a_leader_writes_until_it_ends(api: FakeApi) -> None:
    times = LeaseTimes(duration=3.0, renew_deadline=2.0, retry=0.05)
    async with elected(api, times) as (elector, client):
        await until(lambda: elector.leading)
        for verb, write in WRITES.items():
            with contextlib.suppress(ApiError):
                await write(client)
            assert api.seen[-1].method != "GET", verb
        written = [one for one in api.seen if one.path.startswith("/apis/example.dev")]
        assert len(written) == len(WRITES)
    with pytest.raises(NotLeading):
        elector.check()


async def test_a_write_that_waited_for_a_connection_past_the_deadline_is_not_sent(
    api: FakeApi,
) -> None:
    now = [0.0]
    blocking = asyncio.Event()

    async def slow(request: web.Request) -> web.StreamResponse:
        await blocking.wait()
        return web.json_response(OBJECT)

    async def lease(request: web.Request) -> web.StreamResponse:
        if request.method == "GET":
            return web.json_response({"kind": "Status", "code": 404}, status=404)
        return web.json_response({"metadata": {"resourceVersion": "1"}, "spec": {}}, status=201)

    api.handlers[COLLECTION] = api.handlers[f"{COLLECTION}/l"] = lease
    api.handlers[f"{PATH}/slow"] = slow
    async with Client(api.config, max_connections=1) as client:
        elector = LeaderElector(
            lambda: Client(api.config),
            namespace="ns",
            name="l",
            identity="me",
            clock=lambda: now[0],
        )
        client.before_write = elector.check
        async with asyncio.TaskGroup() as group:
            running = group.create_task(elector.run(asyncio.Event().wait))  # type: ignore[arg-type]
            await until(lambda: elector.leading)
            reading = group.create_task(client.raw("GET", f"{PATH}/slow"))
            await until(lambda: any(one.path.endswith("/slow") for one in api.seen))
            writing = asyncio.ensure_future(client.create(WIDGET, OBJECT))
            await asyncio.sleep(0)
            now[0] = 10.0
            blocking.set()
            await reading
            with pytest.raises(NotLeading):
                await writing
            running.cancel()
    assert not [one for one in api.seen if one.path.endswith("/ns/widgets")]
