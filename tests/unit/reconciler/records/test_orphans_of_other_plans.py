"""What a plan of the version in force applies is no orphan, whichever plan applied it last."""

import asyncio

import pytest

from kubeio.types import JsonObject
from tests.support import build
from tests.unit.reconciler.records.recorded import (
    DROPPED,
    on_record,
    operator,
    orphans,
    run,
    update,
    writes,
)
from tests.unit.reconciler.scenes.scene import CONFIG_MAPS, Scene, of_kind, play

X = of_kind("ConfigMap", "x", "a")
ONLY_ONE = '{{ if eq .Params.TEXT "one" }}' + X + "{{ end }}"
TEMPLATES = {
    "x.yaml": X,
    "y.yaml": of_kind("ConfigMap", "y", "a"),
    "only-one.yaml": ONLY_ONE,
    "broken.yaml": "{{ .Params.MISSING.Field }}",
}
TASK_X, OTHER_X = build.task("one", "Apply", "x.yaml"), build.task("other", "Apply", "x.yaml")
TASK_Y = build.task("y", "Apply", "y.yaml")
ONLY = build.task("only", "Apply", "only-one.yaml")
FAILS = build.task("fails", "Dummy", wantErr=True, fatal=True)
BROKEN = build.task("broken", "Apply", "broken.yaml")
CHILD = build.task("have", "KudoOperator", package="child", operatorVersion="1")


def pruning(tasks: list[JsonObject], **plans: list[list[str]]) -> JsonObject:
    """Return a version that prunes."""
    made = operator(TEMPLATES, tasks, **plans)
    made["spec"]["prune"] = True
    return made


async def prune(scene: Scene) -> None:
    """Wait until what may be pruned is."""
    await asyncio.sleep(60)


def exists(scene: Scene, name: str = "x") -> bool:
    return scene.stored(CONFIG_MAPS, name) is not None


def test_the_object_of_a_plan_that_is_gone_stays_if_another_plan_has_its_task() -> None:
    async def body(scene: Scene) -> None:
        plans = {"deploy": [["one"]], "other": [["y"]]}
        await scene.install("i", of=pruning([TASK_X, TASK_Y], **plans, update=[["one"]]))
        await run(scene, "update")
        assert on_record(scene)["x"]["plan"] == "update"
        await scene.life.put_version(pruning([TASK_X, TASK_Y], **plans))
        await run(scene, "other")
        await prune(scene)
        assert orphans(scene) is None
        assert exists(scene)

    play(body)


def test_the_object_that_a_plan_drops_stays_if_another_task_of_another_plan_applies_it() -> None:
    async def body(scene: Scene) -> None:
        of = pruning([TASK_X, ONLY], deploy=[["one"]], update=[["only"]])
        await scene.install("i", of=of)
        await run(scene, "update")
        assert on_record(scene)["x"]["task"] == "only"
        await update(scene, TEXT="two")
        assert scene.entry("i", "update")["status"] == "COMPLETE"
        await prune(scene)
        assert orphans(scene) is None
        assert exists(scene)

    play(body)


def test_the_object_of_a_renamed_task_stays_before_its_plan_has_run() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=pruning([TASK_X, TASK_Y], deploy=[["one"]], upgrade=[["y"]]))
        of = pruning([OTHER_X, TASK_Y], deploy=[["other"]], upgrade=[["y"]])
        await scene.life.put_version(of)
        await run(scene, "upgrade")
        await prune(scene)
        assert orphans(scene) is None
        assert exists(scene)

    play(body)


def test_what_a_plan_that_failed_was_about_to_apply_stays() -> None:
    async def body(scene: Scene) -> None:
        deploy = {"deploy": [["one"]]}
        tasks = [TASK_X, OTHER_X, TASK_Y, FAILS]
        of = pruning(tasks, **deploy, update=[["y"], ["fails"], ["other"]])
        await scene.install("i", of=of)
        await run(scene, "update")
        assert scene.entry("i", "update")["status"] == "FATAL_ERROR"
        assert on_record(scene)["x"]["task"] == "other"
        await scene.life.put_version(pruning(tasks, **deploy, update=[["y"]]))
        await run(scene, "update")
        assert scene.entry("i", "update")["status"] == "COMPLETE"
        await prune(scene)
        assert orphans(scene) is None
        assert exists(scene)

    play(body)


