"""Time limits: what ends a run, what is left of it, and that a crash does not move a limit."""

import copy

from kudo.api.times import moment
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.interface import World
from tests.support.world.operators import installed, operator, trigger


def limited(kind: str) -> Json:
    """Return a version whose plan `deploy` waits for ever, and has one limit of a second."""
    version = copy.deepcopy(operator(f"limited-{kind}"))
    version["spec"]["templates"]["web.yaml"] = build.template(
        build.deployment("{{ .Name }}-web", ready_delay="1h")
    )
    task = next(task for task in version["spec"]["tasks"] if task["name"] == "web")
    plan = version["spec"]["plans"]["deploy"] = build.plan({"web": ["web"]})
    [phase] = plan["phases"]
    parts = {"plan": plan, "phase": phase, "step": phase["steps"][0], "task": task}
    if kind in parts:
        parts[kind]["timeout"] = "1s"
    if kind == "progress":
        task["progressDeadline"] = "1s"
    return version


LIMITS = {
    "plan": "plan deploy took longer than its timeout of 1s: waiting for step phase1.web: ",
    "phase": "phase deploy.phase1 took longer than its timeout of 1s: waiting for step web: ",
    "step": "step deploy.phase1.web took longer than its timeout of 1s: waiting for task web: ",
    "task": "deploy.phase1.web: task web was not done within its timeout of 1s: ",
    "progress": "deploy.phase1.web: nothing that task web waits for has changed for 1s ",
    "instance": "plan deploy took longer than its timeout of 1s (spec.planTimeout): waiting for ",
}
"""Messages by what the limit is of."""


async def test_each_limit_ends_the_run_and_says_what_it_waited_for(world: World) -> None:
    for kind in LIMITS:
        instance = build.instance(kind, f"limited-{kind}")
        if kind == "instance":
            instance["spec"]["planTimeout"] = "1s"
        await world.apply(limited(kind), instance)

    for kind, message in LIMITS.items():
        ended = await world.until_failed(kind)
        [record] = ended["status"]["history"]
        assert record["reason"] == "TimedOut", kind
        assert record["message"].startswith(message[:200]), kind
        assert record["failedStep"] == "phase1.web", kind
        assert message in instances.messages(ended, "deploy"), kind
        assert instances.reason_of(ended, "Stalled") == ("True", "PlanInFatalError"), kind
        assert message in instances.condition(ended, "Stalled")["message"], kind

    told = {e["involvedObject"]["name"]: e["message"] for e in await world.events("TimedOut")}
    assert told.keys() == LIMITS.keys()
    assert all(message in told[kind] for kind, message in LIMITS.items())


async def test_a_reconciler_that_is_killed_neither_forgives_nor_prolongs_a_limit(
    world: World,
) -> None:
    await installed(world)
    await world.patch("i", {"planTimeout": "5s"})
    uid = await trigger(world, "long")
    begun = await world.until(
        "i", lambda i: "startedAt" in instances.entry(i, "long"), "the run to begin"
    )
    await world.reconciler.kill()
    await world.reconciler.start()

    ended = await world.until_failed("i", "long")

    entry = instances.entry(ended, "long")
    started, finished = moment(entry["startedAt"]), moment(entry["finishedAt"])
    assert started is not None
    assert finished is not None
    assert (finished - started).total_seconds() >= 5
    assert entry["startedAt"] == instances.entry(begun, "long")["startedAt"]
    assert (entry["uid"], len(await world.events("TimedOut"))) == (uid, 1)
    assert ended["status"]["history"][0]["uid"] == uid


async def test_a_run_in_progress_can_be_given_a_limit(world: World) -> None:
    await installed(world)
    await trigger(world, "long")
    await world.until(
        "i", lambda i: instances.status_of(i, "long") == "IN_PROGRESS", "the run to wait"
    )

    await world.patch("i", {"planTimeout": "1s"})

    await world.until_failed("i", "long")
