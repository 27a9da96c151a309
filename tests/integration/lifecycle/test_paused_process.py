"""A process of the reconciler that stood still goes on from the state as it is."""

import signal

from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.resources import CONFIG_MAPS
from tests.support.cluster.world import World


def long_running(delay: str = "5s") -> Json:
    return build.operator_version(
        "long-1",
        templates={
            "job.yaml": build.template(build.job("{{ .Name }}-job")),
            "config.yaml": build.template(
                build.config_map("{{ .Name }}-config", a="{{ .Params.A }}")
            ),
            "web.yaml": build.template(build.deployment("{{ .Name }}-web", ready_delay=delay)),
        },
        plans={
            "deploy": build.plan({"job": ["job"], "config": ["config"]}, {"run": ["web"]}),
            "quick": build.plan({"config": ["config"]}),
        },
        parameters=[build.parameter("A", "1"), build.parameter("QUICK", "1", trigger="quick")],
    )


async def in_second_phase(world: World) -> Json:
    await world.apply(long_running(), build.instance("i", "long-1"))
    return await world.until(
        "i",
        lambda i: instances.steps(i, "deploy").get("phase2.run") == "IN_PROGRESS",
        "the second phase",
    )


async def test_a_paused_reconciler_does_not_undo_what_came_meanwhile(world: World) -> None:
    await in_second_phase(world)

    world.installation.reconciler.send_signal(signal.SIGSTOP)
    try:
        changed = await world.patch("i", {"parameters": {"A": "2"}})
    finally:
        world.installation.reconciler.send_signal(signal.SIGCONT)

    after = await world.until_complete("i")
    assert instances.entry(after, "deploy")["uid"] == instances.scheduled(changed)["uid"]
    assert (await world.get(CONFIG_MAPS, "i-config"))["data"]["a"] == "2"
