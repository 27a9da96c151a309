"""Ready, Reconciling and Stalled, as `kubectl wait` and other tools read them."""

import json

from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.interface import World
from tests.support.cluster.resources import CONFIG_MAPS

WEB = build.template(
    build.deployment("{{ .Name }}-web", replicas="{{int .Params.REPLICAS int}}", ready_delay="2s")
)


def conditioned(**plans: Json) -> Json:
    return build.operator_version(
        "conditioned-1",
        templates={"web.yaml": WEB},
        tasks=[
            build.task("web", "Apply", "web.yaml"),
            build.dummy("wait"),
            build.dummy("fatal", wantErr=True, fatal=True),
        ],
        plans={
            "deploy": build.plan({"web": ["web"]}),
            "wait": build.plan({"wait": ["wait"]}),
            "fatal": build.plan({"fatal": ["fatal"]}),
            **plans,
        },
        parameters=[
            build.parameter("REPLICAS", "1"),
            build.parameter("FATAL", "1", trigger="fatal"),
        ],
    )


async def install(world: World) -> None:
    done = await world.apply(conditioned(), build.instance("i", "conditioned-1"))
    assert done.code == 0, done.output


async def run_plan(world: World, name: str) -> None:
    await world.patch("i", {"planExecution": {"planName": name}})


async def test_reconciling_is_there_while_any_plan_runs_and_gone_after(world: World) -> None:
    """At rest there is the one condition that suites for 0.19 assert."""
    await install(world)
    deploying = await world.until(
        "i",
        lambda i: instances.steps(i, "deploy").get("phase1.web") == "IN_PROGRESS",
        "deploy to run",
    )
    deployed = await world.until_complete("i")
    await run_plan(world, "wait")
    waiting = await world.until(
        "i", lambda i: instances.steps(i, "wait").get("phase1.wait") == "IN_PROGRESS", "wait to run"
    )
    await world.patch("i", {"planExecution": {"status": "FATAL_ERROR"}})
    ended = await world.until_failed("i", "wait")

    assert instances.reason_of(deploying, "Reconciling") == ("True", "PlanInProgress")
    assert instances.reason_of(deploying) == ("Unknown", "PlanInProgress")
    assert instances.conditions(deployed) == ["Ready"]
    assert instances.reason_of(waiting, "Reconciling") == ("True", "PlanInProgress")
    assert instances.condition(waiting, "Reconciling")["message"] == "plan wait is running"
    # A plan of the operator's own says nothing about whether the Instance is ready.
    assert instances.reason_of(waiting) == ("True", "ResourcesReady")
    assert instances.conditions(waiting) == ["Ready", "Reconciling"]
    assert instances.conditions(ended) == ["Ready", "Stalled"]


async def test_stalled_is_there_from_a_fatal_error_until_the_next_run(world: World) -> None:
    await install(world)
    await world.until_complete("i")
    await run_plan(world, "fatal")
    failed = await world.until_failed("i", "fatal")
    await run_plan(world, "wait")
    running = await world.until(
        "i", lambda i: instances.steps(i, "wait").get("phase1.wait") == "IN_PROGRESS", "wait to run"
    )

    assert instances.reason_of(failed, "Stalled") == ("True", "PlanInFatalError")
    assert instances.reason_of(failed) == ("Unknown", "PlanInFatalError")
    assert instances.conditions(failed) == ["Ready", "Stalled"]
    assert instances.conditions(running) == ["Ready", "Reconciling"]
    await world.patch("i", {"planExecution": {"status": "FATAL_ERROR"}})
    await world.until_failed("i", "wait")
    await run_plan(world, "deploy")
    healed = await world.until_complete("i")
    assert instances.reason_of(healed) == ("True", "ResourcesReady")
    assert instances.conditions(healed) == ["Ready"]


async def test_all_conditions_speak_of_one_generation(world: World) -> None:
    await install(world)
    before = await world.until_complete("i")
    await run_plan(world, "wait")
    await world.until("i", lambda i: bool(instances.messages(i, "wait")), "the plan to wait")
    await world.patch("i", {"planExecution": {"status": "FATAL_ERROR"}})
    await world.until_failed("i", "wait")
    await run_plan(world, "deploy")
    after = await world.until_complete("i")

    for instance in (before, after):
        generations = {c["observedGeneration"] for c in instance["status"]["conditions"]}
        assert generations == {instance["metadata"]["generation"]}
        assert instance["status"]["observedGeneration"] == instance["metadata"]["generation"]
        assert instances.conditions(instance) == ["Ready"]


async def test_the_status_of_a_plan_with_twenty_steps_stays_small(world: World) -> None:
    names = [f"step-number-{number:02}" for number in range(20)]
    version = build.operator_version(
        "conditioned-1",
        templates={
            f"{name}.yaml": build.template(build.config_map(f"{{{{ .Name }}}}-{name}"))
            for name in names
        },
        plans={"deploy": build.plan(*({name: [name]} for name in names))},
    )
    await world.apply(version, build.instance("i", "conditioned-1"))

    done = await world.until_complete("i")

    assert len(instances.steps(done, "deploy")) == 20
    assert len(json.dumps(done["status"], separators=(",", ":"))) < 10_000
    assert len(await world.all(CONFIG_MAPS)) >= 20


async def test_an_idle_instance_is_not_written_again_and_again(world: World) -> None:
    await install(world)
    await world.until_complete("i")
    # The caches of Deployments and Pods need not be equally fast.
    before = await world.until(
        "i", lambda i: instances.reason_of(i) == ("True", "ResourcesReady"), "an Instance at rest"
    )

    # Passes over it: by starts of the reconciler, and by another Instance of the same namespace.
    await world.reconciler.stop()
    await world.reconciler.start()
    await world.apply(build.instance("j", "conditioned-1"))
    await world.until_complete("j")

    assert await world.instance("i") == before


async def test_a_waiting_plan_is_written_only_when_something_changes(world: World) -> None:
    await install(world)
    await world.until_complete("i")
    await run_plan(world, "wait")
    before = await world.until(
        "i", lambda i: bool(instances.messages(i, "wait")), "the plan to wait"
    )

    await world.reconciler.stop()
    await world.reconciler.start()
    await world.apply(build.instance("j", "conditioned-1"))
    await world.until_complete("j")

    assert await world.instance("i") == before
