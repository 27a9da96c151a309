"""Ready and Stalled, as `kubectl wait` reads them."""

from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.commands import Done
from tests.support.cluster.resources import DEPLOYMENTS
from tests.support.cluster.world import World

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


async def kubectl_wait(world: World, what: str) -> Done:
    return await world.kubectl(
        "wait", f"--for=condition={what}", "instances.kudo.dev/i", "--timeout=90s"
    )


async def test_kubectl_waits_for_ready_after_the_creation_and_after_an_update(
    world: World,
) -> None:
    await install(world)

    done = await kubectl_wait(world, "Ready")

    assert done.code == 0, done.output
    # What it waited for is there: the plan has ended, and the pods are ready.
    instance = await world.instance("i")
    assert instances.entry(instance, "deploy")["status"] == "COMPLETE"
    assert not instances.scheduled(instance)
    assert (await world.get(DEPLOYMENTS, "i-web"))["status"]["readyReplicas"] == 1

    stored = await world.patch("i", {"parameters": {"REPLICAS": "3"}})
    # Ready is still True of the generation before: only observedGeneration tells.
    done = await kubectl_wait(world, "Ready")

    assert done.code == 0, done.output
    instance = await world.instance("i")
    assert instances.ready(instance)["observedGeneration"] > stored["metadata"]["generation"]
    assert instances.entry(instance, "deploy")["uid"] == stored["spec"]["planExecution"]["uid"]
    assert (await world.get(DEPLOYMENTS, "i-web"))["status"]["readyReplicas"] == 3


async def test_a_plan_that_is_triggered_once_kubectl_saw_ready_is_not_lost(world: World) -> None:
    await install(world)
    uids: set[str] = set()

    for _ in range(5):
        done = await kubectl_wait(world, "Ready")
        assert done.code == 0, done.output
        stored = await world.patch("i", {"planExecution": {"planName": "deploy"}})
        uids.add(instances.scheduled(stored)["uid"])

    await world.until_complete("i")
    assert len(uids) == 5
    assert len(await world.events("PlanStarted")) == 6


async def test_kubectl_waits_for_stalled_where_a_plan_fails(world: World) -> None:
    await install(world)
    await world.until_complete("i")
    await world.patch("i", {"parameters": {"FATAL": "2"}})

    done = await kubectl_wait(world, "Stalled")

    assert done.code == 0, done.output
    stalled = await world.until_failed("i", "fatal")
    assert instances.condition(stalled, "Stalled")["message"] == instances.messages(
        stalled, "fatal"
    )
