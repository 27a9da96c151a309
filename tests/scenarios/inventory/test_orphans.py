"""What plans no longer apply: it stays in the cluster, and is reported as orphaned."""

from tests.support import build, instances
from tests.support.cluster.events import event_text
from tests.support.cluster.interface import World
from tests.support.cluster.resources import CONFIG_MAPS
from tests.support.world.records import (
    change,
    config,
    configs,
    install,
    is_complete,
    orphaned,
    record,
    run,
    tasks_on,
    told,
    until_told,
    upgrade,
    version,
    versions,
)

ORPHANED = "ObjectsOrphaned"
SWITCH = [build.parameter("B", "yes")]
SUFFIX = [build.parameter("SUFFIX", "old")]


async def test_what_a_run_applies_is_on_record_and_owned_by_the_instance(world: World) -> None:
    deployed = await install(world, version("v1", {"task": [config("a")], "other": [config("b")]}))

    found = await record(world)
    live = await world.get(CONFIG_MAPS, "i-a")
    assert tasks_on(found) == {
        "ConfigMap i-a": ("deploy", "task"),
        "ConfigMap i-b": ("deploy", "other"),
    }
    assert found["ConfigMap i-a"] | {"uid": "", "digest": ""} == {
        "version": "v1",
        "kind": "ConfigMap",
        "resource": "configmaps",
        "namespace": world.namespace,
        "name": "i-a",
        "plan": "deploy",
        "task": "task",
        "uid": "",
        "digest": "",
    }
    assert found["ConfigMap i-a"].get("uid", "") in {"", live["metadata"]["uid"]}
    assert found["ConfigMap i-a"]["digest"] != found["ConfigMap i-b"]["digest"]
    assert await is_complete(world)
    assert "orphans" not in deployed["status"]


async def test_a_run_that_changes_nothing_writes_no_inventory(world: World) -> None:
    plans = {"deploy": ["task"], "again": ["task"]}
    await install(world, version("v1", {"task": [config("a"), config("b")]}, plans))
    await run(world, "again")  # it is the plan that applied the objects last
    before = await versions(world)

    await run(world, "again")

    assert before
    assert await versions(world) == before


async def test_an_object_dropped_by_an_upgrade_stays_and_is_told(world: World) -> None:
    before = await install(world, version("v1", {"task": [config("a"), config("b")]}))

    after = await upgrade(world, version("v2", {"task": [config("a")]}))

    found = await record(world)
    assert await configs(world) == {"i-a", "i-b"}
    assert orphaned(found) == {"ConfigMap i-b"}
    assert found["ConfigMap i-b"]["orphanedBy"] == instances.entry(after, "deploy")["uid"]
    seen = await until_told(world, "ConfigMap i-b")
    assert seen["status"]["orphans"] == [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "namespace": world.namespace,
            "name": "i-b",
            "plan": "deploy",
            "task": "task",
        }
    ]
    assert "orphansLeftOut" not in seen["status"]
    assert instances.conditions(seen) == instances.conditions(before)
    assert "i-b" in await event_text(world, ORPHANED)
    assert (await world.events(ORPHANED))[0]["type"] == "Normal"


async def test_an_object_dropped_by_a_parameter_is_no_orphan_when_it_comes_back(
    world: World,
) -> None:
    objects = {"task": [config("a"), config("b", only_if="B")]}
    await install(world, version("v1", objects, parameters=SWITCH))

    await change(world, parameters={"B": "no"})
    await until_told(world, "ConfigMap i-b")
    assert orphaned(await record(world)) == {"ConfigMap i-b"}

    await change(world, parameters={"B": "yes"})
    await until_told(world)
    found = await record(world)
    assert set(found) == {"ConfigMap i-a", "ConfigMap i-b"}
    assert orphaned(found) == set()
    assert await configs(world) == {"i-a", "i-b"}


