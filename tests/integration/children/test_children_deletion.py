"""A tree of Instances goes from its top: each one cleans up, and its children go after it."""

from collections.abc import Sequence

from tests.integration.children.family import (
    CHILD,
    FILE,
    bring,
    child,
    have,
    install,
    parent,
    until_runs,
)
from tests.integration.lifecycle.helpers import as_admin, delete, dummy, task
from tests.integration.support import (
    CONFIG_MAPS,
    INSTANCES,
    NAMESPACES,
    Json,
    World,
    messages,
    new_instance,
    plan,
    status_of,
    wait_until,
)

GONE = "cleanup finished with status "
CLEANED = {"cleanup": plan({"bye": ["bye"]})}


def cleaned(*tasks: Json, below: str = "", operator: str = "child") -> Json:
    """Return an operator with a cleanup plan of these tasks, and perhaps a child of its own."""
    needs = [task("below", "KudoOperator", package=below, operatorVersion="0.1.0")] if below else []
    deploy = {"settings": ["settings"], **({"below": ["below"]} if below else {})}
    return child(
        operator=operator,
        tasks=[*tasks, *needs],
        plans={
            "deploy": plan(deploy),
            "cleanup": plan({one["name"]: [one["name"]] for one in tasks}),
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
    await world.client.merge_patch(INSTANCES, CHILD, patch, namespace=world.namespace)


async def test_the_tree_goes_from_the_top_and_everyone_cleans_up(world: World) -> None:
    done = dummy("bye", done=True)
    top = parent(have(), done, plans=CLEANED)
    await install(world, top, cleaned(done, below="leaf"), cleaned(done, operator="leaf"))
    await world.until_complete("i")

    await delete(world)

    names = ["i", CHILD, f"{CHILD}-leaf"]
    await until_all_gone(world, names)
    assert await ends_of_cleanups(world) == [f"{name} COMPLETE" for name in names]
    for name in names[1:]:
        await world.until_gone(CONFIG_MAPS, name)


async def test_the_cleanup_of_the_parent_can_still_use_its_child(world: World) -> None:
    say = "SIZE: '{{ .PlanName }} of {{ .Name }}'"
    top = parent(have(parameterFile=FILE), file=say, plans={"cleanup": plan({"have": ["have"]})})
    await install(world, top, child())
    await world.until_complete("i")
    first = (await world.instance(CHILD))["metadata"]["uid"]
    await edit_finalizers(world, ["example.org/kept"])

    await delete(world)
    await world.until_gone(INSTANCES, "i")

    kept = await world.instance(CHILD)
    assert kept["metadata"]["uid"] == first
    assert kept["spec"]["parameters"] == {"SIZE": "cleanup of i"}
    await edit_finalizers(world, [])
    await world.until_gone(INSTANCES, CHILD)


async def test_a_child_whose_cleanup_fails_goes_too(world: World) -> None:
    await install(world, parent(), cleaned(dummy("bye", wantErr=True, fatal=True)))
    await world.until_complete("i")

    await delete(world)

    await until_all_gone(world, ["i", CHILD])
    assert await ends_of_cleanups(world) == [f"{CHILD} FATAL_ERROR"]


async def test_a_child_that_is_still_running_is_stopped_and_cleaned_up(world: World) -> None:
    version = cleaned(dummy("bye", done=True))
    version["spec"]["tasks"].append(dummy("slow"))
    version["spec"]["plans"]["deploy"] = plan({"slow": ["slow"]})
    await install(world, parent(), version)
    await until_runs(world, CHILD)

    await delete(world)

    await until_all_gone(world, ["i", CHILD])
    assert await ends_of_cleanups(world) == [f"{CHILD} COMPLETE"]


async def test_a_namespace_with_a_tree_goes(world: World) -> None:
    done = dummy("bye", done=True)
    await install(world, parent(have(), done, plans=CLEANED), cleaned(done))
    await world.until_complete("i")

    await world.client.delete(NAMESPACES, world.namespace)

    await wait_until(lambda: _is_gone(world), lambda: f"namespace {world.namespace} to be gone")


async def _is_gone(world: World) -> bool:
    text = await as_admin(
        world, "get", "namespace", world.namespace, "--ignore-not-found", "-oname"
    )
    return not text.strip()


async def test_a_parent_that_is_made_anew_waits_for_the_child_of_the_earlier_one(
    world: World,
) -> None:
    await install(world, parent(), cleaned(dummy("bye")))
    await world.until_complete("i")
    earlier = (await world.instance(CHILD))["metadata"]["uid"]
    await delete(world)
    await world.until_gone(INSTANCES, "i")

    await bring(world, new_instance("i", "parent-0.1.0"))
    text = (
        f"Instance {world.namespace}/{CHILD} belongs to an earlier Instance i and is being removed "
        "with it: it is created anew once it is gone"
    )
    await world.until("i", lambda i: text in messages(i, "deploy"), "the earlier child to be seen")
    await until_runs(world, CHILD, "cleanup")
    await world.patch(CHILD, {"planExecution": {"status": "FATAL_ERROR"}})

    await wait_until(lambda: _is_another(world, earlier), lambda: "another child")
    assert status_of(await world.until_ended("i"), "deploy")


async def _is_another(world: World, earlier: str) -> bool:
    found = await world.find(INSTANCES, CHILD)
    return found is not None and found["metadata"]["uid"] != earlier


async def test_a_cleanup_is_not_held_up_by_a_child_that_is_gone(world: World) -> None:
    await install(world, parent(have(), dummy("bye", done=True), plans=CLEANED), child())
    await world.until_complete("i")
    await delete(world, CHILD)
    await world.until_gone(INSTANCES, CHILD)

    await delete(world)

    await world.until_gone(INSTANCES, "i")
    assert await ends_of_cleanups(world) == ["i COMPLETE"]
