"""An OperatorVersion that is too large to be parsed is told by both services."""

import re

import pytest

from kubeio.errors import ApiError
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.resources import INSTANCES
from tests.support.cluster.world import World


def broken(text: str, **task: object) -> Json:
    version = build.operator_version(
        "broken-1",
        templates={"t.yaml": text},
        plans={"deploy": build.plan({"step": ["task"]})},
        tasks=[{"name": "task", "kind": "Apply", "spec": {"resources": ["t.yaml"]}, **task}],
    )
    version["spec"]["parameters"] = [{"name": "LIST", "value-type": "array", "default": "[]"}]
    return version


async def test_an_operator_version_with_too_many_steps_is_not_read_and_the_instance_can_go(
    world: World,
) -> None:
    version = build.operator_version(
        "broken-1",
        templates={"t.yaml": build.template(build.config_map("x"))},
        plans={"deploy": build.plan({"step": ["t"]})},
    )
    await world.apply(version, build.instance("i", "broken-1"))
    await world.until_complete("i")

    # Within the bounds of each list, and 5,500 steps in one plan.
    steps = [{"name": f"s{n}", "tasks": ["t"]} for n in range(500)]
    phases = [{"name": f"p{n}", "steps": steps} for n in range(11)]
    version["spec"]["plans"]["backup"] = {"phases": phases}
    await world.apply(version)
    await world.kubectl("label", "instances.kudo.dev", "i", "look=again")
    told = await world.until(
        "i", lambda i: instances.ready(i)["reason"] == "InvalidOperatorVersion", "what is too large"
    )
    text = "spec.plans[backup].phases.steps has 5500 entries, more than 500"

    assert text in instances.ready(told)["message"]
    with pytest.raises(ApiError, match=re.escape(text)):
        await world.patch("i", {"planExecution": {"planName": "deploy"}})
    await world.client.delete(INSTANCES, "i", namespace=world.namespace)
    await world.until_gone(INSTANCES, "i")
