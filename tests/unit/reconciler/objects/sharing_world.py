"""A cluster in memory with a ClusterRole that Instances share; no tests of its own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from kubeio.cache.informer import Informer
from kubeio.cache.reflector import Timing
from kubeio.client import Client
from kubeio.resource import Resource
from kudo.api import JsonObject
from kudo.api.crds import definitions
from kudo.api.identity import InstanceIdentity
from kudo.api.names import ANNOTATION_SHARED_BY
from kudo.objects.inventory.record import Entry, Place, inventory_of
from kudo.objects.sharing import sharers
from kudo_reconciler.common.clock import SystemClock
from kudo_reconciler.common.keys import INSTANCES, INVENTORIES, Key
from kudo_reconciler.events.writer import EventRecorder
from kudo_reconciler.metrics.metrics import Metrics
from kudo_reconciler.objects.damage import IgnoredEntries
from kudo_reconciler.objects.observer import Observer
from kudo_reconciler.objects.recorder import Recorder
from kudo_reconciler.objects.sharers import Sharers
from kudo_reconciler.objects.shares import Shares
from kudo_reconciler.store.freshness import Freshness, OwnWrites
from kudo_reconciler.store.instances import InstanceStore
from kudo_reconciler.store.inventories import INDEXERS, InventoryStore, kept_inventory
from tests.support import build
from tests.support.apiserver.cluster import MemoryCluster
from tests.support.apiserver.network.faults import Fate, Quiet
from tests.support.apiserver.server import Request

ROLES = Resource("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False)
PLACE = Place(ROLES.group, ROLES.kind, "", "role")
# Before it is applied.
ENTRY = Entry(PLACE, "v1", "clusterroles", plan="deploy", task="apply")


@dataclass
class Counted(Quiet):
    """Records the requests."""

    seen: list[str] = field(default_factory=list)

    def fate(self, request: Request) -> Fate:
        self.seen.append(f"{request.method} {request.path.rpartition('/')[2]}")
        return super().fate(request)


@dataclass
class Process:
    """What a reconciler knows of shares."""

    client: Client
    sent: list[str]
    sharers: Sharers
    shares: Shares
    observer: Observer
    woken: "asyncio.Queue[Key]"

    async def role(self) -> JsonObject:
        return await self.client.get(ROLES, "role")

    async def share(self, one: InstanceIdentity, read: JsonObject | None = None) -> JsonObject:
        """Write down that an Instance shares the role, as an apply does."""
        metadata = (read or await self.role())["metadata"]
        text = await self.sharers.joined(metadata, PLACE, one)
        annotations = {ANNOTATION_SHARED_BY: text}
        change = {"resourceVersion": metadata["resourceVersion"], "annotations": annotations}
        return await self.client.merge_patch(ROLES, "role", {"metadata": change})

    async def leave(
        self, one: InstanceIdentity, read: JsonObject | None = None
    ) -> tuple[JsonObject, InstanceIdentity | None]:
        """Give up a share; return the role after that, and who shares it still."""
        role = read or await self.role()
        return await self.shares.give_up(ROLES, role, one, client=self.client)

    async def another(self, one: InstanceIdentity) -> InstanceIdentity | None:
        return await self.sharers.another(ROLES, (await self.role())["metadata"], one)

    async def delete(self, role: JsonObject) -> None:
        """Delete the role as it was read."""
        metadata = role["metadata"]
        uid, version = metadata["uid"], metadata["resourceVersion"]
        await self.client.delete(ROLES, "role", uid=uid, resource_version=version)


@dataclass
class World:
    """The cluster, and the reconcilers whose caches have what was created here."""

    cluster: MemoryCluster
    admin: Client
    group: asyncio.TaskGroup
    entry: Entry
    processes: list[Process] = field(default_factory=list)

    def process(self) -> Process:
        """Start a reconciler; what its caches have is what tests put there."""
        network = Counted()
        client, _ = self.cluster.client(user="reconciler", network=network)
        instances = InstanceStore(client, Informer(client, INSTANCES), OwnWrites(lambda *_: None))
        informer = Informer(client, INVENTORIES, indexers=INDEXERS, transform=kept_inventory)
        # A term that began before anything was stored.
        begun = Freshness(_term=0)
        inventories = InventoryStore(client, informer, OwnWrites(lambda *_: None), begun)
        woken: asyncio.Queue[Key] = asyncio.Queue()
        observer = Observer(client, self.group, woken.put_nowait, Timing(), inventories=inventories)
        events = EventRecorder(client, SystemClock(), Metrics())
        recorder = Recorder(inventories, IgnoredEntries(inventories, events))
        known = Sharers(instances, inventories, recorder.is_damaged)
        shares = Shares(observer, known, recorder)
        made = Process(client, network.seen, known, shares, observer, woken)
        self.processes.append(made)
        return made

    async def instance(self, name: str) -> InstanceIdentity:
        """Create an Instance that has no record."""
        body = await self.admin.create(INSTANCES, build.instance(name, "v"), namespace="ns")
        for one in self.processes:
            one.sharers.instances.informer.observe(body)
        return InstanceIdentity("ns", name, body["metadata"]["uid"])

    async def record(self, one: InstanceIdentity, *entries: Entry) -> None:
        """Have an Instance put objects on record: the role, which it has applied."""
        body = inventory_of(one, 0, entries or [self.entry], complete=True)
        stored = await self.admin.create(INVENTORIES, body, namespace="ns")
        for process in self.processes:
            process.sharers.inventories.informer.observe(stored)

    def put_on_record(self, process: Process, one: InstanceIdentity) -> None:
        """Put an Inventory that has the role into the cache of a process, and nowhere else."""
        body = inventory_of(one, 0, [self.entry], complete=True)
        body["metadata"] |= {"uid": f"inventory-{one.uid}", "resourceVersion": str(1 << 40)}
        process.sharers.inventories.informer.observe(body)

    async def recorded(self, count: int, first: int = 0, *entries: Entry) -> list[InstanceIdentity]:
        """Create Instances that have applied the role, by their record."""
        made = [await self.instance(f"i{number:04}") for number in range(first, first + count)]
        for one in made:
            await self.record(one, *entries)
        return made

    async def delete(self, one: InstanceIdentity) -> None:
        """Delete an Instance; no cache knows."""
        await self.admin.delete(INSTANCES, one.name, namespace="ns")

    async def annotate(self, text: str | None) -> None:
        change = {"metadata": {"annotations": {ANNOTATION_SHARED_BY: text}}}
        await self.admin.merge_patch(ROLES, "role", change)


@asynccontextmanager
async def world() -> AsyncIterator[World]:
    """Start a cluster with a role that nobody shares, and one reconciler."""
    cluster = MemoryCluster.start(crds=definitions().values())
    admin, _ = cluster.client()
    labels = {"heritage": "kudo"}
    role = {"apiVersion": ROLES.api_version, "kind": ROLES.kind, "rules": []}
    made = await admin.create(ROLES, {**role, "metadata": {"name": "role", "labels": labels}})
    entry = replace(ENTRY, uid=made["metadata"]["uid"])
    async with asyncio.TaskGroup() as group:
        found = World(cluster, admin, group, entry)
        found.process()
        yield found
        for one in found.processes:
            one.observer.close()


def text_of(role: JsonObject) -> str:
    return str(role["metadata"].get("annotations", {}).get(ANNOTATION_SHARED_BY, ""))


def listed(role: JsonObject) -> list[InstanceIdentity]:
    return list(sharers(role["metadata"]))
