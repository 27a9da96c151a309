"""Orphans that are deleted: on whose word, in which order, and which never are."""

import json

from kubeio.client import Client
from kubeio.resource import Resource
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.changes import create_theirs
from tests.support.cluster.events import event_text, until_event
from tests.support.cluster.interface import World
from tests.support.cluster.resources import CONFIG_MAPS
from tests.support.cluster.waiting import wait_until
from tests.support.world.records import (
    CLAIMS,
    PRUNABLE,
    PRUNE,
    RETAIN,
    SECRETS,
    annotated,
    change,
    claim,
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
    upgrade,
    version,
)

PRUNED, NOT_PRUNED = "ObjectsPruned", "ObjectsNotPruned"


TWO = {"task": [config("a"), config("b")]}


ONE = {"task": [config("a")]}


async def until_pruned(world: World, *left: str) -> None:
    """Wait until only these ConfigMaps are left."""

    async def pruned() -> bool:
        return await configs(world) == set(left)

    await wait_until(pruned, lambda: f"only {left} to be left")


async def test_the_operator_has_orphans_deleted(world: World) -> None:
    await install(world, version("v1", TWO))
    assert set(await record(world)) == {"ConfigMap i-a", "ConfigMap i-b"}

    upgraded = await upgrade(world, version("v2", ONE, prune=True))

    await until_pruned(world, "i-a")
    await until_record(world, "ConfigMap i-a")
    await until_told(world)
    assert "ConfigMap" in await event_text(world, PRUNED)
    assert (await world.events(PRUNED))[0]["type"] == "Normal"
    assert await world.events(NOT_PRUNED) == []
    assert instances.status_of(upgraded, "deploy") == "COMPLETE"


async def test_the_instance_has_orphans_deleted_that_its_operator_reports(world: World) -> None:
    await install(world, version("v1", TWO))
    await upgrade(world, version("v2", ONE, prune=False))
    await until_told(world, "ConfigMap i-b")

    # No plan runs for that.
    patched = await world.patch("i", {"prune": True})
    assert not instances.scheduled(patched)

    await until_pruned(world, "i-a")
    await until_told(world)


async def test_the_instance_keeps_orphans_that_its_operator_deletes(world: World) -> None:
    await install(world, version("v1", TWO, prune=True))
    await world.patch("i", {"prune": False})

    await upgrade(world, version("v2", ONE, prune=True))
    await until_told(world, "ConfigMap i-b")
    await run(world, "deploy")
    assert await configs(world) == {"i-a", "i-b"}
    assert await world.events(PRUNED) == []

    await world.patch("i", {"prune": None})
    await until_pruned(world, "i-a")


async def test_orphans_are_deleted_once_by_request(world: World) -> None:
    await install(world, version("v1", {"task": [config("a"), config("b"), config("c")]}))
    await upgrade(world, version("v2", TWO))
    await until_told(world, "ConfigMap i-c")

    await request(world, PRUNE)
    assert await configs(world) == {"i-a", "i-b"}
    await until_told(world)
    assert len(await world.events(PRUNED)) == 1

    await upgrade(world, version("v3", ONE))
    await until_told(world, "ConfigMap i-b")
    assert await configs(world) == {"i-a", "i-b"}


async def test_nothing_is_deleted_after_a_run_that_failed(world: World) -> None:
    await install(world, version("v1", TWO, prune=False))
    await upgrade(world, version("v2", ONE, prune=False))
    await until_told(world, "ConfigMap i-b")
    broken = version(
        "v3",
        ONE,
        {"deploy": ["task", "fails"]},
        others=[build.dummy("fails", wantErr=True, fatal=True)],
        prune=True,
    )
    done = await world.apply(broken)
    assert done.code == 0, done.output
    await world.patch("i", {"operatorVersion": {"name": "v3"}})
    await world.until(
        "i", lambda i: instances.status_of(i, "deploy") == "FATAL_ERROR", "the run to fail"
    )
    await world.until_idle("i")
    assert await configs(world) == {"i-a", "i-b"}

    # What was an orphan before goes with the first run that is COMPLETE.
    await upgrade(world, version("v4", ONE, prune=True))
    await until_pruned(world, "i-a")


async def test_kinds_are_deleted_in_the_reverse_of_the_order_in_which_they_are_installed(
    world: World, admin: Client
) -> None:
    """An object that holds up its deletion does not hold up the others."""
    kinds = ["ServiceAccount", "Secret", "ConfigMap", "Service", "Job"]
    objects: list[Json | str] = [
        secret("{{ .Name }}-secret", a="b"),
        build.job("{{ .Name }}-job"),
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "{{ .Name }}-sa"}},
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "{{ .Name }}-service"},
            "spec": {"ports": [{"port": 80}], "selector": {"a": "b"}},
        },
        config("b"),
    ]
    await install(world, version("v1", {"task": [config("a"), *objects]}))
    await upgrade(world, version("v2", ONE))
    left = {f"{kind} i-{kind.lower()}" for kind in kinds[1:] if kind != "ConfigMap"}
    await until_told(world, "ConfigMap i-b", "ServiceAccount i-sa", *left)

    await request(world, PRUNE)

    text = await event_text(world, PRUNED)
    places = [text.index(f"{kind} {world.namespace}/i-") for kind in kinds]
    assert places == sorted(places, reverse=True), text
    await until_told(world)
    assert set(await record(world)) == {"ConfigMap i-a"}
    assert await uid_of(admin, SECRETS, "i-secret", world.namespace) == ""


