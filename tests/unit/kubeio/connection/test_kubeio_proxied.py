"""Requests through a proxy: the same answers, errors and guard as without."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace

import pytest
from aiohttp import web

from kubeio.client import Client
from kubeio.errors import ConnectionLost, Gone, NotFound, ServerError
from kubeio.types import JsonObject
from tests.unit.kubeio.fake_api import PATH, WIDGET, FakeApi, refuse, stream, until

OBJECT: JsonObject = {"metadata": {"name": "a", "namespace": "ns"}}


@pytest.fixture
async def client(api: FakeApi) -> AsyncIterator[Client]:
    """Return a client of a server that only its proxy knows."""
    config = replace(api.config, server="http://k8s.invalid", proxy=api.url)
    async with Client(config, timeout=5.0) as opened:
        yield opened


async def test_lists_and_watches(api: FakeApi, client: Client) -> None:
    for name in "abc":
        api.put(name)
    assert len((await client.list(WIDGET, limit=2)).items) == 3
    async with aclosing(client.watch(WIDGET, resource_version=str(api.version))) as events:
        first = asyncio.ensure_future(anext(events))
        await until(lambda: api.watchers)
        api.put("d")
        assert (await first).object["metadata"]["name"] == "d"


async def test_refusals(api: FakeApi, client: Client) -> None:
    with pytest.raises(NotFound):
        await client.get(WIDGET, "none", namespace="ns")
    api.watch_faults.append(refuse(410, "Expired"))
    with pytest.raises(Gone):
        await anext(client.watch(WIDGET, resource_version="1"))
    api.list_faults.append(refuse(503, "ServiceUnavailable", **{"Retry-After": "9"}))
    with pytest.raises(ServerError) as failed:
        await client.list(WIDGET)
    assert failed.value.retry_after == 9.0


async def test_answers_that_break_off(api: FakeApi, client: Client) -> None:
    api.list_faults.append(stream(b'{"items":[', abort=True))
    with pytest.raises(ConnectionLost, match=f"GET {PATH}: "):
        await client.list(WIDGET)
    api.watch_faults.append(stream(b'{"type":', abort=True))
    with pytest.raises(ConnectionLost):
        await anext(client.watch(WIDGET, resource_version="1"))


async def test_the_guard_of_a_write(api: FakeApi, client: Client) -> None:
    def guard() -> None:
        raise LookupError

    client.before_write = guard
    with pytest.raises(LookupError):
        await client.create(WIDGET, OBJECT)
    assert api.seen == []


async def test_a_write_that_is_not_answered_is_sent_once(api: FakeApi, client: Client) -> None:
    async def drops(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    api.handlers[f"{PATH}/a"] = drops
    with pytest.raises(ConnectionLost) as lost:
        await client.raw("PUT", f"{PATH}/a", body=OBJECT)
    assert lost.value.maybe_sent
    assert len(api.seen) == 1


async def test_a_proxy_that_nobody_serves_has_sent_nothing(api: FakeApi) -> None:
    config = replace(api.config, server="http://k8s.invalid", proxy="http://127.0.0.1:1")
    async with Client(config) as client:
        with pytest.raises(ConnectionLost, match="cannot connect to") as lost:
            await client.create(WIDGET, OBJECT)
    assert not lost.value.maybe_sent


async def test_a_user_in_the_url_of_the_server_is_its_credential(api: FakeApi) -> None:
    config = replace(api.config, server=api.url.replace("http://", "http://u:p@"))
    async with Client(config) as client:
        await client.list(WIDGET)
    assert api.seen[0].headers["Authorization"] == "Basic dTpw"


def test_aiohttp_is_imported_when_a_client_is_opened() -> None:
    """It takes longer than all else that most commands do."""
    code = "import sys, kubeio.client; sys.exit('aiohttp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
