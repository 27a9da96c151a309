"""What is said of two reconcilers, and what is seen of the objects that they write."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from kubeio.resource import Resource
from kudo_cluster.installation import Service
from tests.support.cluster.resources import CONFIG_MAPS, DEPLOYMENTS, EVENTS, INSTANCES, JOBS
from tests.support.cluster.waiting import events_written, wait_until
from tests.support.cluster.world import World

WRITTEN = (INSTANCES, CONFIG_MAPS, DEPLOYMENTS, JOBS, EVENTS)


@dataclass(frozen=True)
class Pair:
    """Two reconcilers; the first one leads at the beginning."""

    first: Service
    second: Service

    async def until_leads(self, service: Service) -> None:
        async def leads() -> bool:
            return await asyncio.to_thread(metric, service, "kudo_leader") == 1.0

        await wait_until(leads, lambda: f"the {service.name} to lead")


def metric(service: Service, name: str) -> float | None:
    """Return the sum of a metric's series, None if there is none or nobody answers."""
    text = service.get("/metrics")[1]
    found = re.findall(rf"^{name}(?:{{.*}})? (\S+)$", text, re.MULTILINE)
    return sum(map(float, found)) if found else None


@dataclass
class Seen:
    """Uids of the objects that were there at any time, by name."""

    uids: dict[str, set[str]] = field(default_factory=dict)

    def counts(self) -> dict[str, int]:
        return {name: len(uids) for name, uids in self.uids.items()}


@asynccontextmanager
async def watching(world: World, resource: Resource) -> AsyncIterator[Seen]:
    """Note every object of a kind in the namespace, however shortly it lives."""
    seen = Seen()

    async def watch(version: str) -> None:
        stream = world.client.watch(
            resource, namespace=world.namespace, resource_version=version, timeout_seconds=600
        )
        async with contextlib.aclosing(stream):
            async for event in stream:
                if event.type in ("ADDED", "MODIFIED", "DELETED"):
                    metadata = event.object["metadata"]
                    seen.uids.setdefault(metadata["name"], set()).add(metadata["uid"])

    listed = await world.client.list(resource, namespace=world.namespace)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(watch(listed.resource_version))
        yield seen
        task.cancel()


async def versions(
    world: World, pair: Pair, resources: Iterable[Resource] = WRITTEN
) -> dict[str, str]:
    """Return the resourceVersion of every object in the namespace, once all events are written."""
    await events_written(pair.first, pair.second)
    return {
        f"{resource.kind} {obj['metadata']['name']}": obj["metadata"]["resourceVersion"]
        for resource in resources
        for obj in await world.all(resource)
    }


async def life_of(world: World, pair: Pair, uid: str) -> list[tuple[str, int]]:
    """Return the reason and the count of each event of one execution, oldest first."""
    await events_written(pair.first, pair.second)
    return [
        (event["reason"], event.get("count", 1))
        for event in await world.events()
        if f".{uid}." in event["metadata"]["name"]
    ]


def changed(before: dict[str, str], after: dict[str, str], late: str) -> dict[str, str]:
    """Return what differs between two results of `versions`, but for an Instance made between."""
    return {
        name: f"{before.get(name)} -> {after.get(name)}"
        for name in before.keys() | after.keys()
        if before.get(name) != after.get(name) and f" {late}" not in name
    }
