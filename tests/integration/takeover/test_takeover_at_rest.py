"""What KUDO 0.19 runs goes on running: taking over restarts nothing and needs no run."""

from kubeio.client import Client
from tests.integration.takeover.operator_of_old import (
    HASH_OF_KEYED,
    HASH_OF_OTHER,
    HASHES,
    HASHES_OF_WEB,
    WORKLOADS,
    version_of_old,
)
from tests.integration.takeover.original import (
    FIRST_RUN,
    INSTANCE,
    LAST_APPLIED,
    SECRETS,
    STATEFUL_SETS,
    finished_status,
)
from tests.integration.takeover.watching import (
    Watcher,
    original_in_charge,
    restarted,
    run_to_end,
    settled,
)
from tests.support import instances
from tests.support.cluster.events import reasons
from tests.support.cluster.resources import CONFIG_MAPS, DEPLOYMENTS
from tests.support.cluster.world import World

VERSION = version_of_old(workloads=WORKLOADS)


async def test_nothing_runs_nothing_restarts_and_the_status_stays(
    world: World, admin: Client
) -> None:
    watcher = Watcher(admin, world.namespace)
    async with original_in_charge(world, admin, HASHES) as original:
        await original.install(VERSION)
        before = await watcher.workloads()
        config_maps = [o["metadata"]["resourceVersion"] for o in await watcher.all(CONFIG_MAPS)]

    taken_over = await settled(world)
    assert await watcher.workloads() == before
    assert config_maps == [
        obj["metadata"]["resourceVersion"] for obj in await watcher.all(CONFIG_MAPS)
    ]
    assert taken_over["status"]["planStatus"] == finished_status(VERSION)["planStatus"]
    assert instances.reason_of(taken_over) == ("True", "ResourcesReady")
    assert await reasons(world) == []


async def test_the_same_plan_again_restarts_nothing_and_makes_the_fields_ours(
    world: World, admin: Client
) -> None:
    watcher = Watcher(admin, world.namespace)
    async with original_in_charge(world, admin, HASHES) as original:
        await original.install(VERSION)
        before = await watcher.workloads()
    await settled(world)

    await run_to_end(world, admin, {"planExecution": {"planName": "deploy"}})

    assert restarted(before, await watcher.workloads()) == set()
    for resource in (CONFIG_MAPS, SECRETS, DEPLOYMENTS, STATEFUL_SETS):
        for obj in await watcher.all(resource):
            if obj["metadata"]["name"] == "kube-root-ca.crt":
                continue
            written = {
                (one["manager"], one["operation"])
                for one in obj["metadata"]["managedFields"]
                if not one.get("subresource")
            }
            assert ("kudo", "Apply") in written
            assert ("manager", "Update") not in written, obj
            assert LAST_APPLIED not in obj["metadata"]["annotations"]
            assert obj["metadata"]["annotations"]["kudo.dev/last-plan-execution-uid"] != FIRST_RUN


async def test_workloads_alone_find_the_content_that_the_original_applied(
    world: World, admin: Client
) -> None:
    """What counts is what was applied, not what somebody wrote into the ConfigMap since."""
    watcher = Watcher(admin, world.namespace)
    async with original_in_charge(world, admin, HASHES) as original:
        await original.install(VERSION)
        edited = {"data": {"valueA": "EditedValue"}}
        await admin.merge_patch(
            CONFIG_MAPS,
            "configdata",
            edited,
            namespace=world.namespace,
            field_manager="kubectl-edit",
        )
        before = await watcher.workloads()
    await settled(world)

    await run_to_end(world, admin, {"planExecution": {"planName": "workloads"}}, "workloads")

    after = await watcher.workloads()
    assert restarted(before, after) == set()
    assert {name: one.hash for name, one in after.items() if one.hash} == {
        "web": HASHES_OF_WEB["FancyValue"],
        "other": HASH_OF_OTHER,
        "keyed": HASH_OF_KEYED,
    }
    assert (await watcher.get(CONFIG_MAPS, "configdata"))["data"]["valueA"] == "EditedValue"


async def test_a_deploy_that_was_running_is_run_to_its_end(world: World, admin: Client) -> None:
    """The original was stopped in mid-plan; ours goes on under the same uid."""
    watcher = Watcher(admin, world.namespace)
    async with original_in_charge(world, admin, HASHES) as original:
        await original.install(VERSION)
        before = await watcher.workloads()
        await original.interrupted(VERSION)

    ended = await world.until_complete(INSTANCE)

    assert instances.entry(ended, "deploy")["uid"] == FIRST_RUN
    assert restarted(before, await watcher.workloads()) == set()
