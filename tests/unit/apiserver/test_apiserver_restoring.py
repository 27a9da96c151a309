"""A backup that is restored while the controllers of the server still have work to do."""

import asyncio

from kubeio.resource import Resource
from kubeio.types import JsonObject
from tests.support.apiserver.cluster import MemoryCluster
from tests.support.loops.virtual_loop import run_virtually

MAPS = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)


def named(name: str, *owners: JsonObject) -> JsonObject:
    references = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": one["name"], "uid": one["uid"]}
        for one in owners
    ]
    return {"metadata": {"name": name, "namespace": "ns", "ownerReferences": references}}


def maps(cluster: MemoryCluster) -> list[str]:
    return sorted(name for _, name in cluster.server.storage.table(("", "configmaps")).objects)


def test_what_a_restore_undid_is_not_looked_for() -> None:
    """The collector was about to look at an object that is no longer there."""

    async def main() -> None:
        cluster, faults = MemoryCluster.start(), []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: faults.append(context))
        cluster.collector.delay = lambda: 1.0
        client, _ = cluster.client()
        async with client:
            owner = await client.create(MAPS, named("owner"))
            backup = cluster.server.storage.backup()
            await client.create(MAPS, named("owned", owner["metadata"]))
            cluster.server.storage.restore(backup)
            await asyncio.sleep(2)
            assert faults == []
            assert maps(cluster) == ["owner"]

    run_virtually(main())


def test_an_owner_that_a_restore_brings_back_owns_again() -> None:
    async def main() -> None:
        cluster = MemoryCluster.start()
        client, _ = cluster.client()
        async with client:
            owner = await client.create(MAPS, named("owner"))
            await client.create(MAPS, named("first", owner["metadata"]))
            backup = cluster.server.storage.backup()
            await client.delete(MAPS, "owner", namespace="ns")
            await asyncio.sleep(1)
            assert maps(cluster) == []
            cluster.server.storage.restore(backup)
            await client.create(MAPS, named("second", owner["metadata"]))
            await asyncio.sleep(1)
            assert maps(cluster) == ["first", "owner", "second"]
            await client.delete(MAPS, "owner", namespace="ns")
            await asyncio.sleep(1)
            assert maps(cluster) == []

    run_virtually(main())