async def test_what_a_dropped_task_applied_is_an_orphan(world: World) -> None:
    objects = {"kept": [config("a")], "dropped": [config("b")]}
    await install(world, version("v1", objects))

    # The task is still there; no plan uses it.
    await upgrade(world, version("v2", objects, {"deploy": ["kept"]}))

    await until_told(world, "ConfigMap i-b")
    assert orphaned(await record(world)) == {"ConfigMap i-b"}
    assert await configs(world) == {"i-a", "i-b"}


async def test_what_a_plan_drops_that_another_one_goes_on_applying_is_no_orphan(
    world: World,
) -> None:
    """The task is left in the plan `extra`, which did not apply the object."""
    objects = {"kept": [config("a")], "moved": [config("b")]}
    await install(world, version("v1", objects))

    await upgrade(world, version("v2", objects, {"deploy": ["kept"], "extra": ["moved"]}))
    assert orphaned(await record(world)) == set()
    assert await world.events(ORPHANED) == []

    await run(world, "extra")
    assert tasks_on(await record(world))["ConfigMap i-b"] == ("extra", "moved")

    await upgrade(world, version("v3", objects, {"deploy": ["kept"]}))
    await until_told(world, "ConfigMap i-b")
    assert orphaned(await record(world)) == {"ConfigMap i-b"}


async def test_what_a_dropped_plan_applied_is_an_orphan_once_no_plan_applies_it(
    world: World,
) -> None:
    objects = {"task": [config("a")], "extra": [config("b")]}
    plans = {"deploy": ["task"], "extra": ["extra"], "other": ["extra"]}
    await install(world, version("v1", objects, plans))
    await run(world, "extra")
    assert tasks_on(await record(world))["ConfigMap i-b"] == ("extra", "extra")

    without = {"deploy": ["task"], "other": ["extra"]}
    await upgrade(world, version("v2", objects, without))
    assert orphaned(await record(world)) == set()

    await upgrade(world, version("v3", objects, {"deploy": ["task"]}))
    await until_told(world, "ConfigMap i-b")
    assert orphaned(await record(world)) == {"ConfigMap i-b"}


async def test_what_other_plans_apply_is_none_of_this_ones_business(world: World) -> None:
    objects = {"task": [config("a"), config("b", only_if="B")], "extra": [config("c")]}
    plans = {"deploy": ["task"], "update": ["task"], "extra": ["extra"]}
    await install(world, version("v1", objects, plans, parameters=SWITCH))
    await run(world, "extra")

    # `update` no longer renders what `deploy` applied: that is known of `deploy` only when it runs.
    await change(world, parameters={"B": "no"})
    found = await record(world)
    assert tasks_on(found) == {
        "ConfigMap i-a": ("update", "task"),
        "ConfigMap i-b": ("deploy", "task"),
        "ConfigMap i-c": ("extra", "extra"),
    }
    assert orphaned(found) == set()

    await run(world, "deploy")
    await until_told(world, "ConfigMap i-b")


async def test_objects_named_by_the_plan_belong_to_it(world: World) -> None:
    named = build.template(build.config_map("{{ .Name }}-{{ .PlanName }}"))
    plans = {"deploy": ["task"], "again": ["task"]}
    await install(world, version("v1", {"task": [named]}, plans))
    await run(world, "again")

    found = await record(world)
    assert tasks_on(found) == {
        "ConfigMap i-deploy": ("deploy", "task"),
        "ConfigMap i-again": ("again", "task"),
    }
    assert orphaned(found) == set()

    await run(world, "deploy")
    assert orphaned(await record(world)) == set()

    await upgrade(world, version("v2", {"task": [named]}, {"deploy": ["task"]}))
    await until_told(world, "ConfigMap i-again")


async def test_the_former_name_of_a_renamed_object_is_an_orphan(world: World) -> None:
    renamed = version("v1", {"task": [config("{{ .Params.SUFFIX }}")]}, parameters=SUFFIX)
    await install(world, renamed)

    await change(world, parameters={"SUFFIX": "new"})

    await until_told(world, "ConfigMap i-old")
    found = await record(world)
    assert set(found) == {"ConfigMap i-old", "ConfigMap i-new"}
    assert orphaned(found) == {"ConfigMap i-old"}
    assert await configs(world) == {"i-old", "i-new"}


