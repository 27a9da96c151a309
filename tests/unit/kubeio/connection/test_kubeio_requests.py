"""What a client reports of its requests: each exchange once, under its verb, and how it ended."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from kubeio.client import Client
from kubeio.connection.config import ClusterConfig
from kubeio.connection.round_tripper import RequestSeen
from kubeio.errors import ConnectionLost, Gone, NotFound, Unauthorized
from tests.unit.kubeio.fake_api import WIDGET, FakeApi, refuse, stream, until

COLLECTION = "/apis/example.dev/v1/namespaces/ns/widgets"
OBJECT = {"metadata": {"name": "a", "namespace": "ns"}}


async def taken(request: web.Request) -> web.StreamResponse:
    return web.json_response(OBJECT, status=201 if request.method == "POST" else 200)


@pytest.fixture
def seen(client: Client) -> list[RequestSeen]:
    """Return what the client has reported."""
    reports: list[RequestSeen] = []
    client.on_request = reports.append
    return reports


def ends(seen: list[RequestSeen]) -> list[tuple[str, int, str]]:
    return [(one.verb, one.status, one.ending) for one in seen]


CALLS: list[tuple[str, int, Callable[[Client], Awaitable[Any]]]] = [
    ("GET", 200, lambda c: c.get(WIDGET, "a", namespace="ns")),
    ("POST", 201, lambda c: c.create(WIDGET, OBJECT)),
    ("PUT", 200, lambda c: c.replace(WIDGET, OBJECT)),
    ("APPLY", 200, lambda c: c.apply(WIDGET, OBJECT, field_manager="kudo")),
    ("PATCH", 200, lambda c: c.merge_patch(WIDGET, "a", {}, namespace="ns")),
    ("PATCH", 200, lambda c: c.json_patch(WIDGET, "a", [], namespace="ns")),
    ("DELETE", 200, lambda c: c.delete(WIDGET, "a", namespace="ns")),
    ("GET", 200, lambda c: c.raw("GET", f"{COLLECTION}/a")),
    ("HEAD", 200, lambda c: c.raw("HEAD", f"{COLLECTION}/a")),
]


@pytest.mark.parametrize(("verb", "status", "call"), CALLS)
async def test_each_call_is_reported_under_its_verb(
    api: FakeApi,
    client: Client,
    seen: list[RequestSeen],
    verb: str,
    status: int,
    call: Callable[[Client], Awaitable[Any]],
) -> None:
    api.handlers = {COLLECTION: taken, f"{COLLECTION}/a": taken}
    await call(client)
    assert ends(seen) == [(verb, status, "answered")]


async def test_each_page_of_a_list_is_a_request(
    api: FakeApi, client: Client, seen: list[RequestSeen]
) -> None:
    for name in "abc":
        api.put(name)
    await client.list(WIDGET, limit=2)
    assert ends(seen) == [("LIST", 200, "answered")] * 2


async def test_a_watch_is_reported_when_it_begins(
    api: FakeApi, client: Client, seen: list[RequestSeen]
) -> None:
    async with aclosing(client.watch(WIDGET, resource_version="1")) as events:
        waiting = asyncio.ensure_future(anext(events))
        await until(lambda: seen)
        assert ends(seen) == [("WATCH", 200, "answered")]
        api.put("a")
        await waiting
    assert len(seen) == 1


async def test_a_watch_that_is_refused_is_reported_with_its_status(
    api: FakeApi, client: Client, seen: list[RequestSeen]
) -> None:
    api.watch_faults.append(refuse(410, "Expired"))
    with pytest.raises(Gone):
        await anext(client.watch(WIDGET, resource_version="1"))
    assert ends(seen) == [("WATCH", 410, "answered")]


async def test_a_refusal_is_an_answer(
    api: FakeApi, client: Client, seen: list[RequestSeen]
) -> None:
    with pytest.raises(NotFound):
        await client.get(WIDGET, "none", namespace="ns")
    assert ends(seen) == [("GET", 404, "answered")]


class _Renewable:
    """A credential that is stale until it has been made fresh."""

    def __init__(self) -> None:
        self.token = "stale"

    async def header(self) -> str:
        return f"Bearer {self.token}"

    async def refresh(self, rejected: str | None) -> bool:
        self.token = "fresh"
        return rejected == "Bearer stale"


async def test_a_request_that_is_sent_again_with_a_fresh_credential_counts_twice(
    api: FakeApi,
) -> None:
    async def judge(request: web.Request) -> web.StreamResponse:
        if request.headers["Authorization"] == "Bearer fresh":
            return await taken(request)
        return await refuse(401, "Unauthorized")(request)

    api.handlers[f"{COLLECTION}/a"] = judge
    reports: list[RequestSeen] = []
    async with Client(replace(api.config, auth=_Renewable())) as client:
        client.on_request = reports.append
        await client.get(WIDGET, "a", namespace="ns")
    assert ends(reports) == [("GET", 401, "answered"), ("GET", 200, "answered")]


async def test_an_unreachable_server_is_reported_without_a_status() -> None:
    reports: list[RequestSeen] = []
    async with Client(ClusterConfig(server="http://127.0.0.1:1")) as client:
        client.on_request = reports.append
        with pytest.raises(ConnectionLost):
            await client.get(WIDGET, "a", namespace="ns")
        with pytest.raises(ConnectionLost):
            await anext(client.watch(WIDGET, resource_version="1"))
    assert ends(reports) == [("GET", 0, "lost"), ("WATCH", 0, "lost")]


async def test_an_answer_that_does_not_come_in_time_is_a_timeout(api: FakeApi) -> None:
    api.list_faults.append(stream(hang=True))
    reports: list[RequestSeen] = []
    async with Client(api.config, timeout=0.05) as client:
        client.on_request = reports.append
        with pytest.raises(ConnectionLost):
            await client.list(WIDGET)
    assert ends(reports) == [("LIST", 0, "timeout")]
    assert reports[0].seconds >= 0.05


async def test_a_caller_that_gives_up_is_reported_as_such(
    api: FakeApi, client: Client, seen: list[RequestSeen]
) -> None:
    api.list_faults.append(stream(hang=True))
    listing = asyncio.ensure_future(client.list(WIDGET))
    await until(lambda: api.lists)
    listing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await listing
    assert ends(seen) == [("LIST", 0, "cancelled")]


async def test_what_the_write_guard_held_back_is_no_request(
    api: FakeApi, client: Client, seen: list[RequestSeen]
) -> None:
    def refusing() -> None:
        raise Unauthorized("not the leader", status=401)

    client.before_write = refusing
    with pytest.raises(Unauthorized, match="not the leader"):
        await client.create(WIDGET, OBJECT)
    assert seen == []
    assert api.seen == []


async def test_a_client_that_nobody_listens_to_works_as_well(api: FakeApi, client: Client) -> None:
    api.handlers[f"{COLLECTION}/a"] = taken
    assert client.on_request is None
    assert (await client.get(WIDGET, "a", namespace="ns"))["metadata"] == OBJECT["metadata"]
