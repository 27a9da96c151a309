"""Memory of records: what the reconciler keeps of each object that is on record.

The Inventories come from an API server in memory, and are cached as the reconciler caches them,
indexes included. One object in twenty is cluster-scoped and shared by all Instances.
"""

import asyncio
import gc
import tracemalloc
import uuid
from typing import Final

from kubeio.cache.informer import Informer
from kubeio.client import Client
from kubeio.types import JsonObject
from kudo.api.crds import definitions
from kudo.api.identity import InstanceIdentity
from kudo.objects.inventory.record import Entry, Place, inventory_of
from kudo_reconciler.common.keys import INVENTORIES
from kudo_reconciler.store.inventories import INDEXERS, kept_inventory
from tests.bench.figures import Figure
from tests.support.apiserver.cluster import MemoryCluster

_INSTANCES: Final = 2000
_EACH: Final = 20
_MOST: Final = 1024
_DIGEST: Final = "0123456789abcdef" * 2


def bench(_rounds: int) -> list[Figure]:
    """Measure in this process; it takes some seconds."""
    measured = asyncio.run(bytes_of_an_object(_INSTANCES, _EACH))
    return [
        Figure(
            f"memory of an object on record, {_INSTANCES} Instances with {_EACH} objects each",
            f"<= {_MOST} bytes",
            f"{measured:.0f} bytes",
            measured <= _MOST,
        )
    ]


async def bytes_of_an_object(instances: int, each: int) -> float:
    """Return what is kept for each object of so many Instances."""
    cluster = MemoryCluster.start(crds=definitions().values())
    # Its garbage collector would look for the Instances that these records name.
    cluster.collector.delay = lambda: 1e9
    client, _ = cluster.client()
    for number in range(instances):
        await client.create(INVENTORIES, _inventory(number, each))
    return await _cached(client, instances, each)


async def _cached(client: Client, instances: int, each: int) -> float:
    gc.collect()
    tracemalloc.start()
    try:
        informer = Informer(client, INVENTORIES, indexers=INDEXERS, transform=kept_inventory)
        task = asyncio.create_task(informer.run())
        await informer.wait_synced(60.0)
        gc.collect()
        taken = tracemalloc.get_traced_memory()[0]
        assert len(informer) == instances
        task.cancel()
    finally:
        tracemalloc.stop()
    return taken / (instances * each)


def _inventory(number: int, each: int) -> JsonObject:
    one = InstanceIdentity("ns", f"instance-{number}", str(uuid.UUID(int=number)))
    entries = [_entry(one.name, at) for at in range(each - 1)]
    shared = Place("rbac.authorization.k8s.io", "ClusterRole", "", "shared")
    role = Entry(shared, "v1", "clusterroles", "deploy", "roles", _DIGEST, _uid())
    return inventory_of(one, 0, [*entries, role], complete=True)


def _entry(instance: str, number: int) -> Entry:
    place = Place("apps", "Deployment", "ns", f"{instance}-web-{number}")
    return Entry(place, "v1", "deployments", "deploy", f"task-{number % 5}", _digest(), _uid())


def _uid() -> str:
    return str(uuid.uuid4())


def _digest() -> str:
    return uuid.uuid4().hex
