"""A child that is upgraded with its parent: one change after the other."""

from collections.abc import Mapping

from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster import children
from tests.support.cluster.interface import World
from tests.support.cluster.resources import CONFIG_MAPS

PLANS: Mapping[str, Json] = {
    "update": build.plan({"settings": ["settings"]}),
    "upgrade": build.plan({"settings": ["settings"]}),
}


def later(file: str, version: str = "0.2.0", **spec: str) -> Json:
    """Return the next version of the parent, whose child is of another version."""
    return children.parent(
        children.have(version=version, parameterFile=children.FILE, **spec),
        file=file,
        name=f"parent-{version}",
    )


def old(*parameters: Json) -> Json:
    return children.child(parameters=parameters, plans=PLANS)


def new(*parameters: Json, settings: str | None = None) -> Json:
    shown = settings or build.template(
        build.config_map("{{ .Name }}", size="{{ .Params.SIZE }}", v="2")
    )
    return children.child("0.2.0", parameters=parameters, plans=PLANS, settings=shown)


async def spec_of_child(world: World) -> tuple[str, Mapping[str, str]]:
    spec = (await world.instance(children.CHILD))["spec"]
    return spec["operatorVersion"]["name"], spec.get("parameters", {})


async def test_an_upgrade_alone_runs_the_upgrade_plan_alone(world: World) -> None:
    await children.install(world, children.parent(), old(), new())
    await world.until_complete("i")

    await children.upgrade(world, later("SIZE: '{{ .Params.SIZE }}'"))

    assert await spec_of_child(world) == ("child-0.2.0", {"SIZE": "1"})
    assert await children.runs_of(world, children.CHILD) == ["deploy", "upgrade"]
    assert (await world.get(CONFIG_MAPS, children.CHILD))["data"] == {"size": "1", "v": "2"}


async def test_changed_values_follow_the_upgrade_and_new_ones_go_with_it(world: World) -> None:
    await children.install(
        world, children.parent(), old(), new(build.parameter("ADDED", required=True))
    )
    await world.until_complete("i")

    await children.upgrade(world, later("SIZE: 9\nADDED: yes please"))

    assert await spec_of_child(world) == ("child-0.2.0", {"SIZE": "9", "ADDED": "yes please"})
    assert await children.runs_of(world, children.CHILD) == ["deploy", "upgrade", "update"]


async def test_dropped_values_follow_the_upgrade(world: World) -> None:
    colour = build.parameter("COLOUR", "blue")
    file = "SIZE: 1\nCOLOUR: red\nGONE: g"
    await children.install(
        world, children.parent(file=file), old(colour, build.parameter("GONE", "")), new(colour)
    )
    await world.until_complete("i")

    await children.upgrade(world, later("SIZE: 1"))

    assert await spec_of_child(world) == ("child-0.2.0", {"SIZE": "1"})
    assert await children.runs_of(world, children.CHILD) == ["deploy", "upgrade", "update"]


async def test_what_becomes_immutable_is_changed_before_the_upgrade(world: World) -> None:
    fixed = build.parameter("SHAPE", "round", immutable=True)
    file = "SIZE: 1\nSHAPE: square"
    await children.install(
        world, children.parent(file=file), old(build.parameter("SHAPE", "round")), new(fixed)
    )
    await world.until_complete("i")

    await children.upgrade(world, later("SIZE: 1\nSHAPE: oval"))

    assert await spec_of_child(world) == ("child-0.2.0", {"SIZE": "1", "SHAPE": "oval"})
    assert await children.runs_of(world, children.CHILD) == ["deploy", "update", "upgrade"]


async def test_an_upgrade_that_fails_ends_the_plan_before_the_rest_is_sent(world: World) -> None:
    broken = build.template(build.job("migrate-{{ .Name }}", exit_code=1))
    await children.install(world, children.parent(), old(), new(settings=broken))
    await world.until_complete("i")

    failed = await children.upgrade(world, later("SIZE: 9"))

    assert instances.status_of(failed, "deploy") == "FATAL_ERROR"
    assert "plan upgrade ended with FATAL_ERROR" in instances.messages(failed, "deploy")
    assert await spec_of_child(world) == ("child-0.2.0", {"SIZE": "1"})


async def test_a_file_that_sets_what_the_version_dropped_stops_before_the_upgrade(
    world: World,
) -> None:
    await children.install(
        world, children.parent(file="SIZE: 1\nGONE: g"), old(build.parameter("GONE", "")), new()
    )
    await world.until_complete("i")

    failed = await children.upgrade(world, later("SIZE: 1\nGONE: g"))

    text = "the parameter file of task have sets GONE, and child-0.2.0 no longer declares it"
    assert text in instances.messages(failed, "deploy")
    assert (await spec_of_child(world))[0] == "child-0.1.0"


async def test_another_operator_is_no_upgrade(world: World) -> None:
    await children.install(
        world,
        children.parent(children.have(instanceName="database")),
        old(),
        children.child(operator="other"),
    )
    await world.until_complete("i")

    version = children.parent(children.have("other", instanceName="database"), name="parent-0.2.0")
    failed = await children.upgrade(world, version)

    text = "upgrade from operator 'child' to operator 'other' is not allowed"
    assert text in instances.messages(failed, "deploy")


async def test_a_grandchild_is_upgraded_with_the_tree(world: World) -> None:
    def middle(version: str) -> Json:
        needs = build.task("below", "KudoOperator", package="leaf", operatorVersion=version)
        return children.child(
            version, tasks=[needs], plans={"deploy": build.plan({"below": ["below"]})}
        )

    trees = [
        middle("0.1.0"),
        middle("0.2.0"),
        children.child(operator="leaf"),
        children.child("0.2.0", operator="leaf"),
    ]
    await children.install(world, children.parent(), *trees)
    await world.until_complete("i")

    await children.upgrade(world, later("SIZE: 1"))

    versions = {
        name: (await world.instance(name))["spec"]["operatorVersion"]["name"]
        for name in (children.CHILD, f"{children.CHILD}-leaf")
    }
    assert versions == {children.CHILD: "child-0.2.0", f"{children.CHILD}-leaf": "leaf-0.2.0"}


async def test_without_webhooks_the_same_plans_run_one_after_the_other(world: World) -> None:
    await children.install(world, children.parent(), old(), new(build.parameter("ADDED", "")))
    await world.until_complete("i")

    async with world.without_webhooks():
        await children.upgrade(world, later("SIZE: 9\nADDED: more"))

    assert await spec_of_child(world) == ("child-0.2.0", {"SIZE": "9", "ADDED": "more"})
    assert await children.runs_of(world, children.CHILD) == ["deploy", "upgrade", "update"]


async def test_a_crash_in_the_middle_of_an_upgrade_changes_nothing(world: World) -> None:
    slow = build.template(build.deployment("slow", ready_delay="3s"))
    await children.install(world, children.parent(), old(), new(settings=slow))
    await world.until_complete("i")
    await children.bring(world, later("SIZE: 9"))
    await world.patch("i", {"operatorVersion": {"name": "parent-0.2.0"}})
    await children.until_runs(world, children.CHILD, "upgrade")

    await world.reconciler.kill()
    await world.reconciler.start()
    await world.until_complete("i")

    assert await spec_of_child(world) == ("child-0.2.0", {"SIZE": "9"})
    assert await children.runs_of(world, children.CHILD) == ["deploy", "upgrade", "update"]
