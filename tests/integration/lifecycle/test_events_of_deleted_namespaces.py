"""A namespace that goes takes no events: one is refused, and no other is sent."""

from collections.abc import Sequence

import pytest

from tests.support import build
from tests.support.build import Json
from tests.support.cluster.changes import delete
from tests.support.cluster.resources import (
    INSTANCES,
    NAMESPACES,
)
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World

DONE, FAILING, STUCK = ["mark"], ["fatal"], ["wait"]


CLEANUP_FINISHED = "Execution of plan cleanup finished with status "


def cleaned(cleanup: Sequence[str] | None = DONE, name: str = "cleaned-1", **plans: Json) -> Json:
    """Return a version; `cleanup` are the tasks of its cleanup plan."""
    found = {} if cleanup is None else {"cleanup": build.plan({"clean": cleanup})}
    return build.operator_version(
        name,
        templates={
            "config.yaml": build.template(
                build.config_map("{{ .Name }}-config", a="{{ .Params.A }}")
            ),
            "mark.yaml": build.template(build.job("{{ .Name }}-cleanup")),
            "web.yaml": build.template(build.deployment("{{ .Name }}-web", ready_delay="1h")),
        },
        tasks=[
            build.task("config", "Apply", "config.yaml"),
            build.task("mark", "Apply", "mark.yaml"),
            build.task("web", "Apply", "web.yaml"),
            build.dummy("wait"),
            build.dummy("fatal", wantErr=True, fatal=True),
        ],
        plans={
            "deploy": build.plan({"config": ["config"]}),
            "long": build.plan({"web": ["web"], "never": ["config"]}),
            **found,
            **plans,
        },
        parameters=[build.parameter("A", "1")],
    )


async def deployed(world: World, version: Json) -> Json:
    done = await world.apply(version, build.instance("i", version["metadata"]["name"]))
    assert done.code == 0, done.output
    return await world.until_complete("i")


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


@pytest.mark.parametrize("cleanup", [DONE, FAILING], ids=["done", "failing"])
async def test_a_namespace_that_is_deleted_refuses_one_event_and_is_asked_for_no_other(
    world: World, cleanup: Sequence[str]
) -> None:
    await deployed(world, cleaned(cleanup))

    await delete_namespace(world)

    [line] = refused_events(world)
    assert '"level":"info"' in line
    # A new namespace of that name takes events again.
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": world.namespace}}
    await world.client.create(NAMESPACES, namespace)
    await deployed(world, cleaned(cleanup))
    assert len(await world.events("PlanStarted")) == 1
    await delete(world)
    await world.until_gone(INSTANCES, "i")
    assert len(await cleanup_ends(world)) == 1
