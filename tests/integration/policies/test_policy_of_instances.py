"""The policy of Instances while no webhook is there: what it denies, and what it must let pass."""

from collections.abc import AsyncIterator

import pytest

from kubeio.errors import Forbidden
from tests.integration.policies.policies import denied_by, instances_policy
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.changes import FINALIZER, delete, edit, write_status
from tests.support.cluster.events import event_text
from tests.support.cluster.resources import INSTANCES
from tests.support.cluster.webhooks import without_webhooks
from tests.support.cluster.world import World


def judged(name: str = "judged-1", *cleanup: str) -> Json:
    return build.operator_version(
        name,
        templates={
            "config.yaml": build.template(build.config_map("{{ .Name }}-c", a="{{ .Params.A }}"))
        },
        tasks=[build.task("config", "Apply", "config.yaml"), build.dummy("wait")],
        plans={
            "deploy": build.plan({"config": ["config"]}),
            "long": build.plan({"config": ["config"], "wait": ["wait"]}),
            "other": build.plan({"config": ["config"]}),
            "cleanup": build.plan({"clean": cleanup or ["config"]}),
        },
        parameters=[
            build.parameter("A", "1"),
            build.parameter("FIXED", "8080", immutable=True),
            build.parameter("COUNT", "1", **{"value-type": "integer"}),
        ],
    )


async def deployed(world: World, *cleanup: str) -> None:
    done = await world.apply(judged("judged-1", *cleanup), build.instance("i", "judged-1"))
    assert done.code == 0, done.output
    await world.until_complete("i")


@pytest.fixture
async def guarded(world: World) -> AsyncIterator[World]:
    """Yield a namespace with an idle Instance `i` that only the policy guards."""
    await deployed(world)
    async with without_webhooks(world), instances_policy(world):
        yield world


@pytest.fixture
async def stuck_cleanup(world: World) -> AsyncIterator[World]:
    """Yield a namespace with an Instance `i` whose cleanup does not come to an end."""
    await deployed(world, "wait")
    async with without_webhooks(world), instances_policy(world):
        await delete(world)
        await until_waiting(world, "cleanup", "phase1.clean")
        yield world
        await world.patch("i", {"planExecution": {"status": "FATAL_ERROR"}})
        await world.until_gone(INSTANCES, "i")


async def until_waiting(world: World, name: str = "long", step: str = "phase1.wait") -> Json:
    return await world.until(
        "i", lambda i: instances.steps(i, name).get(step) == "IN_PROGRESS", f"{name} to wait"
    )


async def running(world: World) -> str:
    """Run the plan that waits for ever, and return the uid of the run."""
    await world.patch("i", {"planExecution": {"planName": "long"}})
    return str(instances.scheduled(await until_waiting(world))["uid"])


async def denied(world: World, spec: Json) -> Forbidden:
    before = (await world.instance("i"))["spec"]
    with pytest.raises(Forbidden) as caught:
        await world.patch("i", spec)
    assert (await world.instance("i"))["spec"] == before
    return caught.value


async def test_cleanup_cannot_be_triggered_by_hand(guarded: World) -> None:
    error = await denied(guarded, {"planExecution": {"planName": "cleanup", "uid": "by-hand"}})

    assert denied_by(error) == "CleanupNotManual"
    assert f"kubectl kudo uninstall --instance i -n {guarded.namespace}" in error.message


async def test_a_running_plan_is_not_interfered_with(guarded: World) -> None:
    uid = await running(guarded)

    for change in (
        {"planExecution": {"planName": "other"}},
        {"planExecution": {"planName": "cleanup"}},
        {"planExecution": {"planName": "other", "uid": "mine"}, "parameters": {"A": "2"}},
        {"planExecution": None},
        {"planExecution": {"planName": ""}},
        {"operatorVersion": {"name": "judged-2"}},
        {"operatorVersion": {"namespace": "elsewhere"}},
        {"serviceAccountName": "another"},
    ):
        error = await denied(guarded, change)
        assert denied_by(error) == "PlanRunning", change
        assert "wait until it has ended (kubectl kudo plan status --wait" in error.message
        assert "or cancel it (kubectl kudo plan cancel --instance i" in error.message

    assert instances.scheduled(await guarded.instance("i"))["uid"] == uid


