"""What is stored while no webhook guards it: scheduled by the reconciler, or refused until it is
set back.

Both configurations are away while a change is written; everything is checked against what is in
force.
"""

from collections.abc import AsyncIterator

import pytest

from kudo.api.fingerprints import fingerprint
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.changes import FINALIZER
from tests.support.cluster.events import event_text, reasons
from tests.support.cluster.interface import World
from tests.support.cluster.resources import CONFIG_MAPS


def unguarded(name: str = "unguarded-1", **plans: Json) -> Json:
    return build.operator_version(
        name,
        templates={
            "a.yaml": build.template(build.config_map("{{ .Name }}-a", a="{{ .Params.A }}")),
            "b.yaml": build.template(build.config_map("{{ .Name }}-b", b="{{ .Params.B }}")),
        },
        tasks=[
            build.task("a", "Apply", "a.yaml"),
            build.task("b", "Apply", "b.yaml"),
            build.dummy("wait"),
        ],
        plans={
            "deploy": build.plan({"a": ["a"], "b": ["b"]}),
            "b": build.plan({"b": ["b"]}),
            "long": build.plan({"wait": ["wait"]}),
            **plans,
        },
        parameters=[
            build.parameter("A", "1"),
            build.parameter("B", "1", trigger="b"),
            build.parameter("LONG", "1", trigger="long"),
            build.parameter("FIXED", "8080", immutable=True),
            build.parameter("COUNT", "1", **{"value-type": "integer"}),
            build.parameter("LIST", "[]", **{"value-type": "array"}),
        ],
    )


CLEANING = build.plan({"a": ["a"]})


@pytest.fixture
async def idle_world(world: World) -> AsyncIterator[World]:
    """Yield a namespace with an idle Instance `i`, and no webhook."""
    done = await world.apply(unguarded(cleanup=CLEANING), build.instance("i", "unguarded-1"))
    assert done.code == 0, done.output
    await world.until_complete("i")
    async with world.without_webhooks():
        yield world


async def data(world: World, name: str) -> Json:
    found: Json = (await world.get(CONFIG_MAPS, name))["data"]
    return found


async def test_an_instance_that_no_webhook_saw_is_deployed(world: World) -> None:
    async with world.without_webhooks():
        await world.apply(unguarded(cleanup=CLEANING), build.instance("i", "unguarded-1", A="2"))

        deployed = await world.until_complete("i")

    assert instances.entry(deployed, "deploy")["uid"] == deployed["status"]["lastRun"]["uid"]
    assert deployed["metadata"]["finalizers"] == [FINALIZER]
    assert await data(world, "i-a") == {"a": "2"}
    assert await reasons(world) == ["PlanStarted", "PlanFinished"]


async def test_a_changed_parameter_that_no_webhook_saw_runs_its_plan(idle_world: World) -> None:
    before = instances.entry(await idle_world.instance("i"), "deploy")["uid"]

    stored = await idle_world.patch("i", {"parameters": {"B": "2"}})

    assert not instances.scheduled(stored)
    after = await idle_world.until_complete("i", "b")
    assert instances.entry(after, "deploy")["uid"] == before
    assert await data(idle_world, "i-b") == {"b": "2"}


async def test_a_removed_parameter_runs_its_plan_too(idle_world: World) -> None:
    await idle_world.patch("i", {"parameters": {"B": "2"}})
    first = await idle_world.until_complete("i", "b")

    await idle_world.patch("i", {"parameters": {"B": None}})

    second = await idle_world.until_complete("i", "b")
    assert instances.entry(second, "b")["uid"] != instances.entry(first, "b")["uid"]
    assert await data(idle_world, "i-b") == {"b": "1"}


