"""Health of kinds that an operator brings along, by conditions that the test sets."""

import pytest

from kubeio.client import Client
from tests.integration.health import objects
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.resources import CONFIG_MAPS
from tests.support.cluster.world import World

AFTER = build.config_map("after", a="b")
pytestmark = pytest.mark.usefixtures("trusted")

UNKNOWN: Json = {
    "conditions": [
        {"type": "Ready", "status": "Unknown", "reason": "Pending", "message": "nobody looked yet"}
    ]
}


def thing(world: World) -> Json:
    return objects.made(
        f"{objects.group_of(world)}/v1", "Thing", "thing", spec={"size": "{{ .Params.SIZE }}"}
    )


async def report(admin: Client, world: World, *conditions: Json, **status: int) -> None:
    """Write the status of the thing as its controller would."""
    fields = {"conditions": list(conditions), **status}
    await objects.set_status(admin, objects.things(world), "thing", world.namespace, **fields)


async def until_message(world: World, text: str) -> Json:
    return await world.until("i", lambda i: text in instances.messages(i, "deploy"), text)


async def test_a_kind_is_served_when_the_step_that_brings_it_has_ended(world: World) -> None:
    await objects.install(world, objects.definition(world), thing(world))

    await world.until_complete("i")


async def test_a_custom_resource_that_is_not_ready_keeps_the_step_waiting(
    world: World, admin: Client
) -> None:
    pending = objects.definition(world, default=UNKNOWN)
    await objects.install(world, pending, thing(world), AFTER)

    where = f"Thing {world.namespace}/thing is not healthy"
    await until_message(world, f"{where}: Ready is Unknown: Pending: nobody looked yet")
    await report(admin, world, objects.condition("Ready", "False", "two of three"))
    waiting = await until_message(world, f"{where}: Ready is False: Test: two of three")

    assert instances.steps(waiting, "deploy")["phase1.s2"] == "IN_PROGRESS"
    assert await world.find(CONFIG_MAPS, "after") is None
    await report(admin, world, objects.condition("Ready", "True", "three of three"))
    await world.until_complete("i")
    assert await world.find(CONFIG_MAPS, "after") is not None


async def test_a_changed_custom_resource_is_waited_for_until_its_controller_has_seen_it(
    world: World, admin: Client
) -> None:
    await objects.install(world, objects.definition(world), thing(world))
    await world.until_complete("i")
    ready = objects.condition("Ready", "True", "")
    await report(admin, world, ready, observedGeneration=1)

    await world.patch("i", {"parameters": {"SIZE": "2"}})
    await until_message(world, "Waiting for spec update to be observed...")
    await report(admin, world, ready, observedGeneration=2)

    await world.until_complete("i")


async def test_a_stalled_custom_resource_ends_the_plan_and_a_change_gets_it_going(
    world: World, admin: Client
) -> None:
    await objects.install(world, objects.definition(world, default=UNKNOWN), thing(world))
    await until_message(world, "Ready is Unknown")
    stalled = objects.condition("Stalled", "True", "size 1 is too small")

    await report(admin, world, stalled, observedGeneration=1)
    failed = await world.until_failed("i")
    assert "has failed terminally: size 1 is too small" in instances.messages(failed, "deploy")

    await world.patch("i", {"parameters": {"SIZE": "2"}})
    await until_message(world, "Waiting for spec update to be observed...")
    await report(admin, world, objects.condition("Ready", "True", ""), observedGeneration=2)
    await world.until_complete("i")


async def test_a_definition_whose_names_are_taken_ends_the_plan(
    world: World, admin: Client
) -> None:
    await admin.create(objects.DEFINITIONS, objects.definition(world))
    await objects.install(world, objects.definition(world, "stuff"), AFTER)

    failed = await world.until_failed("i")

    text = f"CRD stuff.{objects.group_of(world)} has failed terminally: "
    assert text in instances.messages(failed, "deploy")
    assert "already in use" in instances.messages(failed, "deploy")


async def test_a_custom_resource_without_conditions_counts_once_it_exists(
    world: World, admin: Client
) -> None:
    await objects.install(world, objects.definition(world), thing(world), AFTER)
    await world.until_complete("i")

    await report(admin, world)
    await objects.deploy_again(world)

    await world.until_complete("i")
