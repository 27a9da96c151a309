"""A child that is upgraded with its parent: one change after the other."""

from collections.abc import Mapping

from tests.integration.children.family import (
    CHILD,
    FILE,
    bring,
    child,
    have,
    install,
    parent,
    runs_of,
    until_runs,
    upgrade,
)
from tests.integration.lifecycle.helpers import task, without_webhooks
from tests.integration.support import (
    CONFIG_MAPS,
    Json,
    World,
    config_map,
    deployment,
    job,
    messages,
    parameter,
    plan,
    status_of,
    template,
)

PLANS: Mapping[str, Json] = {
    "update": plan({"settings": ["settings"]}),
    "upgrade": plan({"settings": ["settings"]}),
}


def later(file: str, version: str = "0.2.0", **spec: str) -> Json:
    """Return the next version of the parent, whose child is of another version."""
    return parent(
        have(version=version, parameterFile=FILE, **spec),
        file=file,
        name=f"parent-{version}",
    )


def old(*parameters: Json) -> Json:
    return child(parameters=parameters, plans=PLANS)


def new(*parameters: Json, settings: str | None = None) -> Json:
    shown = settings or template(config_map("{{ .Name }}", size="{{ .Params.SIZE }}", v="2"))
    return child("0.2.0", parameters=parameters, plans=PLANS, settings=shown)


async def spec_of_child(world: World) -> tuple[str, Mapping[str, str]]:
    spec = (await world.instance(CHILD))["spec"]
    return spec["operatorVersion"]["name"], spec.get("parameters", {})


async def test_an_upgrade_alone_runs_the_upgrade_plan_alone(world: World) -> None:
    await install(world, parent(), old(), new())
    await world.until_complete("i")

    await upgrade(world, later("SIZE: '{{ .Params.SIZE }}'"))

    assert await spec_of_child(world) == ("child-0.2.0", {"SIZE": "1"})
    assert await runs_of(world, CHILD) == ["deploy", "upgrade"]
    assert (await world.get(CONFIG_MAPS, CHILD))["data"] == {"size": "1", "v": "2"}


async def test_changed_values_follow_the_upgrade_and_new_ones_go_with_it(world: World) -> None:
    await install(world, parent(), old(), new(parameter("ADDED", required=True)))
    await world.until_complete("i")

    await upgrade(world, later("SIZE: 9\nADDED: yes please"))

    assert await spec_of_child(world) == ("child-0.2.0", {"SIZE": "9", "ADDED": "yes please"})
    assert await runs_of(world, CHILD) == ["deploy", "upgrade", "update"]


async def test_dropped_values_follow_the_upgrade(world: World) -> None:
    colour = parameter("COLOUR", "blue")
    file = "SIZE: 1\nCOLOUR: red\nGONE: g"
    await install(world, parent(file=file), old(colour, parameter("GONE", "")), new(colour))
    await world.until_complete("i")

    await upgrade(world, later("SIZE: 1"))

    assert await spec_of_child(world) == ("child-0.2.0", {"SIZE": "1"})
    assert await runs_of(world, CHILD) == ["deploy", "upgrade", "update"]


async def test_what_becomes_immutable_is_changed_before_the_upgrade(world: World) -> None:
    fixed = parameter("SHAPE", "round", immutable=True)
    file = "SIZE: 1\nSHAPE: square"
    await install(world, parent(file=file), old(parameter("SHAPE", "round")), new(fixed))
    await world.until_complete("i")

    await upgrade(world, later("SIZE: 1\nSHAPE: oval"))

    assert await spec_of_child(world) == ("child-0.2.0", {"SIZE": "1", "SHAPE": "oval"})
    assert await runs_of(world, CHILD) == ["deploy", "update", "upgrade"]


async def test_an_upgrade_that_fails_ends_the_plan_before_the_rest_is_sent(world: World) -> None:
    broken = template(job("migrate-{{ .Name }}", exit_code=1))
    await install(world, parent(), old(), new(settings=broken))
    await world.until_complete("i")

    failed = await upgrade(world, later("SIZE: 9"))

    assert status_of(failed, "deploy") == "FATAL_ERROR"
    assert "plan upgrade ended with FATAL_ERROR" in messages(failed, "deploy")
    assert await spec_of_child(world) == ("child-0.2.0", {"SIZE": "1"})


async def test_a_file_that_sets_what_the_version_dropped_stops_before_the_upgrade(
    world: World,
) -> None:
    await install(world, parent(file="SIZE: 1\nGONE: g"), old(parameter("GONE", "")), new())
    await world.until_complete("i")

    failed = await upgrade(world, later("SIZE: 1\nGONE: g"))

    text = "the parameter file of task have sets GONE, and child-0.2.0 does not declare it any more"
    assert text in messages(failed, "deploy")
    assert (await spec_of_child(world))[0] == "child-0.1.0"


async def test_another_operator_is_no_upgrade(world: World) -> None:
    await install(world, parent(have(instanceName="database")), old(), child(operator="other"))
    await world.until_complete("i")

    version = parent(have("other", instanceName="database"), name="parent-0.2.0")
    failed = await upgrade(world, version)

    text = "upgrade from operator 'child' to operator 'other' is not allowed"
    assert text in messages(failed, "deploy")


async def test_a_grandchild_is_upgraded_with_the_tree(world: World) -> None:
    def middle(version: str) -> Json:
        needs = task("below", "KudoOperator", package="leaf", operatorVersion=version)
        return child(version, tasks=[needs], plans={"deploy": plan({"below": ["below"]})})

    trees = [
        middle("0.1.0"),
        middle("0.2.0"),
        child(operator="leaf"),
        child("0.2.0", operator="leaf"),
    ]
    await install(world, parent(), *trees)
    await world.until_complete("i")

    await upgrade(world, later("SIZE: 1"))

    versions = {
        name: (await world.instance(name))["spec"]["operatorVersion"]["name"]
        for name in (CHILD, f"{CHILD}-leaf")
    }
    assert versions == {CHILD: "child-0.2.0", f"{CHILD}-leaf": "leaf-0.2.0"}


async def test_without_webhooks_the_same_plans_run_one_after_the_other(world: World) -> None:
    await install(world, parent(), old(), new(parameter("ADDED", "")))
    await world.until_complete("i")

    async with without_webhooks(world):
        await upgrade(world, later("SIZE: 9\nADDED: more"))

    assert await spec_of_child(world) == ("child-0.2.0", {"SIZE": "9", "ADDED": "more"})
    assert await runs_of(world, CHILD) == ["deploy", "upgrade", "update"]


async def test_a_crash_in_the_middle_of_an_upgrade_changes_nothing(world: World) -> None:
    slow = template(deployment("slow", ready_delay="3s"))
    await install(world, parent(), old(), new(settings=slow))
    await world.until_complete("i")
    await bring(world, later("SIZE: 9"))
    await world.patch("i", {"operatorVersion": {"name": "parent-0.2.0"}})
    await until_runs(world, CHILD, "upgrade")

    world.installation.reconciler.kill()
    world.installation.reconciler.start()
    await world.until_complete("i")

    assert await spec_of_child(world) == ("child-0.2.0", {"SIZE": "9"})
    assert await runs_of(world, CHILD) == ["deploy", "upgrade", "update"]
