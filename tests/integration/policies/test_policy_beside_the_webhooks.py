"""A whole life of an Instance through `kubectl kudo`, with both webhooks and the policy."""

from pathlib import Path

import pytest

from tests.integration.cli.test_cli_lifecycle import PLANS, shop
from tests.integration.policies.policies import instances_policy
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.resources import CONFIG_MAPS, INSTANCES
from tests.support.cluster.world import World

pytestmark = pytest.mark.smoke

CLEANING = {**PLANS, "cleanup": build.plan({"app": ["app"]})}


async def kudo(world: World, *arguments: str) -> None:
    done = await world.kudo(*arguments)
    assert done.code == 0, done.output


async def cancelled(world: World) -> str:
    """Start the plan that never ends, cancel it, and return what its entry says."""
    await kudo(world, "plan", "trigger", "--name", "stuck", "--instance", "web")
    await world.until(
        "web", lambda i: instances.status_of(i, "stuck") == "IN_PROGRESS", "stuck to run"
    )
    await kudo(world, "plan", "cancel", "--instance", "web")
    return str(instances.entry(await world.until_failed("web", "stuck"), "stuck")["message"])


async def test_a_whole_life(world: World, tmp_path: Path) -> None:
    first, second = (str(shop(tmp_path, n, plans=CLEANING)) for n in ("0.1.0", "0.2.0"))
    web = ("--instance", "web")
    async with instances_policy(world):
        await kudo(world, "install", first, *web, "--wait")
        await kudo(world, "update", *web, "-p", "SIZE=2", "--wait")
        await kudo(world, "update", *web, "-p", "EXTRA=2", "--wait")
        await kudo(world, "plan", "trigger", "--name", "extra", *web, "--wait")
        assert await cancelled(world) == "cancelled by kudo-user"
        await kudo(world, "upgrade", second, *web, "--wait")
        data = (await world.get(CONFIG_MAPS, "app"))["data"]
        await kudo(world, "uninstall", *web, "--wait")

    assert data == {"version": "0.2.0", "SIZE": "2", "EXTRA": "2"}
    assert await world.find(INSTANCES, "web") is None
    texts = [event["message"] for event in await world.events("PlanFinished")]
    assert texts[-1] == "Execution of plan cleanup finished with status COMPLETE"


async def test_the_writes_of_the_original_cli_pass(world: World, tmp_path: Path) -> None:
    """One merge patch for each command; what it does not use is an empty object."""
    await kudo(world, "install", str(shop(tmp_path, "0.1.0")), "--instance", "web", "--wait")
    await kudo(world, "install", str(shop(tmp_path, "0.2.0")), "--skip-instance")
    unused: Json = {"operatorVersion": {}, "parameters": {}, "planExecution": {}}
    async with instances_policy(world):
        await world.patch("web", {**unused, "parameters": {"SIZE": "2"}})
        await world.until_complete("web")
        triggered = {"planName": "extra", "uid": "made-by-the-client"}
        await world.patch("web", {**unused, "planExecution": triggered})
        await world.until_complete("web", "extra")
        await world.patch("web", {**unused, "operatorVersion": {"name": "shop-0.2.0"}})
        upgraded = await world.until_complete("web")

    assert upgraded["status"]["lastRun"]["operatorVersion"]["name"] == "shop-0.2.0"
    assert (await world.get(CONFIG_MAPS, "app"))["data"]["SIZE"] == "2"
