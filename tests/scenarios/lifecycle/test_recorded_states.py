"""Each state that KUDO 0.19 was seen to store is a start from which an Instance comes to rest.

The states are those of the recorded timelines, the ones in which the original stays for ever among
them. Each is stored while no reconciler runs; what a reconciler then makes of it is the end.
"""

from collections.abc import AsyncIterator

import pytest

from kubeio.client import Client
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.changes import FINALIZER, delete, edit, write_status
from tests.support.cluster.events import ends_of, reasons
from tests.support.cluster.interface import World
from tests.support.cluster.resources import CONFIG_MAPS, INSTANCES, JOBS, VERSIONS
from tests.support.cluster.waiting import wait_until
from tests.support.world.recorded_states import (
    DEPLOYED,
    FAILED,
    NEW,
    STATES,
    Start,
    execution,
    recorded,
    status_written,
)


@pytest.fixture
async def reconciler(world: World) -> AsyncIterator[Client]:
    async with world.client_as("reconciler") as client:
        yield client


async def store(world: World, reconciler: Client, version: Json, start: Start) -> None:
    """Leave the state behind, with no reconciler to see how it comes about."""
    await world.reconciler.stop()
    done = await world.apply(version, build.instance("i", "recorded-1"))
    assert done.code == 0, done.output
    # What the original stores came through its own admission, not through ours.
    replaced = [{"op": "add", "path": "/spec/planExecution", "value": execution(*start.scheduled)}]
    await reconciler.json_patch(INSTANCES, "i", replaced, namespace=world.namespace)
    if start.runs is not None:
        await write_status(world, "i", status_written(version, start))
    if start.deleting:
        await delete(world)
    stored = await world.instance("i")
    assert (stored["metadata"].get("deletionTimestamp") is not None) is start.deleting
    assert stored["spec"]["planExecution"] == execution(*start.scheduled)


@pytest.mark.parametrize("state", STATES)
async def test_a_recorded_state_comes_to_rest(world: World, state: str) -> None:
    start = STATES[state]
    async with world.client_as("reconciler") as reconciler:
        await store(world, reconciler, recorded(start.cleanup), start)
    await world.reconciler.start()

    if start.ended is None:
        await world.until_gone(INSTANCES, "i")
    else:
        await rests(world, start)

    # Events are sent beside the run.
    async def told() -> bool:
        return len(await others(world)) >= len(start.warnings)

    await wait_until(told, lambda: f"the events {start.warnings}")
    assert await others(world) == start.warnings


async def others(world: World) -> tuple[str, ...]:
    """Return the reasons of the events that do not begin or end a run."""
    return tuple(r for r in await reasons(world) if r not in {"PlanStarted", "PlanFinished"})


async def rests(world: World, start: Start) -> None:
    """Wait until nothing runs and the status has been settled, then look at it."""
    ended = await world.until(
        "i",
        lambda i: (
            instances.idle(i)
            and instances.reason_of(i) == start.ended
            and all(instances.status_of(i, name) == end[1] for name, end in start.ends.items())
        ),
        f"Ready {start.ended} and {start.ends}",
    )
    for name, (uid, _) in start.ends.items():
        assert instances.entry(ended, name)["uid"] == uid or not uid
        assert start.words in instances.messages(ended, name) or name == "deploy"
    unfinished = {n for n in ended["status"]["planStatus"] if running(ended, n)}
    assert not unfinished
    assert instances.conditions(ended) == (
        ["Ready", "Stalled"] if start.ended == FAILED else ["Ready"]
    )
    assert (await world.find(JOBS, "i-job") is not None) is start.job


def running(instance: Json, name: str) -> bool:
    return instances.status_of(instance, name) in {"PENDING", "IN_PROGRESS", "ERROR"}


@pytest.mark.parametrize("cleanup", ["instant", "failing"])
async def test_a_stuck_plan_ends_with_the_deletion_and_cleanup_runs_once(
    world: World, reconciler: Client, cleanup: str
) -> None:
    state = STATES["delete during a stuck plan"]
    await store(world, reconciler, recorded(cleanup), state)

    await world.reconciler.start()
    await world.until_gone(INSTANCES, "i")

    assert await ends_of(world, NEW) == ["Execution of plan stuck finished with status FATAL_ERROR"]
    started = [e["message"] for e in await world.events("PlanStarted")]
    # Nobody can know whether a crash has cost the start event of the plan that was stopped.
    assert started == [
        "Execution of plan stuck started",
        "Execution of plan cleanup started",
    ]


async def test_a_finalizer_that_no_plan_takes_off_does_not_hold_the_instance(
    world: World, reconciler: Client
) -> None:
    """The original hangs here: an upgrade took the cleanup plan, the finalizer stayed."""
    version = recorded()
    start = Start((), {"deploy": DEPLOYED})
    await store(world, reconciler, version, start)
    patch = {"metadata": {"finalizers": [FINALIZER]}}
    await reconciler.merge_patch(INSTANCES, "i", patch, namespace=world.namespace)
    await delete(world)
    assert (await world.instance("i"))["metadata"]["deletionTimestamp"]

    await world.reconciler.start()

    await world.until_gone(INSTANCES, "i")


async def test_an_instance_whose_version_went_first_does_not_hang(
    world: World, reconciler: Client
) -> None:
    start = Start((), {"deploy": DEPLOYED}, cleanup="instant", deleting=True)
    await store(world, reconciler, recorded("instant"), start)
    await world.client.delete(VERSIONS, "recorded-1", namespace=world.namespace)

    await world.reconciler.start()

    await world.until_gone(INSTANCES, "i")
    assert await reasons(world) == ["InvalidOperatorVersion"]


async def test_cleanup_that_ended_lets_go_although_somebody_else_still_holds(
    world: World, reconciler: Client
) -> None:
    runs = {"deploy": DEPLOYED, "cleanup": (NEW, "COMPLETE")}
    start = Start(("cleanup", NEW, "COMPLETE"), runs, cleanup="instant")
    await store(world, reconciler, recorded("instant"), start)
    theirs = "example.org/theirs"
    await edit(world, "i", {"metadata": {"finalizers": [FINALIZER, theirs]}})
    await delete(world)

    await world.reconciler.start()
    kept = await world.until(
        "i", lambda i: i["metadata"]["finalizers"] == [theirs], "our finalizer to go"
    )
    await edit(world, "i", {"metadata": {"finalizers": []}})

    assert instances.status_of(kept, "cleanup") == "COMPLETE"
    await world.until_gone(INSTANCES, "i")


@pytest.mark.parametrize("cleanup", ["", "instant"])
async def test_what_was_created_in_an_unguarded_window_is_deployed(
    world: World, cleanup: str
) -> None:
    """The original leaves such an Instance idle for ever."""
    await world.reconciler.stop()
    async with world.without_webhooks():
        await world.apply(recorded(cleanup), build.instance("i", "recorded-1"))
        assert "planExecution" not in (await world.instance("i"))["spec"]
        await world.reconciler.start()
        deployed = await world.until_complete("i")

    assert deployed["metadata"].get("finalizers", []) == ([FINALIZER] if cleanup else [])
    assert await world.find(CONFIG_MAPS, "i-config") is not None
