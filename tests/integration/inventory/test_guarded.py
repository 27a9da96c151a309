"""Nobody but the reconciler writes an Inventory."""

import pytest

from kubeio.client import Client
from kubeio.errors import Forbidden
from tests.support.cluster.world import World
from tests.support.world.forging import forge, listed
from tests.support.world.records import (
    INVENTORIES,
    config,
    install,
    shards,
    version,
)

CHANGED, IGNORED = "InventoryChanged", "InventoryIgnored"


TWO = {"task": [config("a"), config("b")]}


async def test_its_user_may_not_write_an_inventory(world: World) -> None:
    await install(world, version("v1", TWO))
    [shard] = await shards(world)

    with pytest.raises(Forbidden):
        await world.client.replace(INVENTORIES, {**shard, "objects": []})
    with pytest.raises(Forbidden):
        await world.client.delete(INVENTORIES, shard["metadata"]["name"], namespace=world.namespace)


async def test_an_administrator_may_delete_an_inventory_and_not_write_it(
    world: World, admin: Client
) -> None:
    await install(world, version("v1", TWO))
    [shard] = await shards(world)

    with pytest.raises(Forbidden, match="only KUDO's reconciler writes Inventories"):
        await admin.replace(INVENTORIES, {**shard, "objects": []})
    with pytest.raises(Forbidden, match="only KUDO's reconciler writes Inventories"):
        await forge(admin, world, [listed("theirs", namespace=world.namespace)], number=1)
    assert await shards(world) == [shard]
