"""The digest of what a task waits for changes with each change of such an object, and only then."""

import asyncio

import pytest

from kubeio.resource import PODS, Resource
from kubeio.types import JsonObject
from kudo_reconciler.common.keys import INSTANCES as CHILDREN
from kudo_reconciler.execution.steps import TaskRunner
from kudo_reconciler.execution.task_context import TaskContext, TaskResult
from tests.support import build
from tests.support.apiserver.controllers.workloads import Outcome
from tests.unit.reconciler.scenes.scene import CONFIG_MAPS, Scene, play

STATEFUL_SETS = Resource("apps", "v1", "StatefulSet", "statefulsets", namespaced=True)
STATEFUL_SET = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: %s}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: app, image: web}]}
"""
CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: kept, finalizers: [example.org/held]}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: pod}
spec:
  initContainers:
  - {name: app, image: web, volumeMounts: [{name: files, mountPath: /tmp}]}
  volumes: [{name: files, emptyDir: {}}]
"""
TEMPLATES = {
    "db.yaml": STATEFUL_SET % "db",
    "other.yaml": STATEFUL_SET % "other",
    "kept.yaml": CONFIG_MAP,
    "pod.yaml": POD,
}
PIPE = [{"file": "/tmp/a", "kind": "ConfigMap", "key": "a"}]


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch) -> list[TaskResult]:
    """Return the results of all attempts at tasks of the Instance, which go on as they would."""
    seen: list[TaskResult] = []
    run = TaskRunner.run

    async def noted(self: TaskRunner, context: TaskContext) -> TaskResult:
        result = await run(self, context)
        if context.instance.metadata.name == "i":
            seen.append(result)
        return result

    monkeypatch.setattr(TaskRunner, "run", noted)
    return seen


def task(kind: str, name: str, **spec: object) -> JsonObject:
    return {"name": name, "kind": kind, "spec": spec}


CASES = [
    pytest.param(
        [task("Apply", "apply", resources=["db.yaml", "other.yaml"])],
        STATEFUL_SETS,
        id="a workload that is not healthy",
    ),
    pytest.param(
        [
            task("Apply", "apply", resources=["kept.yaml"]),
            task("Delete", "delete", resources=["kept.yaml"]),
        ],
        CONFIG_MAPS,
        id="an object that is not deleted",
    ),
    pytest.param(
        [task("Pipe", "pipe", pod="pod.yaml", pipe=PIPE)],
        PODS,
        id="a pipe pod that is not ready",
    ),
    pytest.param(
        [task("KudoOperator", "child", package="child", operatorVersion="1")],
        CHILDREN,
        id="a child whose plan runs",
    ),
]


def version(tasks: list[JsonObject], deadline: str | None) -> JsonObject:
    """Return an OperatorVersion whose deploy has these tasks, one a step."""
    limit = {} if deadline is None else {"progressDeadline": deadline}
    return build.stored_version(
        tasks=[{**one, **limit} for one in tasks],
        templates=TEMPLATES,
        plans={"deploy": build.serial(*([one["name"]] for one in tasks))},
    )


async def wait_for_ever(scene: Scene, tasks: list[JsonObject], deadline: str | None) -> None:
    """Have an Instance run these tasks, the last of which does not end."""
    scene.life.cluster.workloads.outcome = lambda _: Outcome("stuck", seconds=0.0)
    child = build.stored_version(
        tasks=[task("Dummy", "waits", done=False)], plans={"deploy": build.serial(["waits"])}
    )
    child["metadata"]["name"] = "child-1"
    await scene.life.put_version(child)
    await scene.life.put_version(version(tasks, deadline))
    await scene.life.user.create("i", {})
    await asyncio.sleep(120)


async def touch(scene: Scene, resource: Resource) -> None:
    """Change one object of a kind, not the Instance itself."""
    found = (await scene.admin.list(resource, namespace="ns")).items
    name = next(one["metadata"]["name"] for one in found if one["metadata"]["name"] != "i")
    change = {"metadata": {"annotations": {"example.org/touched": "yes"}}}
    await scene.admin.merge_patch(resource, name, change, namespace="ns")


@pytest.mark.parametrize(("tasks", "resource"), CASES)
def test_the_digest_changes_with_what_is_awaited_and_only_then(
    results: list[TaskResult], tasks: list[JsonObject], resource: Resource
) -> None:
    async def body(scene: Scene) -> None:
        await wait_for_ever(scene, tasks, "1h")
        before = results[-1]
        assert not before.done
        assert len(before.awaits) == 16
        results.clear()
        await asyncio.sleep(600)
        assert {one.awaits for one in results} == {before.awaits}
        await touch(scene, resource)
        await asyncio.sleep(120)
        after = results[-1]
        assert (after.done, after.message) == (before.done, before.message)
        assert after.awaits not in {"", before.awaits}

    play(body)


@pytest.mark.parametrize("deadline", [None, ""])
@pytest.mark.parametrize(("tasks", "resource"), CASES)
def test_without_a_progress_deadline_there_is_no_digest(
    results: list[TaskResult], tasks: list[JsonObject], resource: Resource, deadline: str | None
) -> None:
    del resource

    async def body(scene: Scene) -> None:
        await wait_for_ever(scene, tasks, deadline)
        assert not results[-1].done
        assert {one.awaits for one in results} == {""}

    play(body)


def test_an_object_that_becomes_healthy_is_awaited_no_more(results: list[TaskResult]) -> None:
    async def body(scene: Scene) -> None:
        names = ["db.yaml", "other.yaml"]
        await wait_for_ever(scene, [task("Apply", "apply", resources=names)], "1h")
        before = results[-1].awaits
        ready = {"replicas": 1, "readyReplicas": 1, "updatedReplicas": 1, "availableReplicas": 1}
        status = {"status": {"observedGeneration": 1, **ready}}
        await scene.admin.merge_patch(
            STATEFUL_SETS, "db", status, namespace="ns", subresource="status"
        )
        await asyncio.sleep(120)
        half = results[-1]
        assert 'statefulset "db"' not in half.message
        assert half.awaits not in {"", before}
        await touch(scene, STATEFUL_SETS)
        await asyncio.sleep(120)
        assert results[-1].awaits == half.awaits

    play(body)
