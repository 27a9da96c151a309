"""Deletion: cleanup over whatever was going on, and the Instance gone in the end."""

import json
from collections.abc import Sequence

import pytest

from kubeio.client import Client
from kubeio.errors import ApiError
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.changes import FINALIZER, delete, edit
from tests.support.cluster.events import ends_of, reasons
from tests.support.cluster.interface import World
from tests.support.cluster.resources import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    INSTANCES,
    JOBS,
    NAMESPACES,
    VERSIONS,
)
from tests.support.cluster.waiting import wait_until

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


async def running(world: World) -> str:
    """Run the plan that waits for ever, and return the uid of the run."""
    stored = await world.patch("i", {"planExecution": {"planName": "long"}})
    await world.until(
        "i", lambda i: instances.steps(i, "long").get("phase1.web") == "IN_PROGRESS", "long"
    )
    return str(instances.scheduled(stored)["uid"])


async def cleaning(world: World) -> str:
    """Wait until the cleanup plan waits for ever, and return the uid of the run."""
    seen = await world.until(
        "i",
        lambda i: instances.tasks_of(i, "cleanup").get("clean.wait") is not None,
        "cleanup to wait",
    )
    return str(instances.scheduled(seen)["uid"])


async def cleanup_ends(world: World) -> list[str]:
    texts = [event["message"] for event in await world.events("PlanFinished")]
    return [t.removeprefix(CLEANUP_FINISHED) for t in texts if t.startswith(CLEANUP_FINISHED)]


async def test_an_idle_instance_is_cleaned_up_and_goes(world: World) -> None:
    await deployed(world, cleaned())

    await delete(world)

    await world.until_gone(INSTANCES, "i")
    assert await cleanup_ends(world) == ["COMPLETE"]


async def test_a_running_plan_stops_for_the_cleanup(world: World) -> None:
    await deployed(world, cleaned(STUCK))
    uid = await running(world)

    await delete(world)
    cleanup_uid = await cleaning(world)

    seen = await world.instance("i")
    assert instances.entry(seen, "long")["uid"] == uid
    assert instances.status_of(seen, "long") == "FATAL_ERROR"
    assert instances.entry(seen, "long")["message"] == "stopped: Instance is being deleted"
    assert instances.entry(seen, "long")["finishedAt"]
    assert instances.scheduled(seen) == {
        "planName": "cleanup",
        "uid": cleanup_uid,
        "status": "NEVER_RUN",
    }
    assert seen["status"]["lastRun"]["plan"] == "cleanup"
    assert await ends_of(world, uid) == ["Execution of plan long finished with status FATAL_ERROR"]
    await world.patch("i", {"planExecution": {"status": "FATAL_ERROR"}})
    await world.until_gone(INSTANCES, "i")


async def test_a_plan_that_keeps_failing_stops_for_the_cleanup(world: World) -> None:
    version = cleaned(failing=build.plan({"try": ["err"]}))
    version["spec"]["tasks"].append(build.dummy("err", wantErr=True))
    await deployed(world, version)
    await world.patch("i", {"planExecution": {"planName": "failing"}})
    await world.until(
        "i", lambda i: instances.steps(i, "failing").get("phase1.try") == "ERROR", "an error"
    )

    await delete(world)

    await world.until_gone(INSTANCES, "i")
    assert await cleanup_ends(world) == ["COMPLETE"]


async def test_a_plan_that_was_scheduled_and_never_begun_gives_way_to_the_cleanup(
    world: World,
) -> None:
    await deployed(world, cleaned())
    await world.reconciler.stop()
    await world.patch("i", {"planExecution": {"planName": "long"}})
    await delete(world)

    await world.reconciler.start()

    await world.until_gone(INSTANCES, "i")
    assert await cleanup_ends(world) == ["COMPLETE"]
    started = [event["message"] for event in await world.events("PlanStarted")]
    assert "Execution of plan long started" not in started


async def test_a_cancelled_plan_does_not_keep_the_instance(world: World) -> None:
    await deployed(world, cleaned())
    await running(world)
    await world.reconciler.stop()
    await world.patch("i", {"planExecution": {"status": "FATAL_ERROR"}})
    await delete(world)

    await world.reconciler.start()

    await world.until_gone(INSTANCES, "i")
    assert await cleanup_ends(world) == ["COMPLETE"]


