"""Plans that tests hold: a Job runs until it is told to go on."""

from tests.e2e.objects import job
from tests.support import build
from tests.support.build import Json
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World
from tests.support.cluster.writers import PARAMETER

WRITTEN = "written"
GATE = ("sh", "-c", "until test -e /tmp/go; do sleep 0.2; done")


def written() -> Json:
    """Return the OperatorVersion `written`, whose one parameter users change all the time."""
    shown = build.template(build.config_map("{{ .Name }}", value=f"{{{{ .Params.{PARAMETER} }}}}"))
    return build.operator_version(
        WRITTEN,
        templates={"c.yaml": shown},
        plans={"deploy": build.plan({"c": ["c"]})},
        parameters=[build.parameter(PARAMETER, "0")],
    )


def gated(name: str = "gated", **plans: Json) -> Json:
    """Return an OperatorVersion: before, a Job that waits to be let go, after."""
    templates = {
        "before.yaml": build.template(build.config_map("before", size="{{ .Params.SIZE }}")),
        "gate.yaml": build.template(job("gate", GATE)),
        "after.yaml": build.template(build.config_map("after")),
        "farewell.yaml": build.template(build.config_map("farewell")),
    }
    deploy = build.plan({"before": ["before"], "gate": ["gate"], "after": ["after"]})
    return build.operator_version(
        name,
        templates=templates,
        parameters=[build.parameter("SIZE", "0")],
        plans={"deploy": deploy, **plans},
    )


async def hold(world: World, inside: Kubectl, version: Json, name: str = "held") -> str:
    """Create an Instance whose deploy plan stands at the gate; return the run's uid."""
    await apply(world, version, build.instance(name, version["metadata"]["name"]))

    async def running() -> bool:
        pods = inside.get("pods", "--selector=batch.kubernetes.io/job-name=gate")["items"]
        return [pod["status"]["phase"] for pod in pods] == ["Running"]

    await wait_until(running, lambda: "the gate to run")
    return str((await world.instance(name))["spec"]["planExecution"]["uid"])


def let_go(inside: Kubectl) -> None:
    """Let the plan go on."""
    inside("exec", "job/gate", "--", "touch", "/tmp/go")


async def apply(world: World, *objects: Json) -> None:
    done = await world.apply(*objects)
    assert done.code == 0, done.output
