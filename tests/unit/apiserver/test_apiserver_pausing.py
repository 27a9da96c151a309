"""A process in simulated time that is paused, as SIGSTOP does it."""

import asyncio
from collections.abc import Awaitable, Callable

from kubeio.client import Client
from kubeio.errors import ConnectionLost
from kubeio.resource import Resource
from tests.support.apiserver.cluster import MemoryCluster
from tests.support.apiserver.network.faults import Fate
from tests.support.apiserver.network.pausing import PausableLoop
from tests.support.apiserver.network.process import Process
from tests.unit.apiserver.networks import Scripted

CONFIG_MAPS = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)


def on_a_loop(main: Callable[[PausableLoop], Awaitable[None]]) -> None:
    async def run() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, PausableLoop)
        await main(loop)

    with asyncio.Runner(loop_factory=PausableLoop) as runner:
        runner.run(run())


async def write(client: Client, name: str) -> None:
    await client.create(CONFIG_MAPS, {"metadata": {"name": name, "namespace": "ns"}})


def test_a_paused_process_does_nothing_while_others_go_on() -> None:
    async def main(loop: PausableLoop) -> None:
        _, transport = MemoryCluster.start().client()
        seen: list[float] = []

        async def work() -> None:
            for _ in range(10):
                await asyncio.sleep(1)
                seen.append(loop.time())

        process = Process(transport)
        task = process.start(work())
        await asyncio.sleep(2.5)
        loop.pause(process)
        await asyncio.sleep(4)
        assert seen == [1.0, 2.0]
        loop.resume(process)
        await task
        assert seen[:4] == [1.0, 2.0, 6.5, 7.5]

    on_a_loop(main)


def test_what_a_paused_process_has_sent_arrives() -> None:
    async def main(loop: PausableLoop) -> None:
        cluster = MemoryCluster.start()
        client, transport = cluster.client(network=Scripted([Fate(before=1, after=1)]))
        process = Process(transport)
        task = process.start(write(client, "a"))
        await asyncio.sleep(0.5)
        loop.pause(process)
        await asyncio.sleep(10)
        assert ("ns", "a") in cluster.server.storage.table(("", "configmaps")).objects
        assert not task.done()
        loop.resume(process)
        await task

    on_a_loop(main)


def test_the_timers_of_a_paused_process_run_out() -> None:
    async def main(loop: PausableLoop) -> None:
        lost = Scripted([Fate(before=1000, lost="request")])
        client, transport = MemoryCluster.start().client(network=lost, timeout=5)
        process = Process(transport)
        task = process.start(write(client, "a"))
        await asyncio.sleep(1)
        loop.pause(process)
        await asyncio.sleep(60)
        loop.resume(process)
        await asyncio.wait({task})
        assert loop.time() == 61
        assert isinstance(task.exception(), ConnectionLost)

    on_a_loop(main)
