"""Scenes of runs with time limits: when they end, and what neither ends nor prolongs them."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

import pytest

from kubeio.resource import DEPLOYMENTS
from kubeio.types import JsonObject
from kudo_reconciler.common.keys import INSTANCES
from tests.support import build
from tests.support.apiserver.controllers.workloads import Outcome
from tests.unit.reconciler.scenes.scene import CONFIG_MAPS, Scene, of_kind, play

DEPLOYMENT = (
    '{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": '
    '{"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, '
    '"spec": {"containers": [{"name": "c", "image": "i"}]}}}}'
)


def operator(
    *, of_plan: str = "", of_phase: str = "", of_step: str = "", **of_task: str
) -> JsonObject:
    """Return an OperatorVersion that makes a ConfigMap, and then waits for a Deployment."""
    plan: dict[str, Any] = build.serial(["note"], ["web"])
    [phase] = plan["phases"]
    for part, timeout in ((plan, of_plan), (phase, of_phase), (phase["steps"][1], of_step)):
        if timeout:
            part["timeout"] = timeout
    files = {"note": of_kind("ConfigMap", "note"), "web": DEPLOYMENT}
    tasks = [
        {"name": name, "kind": "Apply", "spec": {"resources": [name]}} for name in ("note", "web")
    ]
    tasks[1] |= of_task
    plans = {"deploy": plan, "note": build.serial(["note"])}
    return build.stored_version(tasks=tasks, templates=files, plans=plans, parameters=[])


def waiting(version: JsonObject, body: Callable[[Scene], Awaitable[None]], **spec: Any) -> None:
    """Play a scene whose Deployment never becomes ready."""

    async def main(scene: Scene) -> None:
        scene.life.cluster.workloads.outcome = lambda _: Outcome("stuck", seconds=0.0)
        await scene.life.put_version(version)
        instance = {
            "apiVersion": "kudo.dev/v1beta1",
            "kind": "Instance",
            "metadata": {"name": "i", "namespace": "ns"},
            "spec": {"operatorVersion": {"name": version["metadata"]["name"]}, **spec},
        }
        await scene.admin.create(INSTANCES, instance)
        await body(scene)

    play(main)


def lasted(entry: JsonObject) -> float:
    began, ended = (datetime.fromisoformat(entry[key]) for key in ("startedAt", "finishedAt"))
    return (ended - began).total_seconds()


def steps(entry: JsonObject) -> list[JsonObject]:
    found: list[JsonObject] = entry["phases"][0]["steps"]
    return found


WAITS = 'deployment "web"'


@pytest.mark.parametrize(
    ("limits", "message", "failed"),
    [
        ({"of_plan": "10m"}, "plan deploy took longer than its timeout of 10m: waiting for", 0),
        ({"of_phase": "10m"}, "phase deploy.p took longer than its timeout of 10m: waiting", 0),
        ({"of_step": "10m"}, "step deploy.p.s1 took longer", 1),
        ({"timeout": "10m"}, "task web was not done within its timeout of 10m: ", 2),
        ({"progressDeadline": "10m"}, "nothing that task web waits for has changed for 10m", 2),
    ],
)
def test_a_run_ends_when_a_limit_has_passed_and_not_before(
    limits: dict[str, str], message: str, failed: int
) -> None:
    async def body(scene: Scene) -> None:
        await asyncio.sleep(595)
        assert scene.entry("i", "deploy")["status"] == "IN_PROGRESS"
        await asyncio.sleep(15)
        entry = scene.entry("i", "deploy")
        assert entry["status"] == "FATAL_ERROR"
        assert 600 <= lasted(entry) <= 605
        step = steps(entry)[1]
        texts = entry.get("message", "") if failed == 0 else step["message"]
        assert message in texts
        assert WAITS in texts
        statuses = [entry["status"], step["status"], step["tasks"][0]["status"]]
        assert statuses[: failed + 1] == ["FATAL_ERROR"] * (failed + 1)
        [warning] = scene.told("TimedOut")
        assert message in warning
        stored = scene.life.observed.instance("i")
        assert stored is not None
        [record] = stored["status"]["history"]
        assert (record["reason"], record["status"]) == ("TimedOut", "FATAL_ERROR")
        assert record["failedStep"] == "p.s1"
        assert len(record["message"]) <= 200

    waiting(operator(**limits), body)


def test_the_instance_limits_plans_that_set_no_timeout_and_may_give_more() -> None:
    async def body(scene: Scene) -> None:
        await asyncio.sleep(590)
        more = {"spec": {"planTimeout": "20m"}}
        await scene.admin.merge_patch(INSTANCES, "i", more, namespace="ns")
        await asyncio.sleep(600)
        assert scene.entry("i", "deploy")["status"] == "IN_PROGRESS"
        await asyncio.sleep(20)
        entry = scene.entry("i", "deploy")
        assert entry["message"].startswith(
            "plan deploy took longer than its timeout of 20m (spec.planTimeout)"
        )

    waiting(operator(), body, planTimeout="10m")


def test_the_timeout_of_a_plan_comes_before_that_of_the_instance() -> None:
    async def body(scene: Scene) -> None:
        await asyncio.sleep(620)
        assert scene.entry("i", "deploy")["status"] == "FATAL_ERROR"

    waiting(operator(of_plan="10m"), body, planTimeout="20m")


def test_paused_time_does_not_count() -> None:
    async def body(scene: Scene) -> None:
        await asyncio.sleep(300)
        for suspended in (True, None):
            change = {"spec": {"suspend": suspended}}
            await scene.admin.merge_patch(INSTANCES, "i", change, namespace="ns")
            await asyncio.sleep(3600 if suspended else 290)
        assert scene.entry("i", "deploy")["status"] == "IN_PROGRESS"
        await asyncio.sleep(30)
        entry = scene.entry("i", "deploy")
        assert entry["status"] == "FATAL_ERROR"
        assert 600 <= lasted(entry) - entry["suspendedSeconds"] <= 605

    waiting(operator(of_step="10m", progressDeadline="5h"), body)


@pytest.mark.parametrize("limits", [{"of_phase": "10m"}, {"progressDeadline": "10m"}])
def test_restarts_do_not_prolong_a_limit(limits: dict[str, str]) -> None:
    async def body(scene: Scene) -> None:
        for _ in range(9):
            await asyncio.sleep(60)
            await scene.life.crash(0)
        await asyncio.sleep(90)
        entry = scene.entry("i", "deploy")
        assert entry["status"] == "FATAL_ERROR"
        assert 600 <= lasted(entry) <= 605

    waiting(operator(**limits), body)


def test_a_change_of_what_is_awaited_puts_off_the_deadline() -> None:
    async def body(scene: Scene) -> None:
        for _ in range(4):
            await asyncio.sleep(400)
            await change_deployment(scene)
        assert scene.entry("i", "deploy")["status"] == "IN_PROGRESS"
        await asyncio.sleep(610)
        assert scene.entry("i", "deploy")["status"] == "FATAL_ERROR"

    waiting(operator(progressDeadline="10m"), body)


async def change_deployment(scene: Scene) -> None:
    """Write the status of the Deployment, as its controller does when a pod changes."""
    status = {"status": {"unavailableReplicas": int(scene.life.rng.random() * 1e9)}}
    await scene.admin.merge_patch(DEPLOYMENTS, "web", status, namespace="ns", subresource="status")


def test_a_step_that_is_done_in_time_has_no_limit_any_more() -> None:
    async def body(scene: Scene) -> None:
        scene.life.cluster.workloads.make_healthy()
        await asyncio.sleep(30)
        assert scene.entry("i", "deploy")["status"] == "COMPLETE"
        await asyncio.sleep(1200)
        assert scene.entry("i", "deploy")["status"] == "COMPLETE"

    waiting(operator(of_plan="10m", of_step="10m", timeout="1m"), body)


def test_an_unreadable_limit_ends_the_run_before_anything_is_sent() -> None:
    async def body(scene: Scene) -> None:
        await asyncio.sleep(10)
        entry = scene.entry("i", "deploy")
        assert entry["status"] == "FATAL_ERROR"
        assert "timeout" in entry["message"]
        assert scene.stored(CONFIG_MAPS, "note") is None
        assert scene.told("TimeLimitInvalid")

    waiting(operator(of_step="soon"), body)


def test_a_run_without_limits_has_no_field_more() -> None:
    async def body(scene: Scene) -> None:
        await asyncio.sleep(3600)
        entry = scene.entry("i", "deploy")
        step = steps(entry)[1]
        assert set(step) == {"name", "status", "message", "tasks"}
        assert set(entry["phases"][0]) == {"name", "status", "steps"}
        assert set(step["tasks"][0]) == {"name", "status", "message", "startedAt", "applied"}

    waiting(operator(), body)
