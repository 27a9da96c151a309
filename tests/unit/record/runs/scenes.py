"""Runs whose events, conditions and requests are recorded, each told as a script."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from kubectl_kudo.session.kinds import INSTANCES, OPERATOR_VERSIONS
from kubeio.types import JsonObject
from tests.support import build
from tests.support.apiserver.controllers.workloads import Outcome
from tests.unit.reconciler.scenes.scene import CONFIG_MAPS, Scene, role

Act = Callable[[Scene], Awaitable[None]]
_TEMPLATES = {
    "config.yaml": build.template(build.config_map("{{ .Name }}", a="{{ .Params.TEXT }}")),
    "other.yaml": build.template(build.config_map("{{ .Name }}-other", a="b")),
    "role.yaml": role("{{ .Name }}"),
    "app.yaml": build.template(build.deployment("{{ .Name }}")),
    "late.yaml": build.template(build.deployment("{{ .Name }}-late")),
    "job.yaml": build.template(build.job("{{ .Name }}")),
    "broken.yaml": "{{ fail .Name }}",
}
_TASKS = [
    build.task("config", "Apply", "config.yaml", "role.yaml"),
    build.task("other", "Apply", "other.yaml"),
    build.task("app", "Apply", "app.yaml"),
    build.task("late", "Apply", "late.yaml"),
    build.task("job", "Apply", "job.yaml"),
    build.task("broken", "Apply", "broken.yaml"),
    build.task("clean", "Delete", "config.yaml"),
    build.dummy("fails", wantErr=True),
    build.dummy("breaks", wantErr=True, fatal=True),
]
_PLANS = {
    "deploy": build.serial(["config", "other"], ["app"]),
    "breaks": build.serial(["breaks"]),
    "fails": build.serial(["fails"]),
    "renders": build.serial(["broken"]),
    "runs": build.serial(["job"]),
    "late": {**build.serial(["late"]), "timeout": "10s"},
    "cleanup": build.serial(["clean"]),
}


def _version(**spec: Any) -> JsonObject:
    parameters = [build.parameter("TEXT", "one"), build.parameter("SIZE", "s", immutable=True)]
    return build.stored_version(
        parameters=parameters, tasks=_TASKS, templates=_TEMPLATES, plans=_PLANS, **spec
    )


async def deployed(scene: Scene) -> None:
    """Deploy Instance `i`."""
    scene.life.cluster.workloads.outcome = lambda _: Outcome("healthy", 1.0)
    await scene.install("i", of=_version())
    await asyncio.sleep(20)


def _runs(plan: str) -> Act:
    async def act(scene: Scene) -> None:
        await deployed(scene)
        await scene.run("i", plan)
        await asyncio.sleep(20)

    return act


async def _edit(scene: Scene, **spec: Any) -> None:
    await scene.admin.merge_patch(INSTANCES, "i", {"spec": spec}, namespace="ns")


def _stuck(obj: JsonObject) -> Outcome:
    del obj
    return Outcome("stuck")


async def _in_progress(scene: Scene) -> None:
    scene.life.cluster.workloads.outcome = _stuck
    await scene.life.put_version(_version())
    await scene.life.user.create("i", {})
    await asyncio.sleep(30)


async def _retried(scene: Scene) -> None:
    await deployed(scene)
    await scene.trigger("i", "fails")
    await asyncio.sleep(60)


async def _cancelled(scene: Scene) -> None:
    await _retried(scene)
    await scene.life.user.change("i", {"run": "cancel"})
    await asyncio.sleep(20)


async def _superseded(scene: Scene) -> None:
    await _in_progress(scene)
    await _edit(scene, parameters={"TEXT": "two"})
    await asyncio.sleep(20)


async def _suspended(scene: Scene) -> None:
    await _in_progress(scene)
    await _edit(scene, suspend=True)
    await asyncio.sleep(20)


async def _resumed(scene: Scene) -> None:
    await _suspended(scene)
    scene.life.cluster.workloads.make_healthy()
    await _edit(scene, suspend=False)
    await asyncio.sleep(20)


async def _deleted(scene: Scene) -> None:
    await deployed(scene)
    await scene.delete("i")


async def _failing_job(scene: Scene) -> None:
    await deployed(scene)
    scene.life.cluster.workloads.outcome = lambda _: Outcome("failed", 1.0)
    await scene.run("i", "runs")
    await asyncio.sleep(20)


async def _unhealthy(scene: Scene) -> None:
    await deployed(scene)
    scene.life.cluster.workloads.outcome = _stuck
    await scene.trigger("i", "late")
    await asyncio.sleep(30)


async def _orphaned(scene: Scene) -> None:
    await deployed(scene)
    # While a plan cannot be rendered, nobody knows what is an orphan.
    plans = {name: plan for name, plan in _PLANS.items() if name != "renders"}
    plans["deploy"] = build.serial(["config"], ["app"])
    newer = _version()
    newer["metadata"]["name"] = "v2"
    newer["spec"]["plans"] = plans
    await scene.life.put_version(newer)
    await _edit(scene, operatorVersion={"name": "v2"})
    await asyncio.sleep(30)


async def _pruned(scene: Scene) -> None:
    await _orphaned(scene)
    await _edit(scene, prune=True)
    await scene.run("i", "deploy")
    await asyncio.sleep(20)


async def _without_version(scene: Scene) -> None:
    await deployed(scene)
    await scene.admin.delete(OPERATOR_VERSIONS, "v1", namespace="ns")
    await asyncio.sleep(60)


async def _adopting(scene: Scene) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "i", "namespace": "ns"}}
    await scene.admin.create(CONFIG_MAPS, body)
    await deployed(scene)


RUNS: dict[str, Act] = {
    "complete": deployed,
    "failed": _runs("breaks"),
    "retried": _retried,
    "template fails": _runs("renders"),
    "job fails": _failing_job,
    "time limit": _unhealthy,
    "in progress": _in_progress,
    "cancelled": _cancelled,
    "superseded": _superseded,
    "suspended": _suspended,
    "resumed": _resumed,
    "deleted with cleanup": _deleted,
    "orphaned": _orphaned,
    "pruned": _pruned,
    "version deleted": _without_version,
    "adopting": _adopting,
}
