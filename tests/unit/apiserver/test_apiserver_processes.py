"""Processes in simulated time that die."""

import asyncio

import pytest

from kubeio.client import Client
from kubeio.errors import ConnectionLost
from kubeio.resource import Resource
from tests.support.apiserver.cluster import MemoryCluster
from tests.support.apiserver.network.faults import Fate
from tests.support.apiserver.network.process import Process
from tests.support.loops.virtual_loop import run_virtually
from tests.unit.apiserver.networks import Scripted

CONFIG_MAPS = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)


async def write(client: Client, name: str) -> None:
    await client.create(CONFIG_MAPS, {"metadata": {"name": name, "namespace": "ns"}})


def names(cluster: MemoryCluster) -> list[str]:
    return [name for _, name in cluster.server.storage.table(("", "configmaps")).objects]


def test_a_killed_process_ends_with_all_that_it_started() -> None:
    async def main() -> None:
        cluster = MemoryCluster.start()
        _, transport = cluster.client()

        async def forever() -> None:
            while True:  # noqa: ASYNC110 - it is to be ended
                await asyncio.sleep(1)

        async def work() -> None:
            async with asyncio.TaskGroup() as group:
                for _ in range(3):
                    group.create_task(forever())

        other = asyncio.create_task(forever())
        process = Process(transport)
        task = process.start(work())
        await asyncio.sleep(5)
        assert len(process.tasks) == 4
        await process.kill()
        assert task.cancelled()
        assert not process.tasks
        assert not other.done()
        other.cancel()

    run_virtually(main())


def test_nothing_leaves_a_dead_process_but_what_was_sent_arrives() -> None:
    async def main() -> None:
        cluster = MemoryCluster.start()
        client, transport = cluster.client(network=Scripted([Fate(before=10)]))

        async def work() -> None:
            try:
                await write(client, "sent")
            finally:
                with pytest.raises(ConnectionLost) as lost:
                    await write(client, "cleanup")
                assert not lost.value.maybe_sent

        process = Process(transport)
        process.start(work())
        await asyncio.sleep(1)
        await process.kill()
        assert names(cluster) == []
        await asyncio.sleep(20)
        assert names(cluster) == ["sent"]

    run_virtually(main())


def test_who_does_not_want_to_end_ends_all_the_same() -> None:
    async def main() -> None:
        async def stubborn() -> None:
            for _ in range(5):
                try:
                    await asyncio.sleep(100)
                except asyncio.CancelledError:
                    continue

        process = Process()
        process.start(stubborn())
        await asyncio.sleep(1)
        await process.kill()
        assert asyncio.get_running_loop().time() < 100

    run_virtually(main())
