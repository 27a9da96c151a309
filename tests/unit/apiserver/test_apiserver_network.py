"""What happens to requests on their way to the API server in memory."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from kubeio.client import Client
from kubeio.errors import ConnectionLost, NotFound, ServerError, TooManyRequests
from kubeio.resource import Resource
from kubeio.types import JsonObject
from tests.support.apiserver import status
from tests.support.apiserver.cluster import MemoryCluster
from tests.support.apiserver.network.faults import Fate
from tests.support.loops.virtual_loop import run_virtually
from tests.unit.apiserver.networks import Scripted

CONFIG_MAPS = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)
Body = Callable[[Client, MemoryCluster], Awaitable[None]]


def config_map(name: str = "a") -> JsonObject:
    return {"metadata": {"name": name, "namespace": "ns"}}


def names(cluster: MemoryCluster) -> list[str]:
    return [name for _, name in cluster.server.storage.table(("", "configmaps")).objects]


def behind(network: Scripted, body: Body, *, timeout: float = 30.0) -> float:
    """Run a body with a client behind a network; return how many seconds it took."""

    async def main() -> float:
        cluster = MemoryCluster.start()
        client, _ = cluster.client(network=network, timeout=timeout)
        async with client:
            await body(client, cluster)
        return asyncio.get_running_loop().time()

    return run_virtually(main())


def test_a_request_takes_its_time_there_and_back() -> None:
    async def body(client: Client, cluster: MemoryCluster) -> None:
        made = asyncio.ensure_future(client.create(CONFIG_MAPS, config_map()))
        await asyncio.sleep(1.5)
        assert names(cluster) == []
        await asyncio.sleep(1)
        assert names(cluster) == ["a"]
        assert not made.done()
        await made

    assert behind(Scripted([Fate(before=2, after=3)]), body) == pytest.approx(5)


def test_a_request_that_is_lost_has_no_effect() -> None:
    async def body(client: Client, cluster: MemoryCluster) -> None:
        with pytest.raises(ConnectionLost) as lost:
            await client.create(CONFIG_MAPS, config_map())
        assert lost.value.maybe_sent
        assert names(cluster) == []

    behind(Scripted([Fate(lost="request")]), body)


def test_an_answer_that_is_lost_leaves_the_effect() -> None:
    async def body(client: Client, cluster: MemoryCluster) -> None:
        with pytest.raises(ConnectionLost):
            await client.create(CONFIG_MAPS, config_map())
        assert names(cluster) == ["a"]

    behind(Scripted([Fate(lost="answer")]), body)


def test_a_request_is_carried_out_when_nobody_waits_any_more() -> None:
    async def body(client: Client, cluster: MemoryCluster) -> None:
        with pytest.raises(ConnectionLost) as lost:
            await client.create(CONFIG_MAPS, config_map())
        assert lost.value.timeout
        assert names(cluster) == []
        await asyncio.sleep(5)
        assert names(cluster) == ["a"]

    behind(Scripted([Fate(before=4)]), body, timeout=2.0)


def test_a_refusal_has_no_effect_and_says_when_to_come_back() -> None:
    async def body(client: Client, cluster: MemoryCluster) -> None:
        with pytest.raises(TooManyRequests) as refused:
            await client.create(CONFIG_MAPS, config_map())
        assert refused.value.retry_after == 3
        with pytest.raises(ServerError):
            await client.create(CONFIG_MAPS, config_map())
        assert names(cluster) == []

    refusals = [status.too_many_requests(3), status.internal_error("broken")]
    behind(Scripted([Fate(refused=one) for one in refusals]), body)


def test_a_guard_keeps_a_write_from_being_sent() -> None:
    network = Scripted()

    async def body(client: Client, cluster: MemoryCluster) -> None:
        def guard() -> None:
            raise PermissionError

        client.before_write = guard
        with pytest.raises(PermissionError):
            await client.create(CONFIG_MAPS, config_map())
        with pytest.raises(NotFound):
            await client.get(CONFIG_MAPS, "a", namespace="ns")

    behind(network, body)
    assert [request.method for request in network.requests] == ["GET"]


def test_a_bug_of_the_server_reaches_who_waits() -> None:
    async def body(client: Client, cluster: MemoryCluster) -> None:
        def broken(request: object) -> None:
            raise ZeroDivisionError

        cluster.server.authorize = broken
        with pytest.raises(ZeroDivisionError):
            await client.get(CONFIG_MAPS, "a", namespace="ns")

    behind(Scripted(), body)
