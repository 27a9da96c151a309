"""The record of an older release is not complete while a kind may be applied and not listed."""

from kubeio.client import Client
from tests.support.cluster.events import event_text
from tests.support.cluster.world import World
from tests.support.world.forging import without_reconciler
from tests.support.world.records import (
    ADOPT,
    INVENTORIES,
    config,
    install,
    is_complete,
    record,
    request,
    shards,
    version,
)


async def without_record(world: World, admin: Client) -> None:
    """Leave the Instance as an older release does, which keeps no record."""

    async def never_there() -> None:
        for shard in await shards(world):
            name = shard["metadata"]["name"]
            await admin.delete(INVENTORIES, name, namespace=world.namespace)
            await world.until_gone(INVENTORIES, name)

    await without_reconciler(world, never_there)
    assert await shards(world) == []


async def test_the_record_is_not_complete_while_a_kind_that_may_be_applied_may_not_be_listed(
    world: World, admin: Client, applies_unseen: str
) -> None:
    await install(world, version("v1", {"task": [config("a"), config("b")]}))
    await without_record(world, admin)

    await request(world, ADOPT)

    text = await event_text(world, "InventoryAdopted")
    assert text.startswith("2 objects belong to the Instance, 2 of them were not on record; ")
    assert text.endswith(f"these kinds could not be listed, and may have more: {applies_unseen}")
    assert set(await record(world)) == {"ConfigMap i-a", "ConfigMap i-b"}
    assert not await is_complete(world)
