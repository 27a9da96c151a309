"""What is on record after a process died in a run, or between the writes that end it."""

import asyncio
from collections.abc import Sequence

import pytest

from kubeio.resource import Resource
from kubeio.types import JsonObject
from kudo_reconciler.common.keys import INSTANCES
from tests.support import build
from tests.support.apiserver.controllers.workloads import Outcome
from tests.support.selection.cases import cases
from tests.unit.reconciler.records.recorded import (
    DROPPED,
    inventory,
    on_record,
    operator,
    orphans,
    run,
    update,
)
from tests.unit.reconciler.scenes.scene import CONFIG_MAPS, Scene, of_kind, play, version

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: "{{ .Name }}-{{ .Params.TEXT }}"}
spec: {template: {spec: {restartPolicy: Never, containers: []}}}
"""
JOBS = Resource("batch", "v1", "Job", "jobs", namespaced=True)
TEMPLATES = {
    "dropped.yaml": DROPPED,
    "job.yaml": JOB,
    "one.yaml": of_kind("ConfigMap", "one", "a"),
}
FIRST = build.task("first", "Apply", "dropped.yaml")
WAITS = build.task("waits", "Apply", "job.yaml")
ONE = build.task("one", "Apply", "one.yaml")


def some(turns: Sequence[int]) -> list[int]:
    """Return half of the moments to die at, or all of them with KUDO_ALL_CASES=1."""
    return cases(turns, lambda _: "turns", each=5)


def slow(scene: Scene) -> None:
    scene.life.cluster.workloads.outcome = lambda _: Outcome(seconds=30)


async def die(scene: Scene) -> None:
    """Kill the leader now; another process goes on after a while."""
    await scene.life.crash(0)


@pytest.mark.parametrize("stays", ["true", "false"])
def test_what_an_earlier_process_rendered_has_the_mark_of_the_run(stays: str) -> None:
    async def body(scene: Scene) -> None:
        slow(scene)
        of = operator(TEMPLATES, [FIRST, WAITS], deploy=[["first"], ["waits"]])
        await scene.install("i", of=of)
        await asyncio.sleep(10)
        change = {"TEXT": "one" if stays == "true" else "two", "ON": "false"}
        await scene.life.user.change("i", {"parameters": change})
        await scene.until(lambda: scene.entry("i", "deploy")["status"] == "IN_PROGRESS")
        await asyncio.sleep(5)
        await die(scene)
        await scene.until_idle("i")
        assert scene.entry("i", "deploy")["status"] == "COMPLETE"
        found = {one["name"] for one in orphans(scene) or ()}
        # The former Job is one in any case where the name has changed.
        assert found == (set() if stays == "true" else {"i-dropped", "i-one"})

    play(body)


@pytest.mark.parametrize("turns", some([0, 5, 15, 25, 34, 45, 60, 80, 100, 130]))
def test_the_end_of_a_run_is_the_same_whenever_the_process_dies(turns: int) -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=version(DROPPED, deploy=["apply"]))
        await asyncio.sleep(10)
        await scene.life.user.change("i", {"parameters": {"TEXT": "two"}})
        await scene.life.crash(turns)
        await scene.until_idle("i")
        await asyncio.sleep(60)
        (orphan,) = orphans(scene)
        assert orphan["name"] == "i-dropped"
        marked = on_record(scene)["i-dropped"]["orphanedBy"]
        assert marked == scene.entry("i", "deploy")["uid"]
        assert len(scene.told("ObjectsOrphaned")) == 1
        assert scene.told("InventoryChanged") == []
        stored = inventory(scene)
        assert stored is not None
        assert stored["complete"] is True

    play(body)


@pytest.mark.parametrize("turns", some(range(0, 60, 6)))
def test_nothing_exists_that_is_not_on_record_whenever_the_process_dies(turns: int) -> None:
    async def body(scene: Scene) -> None:
        of = operator(TEMPLATES, [ONE, FIRST], deploy=[["one"], ["first"]])
        await scene.life.put_version(of)
        await scene.life.user.create("i", {})
        missing: list[str] = []

        def check() -> bool:
            found: set[str] = set()
            stored = scene.life.observed.instance("i")
            if stored is not None:
                found = set(on_record(scene))
            names = ("one", "i-kept", "i-dropped")
            missing.extend(
                name
                for name in names
                if scene.stored(CONFIG_MAPS, name) is not None and name not in found
            )
            return not scene.is_busy("i")

        await scene.life.crash(turns)
        await scene.until(check)
        assert missing == []
        assert set(on_record(scene)) == {"one", "i-kept", "i-dropped"}

    play(body)


def test_a_retry_that_took_steps_over_makes_no_orphans() -> None:
    async def body(scene: Scene) -> None:
        of = operator(TEMPLATES, [FIRST, WAITS], deploy=[["first"], ["waits"]])
        scene.life.cluster.workloads.outcome = lambda _: Outcome()
        await scene.install("i", of=of)
        scene.life.cluster.workloads.outcome = lambda _: Outcome("failed")
        await update(scene, TEXT="two")
        failed = scene.entry("i", "deploy")
        assert failed["status"] == "FATAL_ERROR"
        assert orphans(scene) is None
        scene.life.cluster.workloads.outcome = lambda _: Outcome()
        await scene.admin.delete(JOBS, "i-two", namespace="ns")
        await asyncio.sleep(10)
        asked = {"planName": "deploy", "retryOf": failed["uid"]}
        change: JsonObject = {"spec": {"planExecution": asked}}
        await scene.admin.merge_patch(INSTANCES, "i", change, namespace="ns")
        await scene.until_idle("i")
        entry = scene.entry("i", "deploy")
        assert (entry["status"], entry["retryOf"]) == ("COMPLETE", failed["uid"])
        # The Job is of a task that has run, but it may have moved to the one that has not.
        assert orphans(scene) is None
        await run(scene, "deploy")
        assert {one["name"] for one in orphans(scene)} == {"i-one", "i-dropped"}

    play(body)