@pytest.mark.parametrize("name", ["upgrade", "update", "deploy"])
async def test_a_new_version_that_no_webhook_saw_runs_its_plan(
    idle_world: World, name: str
) -> None:
    plans = {} if name == "deploy" else {name: build.plan({"b": ["b"]})}
    await idle_world.apply(unguarded("unguarded-2", **plans))
    before = instances.entry(await idle_world.instance("i"), "deploy")["uid"]

    change = {"operatorVersion": {"name": "unguarded-2"}, "parameters": {"A": "2"}}
    await idle_world.patch("i", change)

    after = await idle_world.until_complete("i", name)
    assert instances.entry(after, name)["uid"] != before
    assert after["status"]["lastRun"]["operatorVersion"]["name"] == "unguarded-2"
    # The new version has no cleanup plan, so nothing would ever take the finalizer off.
    assert FINALIZER not in after["metadata"].get("finalizers", [])


async def test_a_change_beside_a_named_plan_runs_its_own_plan_after_that(idle_world: World) -> None:
    before = instances.entry(await idle_world.instance("i"), "deploy")["uid"]
    edit = {"parameters": {"A": "2"}, "planExecution": {"planName": "long"}}
    await idle_world.patch("i", edit)
    running = await idle_world.until(
        "i", lambda i: instances.status_of(i, "long") == "IN_PROGRESS", "the named plan to run"
    )

    last = running["status"]["lastRun"]
    assert last["parameters"] == {"FIXED": fingerprint("8080")}
    assert last["pendingParameters"] == {"A": fingerprint("2")}
    # What the run began with is known to the next process as well.
    await idle_world.reconciler.stop()
    await idle_world.reconciler.start()
    await idle_world.patch("i", {"planExecution": {"status": "FATAL_ERROR"}})
    ended = await idle_world.until_failed("i", "long")
    assert instances.entry(ended, "long")["message"].startswith("cancelled by")
    assert ended["status"]["notInForce"] == {"parameters": ["A"], "plan": "deploy"}

    # Nothing follows what failed; this one is COMPLETE.
    await idle_world.patch("i", {"planExecution": {"planName": "b"}})

    after = await idle_world.until(
        "i",
        lambda i: (
            instances.entry(i, "deploy")["uid"] != before
            and instances.status_of(i, "deploy") == "COMPLETE"
        ),
        "the plan of the change to run",
    )
    assert after["status"]["lastRun"]["parameters"]["A"] == fingerprint("2")
    assert await data(idle_world, "i-a") == {"a": "2"}


async def test_a_run_ends_when_another_process_finds_its_version_edited(idle_world: World) -> None:
    await idle_world.patch("i", {"planExecution": {"planName": "long"}})
    await idle_world.until(
        "i", lambda i: instances.status_of(i, "long") == "IN_PROGRESS", "the plan to run"
    )
    await idle_world.reconciler.stop()
    await idle_world.apply(
        unguarded(long=build.plan({"wait": ["wait"], "b": ["b"]}), cleanup=CLEANING)
    )

    await idle_world.reconciler.start()

    ended = await idle_world.until_failed("i", "long")
    assert (
        "kubectl kudo plan trigger --name long --instance i"
        in instances.entry(ended, "long")["message"]
    )
    assert (
        await event_text(idle_world, "OperatorVersionChanged")
        == instances.entry(ended, "long")["message"]
    )


async def test_a_plan_that_is_named_without_a_uid_gets_one_and_runs(idle_world: World) -> None:
    stored = await idle_world.patch("i", {"planExecution": {"planName": "b"}})

    assert "uid" not in instances.scheduled(stored)
    after = await idle_world.until_complete("i", "b")
    assert instances.entry(after, "b")["uid"]
    assert await reasons(idle_world) == ["PlanStarted", "PlanFinished"] * 2


async def test_changes_from_before_the_webhooks_came_back_still_run(world: World) -> None:
    await world.apply(unguarded(), build.instance("i", "unguarded-1"))
    await world.until_complete("i")
    await world.reconciler.stop()
    async with world.without_webhooks():
        await world.patch("i", {"parameters": {"A": "2"}})
        await world.apply(build.instance("j", "unguarded-1"))

    await world.reconciler.start()

    await world.until_complete("j")
    await world.until_complete("i")
    assert await data(world, "i-a") == {"a": "2"}
    await world.patch("i", {"parameters": {"B": "2"}})
    await world.until_complete("i", "b")