async def test_a_cleanup_that_fails_lets_the_instance_go_with_a_warning(world: World) -> None:
    await deployed(world, cleaned(FAILING))

    await delete(world)

    await world.until_gone(INSTANCES, "i")
    assert await cleanup_ends(world) == ["FATAL_ERROR"]
    assert {e["type"] for e in (await world.events())[-2:]} == {"Warning"}
    assert (await reasons(world))[-2:] == ["DummyTaskError", "PlanFinished"]


async def test_a_stuck_cleanup_is_started_again_by_another_uid(world: World) -> None:
    await deployed(world, cleaned(STUCK))
    await delete(world)
    first = await cleaning(world)

    stored = await world.patch("i", {"planExecution": {"uid": "again"}})

    second = instances.scheduled(stored)["uid"]
    assert second not in {first, "again"}
    await world.until(
        "i", lambda i: instances.entry(i, "cleanup").get("uid") == second, "the second cleanup"
    )
    assert await ends_of(world, first) == [
        "Execution of plan cleanup was superseded by another one"
    ]
    await world.patch("i", {"planExecution": {"status": "FATAL_ERROR"}})
    await world.until_gone(INSTANCES, "i")


async def test_a_stuck_cleanup_that_is_started_again_takes_the_mended_version(
    world: World,
) -> None:
    await deployed(world, cleaned(STUCK))
    await delete(world)
    await cleaning(world)
    await world.apply(cleaned(DONE))

    await world.patch("i", {"planExecution": {"uid": "again"}})

    await world.until_gone(INSTANCES, "i")
    assert await cleanup_ends(world) == ["COMPLETE"]


async def test_a_stuck_cleanup_can_be_cancelled_and_the_instance_goes(world: World) -> None:
    await deployed(world, cleaned(STUCK))
    await delete(world)
    uid = await cleaning(world)

    stored = await world.patch("i", {"planExecution": {"status": "FATAL_ERROR"}})

    assert instances.scheduled(stored)["cancelledBy"] == "kudo-user"
    assert instances.scheduled(stored)["uid"] == uid
    await world.until_gone(INSTANCES, "i")
    warnings = await world.events("PlanCancelled")
    assert [event["message"] for event in warnings] == ["cancelled by kudo-user"]


async def test_a_cleanup_survives_a_crash_of_the_reconciler(world: World) -> None:
    await deployed(world, cleaned(STUCK))
    await delete(world)
    uid = await cleaning(world)

    await world.reconciler.kill()
    await world.reconciler.start()
    # A pass of the new process: it takes the cancel as the old one would have.
    await world.patch("i", {"planExecution": {"status": "FATAL_ERROR"}})

    await world.until_gone(INSTANCES, "i")
    assert await ends_of(world, uid) == [f"{CLEANUP_FINISHED}FATAL_ERROR"]


async def test_a_cleanup_that_has_ended_is_not_run_again_because_its_record_was_cleared(
    world: World, admin: Client
) -> None:
    await deployed(world, cleaned(STUCK))
    await delete(world)
    uid = await cleaning(world)
    # The state in which a reconciler leaves it that dies after the first of the last writes.
    await world.reconciler.kill()
    ended = {"status": {"planStatus": {"cleanup": {"status": "COMPLETE"}}}}
    await admin.merge_patch(INSTANCES, "i", ended, namespace=world.namespace, subresource="status")
    await world.patch("i", {"planExecution": None})

    await world.reconciler.start()

    await world.until_gone(INSTANCES, "i")
    assert await ends_of(world, uid) == [f"{CLEANUP_FINISHED}COMPLETE"]
    started = [event["message"] for event in await world.events("PlanStarted")]
    assert len([text for text in started if "cleanup" in text]) == 1


@pytest.mark.parametrize(
    "run", [{"planName": "deploy", "uid": "X"}, None], ids=["named", "cleared"]
)
async def test_a_cleanup_goes_on_whatever_is_scheduled_past_admission(
    world: World, run: Json | None
) -> None:
    await deployed(world, cleaned(STUCK))
    await delete(world)
    uid = await cleaning(world)
    async with world.without_webhooks():
        await world.patch("i", {"planExecution": run})
        await world.until(
            "i", lambda i: instances.scheduled(i).get("uid") == uid, "the cleanup again"
        )

    seen = await world.instance("i")
    assert instances.status_of(seen, "cleanup") == "IN_PROGRESS"
    await world.patch("i", {"planExecution": {"status": "FATAL_ERROR"}})
    await world.until_gone(INSTANCES, "i")
    assert await ends_of(world, uid) == [f"{CLEANUP_FINISHED}FATAL_ERROR"]


