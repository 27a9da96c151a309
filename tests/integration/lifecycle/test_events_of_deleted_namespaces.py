"""A namespace that goes takes no events: one is refused, and no other is sent."""

from tests.support import build
from tests.support.cluster.changes import delete
from tests.support.cluster.resources import (
    INSTANCES,
    NAMESPACES,
)
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World

CLEANUP_FINISHED = "Execution of plan cleanup finished with status "
VERSION = build.operator_version(
    "cleaned-1",
    templates={
        "config.yaml": build.template(build.config_map("{{ .Name }}-config", a="b")),
        "mark.yaml": build.template(build.job("{{ .Name }}-cleanup")),
    },
    plans={
        "deploy": build.plan({"config": ["config"]}),
        "cleanup": build.plan({"clean": ["mark"]}),
    },
)


async def deployed(world: World) -> None:
    done = await world.apply(VERSION, build.instance("i", "cleaned-1"))
    assert done.code == 0, done.output
    await world.until_complete("i")


async def cleanup_ends(world: World) -> list[str]:
    texts = [event["message"] for event in await world.events("PlanFinished")]
    return [t.removeprefix(CLEANUP_FINISHED) for t in texts if t.startswith(CLEANUP_FINISHED)]


async def delete_namespace(world: World) -> None:
    """Delete the namespace of the test, and wait until it is gone."""
    await world.client.delete(NAMESPACES, world.namespace)

    async def gone() -> bool:
        names = [ns["metadata"]["name"] for ns in (await world.client.list(NAMESPACES)).items]
        return world.namespace not in names

    await wait_until(gone, lambda: f"namespace {world.namespace} to be gone")


def refused_events(world: World) -> list[str]:
    """Return what the reconciler logged of events that the namespace did not take."""
    log = world.installation.reconciler.log.read_text(encoding="utf-8")
    words = ("event not written", "namespace accepts no events")
    return [
        line
        for line in log.splitlines()
        if world.namespace in line and any(word in line for word in words)
    ]


async def test_a_namespace_that_is_deleted_refuses_one_event_and_is_asked_for_no_other(
    world: World,
) -> None:
    await deployed(world)

    await delete_namespace(world)

    [line] = refused_events(world)
    assert '"level":"info"' in line
    # A new namespace of that name takes events again.
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": world.namespace}}
    await world.client.create(NAMESPACES, namespace)
    await deployed(world)
    assert len(await world.events("PlanStarted")) == 1
    await delete(world)
    await world.until_gone(INSTANCES, "i")
    assert len(await cleanup_ends(world)) == 1
