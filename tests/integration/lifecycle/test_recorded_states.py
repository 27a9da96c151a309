"""Each state that KUDO 0.19 was seen to store is a start from which an Instance comes to rest.

The states are those of the recorded timelines, the ones in which the original stays for ever among
them. Each is stored while no reconciler runs; what a reconciler then makes of it is the end.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace

import pytest

from kubeio.client import Client
from kubeio.connection.config import load_config
from kudo_cluster.installation import Installation
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.changes import FINALIZER, delete, edit, write_status
from tests.support.cluster.clients import client_as, new_namespace
from tests.support.cluster.events import ends_of, reasons
from tests.support.cluster.resources import CONFIG_MAPS, INSTANCES, JOBS, VERSIONS
from tests.support.cluster.webhooks import without_webhooks
from tests.support.cluster.world import World

THEN = "2020-01-01T00:00:00Z"
OLD, NEW = "11111111-aaaa-4000-8000-000000000001", "22222222-bbbb-4000-8000-000000000002"
READY = ("True", "ResourcesReady")
FAILED = ("Unknown", "PlanInFatalError")

PLANS = {
    "deploy": build.shaped({"first": ["job"]}, {"second": ["config"]}),
    "p": build.plan({"only": ["config"]}),
    "fatal": build.plan({"only": ["fatal"]}),
    "stuck": build.plan({"only": ["wait"]}),
}
CLEANUPS = {
    "": {},
    "instant": {"cleanup": build.plan({"only": ["config"]})},
    "failing": {"cleanup": build.plan({"only": ["fatal"]})},
    "stuck": {"cleanup": build.plan({"only": ["wait"]})},
}


@pytest.fixture
async def reconciler(world: World) -> AsyncIterator[Client]:
    async with client_as(world, "reconciler") as client:
        yield client


def recorded(cleanup: str = "") -> Json:
    return build.operator_version(
        "recorded-1",
        templates={
            "config.yaml": build.template(
                build.config_map("{{ .Name }}-config", a="{{ .Params.A }}")
            ),
            "job.yaml": build.template(build.job("{{ .Name }}-job")),
        },
        tasks=[
            build.task("config", "Apply", "config.yaml"),
            build.task("job", "Apply", "job.yaml"),
            build.dummy("fatal", wantErr=True, fatal=True),
            build.dummy("wait"),
        ],
        plans={**PLANS, **CLEANUPS[cleanup]},
        parameters=[build.parameter("A", "1")],
    )


def entry_of(version: Json, name: str, status: str, uid: str, *steps: str) -> Json:
    """Return the entry of a plan as the original writes it; `steps` are states in order."""
    states = list(steps)
    phases = [
        {
            "name": phase["name"],
            "status": status,
            "steps": [
                {"name": step["name"], "status": states.pop(0) if states else status}
                for step in phase["steps"]
            ],
        }
        for phase in version["spec"]["plans"][name]["phases"]
    ]
    common = {"name": name, "status": status, "lastUpdatedTimestamp": THEN, "phases": phases}
    return common if status == "NEVER_RUN" else {**common, "uid": uid}


Entry = tuple[str, ...]
"""uid, status and, where they differ, the states of the steps."""


@dataclass(frozen=True)
class Start:
    """A stored state, and where it ends.

    Attributes:
        scheduled: planName, uid and status of `spec.planExecution`; shorter as recorded.
        runs: Entries by plan; every other plan is NEVER_RUN. None: no status was written yet.
        ready: Reason of the Ready condition that the original wrote, True with ResourcesReady.
        cleanup: Kind of the cleanup plan.
        deleting: Whether the object is being deleted.
        ends: Plan -> uid and status in which it ends; "" stands for any uid.
        ended: Condition Ready at the end; None if the Instance is gone.
        job: Whether the Job of the first step exists at the end.
        words: What the plan's messages say at the end.
        warnings: Reasons of the events beside starts and ends.
    """

    scheduled: tuple[str, ...] = ()
    runs: Mapping[str, Entry] | None = field(default_factory=dict)
    ready: str = "ResourcesReady"
    cleanup: str = ""
    deleting: bool = False
    ends: dict[str, tuple[str, str]] = field(default_factory=dict)
    ended: tuple[str, str] | None = READY
    job: bool = False
    words: str = ""
    warnings: tuple[str, ...] = ()


DEPLOYED = (OLD, "COMPLETE")
LOST = "ended without a recorded result"
STATES: dict[str, Start] = {
    "create: scheduled": Start(("deploy", NEW), None, ends={"deploy": (NEW, "COMPLETE")}, job=True),
    "create: cleared, the status not yet written": Start(
        (), None, ends={"deploy": ("", "COMPLETE")}, job=True
    ),
    "create: done": Start(
        (), {"deploy": DEPLOYED}, ends={"deploy": DEPLOYED}
    ),  # nothing runs again
    "create with status COMPLETE: not yet run": Start(
        ("deploy", NEW, "COMPLETE"), None, ends={"deploy": (NEW, "COMPLETE")}, job=True
    ),
    "create with status COMPLETE: run and never cleared": Start(
        ("deploy", OLD, "COMPLETE"), {"deploy": DEPLOYED}, ends={"deploy": DEPLOYED}
    ),
    "parameter update: scheduled": Start(
        ("p", NEW, "NEVER_RUN"),
        {"deploy": DEPLOYED, "p": (OLD, "COMPLETE")},
        ends={"p": (NEW, "COMPLETE"), "deploy": DEPLOYED},
    ),
    "parameter update: cleared, the status not yet written": Start(
        (),
        {"deploy": DEPLOYED, "p": (OLD, "COMPLETE")},
        ends={"p": (OLD, "COMPLETE"), "deploy": DEPLOYED},
    ),
    "fatal plan: scheduled": Start(
        ("fatal", NEW, "NEVER_RUN"),
        {"deploy": DEPLOYED},
        ends={"fatal": (NEW, "FATAL_ERROR")},
        ended=FAILED,
        words="dummy error",
        warnings=("DummyTaskError",),
    ),
    "fatal plan: IN_PROGRESS": Start(
        ("fatal", NEW, "IN_PROGRESS"),
        {"deploy": DEPLOYED, "fatal": (NEW, "IN_PROGRESS")},
        ends={"fatal": (NEW, "FATAL_ERROR")},
        ended=FAILED,
        words="dummy error",
        warnings=("DummyTaskError",),
    ),
    "fatal plan: failed, Ready put back": Start(
        (),
        {"deploy": DEPLOYED, "fatal": (NEW, "FATAL_ERROR")},
        ends={"fatal": (NEW, "FATAL_ERROR"), "deploy": DEPLOYED},
    ),
    "fatal plan: failed, Ready not yet put back": Start(
        (),
        {"deploy": DEPLOYED, "fatal": (NEW, "FATAL_ERROR")},
        ready="PlanInFatalError",
        ends={"fatal": (NEW, "FATAL_ERROR"), "deploy": DEPLOYED},
    ),
    "long plan: scheduled": Start(
        ("deploy", NEW, "NEVER_RUN"),
        {"deploy": DEPLOYED},
        ends={"deploy": (NEW, "COMPLETE")},
        job=True,
    ),
    "long plan: IN_PROGRESS in the spec alone": Start(
        ("deploy", NEW, "IN_PROGRESS"),
        {"deploy": DEPLOYED},
        ends={"deploy": (NEW, "COMPLETE")},
        job=True,
    ),
    "long plan: IN_PROGRESS, the first step done": Start(
        ("deploy", NEW, "IN_PROGRESS"),
        {"deploy": (NEW, "IN_PROGRESS", "COMPLETE", "PENDING")},
        ready="PlanInProgress",
        ends={"deploy": (NEW, "COMPLETE")},
        job=False,
    ),
    "long plan: IN_PROGRESS, the first step in progress": Start(
        ("deploy", NEW, "IN_PROGRESS"),
        {"deploy": (NEW, "IN_PROGRESS", "IN_PROGRESS", "PENDING")},
        ready="PlanInProgress",
        ends={"deploy": (NEW, "COMPLETE")},
        job=True,
    ),
    "long plan: the end in the spec alone": Start(
        ("deploy", NEW, "COMPLETE"),
        {"deploy": (NEW, "IN_PROGRESS", "IN_PROGRESS", "PENDING")},
        ready="PlanInProgress",
        ends={"deploy": (NEW, "COMPLETE")},
        job=True,
    ),
    "a user set COMPLETE on a running plan": Start(
        (),
        {"deploy": DEPLOYED, "stuck": (NEW, "IN_PROGRESS")},
        ends={"stuck": (NEW, "FATAL_ERROR"), "deploy": DEPLOYED},
        words=LOST,
        warnings=("PlanResultUnknown",),
    ),
    "a user set COMPLETE on the first deploy": Start(
        (),
        {"deploy": (NEW, "IN_PROGRESS")},
        ready="PlanInProgress",
        ends={"deploy": (NEW, "FATAL_ERROR")},
        words=LOST,
        warnings=("PlanResultUnknown",),
    ),
    "a pending run that nothing names": Start(
        (),
        {"deploy": DEPLOYED, "p": (NEW, "PENDING")},
        ends={"p": (NEW, "FATAL_ERROR")},
        words=LOST,
        warnings=("PlanResultUnknown",),
    ),
    "delete, instant cleanup: deletionTimestamp set": Start(
        (), {"deploy": DEPLOYED}, cleanup="instant", deleting=True, ended=None
    ),
    "delete before anything ran": Start(
        ("deploy", NEW), None, cleanup="instant", deleting=True, ended=None
    ),
    "delete during a stuck plan": Start(
        ("stuck", NEW, "IN_PROGRESS"),
        {"deploy": DEPLOYED, "stuck": (NEW, "IN_PROGRESS")},
        cleanup="instant",
        deleting=True,
        ended=None,
    ),
    "cleanup in progress": Start(
        ("cleanup", NEW, "IN_PROGRESS"),
        {"deploy": DEPLOYED, "cleanup": (NEW, "IN_PROGRESS")},
        cleanup="instant",
        deleting=True,
        ended=None,
    ),
    "cleanup done, the finalizer still there": Start(
        ("cleanup", NEW, "COMPLETE"),
        {"deploy": DEPLOYED, "cleanup": (NEW, "COMPLETE")},
        cleanup="instant",
        deleting=True,
        ended=None,
    ),
    "cleanup that fails: scheduled": Start(
        ("cleanup", NEW, "NEVER_RUN"),
        {"deploy": DEPLOYED},
        cleanup="failing",
        deleting=True,
        ended=None,
        warnings=("DummyTaskError",),
    ),
    "cleanup failed, the finalizer kept, the status not yet written": Start(
        ("cleanup", NEW, "FATAL_ERROR"),
        {"deploy": DEPLOYED, "cleanup": (NEW, "IN_PROGRESS")},
        cleanup="failing",
        deleting=True,
        ended=None,
        warnings=("PlanCancelled",),
    ),
    "cleanup failed, the finalizer kept": Start(
        ("cleanup", NEW, "FATAL_ERROR"),
        {"deploy": DEPLOYED, "cleanup": (NEW, "FATAL_ERROR")},
        ready="PlanInFatalError",
        cleanup="failing",
        deleting=True,
        ended=None,
    ),
}


def execution(*fields: str) -> Json:
    return dict(zip(("planName", "uid", "status"), fields, strict=False))


def status_written(version: Json, start: Start) -> Json:
    runs = start.runs or {}
    never = {name: ("", "NEVER_RUN") for name in version["spec"]["plans"] if name not in runs}
    return {
        "planStatus": {
            name: entry_of(version, name, run[1], run[0], *run[2:])
            for name, run in {**never, **runs}.items()
        },
        "conditions": [
            {
                "type": "Ready",
                "status": "True" if start.ready == "ResourcesReady" else "Unknown",
                "reason": start.ready,
                "message": "",
                "lastTransitionTime": THEN,
            }
        ],
    }


async def store(world: World, reconciler: Client, version: Json, start: Start) -> None:
    """Leave the state behind, with no reconciler to see how it comes about."""
    world.installation.reconciler.stop()
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


@pytest.fixture(scope="module")
def states(running_installation: Installation) -> dict[str, str]:
    """Return the namespace of each state: all are stored before one reconciler finds them."""
    running_installation.webhook.start()
    running_installation.reconciler.stop()
    try:
        return asyncio.run(store_all(running_installation))
    finally:
        running_installation.reconciler.start()


async def store_all(installation: Installation) -> dict[str, str]:
    config = load_config(installation.cluster.kubeconfig("user"))
    namespaces = {}
    async with Client(config) as client:
        world = World(installation, client, "", reconcilers=(installation.reconciler,))
        async with client_as(world, "reconciler") as reconciler:
            for state, start in STATES.items():
                namespaces[state] = await new_namespace(client)
                place = replace(world, namespace=namespaces[state])
                await store(place, reconciler, recorded(start.cleanup), start)
    return namespaces


@pytest.mark.parametrize("state", STATES)
async def test_a_recorded_state_comes_to_rest(
    states: dict[str, str], world: World, state: str
) -> None:
    start = STATES[state]
    place = replace(world, namespace=states[state])
    if start.ended is None:
        await place.until_gone(INSTANCES, "i")
    else:
        await rests(place, start)

    others = [r for r in await reasons(place) if r not in {"PlanStarted", "PlanFinished"}]
    assert tuple(others) == start.warnings


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

    world.installation.reconciler.start()
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

    world.installation.reconciler.start()

    await world.until_gone(INSTANCES, "i")


async def test_an_instance_whose_version_went_first_does_not_hang(
    world: World, reconciler: Client
) -> None:
    start = Start((), {"deploy": DEPLOYED}, cleanup="instant", deleting=True)
    await store(world, reconciler, recorded("instant"), start)
    await world.client.delete(VERSIONS, "recorded-1", namespace=world.namespace)

    world.installation.reconciler.start()

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

    world.installation.reconciler.start()
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
    world.installation.reconciler.stop()
    async with without_webhooks(world):
        await world.apply(recorded(cleanup), build.instance("i", "recorded-1"))
        assert "planExecution" not in (await world.instance("i"))["spec"]
        world.installation.reconciler.start()
        deployed = await world.until_complete("i")

    assert deployed["metadata"].get("finalizers", []) == ([FINALIZER] if cleanup else [])
    assert await world.find(CONFIG_MAPS, "i-config") is not None