async def test_while_the_cleanup_runs_nothing_else_may_be_asked_for(world: World) -> None:
    await deployed(world, cleaned(STUCK))
    await delete(world)
    await cleaning(world)

    refusals = []
    for spec in (
        {"planExecution": {"planName": "deploy"}},
        {"planExecution": None},
        {"parameters": {"A": "2"}},
    ):
        with pytest.raises(ApiError) as caught:
            await world.patch("i", spec)
        refusals.append(caught.value.reason)

    assert refusals == ["CleanupRunning", "CleanupRunning", "InstanceDeleting"]
    await world.patch("i", {"planExecution": {"status": "FATAL_ERROR"}})
    await world.until_gone(INSTANCES, "i")


async def test_an_instance_whose_version_is_gone_is_let_go_with_a_warning(world: World) -> None:
    await deployed(world, cleaned())
    await world.client.delete(VERSIONS, "cleaned-1", namespace=world.namespace)

    await delete(world)

    await world.until_gone(INSTANCES, "i")
    warnings = await world.events("InvalidOperatorVersion")
    assert "OperatorVersion" in warnings[-1]["message"]
    assert await world.find(JOBS, "i-cleanup") is None


async def test_a_version_that_goes_while_the_cleanup_is_stuck_lets_the_instance_go(
    world: World,
) -> None:
    await deployed(world, cleaned(STUCK))
    await delete(world)
    await cleaning(world)

    await world.client.delete(VERSIONS, "cleaned-1", namespace=world.namespace)

    await world.until_gone(INSTANCES, "i")


@pytest.mark.parametrize("cleanup", [DONE, FAILING, STUCK], ids=["done", "failing", "stuck"])
async def test_a_namespace_with_a_cleanup_plan_in_it_can_be_deleted(
    world: World, cleanup: Sequence[str]
) -> None:
    await deployed(world, cleaned(cleanup))

    await delete_namespace(world)


async def delete_namespace(world: World) -> None:
    """Delete the namespace of the test, and wait until it is gone."""
    await world.client.delete(NAMESPACES, world.namespace)

    async def gone() -> bool:
        names = [ns["metadata"]["name"] for ns in (await world.client.list(NAMESPACES)).items]
        return world.namespace not in names

    await wait_until(gone, lambda: f"namespace {world.namespace} to be gone")


async def test_a_terminating_namespace_ends_the_cleanup_that_needs_new_objects(
    world: World, admin: Client
) -> None:
    await deployed(world, cleaned(DONE))
    # Something of somebody else keeps the namespace, so that the order of deletions is known.
    held = {
        **build.config_map("held"),
        "metadata": {"name": "held", "finalizers": ["example.org/held"]},
    }
    await admin.create(CONFIG_MAPS, held, namespace=world.namespace)
    kept = [FINALIZER, "example.org/kept"]
    await edit(world, "i", {"metadata": {"finalizers": kept}})
    version = await world.get(VERSIONS, "cleaned-1")
    version["metadata"]["finalizers"] = ["example.org/kept"]
    await world.client.replace(VERSIONS, version)

    await world.client.delete(NAMESPACES, world.namespace)
    ended = await world.until(
        "i", lambda i: instances.status_of(i, "cleanup") == "FATAL_ERROR", "its end"
    )

    assert "is being terminated" in json.dumps(instances.entry(ended, "cleanup"))
    await world.until("i", lambda i: i["metadata"]["finalizers"] == kept[1:], "our finalizer to go")
    free: Json = {"metadata": {"finalizers": []}}
    await edit(world, "i", free)
    for resource, name in ((VERSIONS, "cleaned-1"), (CONFIG_MAPS, "held")):
        await admin.merge_patch(resource, name, free, namespace=world.namespace)


# The finalizer


async def finalizers(world: World) -> list[str]:
    found: list[str] = (await world.instance("i"))["metadata"].get("finalizers", [])
    return found


async def upgraded(world: World, version: Json) -> None:
    done = await world.apply(version)
    assert done.code == 0, done.output
    await world.patch("i", {"operatorVersion": {"name": version["metadata"]["name"]}})
    await world.until_complete("i")


