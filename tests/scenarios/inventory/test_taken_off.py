"""Objects that leave the record: deleted by tasks, by toggles, and by hand."""

from kubeio.client import Client
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.interface import World
from tests.support.cluster.resources import CONFIG_MAPS
from tests.support.world.records import (
    RETAIN,
    annotated,
    change,
    config,
    configs,
    install,
    orphaned,
    record,
    run,
    tasks_on,
    until_told,
    upgrade,
    version,
)


def toggling() -> Json:
    return version(
        "v1",
        {"task": [config("a")], "source": [config("b")]},
        {"deploy": ["task", "toggle"]},
        others=[build.task("toggle", "Toggle", "source.yaml", parameter="ON")],
        parameters=[build.parameter("ON", "true")],
    )


def deleting(*then: str) -> Json:
    return version(
        "v1",
        {"task": [config("a")], "other": [config("b")]},
        {"deploy": ["task", "other"], "remove": ["delete", *then]},
        others=[
            build.task("delete", "Delete", "other.yaml"),
            build.dummy("fails", wantErr=True, fatal=True),
        ],
    )


async def test_what_is_toggled_is_on_record_while_it_is_there(world: World) -> None:
    await install(world, toggling())
    assert tasks_on(await record(world)) == {
        "ConfigMap i-a": ("deploy", "task"),
        "ConfigMap i-b": ("deploy", "toggle"),
    }

    off = await change(world, parameters={"ON": "false"})
    assert set(await record(world)) == {"ConfigMap i-a"}
    assert await configs(world) == {"i-a"}
    assert "orphans" not in off["status"]

    await change(world, parameters={"ON": "true"})
    found = await record(world)
    assert set(found) == {"ConfigMap i-a", "ConfigMap i-b"}
    assert orphaned(found) == set()
    assert await configs(world) == {"i-a", "i-b"}


async def test_what_a_delete_task_deletes_is_taken_off_the_record(world: World) -> None:
    await install(world, deleting())
    assert set(await record(world)) == {"ConfigMap i-a", "ConfigMap i-b"}

    removed = await run(world, "remove")

    assert set(await record(world)) == {"ConfigMap i-a"}
    assert await configs(world) == {"i-a"}
    assert "orphans" not in removed["status"]
    await run(world, "deploy")
    assert set(await record(world)) == {"ConfigMap i-a", "ConfigMap i-b"}


async def test_what_is_deleted_is_taken_off_also_if_its_run_fails_later(world: World) -> None:
    await install(world, deleting("fails"))

    await world.patch("i", {"planExecution": {"planName": "remove"}})

    await world.until_failed("i", "remove")
    assert set(await record(world)) == {"ConfigMap i-a"}


async def test_an_orphan_that_a_delete_task_deletes_is_none_any_more(world: World) -> None:
    await install(world, deleting())
    dropped = deleting()
    dropped["metadata"]["name"] = "v2"
    dropped["spec"]["plans"]["deploy"] = build.plan({"step-task": ["task"]})
    await upgrade(world, dropped)
    await until_told(world, "ConfigMap i-b")

    await run(world, "remove")

    await until_told(world)
    assert set(await record(world)) == {"ConfigMap i-a"}
    assert await configs(world) == {"i-a"}


async def test_a_delete_task_deletes_also_what_is_retained(world: World) -> None:
    kept = build.template(annotated(build.config_map("{{ .Name }}-kept"), RETAIN))
    await install(
        world,
        version(
            "v1",
            {"task": [kept]},
            {"deploy": ["task"], "remove": ["delete"]},
            others=[build.task("delete", "Delete", "task.yaml")],
        ),
    )
    assert (await record(world))["ConfigMap i-kept"]["retained"] is True

    await run(world, "remove")

    assert await configs(world) == set()
    assert await record(world) == {}


async def test_an_object_deleted_by_hand_comes_back_with_the_next_run(
    world: World, admin: Client
) -> None:
    await install(world, version("v1", {"task": [config("a"), config("b")]}))
    before = (await world.get(CONFIG_MAPS, "i-b"))["metadata"]["uid"]

    await admin.delete(CONFIG_MAPS, "i-b", namespace=world.namespace)
    await run(world, "deploy")

    after = (await world.get(CONFIG_MAPS, "i-b"))["metadata"]["uid"]
    found = await record(world)
    assert after != before
    assert set(found) == {"ConfigMap i-a", "ConfigMap i-b"}
    assert found["ConfigMap i-b"].get("uid") in {None, after, before}
    assert orphaned(found) == set()


async def test_an_object_deleted_by_hand_and_dropped_leaves_the_record(
    world: World, admin: Client
) -> None:
    await install(world, version("v1", {"task": [config("a"), config("b")]}))
    await admin.delete(CONFIG_MAPS, "i-b", namespace=world.namespace)

    upgraded = await upgrade(world, version("v2", {"task": [config("a")]}))

    assert set(await record(world)) == {"ConfigMap i-a"}
    assert "orphans" not in upgraded["status"]
    assert instances.status_of(upgraded, "deploy") == "COMPLETE"


async def test_an_orphan_deleted_by_hand_leaves_the_record_at_the_next_run(
    world: World, admin: Client
) -> None:
    await install(world, version("v1", {"task": [config("a"), config("b")]}))
    await upgrade(world, version("v2", {"task": [config("a")]}))
    await until_told(world, "ConfigMap i-b")

    await admin.delete(CONFIG_MAPS, "i-b", namespace=world.namespace)
    await run(world, "deploy")

    await until_told(world)
    assert set(await record(world)) == {"ConfigMap i-a"}
