"""The cases of an Instance's protocol, each shown by an integration test.

| Case | Test |
|---|---|
| create | test_runs: a created instance is deployed to complete and ready |
| create from a backup | here |
| parameter change | test_runs: a parameter with a trigger, and one without |
| change while the same plan runs | test_runs: it restarts the plan |
| change while another runs | here; test_admission_rules: a second plan is denied |
| change between terminal status and clear | test_failures: it is not lost |
| upgrade | test_runs: another operator version; here beside a run in progress |
| upgrade with parameters | here |
| restart by uid | here |
| trigger by hand | test_runs: a plan can be triggered by name without a uid |
| cancel | test_admission_rules: a running plan can be cancelled and says by whom |
| cancel, then restart | here |
| PUT without planExecution while running | here |
| apply without planExecution while running | here |
| crash after each write of a run | here; test_failures: a crash in the middle of a run |
| reconciler paused and resumed | test_failures: it does not undo what came meanwhile |
| mutate missing | here; test_failures: a change is denied |
| both missing, then back | test_unscheduled |
| webhook down while a plan ends | here |
| delete idle, running, stuck, cancelled | test_deletion |
| delete with the OperatorVersion gone | test_deletion |
| namespace deletion | test_deletion |
| dry-run of each | here |
| each recorded state as a start | test_recorded_states |
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import pytest

from kubeio.errors import ApiError
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.changes import delete, label
from tests.support.cluster.events import ends_of
from tests.support.cluster.interface import World
from tests.support.cluster.resources import CONFIG_MAPS, INSTANCES, JOBS


def protocol(name: str = "protocol-1", **plans: Json) -> Json:
    return build.operator_version(
        name,
        templates={
            "config.yaml": build.template(
                build.config_map("{{ .Name }}-config", a="{{ .Params.A }}")
            ),
            "job.yaml": build.template(build.job("{{ .Name }}-{{ .PlanName }}")),
        },
        tasks=[
            build.task("config", "Apply", "config.yaml"),
            build.task("job", "Apply", "job.yaml"),
            build.task("delete-job", "Delete", "job.yaml"),
            build.dummy("wait"),
        ],
        plans={
            "deploy": build.plan({"config": ["config"]}),
            "long": build.plan({"config": ["config"], "wait": ["wait"]}),
            "other": build.plan({"config": ["config"]}),
            **plans,
        },
        parameters=[
            build.parameter("A", "1"),
            build.parameter("LONG", "1", trigger="long"),
            build.parameter("OTHER", "1", trigger="other"),
        ],
    )


@pytest.fixture
async def idle_world(world: World) -> World:
    """Return a namespace with an idle Instance `i`."""
    done = await world.apply(protocol(), build.instance("i", "protocol-1"))
    assert done.code == 0, done.output
    await world.until_complete("i")
    return world


async def running(world: World) -> str:
    """Run the plan that waits for ever, and return the uid of the run."""
    stored = await world.patch("i", {"planExecution": {"planName": "long"}})
    await until_waiting(world)
    return str(instances.scheduled(stored)["uid"])


async def until_waiting(world: World) -> Json:
    return await world.until(
        "i",
        lambda i: instances.steps(i, "long").get("phase1.wait") == "IN_PROGRESS",
        "the plan to wait",
    )


async def cancel(world: World) -> None:
    await world.patch("i", {"planExecution": {"status": "FATAL_ERROR"}})
    await world.until_failed("i", "long")


async def denied(world: World, spec: Json) -> str:
    """Send a change that must be denied, and return the reason."""
    before = (await world.instance("i"))["spec"]
    with pytest.raises(ApiError) as caught:
        await world.patch("i", spec)
    assert (await world.instance("i"))["spec"] == before
    return caught.value.reason


# Creation


async def test_an_instance_from_a_backup_is_deployed_anew(idle_world: World) -> None:
    backup = await idle_world.instance("i")
    backup["metadata"] = {"name": "restored", "labels": backup["metadata"]["labels"]}
    backup["spec"]["planExecution"] = {"planName": "other", "uid": "old", "status": "COMPLETE"}

    done = await idle_world.apply(backup)

    assert done.code == 0, done.output
    restored = await idle_world.until_complete("restored")
    assert instances.entry(restored, "deploy")["uid"] not in {
        "old",
        backup["status"]["lastRun"]["uid"],
    }
    assert instances.status_of(restored, "other") == "NEVER_RUN"
    assert await idle_world.find(CONFIG_MAPS, "restored-config") is not None


# Changes while a plan runs


async def test_a_change_that_needs_another_plan_waits_for_the_running_one(
    idle_world: World,
) -> None:
    uid = await running(idle_world)

    by_parameter = await denied(idle_world, {"parameters": {"OTHER": "2"}})
    by_name = await denied(idle_world, {"planExecution": {"planName": "other"}})
    removed = await denied(idle_world, {"planExecution": None})
    await idle_world.apply(protocol("protocol-2"))
    upgraded = await denied(idle_world, {"operatorVersion": {"name": "protocol-2"}})

    assert {by_parameter, by_name, removed, upgraded} == {"PlanRunning"}
    seen = await idle_world.instance("i")
    assert (instances.scheduled(seen)["uid"], instances.entry(seen, "long")["uid"]) == (uid, uid)
    await cancel(idle_world)
    await idle_world.patch("i", {"parameters": {"OTHER": "2"}})
    await idle_world.until_complete("i", "other")


async def test_a_put_without_the_running_plan_is_denied(idle_world: World) -> None:
    uid = await running(idle_world)
    whole = await idle_world.instance("i")
    del whole["spec"]["planExecution"]
    whole["metadata"].pop("resourceVersion")

    with pytest.raises(ApiError) as caught:
        await idle_world.client.replace(INSTANCES, whole)

    assert caught.value.reason == "PlanRunning"
    assert instances.scheduled(await idle_world.instance("i"))["uid"] == uid
    await cancel(idle_world)


async def synchronized(world: World, manifest: Json) -> Json:
    """Apply on the server side, as a tool that keeps manifests in git does over and over."""
    return await world.client.apply(
        INSTANCES, manifest, namespace=world.namespace, field_manager="gitops", force=True
    )


async def test_a_manifest_without_plan_execution_is_applied_beside_a_run_that_goes_on(
    idle_world: World,
) -> None:
    manifest = build.instance("i", "protocol-1")
    await synchronized(idle_world, manifest)
    uid = await running(idle_world)

    manifest["metadata"]["labels"]["team"] = "a"
    applied = await synchronized(idle_world, manifest)
    by_kubectl = await idle_world.apply(build.instance("i", "protocol-1"))

    assert instances.scheduled(applied)["uid"] == uid
    assert by_kubectl.code == 0, by_kubectl.output
    seen = await until_waiting(idle_world)
    assert (instances.scheduled(seen)["uid"], instances.entry(seen, "long")["uid"]) == (uid, uid)
    await cancel(idle_world)


async def test_server_side_apply_of_a_changed_manifest_keeps_the_run_that_it_starts(
    idle_world: World,
) -> None:
    manifest = build.instance("i", "protocol-1", LONG="2")

    started = await synchronized(idle_world, manifest)
    again = await synchronized(idle_world, manifest)

    assert instances.scheduled(started)["planName"] == "long"
    assert instances.scheduled(again)["uid"] == instances.scheduled(started)["uid"]
    await until_waiting(idle_world)
    await cancel(idle_world)


# Upgrades


async def test_an_upgrade_takes_parameters_along_in_one_run(idle_world: World) -> None:
    version = protocol("protocol-2", upgrade=build.plan({"config": ["config"]}))
    version["spec"]["parameters"].append(build.parameter("NEW", "1", trigger="other"))
    await idle_world.apply(version)

    change = {"operatorVersion": {"name": "protocol-2"}, "parameters": {"A": "2", "NEW": "2"}}
    stored = await idle_world.patch("i", change)

    assert instances.scheduled(stored)["planName"] == "upgrade"
    after = await idle_world.until_complete("i", "upgrade")
    assert instances.entry(after, "upgrade")["uid"] == instances.scheduled(stored)["uid"]
    assert (await idle_world.get(CONFIG_MAPS, "i-config"))["data"] == {"a": "2"}
    assert len(await idle_world.events("PlanStarted")) == 2


async def test_an_upgrade_beside_a_parameter_with_its_own_plan_is_denied(
    idle_world: World,
) -> None:
    await idle_world.apply(protocol("protocol-2"))
    change = {"operatorVersion": {"name": "protocol-2"}, "parameters": {"OTHER": "2"}}

    assert await denied(idle_world, change) == "PlanBesideChange"


async def test_an_upgrade_rebuilds_the_entries_of_the_plans(idle_world: World) -> None:
    before = await idle_world.patch("i", {"planExecution": {"planName": "other"}})
    await idle_world.until_complete("i", "other")
    reordered = build.shaped({"first": ["config"]}, {"new": ["config"], "config": ["config"]})
    version = protocol("protocol-2", upgrade=build.plan({"config": ["config"]}), deploy=reordered)
    version["spec"]["plans"]["other"] = build.plan({"more": ["config"], "config": ["config"]})
    await idle_world.apply(version)

    await idle_world.patch("i", {"operatorVersion": {"name": "protocol-2"}})
    after = await idle_world.until_complete("i", "upgrade")

    assert instances.steps(after, "other") == {
        "phase1.more": "NEVER_RUN",
        "phase1.config": "COMPLETE",
    }
    assert instances.entry(after, "other")["uid"] == instances.scheduled(before)["uid"]
    assert instances.steps(after, "deploy") == {
        "phase1.first": "NEVER_RUN",
        "phase2.new": "NEVER_RUN",
        "phase2.config": "NEVER_RUN",
    }


# Restart and cancel


async def test_another_uid_starts_the_running_plan_again(idle_world: World) -> None:
    first = await running(idle_world)

    stored = await idle_world.patch("i", {"planExecution": {"uid": "again"}})

    second = instances.scheduled(stored)["uid"]
    assert second not in {first, "again"}
    after = await idle_world.until(
        "i",
        lambda i: (
            instances.entry(i, "long")["uid"] == second
            and instances.steps(i, "long")["phase1.wait"] == "IN_PROGRESS"
        ),
        "the second run",
    )
    assert after["status"]["lastRun"]["uid"] == second
    ends = await ends_of(idle_world, first)
    assert ends == ["Execution of plan long was superseded by another one"]
    await cancel(idle_world)


async def test_the_uid_of_a_run_that_has_ended_runs_nothing(idle_world: World) -> None:
    ended = instances.entry(await idle_world.instance("i"), "deploy")["uid"]

    stored = await idle_world.patch("i", {"planExecution": {"planName": "deploy", "uid": ended}})

    assert instances.scheduled(stored).get("uid") != ended
    after = await idle_world.until_complete("i")
    assert instances.entry(after, "deploy")["uid"] == instances.scheduled(stored)["uid"]


async def test_a_restart_takes_a_cancel_back_that_was_not_yet_seen(idle_world: World) -> None:
    first = await running(idle_world)
    await idle_world.reconciler.stop()
    await idle_world.patch("i", {"planExecution": {"status": "FATAL_ERROR"}})

    stored = await idle_world.patch("i", {"planExecution": {"uid": "again"}})
    await idle_world.reconciler.start()

    second = instances.scheduled(stored)["uid"]
    assert instances.scheduled(stored) == {
        "planName": "long",
        "uid": second,
        "status": "NEVER_RUN",
        "requestedBy": "kudo-user",
    }
    assert second != first
    await idle_world.until(
        "i",
        lambda i: (
            instances.entry(i, "long")["uid"] == second
            and instances.steps(i, "long")["phase1.wait"] == "IN_PROGRESS"
        ),
        "the second run",
    )
    assert await idle_world.events("PlanCancelled") == []
    await cancel(idle_world)


async def test_a_cancelled_plan_stays_cancelled_whoever_repeats_the_cancel(
    idle_world: World,
) -> None:
    uid = await running(idle_world)
    await idle_world.reconciler.stop()
    wish = {"planExecution": {"status": "FATAL_ERROR"}}
    await idle_world.patch("i", wish)
    async with idle_world.client_as("admin") as admin:
        repeated = await admin.merge_patch(
            INSTANCES, "i", {"spec": wish}, namespace=idle_world.namespace
        )
    await idle_world.reconciler.start()

    assert instances.scheduled(repeated)["cancelledBy"] == "kudo-user"
    ended = await idle_world.until_failed("i", "long")
    assert instances.entry(ended, "long")["uid"] == uid
    assert instances.entry(ended, "long")["message"] == "cancelled by kudo-user"
    assert instances.reason_of(ended, "Stalled") == ("True", "PlanInFatalError")


# Webhooks


async def test_a_plan_ends_and_is_cleared_while_no_webhook_answers(idle_world: World) -> None:
    await idle_world.reconciler.stop()
    stored = await idle_world.patch("i", {"planExecution": {"planName": "other"}})
    async with idle_world.unreachable_webhook():
        await idle_world.reconciler.start()

        ended = await idle_world.until_complete("i", "other")
    assert instances.entry(ended, "other")["uid"] == instances.scheduled(stored)["uid"]
    assert await ends_of(idle_world, instances.scheduled(stored)["uid"])


async def test_without_the_mutating_webhook_only_what_it_would_have_written_is_stored(
    idle_world: World,
) -> None:
    async with idle_world.without_mutating_webhook():
        created = await idle_world.apply(build.instance("j", "protocol-1"))
        by_parameter = await denied(idle_world, {"parameters": {"A": "2"}})
        by_name = await denied(idle_world, {"planExecution": {"planName": "other"}})
        await label(idle_world, team="a")
        whole = {"planName": "other", "uid": "of-their-own", "status": "NEVER_RUN"}
        await idle_world.patch("i", {"planExecution": whole})
        ended = await idle_world.until_complete("i", "other")

    assert "the mutating webhook configuration of KUDO is missing" in created.stderr
    assert {by_parameter, by_name} == {"MutatingWebhookMissing"}
    assert instances.entry(ended, "other")["uid"] == "of-their-own"
    await idle_world.patch("i", {"parameters": {"A": "2"}})
    await idle_world.until_complete("i")


# Dry runs

CHANGES: dict[str, Json] = {
    "a parameter": {"parameters": {"A": "2"}},
    "an upgrade": {"operatorVersion": {"name": "protocol-2"}},
    "a trigger": {"planExecution": {"planName": "other"}},
}
CHANGES_OF_A_RUN: dict[str, Json] = {
    "a restart": {"planExecution": {"uid": "again"}},
    "a cancel": {"planExecution": {"status": "FATAL_ERROR"}},
    "the parameter of the running plan": {"parameters": {"LONG": "2"}},
}


async def tried(world: World, spec: Json) -> Json:
    """Make a change as a dry run, and see that nothing was stored."""
    before = await world.instance("i")
    answer = await world.client.merge_patch(
        INSTANCES, "i", {"spec": spec}, namespace=world.namespace, dry_run=True
    )
    assert answer["spec"] != before["spec"]
    assert await world.instance("i") == before
    return answer


@pytest.mark.parametrize("change", CHANGES)
async def test_a_dry_run_shows_the_plan_and_stores_nothing(idle_world: World, change: str) -> None:
    await idle_world.apply(protocol("protocol-2", upgrade=build.plan({"config": ["config"]})))

    answer = await tried(idle_world, CHANGES[change])

    plans = {"a parameter": "deploy", "an upgrade": "upgrade", "a trigger": "other"}
    assert instances.scheduled(answer)["planName"] == plans[change]
    # The same change, meant this time, gets a uid of its own.
    stored = await idle_world.patch("i", CHANGES[change])
    assert instances.scheduled(stored)["uid"] != instances.scheduled(answer)["uid"]
    await idle_world.until_complete("i", plans[change])


@pytest.mark.parametrize("change", CHANGES_OF_A_RUN)
async def test_a_dry_run_leaves_the_running_plan_alone(idle_world: World, change: str) -> None:
    uid = await running(idle_world)

    answer = await tried(idle_world, CHANGES_OF_A_RUN[change])

    assert (instances.scheduled(answer)["uid"] == uid) is (change == "a cancel")
    seen = await idle_world.instance("i")
    assert (instances.scheduled(seen)["uid"], instances.entry(seen, "long")["uid"]) == (uid, uid)
    await cancel(idle_world)


async def test_a_dry_run_creates_and_deletes_nothing(idle_world: World) -> None:
    client, namespace = idle_world.client, idle_world.namespace
    before = await idle_world.instance("i")

    new = build.instance("j", "protocol-1")
    created = await client.create(INSTANCES, new, namespace=namespace, dry_run=True)
    await client.delete(INSTANCES, "i", namespace=namespace, dry_run=True)

    assert instances.scheduled(created)["planName"] == "deploy"
    assert await idle_world.find(INSTANCES, "j") is None
    assert await idle_world.instance("i") == before


# Crashes after each write

CRASHING = build.plan({"delete": ["delete-job"], "job": ["job"]}, {"config": ["config"]})
Reached = Callable[[Json], bool]
"""Whether an Instance shows a certain write."""


def current(instance: Json) -> bool:
    """Whether the status speaks of the run that is scheduled."""
    return bool(instances.scheduled(instance)) and (
        instances.entry(instance, "crashing").get("uid") == instances.scheduled(instance)["uid"]
    )


WRITES: dict[str, Reached] = {
    "the schedule": lambda i: bool(instances.scheduled(i)),
    "the first status": current,
    "the first step": lambda i: (
        current(i) and instances.steps(i, "crashing")["phase1.delete"] == "COMPLETE"
    ),
    "the second step": lambda i: (
        current(i) and instances.steps(i, "crashing")["phase1.job"] == "COMPLETE"
    ),
    "the terminal status": lambda i: (
        current(i) and instances.status_of(i, "crashing") == "COMPLETE"
    ),
    "the clear": lambda i: not instances.scheduled(i),
}
WRITES_OF_DELETION: dict[str, Reached] = {
    "the deletion": lambda i: "deletionTimestamp" in i["metadata"],
    "the stop": lambda i: instances.status_of(i, "long") == "FATAL_ERROR",
    "the schedule of cleanup": lambda i: instances.scheduled(i).get("planName") == "cleanup",
    "the first status of cleanup": lambda i: instances.status_of(i, "cleanup") == "IN_PROGRESS",
    "the terminal status of cleanup": lambda i: instances.status_of(i, "cleanup") == "COMPLETE",
}


async def kill_at(world: World, reached: Reached, change: Awaitable[object]) -> None:
    """Make a change, and kill the reconciler as soon as a write that follows from it is seen.

    A watch shows every stored state, so none is missed however short it lasts.
    """
    since = (await world.client.list(INSTANCES, namespace=world.namespace)).resource_version
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        watching = group.create_task(_until_seen(world, since, reached))
        await change
        await watching
    await world.reconciler.kill()


async def _until_seen(world: World, since: str, reached: Reached) -> None:
    stream = world.client.watch(INSTANCES, namespace=world.namespace, resource_version=since)
    async with aclosing(stream) as events:
        async for event in events:
            if event.type in {"ADDED", "MODIFIED"} and reached(event.object):
                return


@pytest.mark.parametrize("write", WRITES)
async def test_a_crash_after_each_write_of_a_run_loses_and_repeats_nothing(
    world: World, write: str
) -> None:
    await world.apply(protocol(crashing=CRASHING), build.instance("i", "protocol-1"))
    uids = [instances.entry(await world.until_complete("i"), "deploy")["uid"]]
    jobs: set[str] = set()

    for number in range(1, 4):
        trigger = world.patch("i", {"planExecution": {"planName": "crashing"}})
        await kill_at(world, WRITES[write], trigger)
        await world.reconciler.start()
        ended = await world.until_complete("i", "crashing")

        uids.append(instances.entry(ended, "crashing")["uid"])
        assert ended["status"]["lastRun"]["uid"] == uids[-1]
        assert instances.reason_of(ended) == ("True", "ResourcesReady")
        jobs.add((await world.get(JOBS, "i-crashing"))["metadata"]["uid"])
        assert len(jobs) == number
    names = [event["metadata"]["name"] for event in await world.events()]
    assert names == [f"i.{uid}.{what}" for uid in uids for what in ("started", "finished")]


@pytest.mark.parametrize("write", WRITES_OF_DELETION)
async def test_a_crash_after_each_write_of_a_deletion_still_cleans_up_once(
    world: World, write: str
) -> None:
    cleanup = build.plan({"job": ["job"]}, {"config": ["config"]})
    await world.apply(protocol(cleanup=cleanup), build.instance("i", "protocol-1"))
    await world.until_complete("i")
    uid = await running(world)

    await kill_at(world, WRITES_OF_DELETION[write], delete(world))
    await world.reconciler.start()
    await world.until_gone(INSTANCES, "i")

    assert await ends_of(world, uid) == ["Execution of plan long finished with status FATAL_ERROR"]
    texts = [event["message"] for event in await world.events()]
    assert [text for text in texts if "cleanup" in text] == [
        "Execution of plan cleanup started",
        "Execution of plan cleanup finished with status COMPLETE",
    ]
