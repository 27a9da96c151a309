"""Plans that tests hold: a Job runs until it is told to go on."""

from tests.e2e.objects import job
from tests.integration.cluster.kubectl import Kubectl
from tests.integration.support import (
    Json,
    World,
    config_map,
    new_instance,
    operator_version,
    parameter,
    plan,
    template,
    wait_until,
)
from tests.integration.webhook.writers import PARAMETER

WRITTEN = "written"
GATE = ("sh", "-c", "until test -e /tmp/go; do sleep 0.2; done")


def written() -> Json:
    """Return the OperatorVersion `written`, whose one parameter users change all the time."""
    shown = template(config_map("{{ .Name }}", value=f"{{{{ .Params.{PARAMETER} }}}}"))
    return operator_version(
        WRITTEN,
        templates={"c.yaml": shown},
        plans={"deploy": plan({"c": ["c"]})},
        parameters=[parameter(PARAMETER, "0")],
    )


def gated(name: str = "gated", **plans: Json) -> Json:
    """Return an OperatorVersion: before, a Job that waits to be let go, after."""
    templates = {
        "before.yaml": template(config_map("before", size="{{ .Params.SIZE }}")),
        "gate.yaml": template(job("gate", GATE)),
        "after.yaml": template(config_map("after")),
        "farewell.yaml": template(config_map("farewell")),
    }
    deploy = plan({"before": ["before"], "gate": ["gate"], "after": ["after"]})
    return operator_version(
        name,
        templates=templates,
        parameters=[parameter("SIZE", "0")],
        plans={"deploy": deploy, **plans},
    )


async def hold(world: World, inside: Kubectl, version: Json, name: str = "held") -> str:
    """Create an Instance whose deploy plan stands at the gate; return the run's uid."""
    await apply(world, version, new_instance(name, version["metadata"]["name"]))

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
