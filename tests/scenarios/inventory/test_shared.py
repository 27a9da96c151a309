"""Cluster-scoped objects: an entry on record is the share of its Instance."""

import pytest

from kubeio.client import Client
from kubeio.resource import Resource
from tests.support import build
from tests.support.build import Json
from tests.support.cluster.changes import delete
from tests.support.cluster.events import until_event
from tests.support.cluster.interface import World
from tests.support.cluster.resources import INSTANCES
from tests.support.cluster.waiting import wait_until
from tests.support.world.records import (
    INVENTORIES,
    RETAIN,
    config,
    install,
    record,
    run,
    shards,
    tasks_on,
    uid_of,
    until_told,
    upgrade,
    version,
    versions,
)

pytestmark = pytest.mark.usefixtures("granted")

PRIORITIES = Resource(
    "scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", namespaced=False
)
GOES = {"kudo.dev/delete-with-instance": "true"}
KEPT = "ClusterResourcesKept"
SHARED_BY = "kudo.dev/shared-by"


def priority(name: str, **annotations: str) -> str:
    return build.template(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name, "annotations": annotations},
            "value": 7,
        }
    )


def sharing(name: str, **annotations: str) -> Json:
    return version("v1", {"task": [priority(name, **annotations)]})


async def names_on(admin: Client, name: str) -> set[str]:
    """Return the Instances that the annotation of a PriorityClass names, with their namespaces."""
    found = await admin.get(PRIORITIES, name)
    text = found["metadata"].get("annotations", {}).get(SHARED_BY, "")
    return {entry.rpartition("/")[0] for entry in text.split(",") if entry}


async def until_named(admin: Client, name: str, *instances: World) -> None:
    """Wait until a PriorityClass names the Instances `i` of these namespaces, and nobody else.

    An Instance that has no finalizer is released when it is gone.
    """

    async def named() -> bool:
        return await names_on(admin, name) == {f"{one.namespace}/i" for one in instances}

    await wait_until(named, lambda: f"PriorityClass {name} to name {instances}")


async def until_gone(admin: Client, name: str) -> None:
    async def gone() -> bool:
        return not await uid_of(admin, PRIORITIES, name)

    await wait_until(gone, lambda: f"PriorityClass {name} to be gone")


async def test_two_instances_share_and_the_last_one_deletes(
    world: World, elsewhere: World, admin: Client, unique: str
) -> None:
    await install(world, sharing(unique, **GOES))
    await install(elsewhere, sharing(unique, **GOES))
    uid = await uid_of(admin, PRIORITIES, unique)

    for one in (world, elsewhere):
        entry = (await record(one))[f"PriorityClass {unique}"]
        assert entry["shared"] is True
        assert "namespace" not in entry
        assert entry["group"] == "scheduling.k8s.io"
    await until_named(admin, unique, world, elsewhere)

    await delete(world)
    await world.until_gone(INSTANCES, "i")
    assert await uid_of(admin, PRIORITIES, unique) == uid
    await until_named(admin, unique, elsewhere)

    await delete(elsewhere)
    await elsewhere.until_gone(INSTANCES, "i")
    await until_gone(admin, unique)


async def test_the_last_one_leaves_what_its_template_does_not_delete(
    world: World, elsewhere: World, admin: Client, unique: str
) -> None:
    await install(world, sharing(unique))
    await install(elsewhere, sharing(unique))
    uid = await uid_of(admin, PRIORITIES, unique)

    for one in (world, elsewhere):
        await delete(one)
        await one.until_gone(INSTANCES, "i")

    assert unique in (await until_event(elsewhere, KEPT))["message"]
    assert await uid_of(admin, PRIORITIES, unique) == uid
    await until_named(admin, unique)


async def test_the_record_goes_with_its_instance(world: World, unique: str) -> None:
    await install(world, sharing(unique, **GOES))
    [shard] = await shards(world)

    await delete(world)

    await world.until_gone(INSTANCES, "i")
    await world.until_gone(INVENTORIES, shard["metadata"]["name"])