async def test_a_running_plan_can_be_restarted(guarded: World) -> None:
    uid = await running(guarded)

    await guarded.patch("i", {"planExecution": {"planName": "long", "uid": "again"}})

    again = await guarded.until(
        "i", lambda i: instances.entry(i, "long")["uid"] == "again", "a restart"
    )
    assert instances.entry(again, "long")["uid"] != uid


async def test_a_running_plan_can_be_cancelled_and_the_next_one_runs(guarded: World) -> None:
    await running(guarded)

    await guarded.patch("i", {"planExecution": {"status": "FATAL_ERROR"}})
    await guarded.until_failed("i", "long")
    await guarded.patch("i", {"planExecution": {"planName": "other"}})

    await guarded.until_complete("i", "other")


async def test_nobody_is_recorded_as_the_one_who_cancelled_but_the_one_who_does(
    guarded: World,
) -> None:
    await running(guarded)
    cancel = {"status": "FATAL_ERROR", "cancelledBy": "somebody else"}

    error = await denied(guarded, {"planExecution": cancel})
    await guarded.patch("i", {"planExecution": {**cancel, "cancelledBy": "kudo-user"}})

    assert denied_by(error) == "MutatingWebhookMissing"
    ended = await guarded.until_failed("i", "long")
    assert instances.entry(ended, "long")["message"] == "cancelled by kudo-user"


async def test_nobody_is_recorded_as_the_one_who_asked_but_the_one_who_does(
    guarded: World,
) -> None:
    uid = await running(guarded)
    mine = {"planName": "long", "uid": "again", "requestedBy": "kudo-user"}

    for run in ({"uid": uid}, {"planName": "long", "uid": "again"}):
        error = await denied(guarded, {"planExecution": {**run, "requestedBy": "somebody else"}})
        assert denied_by(error) == "MutatingWebhookMissing", run

    after = await guarded.patch("i", {"planExecution": mine})
    assert instances.scheduled(after)["requestedBy"] == "kudo-user"


async def test_what_nobody_scheduled_still_runs(guarded: World) -> None:
    before = instances.entry(await guarded.instance("i"), "deploy")["uid"]

    await guarded.patch("i", {"parameters": {"A": "2"}})

    await guarded.until(
        "i",
        lambda i: instances.idle(i) and instances.entry(i, "deploy")["uid"] != before,
        "the change to be run",
    )


async def test_labels_and_repeated_manifests_pass_beside_a_run(guarded: World) -> None:
    await running(guarded)

    await edit(guarded, "i", {"metadata": {"labels": {"team": "a"}}})
    applied = await guarded.apply(build.instance("i", "judged-1"))
    explicit = {"operatorVersion": {"name": "judged-1", "namespace": guarded.namespace}}
    await guarded.patch("i", explicit)

    assert applied.code == 0, applied.output


async def test_an_instance_with_many_large_parameters_is_judged(guarded: World) -> None:
    many = {f"P{number}": "x" * 500 for number in range(1900)}
    await guarded.patch("i", {"parameters": many})
    await guarded.until_idle("i")

    error = await denied(guarded, {"planExecution": {"planName": "cleanup"}})

    assert denied_by(error) == "CleanupNotManual"


# Deletion


async def test_deletion_runs_cleanup_through(guarded: World) -> None:
    await delete(guarded)

    await guarded.until_gone(INSTANCES, "i")
    texts = [event["message"] for event in await guarded.events("PlanFinished")]
    assert texts[-1] == "Execution of plan cleanup finished with status COMPLETE"


async def test_deletion_stops_a_running_plan(guarded: World) -> None:
    await running(guarded)

    await delete(guarded)

    await guarded.until_gone(INSTANCES, "i")


REFERENCE = {"name": "A", "configMapKeyRef": {"name": "c", "key": "k"}}


