"""Scenes of retries: what runs again, what counts as honoured, and what is refused."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kubeio.resource import Resource
from kubeio.types import JsonObject
from kudo_reconciler.common.keys import INSTANCES
from tests.support import build
from tests.support.apiserver.controllers.workloads import Outcome
from tests.unit.reconciler.scenes.scene import Scene, of_kind, play

JOBS = Resource("batch", "v1", "Job", "jobs", namespaced=True)


JOB = (
    '{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job-{{ .Params.N }}"}, '
    '"spec": {}}'
)


def operator(name: str = "v1", **spec: Any) -> JsonObject:
    """Return an OperatorVersion whose plans make a ConfigMap, a Job and a ConfigMap."""
    files = {"before": of_kind("ConfigMap", "before"), "after": of_kind("ConfigMap", "after")}
    steps = build.serial(["before"], ["job"], ["after"])
    version = build.stored_version(
        parameters=[{"name": "N", "default": "1", "trigger": "deploy"}],
        tasks=[
            {"name": one, "kind": "Apply", "spec": {"resources": [one]}}
            for one in ("before", "job", "after")
        ],
        templates={**files, "job": JOB},
        plans={"deploy": steps, "upgrade": steps, "note": build.serial(["before"])},
    )
    version["metadata"]["name"] = name
    version["spec"] |= spec
    return version


async def ask(scene: Scene, **run: Any) -> None:
    await scene.admin.merge_patch(INSTANCES, "i", {"spec": {"planExecution": run}}, namespace="ns")
    await asyncio.sleep(5)


def status(scene: Scene) -> JsonObject:
    stored = scene.life.observed.instance("i")
    assert stored is not None
    found: JsonObject = stored["status"]
    return found


def scheduled(scene: Scene) -> JsonObject:
    stored = scene.life.observed.instance("i")
    assert stored is not None
    found: JsonObject = stored["spec"].get("planExecution") or {}
    return found


def after_a_failure(body: Callable[[Scene, str], Awaitable[None]]) -> None:
    """Play a scene that begins after the Job of deploy has failed; what comes then succeeds."""

    async def main(scene: Scene) -> None:
        scene.life.cluster.workloads.outcome = lambda _: Outcome("failed", seconds=1.0)
        await scene.life.put_version(operator())
        await scene.life.user.create("i", {})
        await scene.until_idle("i")
        assert scene.entry("i", "deploy")["status"] == "FATAL_ERROR"
        scene.life.cluster.workloads.outcome = lambda _: Outcome(seconds=1.0)
        await remove_job(scene)
        await asyncio.sleep(5)
        await body(scene, scene.entry("i", "deploy")["uid"])

    play(main)


async def remove_job(scene: Scene, name: str = "job-1") -> None:
    await scene.admin.delete(JOBS, name, namespace="ns")


def test_a_request_that_is_kept_runs_once() -> None:
    async def body(scene: Scene, failed: str) -> None:
        for _ in range(3):
            await ask(scene, planName="deploy", retryOf=failed)
            await scene.until_idle("i")
        await scene.trigger("i", "note")
        await scene.until_idle("i")
        await ask(scene, planName="deploy", retryOf=failed)
        assert [one["plan"] for one in status(scene)["history"]] == ["note", "deploy", "deploy"]

    after_a_failure(body)


@pytest.mark.parametrize("webhooks", [True, False])
def test_a_request_that_is_kept_runs_once_whether_or_not_webhooks_see_it(webhooks: bool) -> None:
    async def body(scene: Scene, failed: str) -> None:
        await scene.life.install_webhooks(mutating=webhooks, validating=webhooks)
        for _ in range(3):
            await ask(scene, planName="deploy", retryOf=failed)
            await asyncio.sleep(60)
        assert [one["status"] for one in status(scene)["history"]] == ["COMPLETE", "FATAL_ERROR"]
        assert scheduled(scene) == {}

    after_a_failure(body)


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        ({"retryOf": "nobody"}, "RetryNotLast"),
        ({"from": "p.nowhere"}, "RetryUnknownStep"),
    ],
)
def test_past_the_webhooks_a_retry_is_decided_by_the_same_rules(
    run: dict[str, str], reason: str
) -> None:
    async def body(scene: Scene, failed: str) -> None:
        await scene.life.install_webhooks(mutating=False, validating=False)
        await ask(scene, planName="deploy", uid="mine", **{"retryOf": failed, **run})
        await asyncio.sleep(30)
        assert scheduled(scene) == {}
        assert scene.told(reason)
        assert scene.entry("i", "deploy")["uid"] == failed

    after_a_failure(body)


def test_a_retry_of_a_suspended_instance_waits() -> None:
    async def body(scene: Scene, failed: str) -> None:
        suspend = {"spec": {"suspend": True}}
        await scene.admin.merge_patch(INSTANCES, "i", suspend, namespace="ns")
        await ask(scene, planName="deploy", retryOf=failed)
        await asyncio.sleep(60)
        assert scene.entry("i", "deploy")["uid"] == failed
        suspend = {"spec": {"suspend": False}}
        await scene.admin.merge_patch(INSTANCES, "i", suspend, namespace="ns")
        await scene.until_idle("i")
        assert scene.entry("i", "deploy")["status"] == "COMPLETE"

    after_a_failure(body)


def test_a_crash_in_a_retry_repeats_nothing_that_was_finished() -> None:
    async def body(scene: Scene, failed: str) -> None:
        scene.life.cluster.workloads.outcome = lambda _: Outcome(seconds=30.0)
        await ask(scene, planName="deploy", retryOf=failed)
        scene.network.seen.clear()
        await scene.life.crash(0)
        await scene.until_idle("i")
        assert scene.entry("i", "deploy")["status"] == "COMPLETE"
        assert not [one for one in scene.network.seen if one.path.endswith("/configmaps/before")]

    after_a_failure(body)
