"""A tree of Instances goes from its top: each one cleans up, and its children go after it."""

from collections.abc import Sequence

from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster import children
from tests.support.cluster.changes import delete
from tests.support.cluster.interface import World
from tests.support.cluster.resources import CONFIG_MAPS, INSTANCES, NAMESPACES
from tests.support.cluster.waiting import wait_until

GONE = "cleanup finished with status "
CLEANED = {"cleanup": build.plan({"bye": ["bye"]})}


def cleaned(*tasks: Json, below: str = "", operator: str = "child") -> Json:
    """Return an operator with a cleanup plan of these tasks, and perhaps a child of its own."""
    needs = (
        [build.task("below", "KudoOperator", package=below, operatorVersion="0.1.0")]
        if below
        else []
    )
    deploy = {"settings": ["settings"], **({"below": ["below"]} if below else {})}
    return children.child(
        operator=operator,
        tasks=[*tasks, *needs],
        plans={
            "deploy": build.plan(deploy),
            "cleanup": build.plan({one["name"]: [one["name"]] for one in tasks}),
        },
    )


async def ends_of_cleanups(world: World) -> list[str]:
    """Return who has ended its cleanup and how, in that order."""
    return [
        f"{event['involvedObject']['name']} {event['message'].rpartition(' ')[2]}"
        for event in await world.events("PlanFinished")
        if GONE in event["message"]
    ]


async def until_all_gone(world: World, names: Sequence[str]) -> None:
    for name in names:
        await world.until_gone(INSTANCES, name)


async def edit_finalizers(world: World, finalizers: list[str]) -> None:
    """Have somebody else keep the child, or let it go."""
    patch = {"metadata": {"finalizers": finalizers}}
    await world.client.merge_patch(INSTANCES, children.CHILD, patch, namespace=world.namespace)


async def test_the_tree_goes_from_the_top_and_everyone_cleans_up(world: World) -> None:
    done = build.dummy("bye", done=True)
    top = children.parent(children.have(), done, plans=CLEANED)
    await children.install(world, top, cleaned(done, below="leaf"), cleaned(done, operator="leaf"))
    await world.until_complete("i")

    await delete(world)

    names = ["i", children.CHILD, f"{children.CHILD}-leaf"]
    await until_all_gone(world, names)
    assert await ends_of_cleanups(world) == [f"{name} COMPLETE" for name in names]
    for name in names[1:]:
        await world.until_gone(CONFIG_MAPS, name)


async def test_the_cleanup_of_the_parent_can_still_use_its_child(world: World) -> None:
    say = "SIZE: '{{ .PlanName }} of {{ .Name }}'"
    top = children.parent(
        children.have(parameterFile=children.FILE),
        file=say,
        plans={"cleanup": build.plan({"have": ["have"]})},
    )
    await children.install(world, top, children.child())
    await world.until_complete("i")
    first = (await world.instance(children.CHILD))["metadata"]["uid"]
    await edit_finalizers(world, ["example.org/kept"])

    await delete(world)
    await world.until_gone(INSTANCES, "i")

    kept = await world.instance(children.CHILD)
    assert kept["metadata"]["uid"] == first
    assert kept["spec"]["parameters"] == {"SIZE": "cleanup of i"}
    await edit_finalizers(world, [])
    await world.until_gone(INSTANCES, children.CHILD)


async def test_a_child_whose_cleanup_fails_goes_too(world: World) -> None:
    await children.install(
        world, children.parent(), cleaned(build.dummy("bye", wantErr=True, fatal=True))
    )
    await world.until_complete("i")

    await delete(world)

    await until_all_gone(world, ["i", children.CHILD])
    assert await ends_of_cleanups(world) == [f"{children.CHILD} FATAL_ERROR"]


async def test_a_child_that_is_still_running_is_stopped_and_cleaned_up(world: World) -> None:
    version = cleaned(build.dummy("bye", done=True))
    version["spec"]["tasks"].append(build.dummy("slow"))
    version["spec"]["plans"]["deploy"] = build.plan({"slow": ["slow"]})
    await children.install(world, children.parent(), version)
    await children.until_runs(world, children.CHILD)

    await delete(world)

    await until_all_gone(world, ["i", children.CHILD])
    assert await ends_of_cleanups(world) == [f"{children.CHILD} COMPLETE"]


async def test_a_namespace_with_a_tree_goes(world: World) -> None:
    done = build.dummy("bye", done=True)
    await children.install(
        world, children.parent(children.have(), done, plans=CLEANED), cleaned(done)
    )
    await world.until_complete("i")

    await world.client.delete(NAMESPACES, world.namespace)

    await wait_until(lambda: _is_gone(world), lambda: f"namespace {world.namespace} to be gone")


async def _is_gone(world: World) -> bool:
    names = [one["metadata"]["name"] for one in (await world.client.list(NAMESPACES)).items]
    return world.namespace not in names


async def test_a_parent_that_is_made_anew_waits_for_the_child_of_the_earlier_one(
    world: World,
) -> None:
    await children.install(world, children.parent(), cleaned(build.dummy("bye")))
    await world.until_complete("i")
    earlier = (await world.instance(children.CHILD))["metadata"]["uid"]
    await delete(world)
    await world.until_gone(INSTANCES, "i")

    await children.bring(world, build.instance("i", "parent-0.1.0"))
    child = f"{world.namespace}/{children.CHILD}"
    text = (
        f"Instance {child} belongs to an earlier Instance i and is being deleted "
        "with it: it is created again after its deletion"
    )
    await world.until(
        "i", lambda i: text in instances.messages(i, "deploy"), "the earlier child to be seen"
    )
    await children.until_runs(world, children.CHILD, "cleanup")
    await world.patch(children.CHILD, {"planExecution": {"status": "FATAL_ERROR"}})

    await wait_until(lambda: _is_another(world, earlier), lambda: "another child")
    assert instances.status_of(await world.until_ended("i"), "deploy")


async def _is_another(world: World, earlier: str) -> bool:
    found = await world.find(INSTANCES, children.CHILD)
    return found is not None and found["metadata"]["uid"] != earlier


async def test_a_cleanup_is_not_held_up_by_a_child_that_is_gone(world: World) -> None:
    await children.install(
        world,
        children.parent(children.have(), build.dummy("bye", done=True), plans=CLEANED),
        children.child(),
    )
    await world.until_complete("i")
    await delete(world, children.CHILD)
    await world.until_gone(INSTANCES, children.CHILD)

    await delete(world)

    await world.until_gone(INSTANCES, "i")
    assert await ends_of_cleanups(world) == ["i COMPLETE"]
