"""Inventories that somebody else writes: they are restored or left out, and delete nothing."""

from contextlib import suppress

from kubeio.client import Client
from kubeio.errors import NotFound
from tests.support import build
from tests.support.cluster.events import event_text, until_event
from tests.support.cluster.interface import World
from tests.support.cluster.resources import CONFIG_MAPS, INSTANCES
from tests.support.world.forging import forge, listed, without_reconciler
from tests.support.world.records import (
    INVENTORIES,
    PRUNE,
    SECRETS,
    config,
    configs,
    install,
    orphaned,
    record,
    request,
    run,
    secret,
    shards,
    uid_of,
    until_record,
    until_told,
    version,
    versions,
)

CHANGED, IGNORED = "InventoryChanged", "InventoryIgnored"


TWO = {"task": [config("a"), config("b")]}


async def test_a_deleted_inventory_of_a_living_instance_is_restored(
    world: World, admin: Client
) -> None:
    await install(world, version("v1", TWO))
    [shard] = await shards(world)

    await admin.delete(INVENTORIES, shard["metadata"]["name"], namespace=world.namespace)

    await until_event(world, CHANGED)
    found = await until_record(world, "ConfigMap i-a", "ConfigMap i-b")
    [restored] = await shards(world)
    assert restored["metadata"]["uid"] != shard["metadata"]["uid"]
    assert restored.get("complete") is True
    assert orphaned(found) == set()
    assert (await world.events(CHANGED))[0]["type"] == "Warning"


async def test_an_edited_inventory_of_a_living_instance_is_restored(
    world: World, admin: Client, forger: Client
) -> None:
    await install(world, version("v1", TWO, prune=True))
    await admin.create(CONFIG_MAPS, build.config_map("theirs"), namespace=world.namespace)
    [shard] = await shards(world)
    edited = [{**shard["objects"][0], "orphanedBy": "by-hand"}, listed("theirs")]

    await forger.replace(INVENTORIES, {**shard, "objects": edited})

    await until_event(world, CHANGED)
    found = await until_record(world, "ConfigMap i-a", "ConfigMap i-b")
    assert found == {f"ConfigMap {one['name']}": one for one in shard["objects"]}
    await run(world, "deploy")
    assert await uid_of(admin, CONFIG_MAPS, "i-a", world.namespace)
    assert await uid_of(admin, CONFIG_MAPS, "theirs", world.namespace)


async def test_a_further_inventory_of_a_living_instance_names_nothing_of_it(
    world: World, admin: Client, forger: Client
) -> None:
    await install(world, version("v1", TWO, prune=True))
    await admin.create(CONFIG_MAPS, build.config_map("theirs"), namespace=world.namespace)
    entry = listed("theirs", namespace=world.namespace)

    await forge(forger, world, [entry], number=1)

    await until_event(world, CHANGED)
    await until_record(world, "ConfigMap i-a", "ConfigMap i-b")
    await run(world, "deploy")
    assert await uid_of(admin, CONFIG_MAPS, "theirs", world.namespace)


async def test_entries_written_while_nobody_watches_delete_nothing_of_others(
    world: World, elsewhere: World, admin: Client, forger: Client
) -> None:
    await install(world, version("v1", TWO, prune=True))
    for where in (world, elsewhere):
        await admin.create(CONFIG_MAPS, build.config_map("theirs"), namespace=where.namespace)
    await admin.create(SECRETS, secret("theirs", a="b"), namespace=world.namespace)
    here = {"namespace": world.namespace}
    impossible = [
        listed("theirs", namespace=elsewhere.namespace),
        listed("../../../secrets/theirs", **here),
        listed("a%2fb", **here),
        listed("..", **here),
        listed("theirs", resource="../secrets", **here),
        listed("theirs\x1b[2J", **here),
        listed("i", group="kudo.dev", kind="Inventory", version="v1beta1", **here),
    ]
    possible = [
        listed("theirs", **here),
        listed("theirs", kind="Secret", resource="secrets", **here),
        listed("never-there", **here),
        listed("never-there-either", kind="Nothing", group="no.such.group", **here),
    ]
    uids = [await uid_of(admin, CONFIG_MAPS, "theirs", one.namespace) for one in (world, elsewhere)]

    await without_reconciler(world, lambda: forge(forger, world, [*impossible, *possible]))
    await run(world, "deploy")

    told = (await until_event(world, "ObjectsNotPruned"))["message"]
    assert "belong" in told
    # Events are written later. The run tells it and so does pruning, whichever comes first.
    await until_event(world, IGNORED)
    text = await event_text(world, IGNORED)
    assert text.startswith(f"{len(impossible)} ")
    assert (await world.events(IGNORED))[0]["type"] == "Warning"
    after = [await uid_of(admin, CONFIG_MAPS, "theirs", w.namespace) for w in (world, elsewhere)]
    assert after == uids
    assert await uid_of(admin, SECRETS, "theirs", world.namespace)
    events = "\n".join(event["message"] for event in await world.events())
    assert elsewhere.namespace not in events
    status = str((await world.instance("i"))["status"])
    assert elsewhere.namespace not in status
    assert "secrets/" not in status