# Stored violations

Violation = tuple[Json, Json, str]
"""A change, the change back, and the reason of the refusal."""
VIOLATIONS: dict[str, Violation] = {
    "an immutable parameter was changed": (
        {"parameters": {"FIXED": "9090"}},
        {"parameters": {"FIXED": "8080"}},
        "ParameterImmutable",
    ),
    "an immutable parameter was removed": (
        {"parameters": {"FIXED": None}},
        {"parameters": {"FIXED": "8080"}},
        "ParameterImmutable",
    ),
    "a value is of another type": (
        {"parameters": {"COUNT": "many"}},
        {"parameters": {"COUNT": None}},
        "ParameterInvalid",
    ),
    "an array cannot be read": (
        {"parameters": {"LIST": "[1, "}},
        {"parameters": {"LIST": None}},
        "ParameterInvalid",
    ),
    "a change would run two plans": (
        {"parameters": {"B": "2", "LONG": "2"}},
        {"parameters": {"B": None, "LONG": None}},
        "SeveralPlansTriggered",
    ),
}


async def refused(world: World, reason: str) -> Json:
    """Wait until the Instance says that it is refused."""
    instance = await world.until("i", lambda i: instances.reason_of(i) == ("False", reason), reason)
    assert instances.reason_of(instance, "Stalled") == ("True", reason)
    assert instances.conditions(instance) == ["Ready", "Stalled"]
    assert instances.ready(instance)["message"] == await event_text(world, reason)
    return instance


@pytest.mark.parametrize("case", VIOLATIONS)
async def test_a_stored_violation_runs_nothing_until_it_is_set_back(
    idle_world: World, case: str
) -> None:
    change, back, reason = VIOLATIONS[case]
    before = await idle_world.instance("i")
    objects = [await idle_world.get(CONFIG_MAPS, name) for name in ("i-a", "i-b")]

    await idle_world.patch("i", change)
    stalled = await refused(idle_world, reason)

    assert stalled["status"]["lastRun"] == before["status"]["lastRun"]
    assert stalled["status"]["planStatus"] == before["status"]["planStatus"]
    assert not instances.scheduled(stalled)
    assert [await idle_world.get(CONFIG_MAPS, n) for n in ("i-a", "i-b")] == objects
    await idle_world.patch("i", back)
    healed = await idle_world.until(
        "i", lambda i: instances.reason_of(i) == ("True", "ResourcesReady"), "Ready again"
    )
    assert healed["status"]["planStatus"] == before["status"]["planStatus"]
    assert instances.conditions(healed) == ["Ready"]


async def test_the_way_back_is_open_once_the_webhooks_are_there_again(world: World) -> None:
    await world.apply(unguarded(), build.instance("i", "unguarded-1"))
    await world.until_complete("i")
    async with world.without_webhooks():
        await world.patch("i", {"parameters": {"FIXED": "9090"}})
        await refused(world, "ParameterImmutable")

    await world.patch("i", {"parameters": {"FIXED": "8080"}})

    await world.until(
        "i", lambda i: instances.reason_of(i) == ("True", "ResourcesReady"), "Ready again"
    )


async def test_an_invalid_instance_that_no_webhook_saw_is_not_deployed_until_it_is_mended(
    world: World,
) -> None:
    async with world.without_webhooks():
        await world.apply(unguarded(), build.instance("i", "unguarded-1", LIST="[1, "))
        await refused(world, "ParameterInvalid")
        assert not [c for c in await world.all(CONFIG_MAPS) if c["metadata"].get("labels")]

        await world.patch("i", {"parameters": {"LIST": "[1]"}})

        await world.until_complete("i")


