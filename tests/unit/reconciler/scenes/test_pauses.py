"""Scenes of suspended Instances: what is observed, what is not sent, and how a pause ends."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from kubeio.types import JsonObject
from kudo_reconciler.common.keys import INSTANCES
from tests.support import build
from tests.support.apiserver.controllers.workloads import Outcome
from tests.support.apiserver.network.faults import Fate
from tests.support.apiserver.server import Request
from tests.support.apiserver.status import internal_error
from tests.unit.reconciler.scenes.scene import CONFIG_MAPS, Scene, Shaped, of_kind, play

JOB = '{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job"}, "spec": {}}'


JOB_SECONDS = 20.0


SENDING = {"POST", "PUT", "PATCH", "DELETE"}


def operator(**fields: Any) -> JsonObject:
    """Return an OperatorVersion that makes a Job, and then two ConfigMaps."""
    tasks = {"job": "job.yaml", "first": "first.yaml", "second": "second.yaml"}
    templates = {
        "job.yaml": JOB,
        "first.yaml": of_kind("ConfigMap", "first"),
        "second.yaml": of_kind("ConfigMap", "second"),
    }
    plans = {
        "deploy": build.serial(["job"], ["first"], ["second"]),
        "update": build.serial(["first"]),
        "cleanup": build.serial(["second"]),
    }
    return build.stored_version(
        parameters=[{"name": "TEXT", "default": "one"}],
        tasks=[
            {"name": name, "kind": "Apply", "spec": {"resources": [file]}}
            for name, file in tasks.items()
        ],
        templates=templates,
        plans=plans,
        **fields,
    )


async def suspend(scene: Scene, *, suspended: bool = True) -> None:
    await scene.admin.merge_patch(
        INSTANCES, "i", {"spec": {"suspend": suspended or None}}, namespace="ns"
    )
    await asyncio.sleep(2)


def status(scene: Scene) -> JsonObject:
    stored = scene.life.observed.instance("i")
    assert stored is not None
    found: JsonObject = stored["status"]
    return found


def conditions(scene: Scene) -> dict[str, tuple[str, str]]:
    return {one["type"]: (one["status"], one["reason"]) for one in status(scene)["conditions"]}


def beside_the_job(body: Callable[[Scene], Awaitable[None]]) -> None:
    """Play a scene while the Job of the first step of deploy runs."""

    async def main(scene: Scene) -> None:
        scene.life.cluster.workloads.outcome = lambda _: Outcome(seconds=JOB_SECONDS)
        await scene.life.put_version(operator())
        await scene.life.user.create("i", {})
        await asyncio.sleep(JOB_SECONDS / 4)
        assert scene.entry("i", "deploy")["status"] == "IN_PROGRESS"
        await body(scene)

    play(main)


async def installed(scene: Scene) -> None:
    scene.life.cluster.workloads.outcome = lambda _: Outcome(seconds=1.0)
    await scene.install("i", of=operator())


def test_what_was_sent_is_recorded_and_nothing_more_is_sent() -> None:
    async def body(scene: Scene) -> None:
        await suspend(scene)
        assert conditions(scene) == {
            "Ready": ("False", "Suspended"),
            "Reconciling": ("True", "Suspended"),
        }
        await asyncio.sleep(JOB_SECONDS)
        [phase] = scene.entry("i", "deploy")["phases"]
        assert [step["status"] for step in phase["steps"]] == ["COMPLETE", "PENDING", "PENDING"]
        scene.network.seen.clear()
        await asyncio.sleep(7200)
        assert not [one for one in scene.network.seen if one.method in SENDING]
        assert scene.stored(CONFIG_MAPS, "first") is None
        assert status(scene)["suspendedAt"]

        await suspend(scene, suspended=False)
        await scene.until_idle("i")
        assert scene.entry("i", "deploy")["status"] == "COMPLETE"
        assert conditions(scene)["Ready"] == ("True", "ResourcesReady")
        assert "suspendedAt" not in status(scene)
        assert 7215 <= scene.entry("i", "deploy")["suspendedSeconds"] <= 7225
        assert scene.stored(CONFIG_MAPS, "second") is not None

    beside_the_job(body)


def test_a_run_of_which_everything_was_sent_ends_during_a_pause() -> None:
    async def body(scene: Scene) -> None:
        scene.life.cluster.workloads.outcome = lambda _: Outcome(seconds=JOB_SECONDS)
        version = operator()
        version["spec"]["plans"]["deploy"] = build.serial(["job"])
        await scene.life.put_version(version)
        await scene.life.user.create("i", {})
        await asyncio.sleep(JOB_SECONDS / 4)
        await suspend(scene)
        await scene.until_idle("i")
        await asyncio.sleep(2)
        assert scene.entry("i", "deploy")["status"] == "COMPLETE"
        assert conditions(scene) == {"Ready": ("True", "ResourcesReady")}

    play(body)


def test_a_paused_run_can_be_cancelled() -> None:
    async def body(scene: Scene) -> None:
        await suspend(scene)
        await scene.life.user.change("i", {"run": "cancel"})
        await asyncio.sleep(5)
        entry = scene.entry("i", "deploy")
        assert (entry["status"], entry["message"]) == ("FATAL_ERROR", "cancelled by alice")
        assert scene.stored(CONFIG_MAPS, "first") is None

    beside_the_job(body)


def test_a_run_that_is_held_up_can_be_cancelled_before_it_begins() -> None:
    async def body(scene: Scene) -> None:
        await installed(scene)
        await suspend(scene)
        await scene.trigger("i", "update")
        await asyncio.sleep(5)
        await scene.life.user.change("i", {"run": "cancel"})
        await asyncio.sleep(5)
        assert scene.entry("i", "update")["status"] == "FATAL_ERROR"

    play(body)


def test_after_a_restart_what_was_sent_is_recorded_and_nothing_more_is_sent() -> None:
    async def body(scene: Scene) -> None:
        await suspend(scene)
        await scene.life.crash(0)
        scene.network.seen.clear()
        await asyncio.sleep(JOB_SECONDS * 10)
        [phase] = scene.entry("i", "deploy")["phases"]
        assert [step["status"] for step in phase["steps"]] == ["COMPLETE", "PENDING", "PENDING"]
        sent = [one for one in scene.network.seen if one.method in SENDING]
        assert {one.path.rsplit("/", 1)[1] for one in sent} <= {"status", "events"}
        await suspend(scene, suspended=False)
        await scene.until_idle("i")
        assert scene.entry("i", "deploy")["status"] == "COMPLETE"
        assert scene.entry("i", "deploy")["suspendedSeconds"] >= JOB_SECONDS * 10

    beside_the_job(body)


def test_after_a_restart_what_an_earlier_run_sent_is_not_taken_for_sent() -> None:
    async def body(scene: Scene) -> None:
        await installed(scene)
        # The Job and its end are those of deploy: this run has sent nothing of its step.
        refused = Shaped.fate

        def cut(request: Request) -> Fate:
            if request.method == "PATCH" and request.path.endswith("/first"):
                return Fate(refused=internal_error("not now"))
            return refused(scene.network, request)

        scene.network.fate = cut  # type: ignore[method-assign]
        await scene.trigger("i", "update")
        await asyncio.sleep(5)
        await suspend(scene)
        await scene.life.crash(0)
        scene.network.fate = partial(refused, scene.network)  # type: ignore[method-assign]
        await asyncio.sleep(600)
        assert scene.entry("i", "update")["status"] == "IN_PROGRESS"
        await suspend(scene, suspended=False)
        await scene.until_idle("i")
        assert scene.entry("i", "update")["status"] == "COMPLETE"

    play(body)


def test_once_the_pause_is_recorded_no_write_is_in_flight() -> None:
    async def body(scene: Scene) -> None:
        sent = asyncio.Event()

        def held(request: Request) -> float:
            if not request.path.endswith("/first"):
                return 0.0
            sent.set()
            return 3.0

        scene.network.held = held
        await sent.wait()
        change = {"spec": {"suspend": True}}
        await scene.admin.merge_patch(INSTANCES, "i", change, namespace="ns")
        await scene.until(lambda: "suspendedAt" in status(scene))
        assert scene.stored(CONFIG_MAPS, "first") is not None
        await asyncio.sleep(60)
        assert scene.stored(CONFIG_MAPS, "second") is None

    beside_the_job(body)


def test_a_pause_is_recorded_also_without_an_operator_version() -> None:
    async def body(scene: Scene) -> None:
        await installed(scene)
        await scene.life.user.delete_version("v1")
        await suspend(scene)
        assert status(scene)["suspendedAt"]
        await suspend(scene, suspended=False)
        assert "suspendedAt" not in status(scene)

    play(body)


def test_a_failing_task_is_not_tried_during_a_pause() -> None:
    async def body(scene: Scene) -> None:
        version = operator()
        fails = {"name": "fails", "kind": "Dummy", "spec": {"wantErr": True}}
        version["spec"]["tasks"].append(fails)
        version["spec"]["plans"]["deploy"] = build.serial(["fails"])
        await scene.life.put_version(version)
        await scene.life.user.create("i", {})
        await asyncio.sleep(60)
        await suspend(scene)
        [task] = scene.entry("i", "deploy")["phases"][0]["steps"][0]["tasks"]
        assert task["status"] == "ERROR"
        await asyncio.sleep(600)
        assert scene.entry("i", "deploy")["phases"][0]["steps"][0]["tasks"] == [task]
        await suspend(scene, suspended=False)
        await asyncio.sleep(120)
        [again] = scene.entry("i", "deploy")["phases"][0]["steps"][0]["tasks"]
        assert again["failures"] > task["failures"]

    play(body)