def test_what_the_cleanup_plan_applies_is_no_orphan() -> None:
    async def body(scene: Scene) -> None:
        plans = {"deploy": [["only"]], "cleanup": [["one"]]}
        await scene.install("i", of=pruning([TASK_X, ONLY], **plans))
        await update(scene, TEXT="two")
        await prune(scene)
        assert orphans(scene) is None
        assert exists(scene)

    play(body)


@pytest.mark.parametrize("task", [BROKEN, build.task("broken", "Apply", "missing.yaml")])
def test_there_are_no_orphans_if_a_task_of_any_plan_cannot_be_rendered(task: JsonObject) -> None:
    async def body(scene: Scene) -> None:
        of = pruning([ONLY, task], deploy=[["only"]], backup=[["broken"]])
        await scene.install("i", of=of)
        await update(scene, TEXT="two")
        assert orphans(scene) is None
        await scene.life.put_version(pruning([ONLY], deploy=[["only"]]))
        await run(scene, "deploy")
        await prune(scene)
        # The next run of the plan finds it.
        assert not exists(scene)

    play(body)


def test_an_orphan_is_none_once_another_plan_applies_it() -> None:
    async def body(scene: Scene) -> None:
        before = operator(TEMPLATES, [TASK_X, TASK_Y], deploy=[["one"]], backup=[["y"]])
        await scene.install("i", of=before)
        after = operator(TEMPLATES, [TASK_Y], deploy=[["y"]], backup=[["y"]])
        await scene.life.put_version(after)
        await run(scene, "deploy")
        assert [one["name"] for one in orphans(scene)] == ["x"]
        await scene.life.put_version(before)
        await run(scene, "backup")
        assert orphans(scene) is None
        assert "orphanedBy" not in on_record(scene)["x"]

    play(body)


def test_an_orphan_is_none_while_it_is_not_known_what_the_plans_apply() -> None:
    async def body(scene: Scene) -> None:
        tasks = [ONLY, TASK_Y]
        plans = {"deploy": [["only"]], "other": [["y"]]}
        await scene.install("i", of=operator(TEMPLATES, tasks, **plans))
        await update(scene, TEXT="two")
        assert [one["name"] for one in orphans(scene)] == ["x"]
        of = operator(TEMPLATES, [*tasks, BROKEN], **plans, backup=[["broken"]])
        await scene.life.put_version(of)
        await run(scene, "other")
        assert orphans(scene) is None
        await scene.life.put_version(operator(TEMPLATES, tasks, **plans))
        await run(scene, "deploy")
        assert [one["name"] for one in orphans(scene)] == ["x"]

    play(body)


def test_a_run_that_changes_no_mark_writes_nothing() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=operator({"x.yaml": DROPPED}, [TASK_X], deploy=[["one"]]))
        await update(scene, TEXT="two")
        assert len(orphans(scene)) == 1
        scene.network.seen.clear()
        await run(scene, "deploy")
        assert writes(scene) == []

    play(body)


def test_the_child_of_a_plan_that_is_gone_is_none_if_another_plan_has_it() -> None:
    async def body(scene: Scene) -> None:
        done = build.task("it", "Dummy", done=True)
        child = build.stored_version(tasks=[done], plans={"deploy": build.serial(["it"])})
        child["metadata"]["name"] = "child-1"
        await scene.life.put_version(child)
        plans = {"deploy": [["have"]], "other": [["y"]]}
        await scene.install("i", of=operator(TEMPLATES, [CHILD, TASK_Y], **plans, old=[["have"]]))
        await run(scene, "old")
        assert on_record(scene)["i-child"]["plan"] == "old"
        await scene.life.put_version(operator(TEMPLATES, [CHILD, TASK_Y], **plans))
        await run(scene, "other")
        assert orphans(scene) is None

    play(body)