async def test_a_run_that_shares_what_it_shared_writes_no_inventory(
    world: World, elsewhere: World, unique: str
) -> None:
    await install(world, sharing(unique))
    await install(elsewhere, sharing(unique))
    before = await versions(world)

    await run(world, "deploy")

    assert before
    assert await versions(world) == before


async def test_what_one_drops_and_another_applies_stays_for_that_one(
    world: World, elsewhere: World, admin: Client, unique: str
) -> None:
    objects = {"task": [config("a"), priority(unique)]}
    await install(world, version("v1", objects, prune=True))
    await install(elsewhere, sharing(unique))
    uid = await uid_of(admin, PRIORITIES, unique)

    await upgrade(world, version("v2", {"task": [config("a")]}, prune=True))

    message = (await until_event(world, "ClusterResourcesKept"))["message"]
    assert f"PriorityClass {unique}, for {elsewhere.namespace}/i" in message

    async def left() -> bool:
        return f"PriorityClass {unique}" not in await record(world)

    await wait_until(left, lambda: "the share to leave the record")
    assert await uid_of(admin, PRIORITIES, unique) == uid

    # The other one is left with it, and may go on.
    await run(elsewhere, "deploy")
    assert tasks_on(await record(elsewhere)) == {f"PriorityClass {unique}": ("deploy", "task")}


async def test_the_only_one_that_drops_a_cluster_scoped_object_prunes_it(
    world: World, admin: Client, unique: str
) -> None:
    await install(world, version("v1", {"task": [config("a"), priority(unique)]}, prune=True))

    await upgrade(world, version("v2", {"task": [config("a")]}, prune=True))

    await until_gone(admin, unique)
    await until_told(world)
    assert set(await record(world)) == {"ConfigMap i-a"}


async def test_a_delete_task_gives_up_the_share_and_takes_it_off_the_record(
    world: World, elsewhere: World, admin: Client, unique: str
) -> None:
    removing = version(
        "v1",
        {"task": [priority(unique)]},
        {"deploy": ["task"], "remove": ["delete"]},
        others=[build.task("delete", "Delete", "task.yaml")],
    )
    await install(world, removing)
    await install(elsewhere, sharing(unique))

    await run(world, "remove")

    assert await record(world) == {}
    assert await uid_of(admin, PRIORITIES, unique)
    await until_named(admin, unique, elsewhere)


async def test_an_orphan_goes_or_stays_with_its_instance_as_its_template_said(
    world: World, admin: Client, unique: str
) -> None:
    goes, stays = priority(f"{unique}-goes", **GOES), priority(f"{unique}-stays")
    await install(world, version("v1", {"task": [config("a"), goes, stays]}))
    await upgrade(world, version("v2", {"task": [config("a")]}))
    await until_told(world, f"PriorityClass {unique}-goes", f"PriorityClass {unique}-stays")

    await delete(world)

    await world.until_gone(INSTANCES, "i")
    await until_gone(admin, f"{unique}-goes")
    assert f"{unique}-stays" in (await until_event(world, KEPT))["message"]
    await until_named(admin, f"{unique}-stays")


async def test_what_is_retained_never_goes_with_the_last_one(
    world: World, elsewhere: World, admin: Client, unique: str
) -> None:
    kept = sharing(unique, **GOES, **RETAIN)
    await install(world, kept)
    assert (await record(world))[f"PriorityClass {unique}"]["retained"] is True
    await delete(world)
    await world.until_gone(INSTANCES, "i")
    assert await uid_of(admin, PRIORITIES, unique)

    # Any Instance may share it, as it may every cluster-scoped object.
    await install(elsewhere, sharing(unique))
    await until_named(admin, unique, elsewhere)


async def test_an_orphan_that_another_one_shares_stays_when_the_first_one_goes(
    world: World, elsewhere: World, admin: Client, unique: str
) -> None:
    await install(world, version("v1", {"task": [config("a"), priority(unique, **GOES)]}))
    await install(elsewhere, sharing(unique, **GOES))
    await upgrade(world, version("v2", {"task": [config("a")]}))

    await delete(world)

    await world.until_gone(INSTANCES, "i")
    await until_named(admin, unique, elsewhere)
    await delete(elsewhere)
    await elsewhere.until_gone(INSTANCES, "i")
    await until_gone(admin, unique)
