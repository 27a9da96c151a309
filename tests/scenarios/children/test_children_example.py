"""examples/parent-child: what its README promises, but for the page, which needs a node."""

from pathlib import Path

from tests.support import instances
from tests.support.cluster.interface import World
from tests.support.cluster.resources import CONFIG_MAPS, INSTANCES

PACKAGE = Path(__file__).resolve().parents[3] / "examples" / "parent-child"
WAIT = ("--wait", "--wait-time", "90s")
TREE = ("paper", "paper-newsroom", "paper-newsroom-weather")


async def kudo(world: World, *arguments: str) -> str:
    done = await world.kudo(*arguments)
    assert done.code == 0, done.output
    return done.output


async def install(world: World) -> None:
    await kudo(world, "install", str(PACKAGE), "--instance", "paper", *WAIT)


async def uids(world: World) -> dict[str, str]:
    """Return the last run of each Instance of the tree."""
    return {name: entry_of(await world.instance(name)) for name in TREE}


def entry_of(instance: dict[str, object]) -> str:
    return str(instances.entry(instance, "deploy")["uid"])


async def written(world: World, name: str) -> str:
    """Return what an Instance of the tree has written into its ConfigMap."""
    return "\n".join((await world.get(CONFIG_MAPS, f"{name}-page"))["data"].values())


async def test_one_installation_brings_the_whole_tree(world: World) -> None:
    await install(world)

    for name in TREE:
        await world.until_complete(name)
    shown = await kudo(world, "plan", "status", "--instance", "paper")
    assert [name for name in TREE if name not in shown] == []
    assert "wget -qO- http://paper-newsroom/cgi-bin/page" in await written(world, "paper")
    newsroom = await written(world, "paper-newsroom")
    assert "News from Berlin, for paper" in newsroom
    assert "politics\nsport" in newsroom
    assert "The sun shines on Berlin." in await written(world, "paper-newsroom-weather")


async def test_a_value_goes_as_far_down_as_it_is_handed_on(world: World) -> None:
    await install(world)
    first = await uids(world)

    await kudo(world, "update", "--instance", "paper", "-p", "city=Paris", *WAIT)
    assert "The sun shines on Paris." in await written(world, "paper-newsroom-weather")
    second = await uids(world)
    assert [name for name in TREE if first[name] != second[name]] == list(TREE[1:])

    values = ("-p", "topics=[chess]", "-p", "title=The Evening Pod")
    await kudo(world, "update", "--instance", "paper", *values, *WAIT)
    assert "chess" in await written(world, "paper-newsroom")
    third = await uids(world)
    assert [name for name in TREE if second[name] != third[name]] == ["paper-newsroom"]


async def test_the_tree_goes_from_its_top(world: World) -> None:
    await install(world)

    await kudo(world, "uninstall", "--instance", "paper", *WAIT)

    for name in TREE:
        await world.until_gone(INSTANCES, name)
    ended = [
        event["involvedObject"]["name"]
        for event in await world.events("PlanFinished")
        if "plan cleanup finished with status COMPLETE" in event["message"]
    ]
    assert ended == list(TREE)
