"""Watches of the API server in memory: bookmarks, delays, breaks, and a history that ends.

The informer behind them is the real one.
"""

import asyncio
from contextlib import aclosing

import pytest

from kubeio.cache.informer import Informer
from kubeio.client import Client
from kubeio.errors import ConnectionLost, Gone
from kubeio.resource import Resource
from kubeio.types import JsonObject
from tests.support.apiserver.cluster import MemoryCluster
from tests.support.loops.virtual_loop import run_virtually
from tests.unit.apiserver.networks import Scripted

CONFIG_MAPS = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)
SECRETS = Resource("", "v1", "Secret", "secrets", namespaced=True)


def named(name: str) -> JsonObject:
    return {"metadata": {"name": name, "namespace": "ns"}}


async def kinds_of_events(client: Client, version: str, seconds: int) -> list[str]:
    watch = client.watch(CONFIG_MAPS, resource_version=version, timeout_seconds=seconds)
    async with aclosing(watch) as events:
        return [event.type async for event in events]


def test_a_quiet_watch_has_a_bookmark_each_minute_and_ends_in_time() -> None:
    async def main() -> float:
        client, _ = MemoryCluster.start().client()
        async with client:
            version = (await client.list(CONFIG_MAPS)).resource_version
            assert await kinds_of_events(client, version, 150) == ["BOOKMARK", "BOOKMARK"]
        return asyncio.get_running_loop().time()

    assert run_virtually(main()) == pytest.approx(150)


def test_a_version_without_history_is_gone() -> None:
    async def main() -> None:
        cluster = MemoryCluster.start()
        client, _ = cluster.client()
        async with client:
            for name in ("a", "b", "c"):
                await client.create(CONFIG_MAPS, named(name))
            listed = await client.raw("GET", CONFIG_MAPS.path(), query={"limit": "1"})
            version = listed["metadata"]["resourceVersion"]
            await client.delete(CONFIG_MAPS, "a", namespace="ns")
            cluster.server.storage.compact()
            with pytest.raises(Gone) as watch:
                await kinds_of_events(client, version, 5)
            token = listed["metadata"]["continue"]
            with pytest.raises(Gone) as page:
                await client.raw("GET", CONFIG_MAPS.path(), query={"continue": token})
            assert (watch.value.reason, page.value.reason) == ("Expired", "Expired")

    run_virtually(main())


def test_events_of_two_kinds_overtake_each_other_but_not_those_of_one() -> None:
    arrived: list[tuple[str, str]] = []

    async def follow(client: Client, resource: Resource) -> None:
        watch = client.watch(resource, resource_version="0", timeout_seconds=60)
        async for event in watch:
            arrived.append((resource.plural, event.object["metadata"]["name"]))  # noqa: PERF401

    async def main() -> None:
        client, _ = MemoryCluster.start().client(
            network=Scripted(delays={"configmaps": 5.0, "secrets": 1.0})
        )
        async with client, asyncio.TaskGroup() as group:
            group.create_task(follow(client, CONFIG_MAPS))
            group.create_task(follow(client, SECRETS))
            await asyncio.sleep(1)
            for name in ("a", "b"):
                await client.create(CONFIG_MAPS, named(name))
                await client.create(SECRETS, named(name))

    run_virtually(main())
    assert arrived == [
        ("secrets", "a"),
        ("secrets", "b"),
        ("configmaps", "a"),
        ("configmaps", "b"),
    ]


def test_a_broken_watch_loses_the_connection() -> None:
    async def main() -> float:
        client, _ = MemoryCluster.start().client(network=Scripted(breaks=[7.0]))
        async with client:
            with pytest.raises(ConnectionLost) as lost:
                await kinds_of_events(client, "0", 60)
            assert not lost.value.timeout
        return asyncio.get_running_loop().time()

    assert run_virtually(main()) == pytest.approx(7)


def test_silence_loses_the_connection() -> None:
    async def main() -> float:
        client, _ = MemoryCluster.start().client()
        async with client:
            watch = client.watch(
                CONFIG_MAPS, resource_version="0", timeout_seconds=600, idle_timeout=20.0
            )
            with pytest.raises(ConnectionLost) as lost:
                await anext(watch)
            assert lost.value.timeout
        return asyncio.get_running_loop().time()

    assert run_virtually(main()) == pytest.approx(20)


def test_an_informer_ends_up_with_what_the_server_has() -> None:
    """Watches break again and again, events are late, and the history is lost meanwhile."""

    async def main() -> None:
        cluster = MemoryCluster.start()
        network = Scripted(breaks=[3.0, 0.5, 4.0, 2.0] * 5, delays={"configmaps": 0.7})
        client, _ = cluster.client(network=network)
        loop = asyncio.get_running_loop()
        async with client, asyncio.TaskGroup() as group:
            informer = Informer(client, CONFIG_MAPS, clock=loop.time)
            task = group.create_task(informer.run())
            await informer.wait_synced(60)
            for number in range(40):
                await client.create(CONFIG_MAPS, named(f"m{number}"))
                if number % 3 == 2:
                    await client.delete(CONFIG_MAPS, f"m{number - 1}", namespace="ns")
                if number % 10 == 5:
                    cluster.server.storage.compact()
                await asyncio.sleep(0.4)
            await asyncio.sleep(300)
            held = {obj["metadata"]["name"] for obj in informer.list()}
            stored = cluster.server.storage.table(("", "configmaps")).objects
            assert held == {name for _, name in stored}
            assert len(held) == 40 - 13
            task.cancel()

    run_virtually(main())


def test_nobody_listens_after_a_watch() -> None:
    async def main() -> None:
        cluster = MemoryCluster.start()
        client, _ = cluster.client()
        async with client:
            await kinds_of_events(client, "0", 5)
        assert cluster.server.storage.table(("", "configmaps")).listeners == []

    run_virtually(main())
