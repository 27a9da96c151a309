"""How many writes to Inventories a run makes."""

import pytest

from kubeio.types import JsonObject
from tests.support import build
from tests.unit.reconciler.records.recorded import (
    inventory,
    on_record,
    operator,
    orphans,
    run,
    update,
    writes,
)
from tests.unit.reconciler.scenes.scene import (
    CONFIG_MAPS,
    ROLES,
    Scene,
    of_kind,
    play,
    role,
)

TEMPLATES = {
    "one.yaml": of_kind("ConfigMap", "one", "{{ .Params.TEXT }}"),
    "two.yaml": of_kind("ConfigMap", "two", "b"),
    "random.yaml": of_kind("ConfigMap", "random", "{{ randAlphaNum 8 }}"),
    "role.yaml": role("{{ .Name }}"),
}
ONE, TWO = build.task("one", "Apply", "one.yaml"), build.task("two", "Apply", "two.yaml")
RANDOM = build.task("random", "Apply", "random.yaml")
DELETE = build.task("delete", "Delete", "two.yaml")
CHILDREN = 10


@pytest.mark.parametrize("first", ["one", "random"])
def test_random_content_is_written_once_in_a_run(first: str) -> None:
    async def body(scene: Scene) -> None:
        second = "random" if first == "one" else "one"
        of = operator(TEMPLATES, [ONE, RANDOM], deploy=[[first], [second]])
        await scene.install("i", of=of)
        assert writes(scene) == ["POST"]
        await update(scene, TEXT="two")
        assert writes(scene) == ["POST", "PUT"]

    play(body)


def test_another_change_at_its_own_turn_is_written() -> None:
    async def body(scene: Scene) -> None:
        name = "n-{{ randAlpha 8 | lower }}"
        templates = {**TEMPLATES, "random.yaml": of_kind("ConfigMap", name, "a")}
        of = operator(templates, [ONE, RANDOM], deploy=[["one"], ["random"]])
        await scene.install("i", of=of)
        # At the end the name leaves the record that was rendered ahead.
        assert writes(scene) == ["POST", "PUT", "PUT"]
        made = [one for one in on_record(scene) if scene.stored(CONFIG_MAPS, one) is not None]
        assert len(made) == 2

    play(body)


def test_what_a_run_applies_and_deletes_stays_on_record() -> None:
    async def body(scene: Scene) -> None:
        of = operator(TEMPLATES, [ONE, TWO, DELETE], deploy=[["one"], ["two"], ["delete"]])
        await scene.install("i", of=of)
        assert writes(scene) == ["POST"]
        scene.network.seen.clear()
        await run(scene, "deploy")
        assert writes(scene) == []
        assert scene.stored(CONFIG_MAPS, "two") is None
        assert set(on_record(scene)) == {"one", "two"}
        # What no plan applies any more leaves the record.
        await scene.life.put_version(operator(TEMPLATES, [ONE], deploy=[["one"]]))
        await run(scene, "deploy")
        assert set(on_record(scene)) == {"one"}
        assert orphans(scene) is None

    play(body)


def test_a_share_that_a_run_takes_and_gives_up_leaves_the_record() -> None:
    async def body(scene: Scene) -> None:
        apply, delete = (build.task(kind, kind, "role.yaml") for kind in ("Apply", "Delete"))
        of = operator(TEMPLATES, [apply, delete], deploy=[["Apply"], ["Delete"]])
        await scene.install("i", of=of)
        # Others must know that it leaves before the object is deleted.
        assert writes(scene) == ["POST", "PUT", "PUT"]
        assert on_record(scene) == {}
        assert scene.stored(ROLES, "i") is None

    play(body)


def children(number: int) -> list[JsonObject]:
    """Return tasks that have children."""
    return [
        build.task(f"c{n}", "KudoOperator", package="child", operatorVersion="1", instanceName=name)
        for n, name in enumerate(f"i-{n}" for n in range(number))
    ]


async def put_child(scene: Scene) -> None:
    done = build.task("it", "Dummy", done=True)
    child = build.stored_version(tasks=[done], plans={"deploy": build.serial(["it"])})
    child["metadata"]["name"] = "child-1"
    await scene.life.put_version(child)


def test_all_children_of_a_plan_are_recorded_by_one_write() -> None:
    async def body(scene: Scene) -> None:
        await put_child(scene)
        tasks = children(CHILDREN)
        of = operator(TEMPLATES, tasks, deploy=[[task["name"]] for task in tasks])
        await scene.install("i", of=of)
        assert scene.entry("i", "deploy")["status"] == "COMPLETE"
        assert len(on_record(scene)) == CHILDREN
        assert writes(scene) == ["POST"]
        await run(scene, "deploy")
        assert writes(scene) == ["POST"]

    play(body)


PIPE: JsonObject = {
    "name": "pipe",
    "kind": "Pipe",
    "spec": {"pod": "pod.yaml", "pipe": [{"file": "/tmp/a", "kind": "Secret", "key": "a"}]},
}


def test_what_a_pipe_task_makes_is_recorded_before_its_pod_runs() -> None:
    async def body(scene: Scene) -> None:
        of = operator(TEMPLATES, [ONE, PIPE], deploy=[["one"], ["pipe"]])
        # Its template is missing: the names are known without it.
        await scene.install("i", of=of)
        assert writes(scene) == ["POST"]
        found = on_record(scene)["i.deploy.p.s1.pipe.a"]
        assert (found["kind"], found["task"]) == ("Secret", "pipe")
        assert "digest" not in found
        assert inventory(scene) is not None

    play(body)
