"""Upgrades and deletions of Instances that KUDO 0.19 installed."""

from kubeio.client import Client
from tests.integration.takeover.operator_of_old import (
    HASHES,
    HASHES_OF_WEB,
    TEMPLATES,
    version_of_old,
)
from tests.integration.takeover.original import INSTANCE, STATEFUL_SETS
from tests.integration.takeover.watching import (
    Watcher,
    original_in_charge,
    restarted,
    run_to_end,
    settled,
)
from tests.support import instances
from tests.support.cluster.changes import delete
from tests.support.cluster.events import reasons
from tests.support.cluster.resources import CONFIG_MAPS, DEPLOYMENTS, INSTANCES, VERSIONS
from tests.support.cluster.world import World

_BYE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bye}\ndata: {a: b}\n"
VERSION = version_of_old()
WITH_CLEANUP = version_of_old(templates={**TEMPLATES, "bye.yaml": _BYE}, cleanup=["bye.yaml"])
NEXT_VERSION = version_of_old(
    "0.2.0", templates={**TEMPLATES, "web.yaml": TEMPLATES["web.yaml"].replace('"yes"', '"never"')}
)


async def test_an_upgrade_drops_what_the_new_version_lacks(world: World, admin: Client) -> None:
    watcher = Watcher(admin, world.namespace)
    async with original_in_charge(world, admin, HASHES) as original:
        await original.install(VERSION)
        await admin.create(VERSIONS, NEXT_VERSION, namespace=world.namespace)
        before = await watcher.workloads()
    await settled(world)

    await run_to_end(world, admin, {"operatorVersion": {"name": "dep-operator-0.2.0"}})

    pods = (await watcher.get(DEPLOYMENTS, "web"))["spec"]["template"]["spec"]
    assert [container["name"] for container in pods["containers"]] == ["main"]
    after = await watcher.workloads()
    # The version stands in the annotations of the pods, so an upgrade restarts all of them.
    assert restarted(before, after) == set(before)
    assert after["web"].hash == HASHES_OF_WEB["FancyValue"]


async def test_the_objects_go_with_the_instance(world: World, admin: Client) -> None:
    watcher = Watcher(admin, world.namespace)
    async with original_in_charge(world, admin, HASHES) as original:
        await original.install(VERSION)
        await watcher.workloads()
    await settled(world)

    await delete(world, INSTANCE)

    for name in ("web", "other", "keyed", "scaled"):
        await world.until_gone(DEPLOYMENTS, name)
    await world.until_gone(STATEFUL_SETS, "store")
    for name in ("configdata", "steady", "loose"):
        await world.until_gone(CONFIG_MAPS, name)
    assert await reasons(world) == []


async def test_the_finalizer_of_the_original_lets_cleanup_run_and_the_instance_go(
    world: World, admin: Client
) -> None:
    watcher = Watcher(admin, world.namespace)
    async with original_in_charge(world, admin, HASHES) as original:
        await original.install(WITH_CLEANUP, cleanup=True)
        await watcher.workloads()
    taken_over = await settled(world)
    assert taken_over["metadata"]["finalizers"] == ["kudo.dev.instance.cleanup"]
    assert instances.entry(taken_over, "cleanup")["status"] == "NEVER_RUN"

    await delete(world, INSTANCE)
    await world.until_gone(INSTANCES, INSTANCE)

    ends = [event["message"] for event in await world.events("PlanFinished")]
    assert ends == ["Execution of plan cleanup finished with status COMPLETE"]


async def test_a_finalizer_that_the_original_never_added_comes_with_the_next_run(
    world: World, admin: Client
) -> None:
    """It added finalizers at creation only, so versions upgraded by it lack theirs."""
    async with original_in_charge(world, admin, HASHES) as original:
        await original.install(WITH_CLEANUP, cleanup=False)
    await settled(world)

    await run_to_end(world, admin, {"parameters": {"VALUE_A": "ChangedValue"}})

    found = await world.instance(INSTANCE)
    assert found["metadata"]["finalizers"] == ["kudo.dev.instance.cleanup"]
