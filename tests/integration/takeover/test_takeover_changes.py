"""After taking over, a change reaches the objects exactly, and what others wrote stays."""

import base64

from kubeio.client import Client
from tests.integration.takeover.operator_of_old import (
    HASHES,
    HASHES_OF_WEB,
    version_of_old,
)
from tests.integration.takeover.original import SECRETS, SERVICES
from tests.integration.takeover.watching import (
    Watcher,
    original_in_charge,
    restarted,
    run_to_end,
    settled,
)
from tests.support.build import Json
from tests.support.cluster.changes import as_admin
from tests.support.cluster.resources import CONFIG_MAPS, DEPLOYMENTS
from tests.support.cluster.world import World

VERSION = version_of_old()
WITHOUT_EXTRA = {"parameters": {"EXTRA": "no"}}


async def taken_over(world: World, admin: Client) -> Watcher:
    async with original_in_charge(world, admin, HASHES) as original:
        await original.install(VERSION)
        watcher = Watcher(admin, world.namespace)
        await watcher.workloads()
    await settled(world)
    return watcher


def names(items: list[Json]) -> list[str]:
    return [item["name"] for item in items]


async def assert_without_extra(watcher: Watcher) -> None:
    pod = (await watcher.get(DEPLOYMENTS, "web"))["spec"]["template"]["spec"]
    assert names(pod["containers"]) == ["main"]
    assert "DEBUG" not in names(pod["containers"][0]["env"])
    assert names((await watcher.get(SERVICES, "web"))["spec"]["ports"]) == ["http"]
    loose = await watcher.get(CONFIG_MAPS, "loose")
    assert "dropped" not in loose["data"]
    assert "dropped" not in loose["metadata"]["labels"]
    assert "dropped" not in loose["metadata"]["annotations"]
    assert (loose["data"]["kept"], loose["metadata"]["labels"]["kept"]) == ("a", "yes")
    user = base64.b64encode(b"kudo").decode()
    assert (await watcher.get(SECRETS, "access"))["data"] == {"user": user}


async def test_what_the_templates_drop_vanishes_and_its_users_restart(
    world: World, admin: Client
) -> None:
    watcher = await taken_over(world, admin)
    before = await watcher.workloads()

    await run_to_end(world, admin, WITHOUT_EXTRA)

    await assert_without_extra(watcher)
    assert restarted(before, await watcher.workloads()) == {"web", "keyed"}


async def test_a_changed_config_map_restarts_its_users_and_no_others(
    world: World, admin: Client
) -> None:
    watcher = await taken_over(world, admin)
    before = await watcher.workloads()

    await run_to_end(world, admin, {"parameters": {"VALUE_A": "ChangedValue"}})

    after = await watcher.workloads()
    assert restarted(before, after) == {"web"}
    assert after["web"].hash == HASHES_OF_WEB["ChangedValue"]
    assert (await watcher.get(CONFIG_MAPS, "configdata"))["data"] == {
        "valueA": "ChangedValue",
        "valueB": "OtherFancyValue",
    }


async def test_one_change_after_the_other_stays_exact(world: World, admin: Client) -> None:
    watcher = await taken_over(world, admin)
    await run_to_end(world, admin, {"parameters": {"VALUE_A": "ChangedValue"}})
    await run_to_end(world, admin, WITHOUT_EXTRA)
    await assert_without_extra(watcher)

    before = await watcher.workloads()
    await run_to_end(world, admin, {"parameters": {"VALUE_A": None}})

    after = await watcher.workloads()
    assert restarted(before, after) == {"web"}
    assert after["web"].hash == HASHES_OF_WEB["FancyValue"]


async def test_what_users_and_other_controllers_wrote_stays(world: World, admin: Client) -> None:
    watcher = await taken_over(world, admin)
    await as_admin(world, "annotate", "deployment/web", "mine=a")
    await as_admin(world, "annotate", "configmap/loose", "mine=b")
    await as_admin(world, "label", "configmap/loose", "mine=c")
    await as_admin(world, "patch", "configmap/loose", "--type=merge", '-p={"data":{"mine":"d"}}')
    await as_admin(world, "set", "env", "deployment/web", "--containers=main", "MINE=e")
    await as_admin(world, "scale", "deployment/scaled", "--replicas=3")
    before = await watcher.workloads()

    await run_to_end(world, admin, WITHOUT_EXTRA)

    await assert_without_extra(watcher)
    web, loose = await watcher.get(DEPLOYMENTS, "web"), await watcher.get(CONFIG_MAPS, "loose")
    assert web["metadata"]["annotations"]["mine"] == "a"
    env = {e["name"]: e["value"] for e in web["spec"]["template"]["spec"]["containers"][0]["env"]}
    assert env == {"MODE": "a", "MINE": "e"}
    assert loose["metadata"]["annotations"]["mine"] == "b"
    assert loose["metadata"]["labels"]["mine"] == "c"
    assert loose["data"] == {"kept": "a", "mine": "d"}
    assert (await watcher.get(DEPLOYMENTS, "scaled"))["spec"]["replicas"] == 3
    assert restarted(before, await watcher.workloads()) == {"web", "keyed"}


async def test_what_was_written_while_the_original_was_there_stays_too(
    world: World, admin: Client
) -> None:
    async with original_in_charge(world, admin, HASHES) as original:
        await original.install(VERSION)
        await as_admin(world, "annotate", "configmap/loose", "mine=b")
        await as_admin(world, "scale", "deployment/scaled", "--replicas=3")
        watcher = Watcher(admin, world.namespace)
        before = await watcher.workloads()
    await settled(world)

    await run_to_end(world, admin, WITHOUT_EXTRA)

    await assert_without_extra(watcher)
    assert (await watcher.get(CONFIG_MAPS, "loose"))["metadata"]["annotations"]["mine"] == "b"
    assert (await watcher.get(DEPLOYMENTS, "scaled"))["spec"]["replicas"] == 3
    assert restarted(before, await watcher.workloads()) == {"web", "keyed"}


async def test_a_value_of_the_template_wins_over_an_edit_as_with_the_original(
    world: World, admin: Client
) -> None:
    watcher = await taken_over(world, admin)
    await as_admin(world, "scale", "deployment/other", "--replicas=3")
    await as_admin(world, "set", "image", "deployment/other", "main=other")

    await run_to_end(world, admin, {"planExecution": {"planName": "deploy"}})

    other = (await watcher.get(DEPLOYMENTS, "other"))["spec"]
    assert other["replicas"] == 1
    assert other["template"]["spec"]["containers"][0]["image"] == "busybox"