def holding(kept: bool) -> Json:
    """Return a version with claims, or one that dropped them."""
    bare, marked = claim("{{ .Name }}-kept"), annotated(claim("{{ .Name }}-gone"), PRUNABLE)
    return version("v1" if kept else "v2", {"task": [config("a"), *([bare, marked] * kept)]})


async def test_a_claim_is_deleted_only_if_its_template_says_so(world: World, admin: Client) -> None:
    await install(world, holding(kept=True))
    await upgrade(world, holding(kept=False))
    kept, gone = "PersistentVolumeClaim i-kept", "PersistentVolumeClaim i-gone"
    await until_told(world, kept, gone)

    await request(world, PRUNE)

    await until_told(world, kept)
    assert orphaned(await record(world)) == {kept}
    assert await uid_of(admin, CLAIMS, "i-kept", world.namespace)
    text = await event_text(world, NOT_PRUNED)
    assert "i-kept: its kind holds data" in text
    assert "i-gone" not in text


async def test_what_is_retained_or_adopted_stays(world: World, admin: Client) -> None:
    await create_theirs(world, SECRETS)
    kept = annotated(build.config_map("{{ .Name }}-kept"), RETAIN)
    objects = [config("a"), build.template(kept), build.template(secret("theirs", ours="2"))]
    await install(world, version("v1", {"task": objects}))
    found = await record(world)
    assert found["ConfigMap i-kept"]["retained"] is True

    await upgrade(world, version("v2", ONE, prune=True))

    text = str((await until_event(world, NOT_PRUNED))["message"])
    assert "i-kept: kudo.dev/deletion-policy says retain" in text
    assert "theirs: it existed before" in text
    await until_told(world, "ConfigMap i-kept", "Secret theirs")
    assert (await record(world))["Secret theirs"]["adopted"] is True
    assert await uid_of(admin, SECRETS, "theirs", world.namespace)
    assert await configs(world) == {"i-a", "i-kept"}


async def test_a_child_instance_stays(world: World) -> None:
    child = version("child-0.1.0", {"task": [config("c")]}, operator="child")
    having = version(
        "v1",
        ONE,
        {"deploy": ["task", "child"]},
        others=[
            {
                "name": "child",
                "kind": "KudoOperator",
                "spec": {"package": "child", "operatorVersion": "0.1.0"},
            }
        ],
        prune=True,
    )
    await install(world, child, having)
    names = {one["metadata"]["name"] for one in await world.all(_instances())}
    assert len(names) == 2

    await upgrade(world, version("v2", ONE, prune=True))
    await run(world, "deploy")

    assert {one["metadata"]["name"] for one in await world.all(_instances())} == names
    assert "i-a" in await configs(world)


def _instances() -> Resource:
    return Resource("kudo.dev", "v1beta1", "Instance", "instances", namespaced=True)


# Not ours any more


async def dropped_while(world: World, admin: Client) -> None:
    """Let `i-b` become an orphan, which somebody deletes."""
    await install(world, version("v1", TWO))
    await upgrade(world, version("v2", ONE))
    await until_told(world, "ConfigMap i-b")
    await admin.delete(CONFIG_MAPS, "i-b", namespace=world.namespace)


async def test_what_somebody_created_again_by_hand_is_not_deleted(
    world: World, admin: Client
) -> None:
    await dropped_while(world, admin)
    theirs = {**build.config_map("i-b"), "metadata": {"name": "i-b"}}
    made = await admin.create(CONFIG_MAPS, theirs, namespace=world.namespace)

    await request(world, PRUNE)

    text = await event_text(world, NOT_PRUNED)
    assert "i-b: it does not belong to the Instance any more" in text
    assert await uid_of(admin, CONFIG_MAPS, "i-b", world.namespace) == made["metadata"]["uid"]


async def test_what_another_instance_has_by_now_is_not_deleted(world: World, admin: Client) -> None:
    await dropped_while(world, admin)
    taking = version("taking", {"task": [build.template(build.config_map("i-b"))]})
    await install(world, taking, name="j")
    uid = await uid_of(admin, CONFIG_MAPS, "i-b", world.namespace)

    await request(world, PRUNE)

    text = await event_text(world, NOT_PRUNED)
    assert "i-b: it does not belong to the Instance any more" in text
    assert await uid_of(admin, CONFIG_MAPS, "i-b", world.namespace) == uid
    assert set(await record(world, "j")) == {"ConfigMap i-b"}
    assert orphaned(await record(world, "j")) == set()


async def test_an_object_whose_owner_was_changed_by_hand_is_not_deleted(
    world: World, admin: Client
) -> None:
    await install(world, version("v1", TWO))
    await install(world, version("other", {"task": [config("z")]}), name="j")
    uid = (await world.instance("j"))["metadata"]["uid"]
    owners = (await world.get(CONFIG_MAPS, "i-b"))["metadata"]["ownerReferences"]
    moved = {"metadata": {"ownerReferences": [{**owners[0], "name": "j", "uid": uid}]}}
    await admin.merge_patch(CONFIG_MAPS, "i-b", moved, namespace=world.namespace)

    await upgrade(world, version("v2", ONE, prune=True))

    text = str((await until_event(world, NOT_PRUNED))["message"])
    assert "i-b: it does not belong to the Instance any more" in text
    assert await configs(world) == {"i-a", "i-b", "j-z"}


async def test_a_record_without_orphans_prunes_nothing(world: World) -> None:
    await install(world, version("v1", TWO, prune=True))
    before = json.dumps(await shards(world))

    await request(world, PRUNE)
    await change(world, planExecution={"planName": "deploy", "uid": ""})

    assert json.dumps(await shards(world)) == before
    assert await configs(world) == {"i-a", "i-b"}