async def test_cleanup_named_by_hand_is_taken_off_again_and_does_not_run(
    idle_world: World,
) -> None:
    before = await idle_world.instance("i")

    await idle_world.patch("i", {"planExecution": {"planName": "cleanup", "uid": "by-hand"}})

    text = "only the controller schedules the 'cleanup' plan"
    after = await idle_world.until(
        "i",
        lambda i: (
            not instances.scheduled(i)
            and instances.reason_of(i) == ("True", "ResourcesReady")
            and instances.condition(i, "Ready")["observedGeneration"]
            > before["metadata"]["generation"] + 1
        ),
        "planExecution to be cleared",
    )
    assert text in await event_text(idle_world, "CleanupNotManual")
    assert instances.status_of(after, "cleanup") == "NEVER_RUN"
    assert after["status"]["lastRun"] == before["status"]["lastRun"]


async def test_cleanup_named_by_hand_without_a_uid_does_not_run(idle_world: World) -> None:
    await idle_world.patch("i", {"planExecution": {"planName": "cleanup"}})

    await idle_world.until("i", lambda i: not instances.scheduled(i), "planExecution to be cleared")

    assert len(await idle_world.events("CleanupNotManual")) == 1
    assert instances.status_of(await idle_world.instance("i"), "cleanup") == "NEVER_RUN"


async def test_a_second_plan_is_put_back_to_the_one_that_runs(idle_world: World) -> None:
    await idle_world.patch("i", {"planExecution": {"planName": "long"}})
    running = await idle_world.until(
        "i", lambda i: instances.steps(i, "long").get("phase1.wait") == "IN_PROGRESS", "long to run"
    )
    before = await idle_world.get(CONFIG_MAPS, "i-b")

    second = {"planName": "b", "uid": "second", "status": "NEVER_RUN"}
    await idle_world.patch("i", {"planExecution": second})
    back = await idle_world.until(
        "i",
        lambda i: instances.scheduled(i).get("planName") == "long",
        "the running plan to be put back",
    )

    assert instances.scheduled(back)["uid"] == instances.entry(running, "long")["uid"]
    assert "overriding currently scheduled (or running) plan 'long' with 'b'" in await event_text(
        idle_world, "PlanRunning"
    )
    after = await idle_world.until(
        "i",
        lambda i: instances.steps(i, "long").get("phase1.wait") == "IN_PROGRESS",
        "long to go on",
    )
    assert (
        instances.entry(after, "long")["startedAt"] == instances.entry(running, "long")["startedAt"]
    )
    assert instances.status_of(after, "b") == "NEVER_RUN"
    assert await idle_world.get(CONFIG_MAPS, "i-b") == before
    await idle_world.patch("i", {"planExecution": {"status": "FATAL_ERROR"}})
    ended = await idle_world.until_failed("i", "long")
    assert instances.entry(ended, "long")["message"] == "cancelled by request"


async def test_a_running_plan_that_was_taken_off_the_spec_ends_without_a_result(
    idle_world: World,
) -> None:
    await idle_world.patch("i", {"planExecution": {"planName": "long"}})
    running = await idle_world.until(
        "i", lambda i: instances.steps(i, "long").get("phase1.wait") == "IN_PROGRESS", "long to run"
    )

    await idle_world.patch("i", {"planExecution": None})

    ended = await idle_world.until(
        "i", lambda i: instances.status_of(i, "long") == "FATAL_ERROR", "its end"
    )
    assert instances.entry(ended, "long")["uid"] == instances.entry(running, "long")["uid"]
    text = "execution of plan long ended without a recorded result"
    assert instances.entry(ended, "long")["message"] == text
    assert await event_text(idle_world, "PlanResultUnknown") == text


async def test_a_change_stored_while_another_plan_runs_is_run_after_it(idle_world: World) -> None:
    await idle_world.patch("i", {"planExecution": {"planName": "long"}})
    await idle_world.until(
        "i", lambda i: instances.steps(i, "long").get("phase1.wait") == "IN_PROGRESS", "long to run"
    )

    await idle_world.patch("i", {"parameters": {"B": "2"}})
    await idle_world.patch("i", {"planExecution": {"status": "FATAL_ERROR"}})

    await idle_world.until_complete("i", "b")
    assert await data(idle_world, "i-b") == {"b": "2"}