async def test_nothing_interferes_with_a_running_cleanup(stuck_cleanup: World) -> None:
    for change, reason in (
        ({"planExecution": None}, "CleanupRunning"),
        ({"planExecution": {"planName": "other"}}, "CleanupRunning"),
        ({"parameters": {"A": "2"}}, "InstanceDeleting"),
        ({"parametersFrom": [REFERENCE]}, "InstanceDeleting"),
        ({"operatorVersion": {"name": "judged-2"}}, "InstanceDeleting"),
    ):
        assert denied_by(await denied(stuck_cleanup, change)) == reason, change


async def test_a_stuck_cleanup_can_be_started_again(stuck_cleanup: World) -> None:
    await stuck_cleanup.patch("i", {"planExecution": {"planName": "cleanup", "uid": "again"}})

    await stuck_cleanup.until(
        "i", lambda i: instances.entry(i, "cleanup")["uid"] == "again", "a restart"
    )


async def test_only_cleanup_can_be_scheduled_while_somebody_else_holds_the_instance(
    guarded: World,
) -> None:
    theirs = "example.org/theirs"
    await edit(guarded, "i", {"metadata": {"finalizers": [FINALIZER, theirs]}})
    await delete(guarded)
    await guarded.until("i", lambda i: i["metadata"]["finalizers"] == [theirs], "cleanup to end")
    await edit(guarded, "i", {"spec": {"planExecution": None}})

    error = await denied(guarded, {"planExecution": {"planName": "other"}})
    await edit(guarded, "i", {"metadata": {"finalizers": []}})

    assert denied_by(error) == "InstanceDeleting"
    await guarded.until_gone(INSTANCES, "i")


# What was stored before anything guarded the Instance

BEGUN = {"name": "long", "status": "IN_PROGRESS"}
STORED_VIOLATIONS = {
    "cleanup named by hand": (
        {"planExecution": {"planName": "cleanup", "uid": "x"}},
        "CleanupNotManual",
    ),
    "cleanup named by hand without a uid": (
        {"planExecution": {"planName": "cleanup"}},
        "CleanupNotManual",
    ),
    "an immutable parameter beside a trigger": (
        {"planExecution": {"planName": "deploy", "uid": "x"}, "parameters": {"FIXED": "9090"}},
        "ParameterImmutable",
    ),
}


@pytest.mark.parametrize("case", STORED_VIOLATIONS)
async def test_the_reconciler_takes_a_refused_run_away(world: World, case: str) -> None:
    violation, reason = STORED_VIOLATIONS[case]
    await deployed(world)
    world.installation.reconciler.stop()
    async with without_webhooks(world):
        await world.patch("i", violation)
        async with instances_policy(world):
            world.installation.reconciler.start()

            await world.until(
                "i", lambda i: not instances.scheduled(i), "planExecution to be cleared"
            )

            assert await world.events(reason)
            assert instances.status_of(await world.instance("i"), "cleanup") == "NEVER_RUN"


async def test_the_reconciler_puts_the_running_plan_back(world: World) -> None:
    await deployed(world)
    uid = await running(world)
    world.installation.reconciler.stop()
    async with without_webhooks(world):
        await world.patch("i", {"planExecution": {"planName": "other", "uid": "second"}})
        async with instances_policy(world):
            world.installation.reconciler.start()

            back = await world.until(
                "i",
                lambda i: instances.scheduled(i).get("planName") == "long",
                "long to be put back",
            )

    assert instances.scheduled(back)["uid"] == uid
    assert "with 'other' is not supported" in await event_text(world, "PlanRunning")


async def test_a_run_that_the_original_began_is_taken_away_if_it_is_refused(world: World) -> None:
    """It has no `lastRun`, so it is not known to have begun."""
    await deployed(world)
    world.installation.reconciler.stop()
    run = {"planName": "long", "uid": "theirs"}
    status = {"lastRun": None, "planStatus": {"long": {**BEGUN, "uid": "theirs"}}}
    async with without_webhooks(world):
        await world.patch("i", {"planExecution": run, "parameters": {"COUNT": "many"}})
        await write_status(world, "i", status)
        async with instances_policy(world):
            world.installation.reconciler.start()

            await world.until(
                "i", lambda i: not instances.scheduled(i), "planExecution to be cleared"
            )

    assert await world.events("ParameterInvalid")