async def test_an_inventory_of_another_namespace_says_nothing_of_an_instance(
    world: World, elsewhere: World, forger: Client
) -> None:
    """A tenant names an Instance of somebody else by its uid."""
    await install(elsewhere, version("v1", TWO, prune=True))
    [shard] = await shards(elsewhere)
    before = await versions(elsewhere)
    copied = {key: shard["metadata"][key] for key in ("name", "labels", "ownerReferences")}
    entries = [{**one, "namespace": world.namespace, "orphanedBy": "x"} for one in shard["objects"]]

    await forger.create(
        INVENTORIES,
        {**shard, "metadata": {**copied, "namespace": world.namespace}, "objects": entries},
    )
    await run(elsewhere, "deploy")
    await request(elsewhere, PRUNE)

    assert await versions(elsewhere) == before
    assert orphaned(await record(elsewhere)) == set()
    assert await elsewhere.events(CHANGED) == []
    assert await configs(elsewhere) == {"i-a", "i-b"}


async def test_the_record_of_a_restored_backup_is_ignored_and_begun_again(
    world: World, admin: Client, forger: Client
) -> None:
    """The tool restores the Instance and its Inventory; both have new uids."""
    deployed = await install(world, version("v1", TWO))
    dropping = version("v2", {"task": [config("a")]}, prune=True)
    [shard] = await shards(world)
    old = deployed["metadata"]["uid"]
    await without_reconciler(world, lambda: _gone_but_for_its_objects(admin, world))

    restored = build.instance("i", "v2")
    done = await world.apply(dropping, restored)
    assert done.code == 0, done.output
    instance = await world.until_complete("i")
    uid = instance["metadata"]["uid"]
    assert uid != old
    owner = {**shard["metadata"]["ownerReferences"][0], "uid": uid}
    metadata = {key: shard["metadata"][key] for key in ("name", "namespace", "labels")}
    marked = [{**one, "orphanedBy": "restored"} for one in shard["objects"]]
    await forger.create(
        INVENTORIES,
        {**shard, "metadata": {**metadata, "ownerReferences": [owner]}, "objects": marked},
    )
    await run(world, "deploy")
    await request(world, PRUNE)

    own = [one for one in await shards(world) if uid[:8] in one["metadata"]["name"]]
    assert [one["name"] for one in own[0]["objects"]] == ["i-a"]
    await until_told(world)
    assert await uid_of(admin, CONFIG_MAPS, "i-b", world.namespace)


async def _gone_but_for_its_objects(admin: Client, world: World) -> None:
    """Delete the Instance with its record; its objects stay, as a backup tool restores them."""
    for name in await configs(world):
        released = {"metadata": {"ownerReferences": None}}
        await admin.merge_patch(CONFIG_MAPS, name, released, namespace=world.namespace)
    await admin.delete(INSTANCES, "i", namespace=world.namespace)
    await world.until_gone(INSTANCES, "i")
    for one in await world.all(INVENTORIES):
        with suppress(NotFound):  # the garbage collector deletes it, too
            await admin.delete(INVENTORIES, one["metadata"]["name"], namespace=world.namespace)
