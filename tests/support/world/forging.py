"""Inventories that somebody else writes, also while no reconciler runs."""

from collections.abc import Awaitable, Callable
from typing import Any

from kubeio.client import Client
from tests.support.build import Json
from tests.support.cluster.interface import World
from tests.support.world.records import INVENTORIES, shards


def listed(name: str, **fields: Any) -> Json:
    """Return an entry of a ConfigMap as somebody writes it by hand, marked as an orphan."""
    return {
        "version": "v1",
        "kind": "ConfigMap",
        "resource": "configmaps",
        "name": name,
        "plan": "deploy",
        "task": "task",
        "orphanedBy": "by-hand",
        **fields,
    }


async def forge(forger: Client, world: World, entries: list[Json], *, number: int = 0) -> None:
    """Add entries to the first Inventory of the Instance, or make a further one with them."""
    shard = (await shards(world))[0]
    if number == 0:
        shard["objects"] += entries
        await forger.replace(INVENTORIES, shard)
        return
    kept = {key: shard["metadata"][key] for key in ("namespace", "labels", "ownerReferences")}
    name = f"{shard['metadata']['name'].rpartition('.')[0]}.{number}"
    body = {**shard, "metadata": {**kept, "name": name}, "objects": entries}
    body.pop("complete", None)
    await forger.create(INVENTORIES, body)


async def without_reconciler(world: World, write: Callable[[], Awaitable[object]]) -> None:
    """Write something that the reconciler finds when it starts."""
    await world.reconciler.stop()
    try:
        await write()
    finally:
        await world.reconciler.start()