async def test_an_upgrade_that_adds_a_cleanup_plan_adds_the_finalizer_and_it_runs(
    world: World,
) -> None:
    await deployed(world, cleaned(None))
    assert await finalizers(world) == []

    await upgraded(world, cleaned(name="cleaned-2"))

    assert await finalizers(world) == [FINALIZER]
    await delete(world)
    await world.until_gone(INSTANCES, "i")
    assert await cleanup_ends(world) == ["COMPLETE"]


async def test_an_upgrade_that_removes_the_cleanup_plan_removes_the_finalizer(
    world: World,
) -> None:
    await deployed(world, cleaned())
    assert await finalizers(world) == [FINALIZER]

    await upgraded(world, cleaned(None, name="cleaned-2"))

    assert await finalizers(world) == []
    await delete(world)
    await world.until_gone(INSTANCES, "i")
    assert await cleanup_ends(world) == []


async def test_the_finalizer_leaves_those_of_others_alone(world: World) -> None:
    version = cleaned()
    instance = build.instance("i", "cleaned-1")
    instance["metadata"]["finalizers"] = ["example.org/theirs"]
    await world.apply(version, instance)
    await world.until_complete("i")
    assert await finalizers(world) == ["example.org/theirs", FINALIZER]

    await delete(world)
    await world.until(
        "i", lambda i: i["metadata"]["finalizers"] == ["example.org/theirs"], "ours to go"
    )
    kept = await world.instance("i")
    await edit(world, "i", {"metadata": {"finalizers": []}})

    assert instances.status_of(kept, "cleanup") == "COMPLETE"
    assert await cleanup_ends(world) == ["COMPLETE"]
    await world.until_gone(INSTANCES, "i")


async def test_a_finalizer_taken_off_by_hand_comes_back_with_the_next_run(world: World) -> None:
    await deployed(world, cleaned())
    await edit(world, "i", {"metadata": {"finalizers": []}})
    assert await finalizers(world) == []

    await world.patch("i", {"parameters": {"A": "2"}})
    await world.until_complete("i")

    assert await finalizers(world) == [FINALIZER]


async def test_an_instance_without_our_finalizer_goes_without_cleanup(world: World) -> None:
    await deployed(world, cleaned())
    await edit(world, "i", {"metadata": {"finalizers": []}})

    await delete(world)

    await world.until_gone(INSTANCES, "i")
    assert await world.find(JOBS, "i-cleanup") is None


# Without a cleanup plan


async def test_nothing_is_created_again_for_an_instance_that_went_while_its_plan_ran(
    world: World,
) -> None:
    await deployed(world, cleaned(None))
    uid = await running(world)

    await delete(world)
    await world.until_gone(INSTANCES, "i")

    for resource, name in ((DEPLOYMENTS, "i-web"), (CONFIG_MAPS, "i-config")):
        await world.until_gone(resource, name)
    # Another Instance passes through the same reconciler: it has seen the deletion by then.
    await world.apply(build.instance("after", "cleaned-1"))
    await world.until_complete("after")
    assert await world.find(DEPLOYMENTS, "i-web") is None
    assert await world.find(CONFIG_MAPS, "i-config") is None
    assert await ends_of(world, uid) == []


async def test_nothing_runs_for_an_instance_that_somebody_else_keeps(
    world: World, admin: Client
) -> None:
    await deployed(world, cleaned(None))
    await edit(world, "i", {"metadata": {"finalizers": ["example.org/theirs"]}})
    await running(world)

    await delete(world)
    await admin.delete(DEPLOYMENTS, "i-web", namespace=world.namespace)
    await world.until_gone(DEPLOYMENTS, "i-web")
    await world.apply(build.instance("after", "cleaned-1"))
    await world.until_complete("after")

    assert await world.find(DEPLOYMENTS, "i-web") is None
    await edit(world, "i", {"metadata": {"finalizers": []}})
    await world.until_gone(INSTANCES, "i")


async def test_an_instance_of_the_same_name_starts_from_nothing(world: World) -> None:
    first = await deployed(world, cleaned())
    await delete(world)
    await world.until_gone(INSTANCES, "i")

    second = await deployed(world, cleaned())

    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    assert instances.status_of(second, "cleanup") == "NEVER_RUN"
    owners = (await world.get(CONFIG_MAPS, "i-config"))["metadata"]["ownerReferences"]
    assert [owner["uid"] for owner in owners] == [second["metadata"]["uid"]]
