"""Outputs in the texts of tasks of every kind, and where they are not known."""

from typing import Any

import pytest

from kudo.api import Instance, OperatorVersion
from kudo.api.expressions import CONDITION
from kudo.api.task_kinds import FatalTaskError, TaskPath
from kudo.plans.execution import Outputs, StepRef
from kudo.tasks.rendering import OUTPUTS_UNKNOWN
from kudo_reconciler.execution.rendering import Renderer
from kudo_reconciler.execution.task_context import RenderContext
from tests.support import build
from workers import Pool

REF = StepRef(0, 0, "p", "s")
USE = "{{ .Outputs.dump.file }}"
DUMP = build.task("dump", "Job", job={"image": "i", "command": ["x"], "outputs": ["file"]})
TASKS = [
    DUMP,
    build.task("apply", "Apply", "map.yaml"),
    build.task("child", "KudoOperator", parameterFile="values.yaml"),
    build.task("pipe", "Pipe", pod="pod.yaml"),
    build.task("use", "Job", job={"image": USE, "script": "scripts/a.sh"}),
    build.task("ring", "Check", check={"kind": "Pod", "name": USE}),
]
TEMPLATES = {
    "map.yaml": f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {{x: '{USE}'}}\n",
    "values.yaml": f"SIZE: '{USE}'\n",
    "pod.yaml": f"apiVersion: v1\nkind: Pod\nmetadata: {{name: '{USE}'}}\nspec: {{}}\n",
    "scripts/a.sh": f"test -f {USE}",
}


def context(task: str, outputs: Outputs | None) -> RenderContext:
    spec = {"tasks": TASKS, "templates": TEMPLATES}
    version = OperatorVersion.from_wire({"metadata": {"name": "v"}, "spec": spec})
    instance = Instance.from_wire({"metadata": {"name": "i", "namespace": "ns"}})
    path = TaskPath("ns/i", "deploy", "p", "s", task)
    renderer = Renderer(Pool("kudo.jobs"))
    return RenderContext(
        instance, version, "u", path, REF, version.tasks[task], renderer, outputs, {}
    )


async def rendered(task: str, outputs: Outputs | None) -> Any:
    """Return what comes of the output in the texts of a task."""
    of_task = context(task, outputs)
    match task:
        case "apply":
            [manifest] = await of_task.manifests()
            return manifest.object["data"]["x"]
        case "child":
            return (await of_task.document("parameters", "values.yaml"))["SIZE"]
        case "pipe":
            return (await of_task.document("pod", "pod.yaml"))["metadata"]["name"]
        case "use":
            made = await of_task.job()
            return f"{made['job']['image']} {made['script']}".replace(" test -f db", "")
        case _:
            return (await of_task.inline_texts())["check.name"]


@pytest.mark.parametrize("task", ["apply", "child", "pipe", "use", "ring"])
async def test_texts_of_every_kind_see_outputs_and_are_not_rendered_without(task: str) -> None:
    assert await rendered(task, {"dump": {"file": "db"}}) == "db"
    with pytest.raises(FatalTaskError) as caught:
        await rendered(task, None)
    assert caught.value.reason == OUTPUTS_UNKNOWN
    with pytest.raises(FatalTaskError, match='map has no entry for key "dump"'):
        await rendered(task, {})


def test_another_step_of_the_plan_sees_others() -> None:
    outputs = {"dump": {"file": "db"}}
    of_task = context("apply", outputs)
    task = of_task.task
    assert of_task.of_task(REF, task).outputs == outputs
    assert of_task.of_task(StepRef(0, 1, "p", "t"), task).outputs is None


def test_expressions_see_them() -> None:
    outputs = {"dump": {"file": "db"}}
    assert context("ring", outputs).inputs(CONDITION).values["outputs"] == outputs
    assert context("ring", None).inputs(CONDITION).values["outputs"] == {}
