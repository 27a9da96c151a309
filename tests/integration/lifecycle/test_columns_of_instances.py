"""What `kubectl get instances` shows in each state: the last plan, its state, and Ready."""

from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.changes import FINALIZER, delete, edit
from tests.support.cluster.resources import INSTANCES
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World

HOLD = "example.com/hold"


def shown(**plans: Json) -> Json:
    return build.operator_version(
        "shown-1",
        templates={},
        tasks=[
            build.dummy("done", done=True),
            build.dummy("wait"),
            build.dummy("fatal", wantErr=True, fatal=True),
        ],
        plans={
            "deploy": build.plan({"done": ["done"]}),
            "wait": build.plan({"wait": ["wait"]}),
            "fatal": build.plan({"fatal": ["fatal"]}),
            **plans,
        },
        parameters=[build.parameter("A", "1", trigger="wait")],
    )


async def columns(world: World) -> dict[str, str]:
    """Return the row of the Instance by the headings, age left out."""
    done = await world.kubectl("get", "instances.kudo.dev", "i", "--output=wide")
    assert done.code == 0, done.output
    heading, row = done.stdout.splitlines()
    names = [name for name in heading.split("  ") if name]
    places = [heading.index(name.strip()) for name in names] + [None]
    found = {
        name.strip(): row[start:end].strip()
        for name, start, end in zip(names, places, places[1:], strict=False)
    }
    del found["AGE"]
    return found


def row(plan: str, state: str, ready: str, reason: str, *, scheduled: str = "") -> dict[str, str]:
    return {
        "NAME": "i",
        "OPERATOR VERSION": "shown-1",
        "LAST PLAN": plan,
        "PLAN STATUS": state,
        "SCHEDULED": scheduled,
        "READY": ready,
        "REASON": reason,
    }


async def until_shown(world: World, expected: dict[str, str]) -> None:
    seen: dict[str, str] = {}

    async def as_expected() -> bool:
        seen.update(await columns(world))
        return seen == expected

    await wait_until(as_expected, lambda: f"{expected}, the last was {seen}")


async def install(world: World, version: Json) -> None:
    done = await world.apply(version, build.instance("i", "shown-1"))
    assert done.code == 0, done.output
    await world.until_complete("i")


async def test_the_columns_are_true_before_during_and_after_a_run(world: World) -> None:
    world.installation.reconciler.stop()
    await world.apply(shown(), build.instance("i", "shown-1"))
    assert await columns(world) == row("", "", "", "", scheduled="deploy")

    world.installation.reconciler.start()
    await world.until_complete("i")
    await until_shown(world, row("deploy", "COMPLETE", "True", "ResourcesReady"))

    await world.patch("i", {"parameters": {"A": "2"}})
    await world.until("i", lambda i: bool(instances.messages(i, "wait")), "the plan to wait")
    assert await columns(world) == row(
        "wait", "IN_PROGRESS", "True", "ResourcesReady", scheduled="wait"
    )

    await world.patch("i", {"planExecution": {"status": "FATAL_ERROR"}})
    await world.until_failed("i", "wait")
    await until_shown(world, row("wait", "FATAL_ERROR", "Unknown", "PlanInFatalError"))


async def test_the_columns_tell_a_run_that_nobody_begins(world: World) -> None:
    await install(world, shown())
    await until_shown(world, row("deploy", "COMPLETE", "True", "ResourcesReady"))
    world.installation.reconciler.stop()
    try:
        await world.patch("i", {"parameters": {"A": "2"}})
        # The last run is told as it was; what has to happen now is in a column of its own.
        assert await columns(world) == row(
            "deploy", "COMPLETE", "True", "ResourcesReady", scheduled="wait"
        )
        listed = await world.kudo("get", "instance", "i")
        assert listed.stdout.splitlines()[1].split()[:6] == [
            *("i", "op", "0.1.0", "wait", "PENDING", "True")
        ]
    finally:
        world.installation.reconciler.start()


async def test_what_is_explained_names_a_flag_that_exists(world: World) -> None:
    done = await world.kubectl("explain", "operators.kudo.dev.spec.namespaceManifest")
    assert "`install --create-namespace`" in " ".join(done.stdout.split())
    assert "--create-namespace" in (await world.kudo("install", "--help")).stdout


async def test_the_columns_are_true_while_deploy_runs_and_after_a_failure(world: World) -> None:
    version = shown(deploy=build.plan({"wait": ["wait"]}))
    await world.apply(version, build.instance("i", "shown-1"))
    await world.until("i", lambda i: bool(instances.messages(i, "deploy")), "the plan to wait")
    assert await columns(world) == row(
        "deploy", "IN_PROGRESS", "Unknown", "PlanInProgress", scheduled="deploy"
    )

    await world.patch("i", {"planExecution": {"status": "FATAL_ERROR"}})
    await world.until_failed("i", "deploy")
    await world.patch("i", {"planExecution": {"planName": "fatal"}})
    await world.until_failed("i", "fatal")

    await until_shown(world, row("fatal", "FATAL_ERROR", "Unknown", "PlanInFatalError"))


async def test_the_columns_are_true_in_cleanup_and_after_it(world: World) -> None:
    await install(world, shown(cleanup=build.plan({"wait": ["wait"]})))
    await edit(world, "i", {"metadata": {"finalizers": [FINALIZER, HOLD]}})
    await delete(world)
    await world.until(
        "i", lambda i: "wait.wait" in instances.tasks_of(i, "cleanup"), "cleanup to wait"
    )
    assert await columns(world) == row(
        "cleanup", "IN_PROGRESS", "Unknown", "PlanInProgress", scheduled="cleanup"
    )

    await world.patch("i", {"planExecution": {"status": "FATAL_ERROR"}})
    # The run of a deleted Instance is not cleared: its finalizer goes instead.
    failed = row("cleanup", "FATAL_ERROR", "Unknown", "PlanInFatalError", scheduled="cleanup")
    await until_shown(world, failed)

    await edit(world, "i", {"metadata": {"finalizers": []}})
    await world.until_gone(INSTANCES, "i")


async def test_an_instance_that_others_keep_is_not_ready(world: World) -> None:
    await install(world, shown())
    await edit(world, "i", {"metadata": {"finalizers": [HOLD]}})

    await delete(world)

    await until_shown(world, row("deploy", "COMPLETE", "False", "InstanceDeleting"))
    await edit(world, "i", {"metadata": {"finalizers": []}})
    await world.until_gone(INSTANCES, "i")
