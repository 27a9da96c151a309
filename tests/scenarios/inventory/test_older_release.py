"""Instances of a release without records: the next run begins one, adopting completes it."""

from kubeio.client import Client
from tests.support import build
from tests.support.cluster.events import until_event
from tests.support.cluster.interface import World
from tests.support.cluster.resources import CONFIG_MAPS
from tests.support.world.forging import without_reconciler
from tests.support.world.records import (
    ADOPT,
    INVENTORIES,
    change,
    config,
    configs,
    install,
    is_complete,
    record,
    request,
    secret,
    shards,
    tasks_on,
    until_told,
    upgrade,
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


async def test_the_record_is_complete_when_all_that_may_be_applied_could_be_listed(
    world: World, admin: Client
) -> None:
    plans = {"deploy": ["task"], "extra": ["extra"]}
    objects = {"task": [config("a"), config("b")], "extra": [config("c")]}
    await install(world, version("v1", objects, plans))
    await change(world, planExecution={"planName": "extra", "uid": ""})
    await without_record(world, admin)
    await admin.create(CONFIG_MAPS, build.config_map("theirs"), namespace=world.namespace)
    untouched = {one["metadata"]["name"]: one for one in await world.all(CONFIG_MAPS)}

    await change(world, planExecution={"planName": "extra", "uid": ""})
    assert set(await record(world)) == {"ConfigMap i-c"}
    assert not await is_complete(world)
    after = {one["metadata"]["name"]: one for one in await world.all(CONFIG_MAPS)}
    untouched["i-c"] = after["i-c"]

    await request(world, ADOPT)
    assert tasks_on(await record(world)) == {
        "ConfigMap i-a": ("deploy", "task"),
        "ConfigMap i-b": ("deploy", "task"),
        "ConfigMap i-c": ("extra", "extra"),
    }
    assert await is_complete(world)
    assert str((await until_event(world, "InventoryAdopted"))["message"]).startswith("3 objects")
    # It only reads and records.
    assert {one["metadata"]["name"]: one for one in await world.all(CONFIG_MAPS)} == untouched

    # From now on nothing is missed.
    await upgrade(world, version("v2", {**objects, "task": [config("a")]}, plans))
    await until_told(world, "ConfigMap i-b")
    assert await configs(world) == {"i-a", "i-b", "i-c", "theirs"}


async def test_adopting_leaves_out_what_belongs_to_others(world: World, admin: Client) -> None:
    await install(world, version("v1", {"task": [config("a"), secret("{{ .Name }}-s", a="b")]}))
    await install(world, version("w1", {"task": [config("z")]}), name="j")
    labels = {"heritage": "kudo", "kudo.dev/instance": "i", "kudo.dev/operator": "op"}
    for name in ("labelled", "owned"):
        made = build.config_map(name)
        made["metadata"] |= {"labels": labels, "namespace": world.namespace}
        if name == "owned":
            owner = (await world.get(CONFIG_MAPS, "j-z"))["metadata"]["ownerReferences"]
            made["metadata"]["ownerReferences"] = owner
        await admin.create(CONFIG_MAPS, made)
    await without_record(world, admin)

    await request(world, ADOPT)

    assert set(await record(world)) == {"ConfigMap i-a", "Secret i-s"}


async def test_the_next_run_prunes_nothing_that_it_does_not_know(
    world: World, admin: Client
) -> None:
    await install(world, version("v1", {"task": [config("a"), config("b")]}))
    await without_record(world, admin)

    await upgrade(world, version("v2", {"task": [config("a")]}, prune=True))

    assert set(await record(world)) == {"ConfigMap i-a"}
    assert not await is_complete(world)
    assert await world.events("InventoryChanged") == []
    assert await configs(world) == {"i-a", "i-b"}

    # The task is known from what the object says: the version has it still.
    await request(world, ADOPT)
    assert set(await record(world)) == {"ConfigMap i-a", "ConfigMap i-b"}
    await change(world, planExecution={"planName": "deploy", "uid": ""})
    await world.until_gone(CONFIG_MAPS, "i-b")
    await until_told(world)