async def test_an_object_that_moved_to_another_task_is_that_tasks(world: World) -> None:
    before = {"first": [config("a"), config("b")], "second": [config("c")]}
    after = {"first": [config("a")], "second": [config("b"), config("c")]}
    await install(world, version("v1", before))
    assert tasks_on(await record(world))["ConfigMap i-b"] == ("deploy", "first")

    await upgrade(world, version("v2", after))

    found = await record(world)
    assert tasks_on(found)["ConfigMap i-b"] == ("deploy", "second")
    assert orphaned(found) == set()
    assert await world.events(ORPHANED) == []


async def test_an_object_that_moved_to_a_task_before_is_that_tasks(world: World) -> None:
    before = {"first": [config("a")], "second": [config("b"), config("c")]}
    after = {"first": [config("a"), config("b")], "second": [config("c")]}
    await install(world, version("v1", before))

    await upgrade(world, version("v2", after))

    found = await record(world)
    assert tasks_on(found)["ConfigMap i-b"] == ("deploy", "first")
    assert orphaned(found) == set()


async def test_an_edited_operatorversion_counts_at_the_next_run(world: World) -> None:
    await install(world, version("v1", {"task": [config("a"), config("b")]}))
    done = await world.apply(version("v1", {"task": [config("a")]}))
    assert done.code == 0, done.output
    assert orphaned(await record(world)) == set()

    await run(world, "deploy")

    await until_told(world, "ConfigMap i-b")
    assert await configs(world) == {"i-a", "i-b"}


async def test_an_upgrade_and_the_way_back_leave_what_there_was(world: World) -> None:
    first = version("v1", {"task": [config("a"), config("b")]})
    second = version("v2", {"task": [config("a"), config("c")]})
    await install(world, first)
    uid = (await world.get(CONFIG_MAPS, "i-b"))["metadata"]["uid"]

    await upgrade(world, second)
    await until_told(world, "ConfigMap i-b")
    await change(world, operatorVersion={"name": "v1"})

    await until_told(world, "ConfigMap i-c")
    found = await record(world)
    assert set(found) == {"ConfigMap i-a", "ConfigMap i-b", "ConfigMap i-c"}
    assert orphaned(found) == {"ConfigMap i-c"}
    assert (await world.get(CONFIG_MAPS, "i-b"))["metadata"]["uid"] == uid


async def test_a_run_that_fails_makes_no_orphans_and_records_what_it_applied(world: World) -> None:
    await install(world, version("v1", {"task": [config("a"), config("b")]}))
    broken = version(
        "v2",
        {"task": [config("a"), config("c")]},
        {"deploy": ["task", "fails"]},
        others=[build.dummy("fails", wantErr=True, fatal=True)],
    )
    done = await world.apply(broken)
    assert done.code == 0, done.output
    await world.patch("i", {"operatorVersion": {"name": "v2"}})

    failed = await world.until(
        "i", lambda i: instances.status_of(i, "deploy") == "FATAL_ERROR", "the run to fail"
    )

    await world.until_idle("i")
    found = await record(world)
    assert set(found) == {"ConfigMap i-a", "ConfigMap i-b", "ConfigMap i-c"}
    assert orphaned(found) == set()
    assert "orphans" not in failed["status"]


async def test_the_status_names_twenty_orphans_and_counts_the_others(world: World) -> None:
    many = [config(f"{number:02d}") for number in range(23)]
    await install(world, version("v1", {"task": [config("a"), *many]}))

    await upgrade(world, version("v2", {"task": [config("a")]}))

    seen = await world.until("i", lambda i: bool(told(i)), "orphans")
    assert len(seen["status"]["orphans"]) == 20
    assert seen["status"]["orphansLeftOut"] == 3
    assert len(orphaned(await record(world))) == 23
    assert len((await event_text(world, ORPHANED)).encode()) <= 1024
