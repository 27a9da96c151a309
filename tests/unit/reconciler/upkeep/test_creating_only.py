"""Objects with the policy `create`: made once, and left as they are from then on."""

import asyncio

import pytest

from kubeio.types import JsonObject
from tests.support.selection.cases import cases
from tests.unit.reconciler.lives.life import Life, passes
from tests.unit.reconciler.scenes.scene import (
    SECRETS,
    Scene,
    play,
)
from tests.unit.reconciler.upkeep.changing_operator import on_record
from tests.unit.reconciler.upkeep.only_created import (
    ONE_TASK,
    TWO_TASKS,
    USER_FIRST,
    complete,
    has_killed,
    hash_of_stored,
    hashed,
    made,
    operator,
    reads,
    stored,
    writes,
)
from tests.unit.reconciler.upkeep.test_crashes_of_upkeep import deadly


@pytest.mark.parametrize("tasks", [ONE_TASK, USER_FIRST, TWO_TASKS])
def test_random_content_is_made_once_and_pods_do_not_restart(tasks: list[str]) -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=operator(*tasks))
        first = stored(scene)
        assert first["metadata"]["ownerReferences"][0]["uid"] == scene.uid("i")
        assert hashed(scene) == hash_of_stored(scene)
        await complete(scene)
        scene.network.seen.clear()
        await complete(scene)
        assert stored(scene) == first
        assert hashed(scene) == hash_of_stored(scene)
        assert writes(scene) == []
        assert writes(scene, "inventories") == []

    play(body)


@pytest.mark.parametrize("tasks", [ONE_TASK, TWO_TASKS])
def test_pods_restart_at_the_next_apply_once_somebody_has_changed_the_content(
    tasks: list[str],
) -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=operator(*tasks))
        before = hashed(scene)
        edit = {"data": {"password": "bmV3"}}
        await scene.admin.merge_patch(SECRETS, "o", edit, namespace="ns", field_manager="somebody")
        await complete(scene)
        assert stored(scene)["data"] == edit["data"]
        assert hashed(scene) == hash_of_stored(scene) != before

    play(body)


def test_what_was_deleted_is_created_again_in_the_next_run() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=operator(*ONE_TASK))
        before = stored(scene)["data"]
        await scene.admin.delete(SECRETS, "o", namespace="ns")
        await complete(scene)
        assert stored(scene)["data"] != before
        assert hashed(scene) == hash_of_stored(scene)

    play(body)


def test_it_costs_one_read_more_to_create_it_and_one_read_to_leave_it() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=operator(made()))
        assert len(reads(scene)) == len(writes(scene)) == 1
        scene.network.seen.clear()
        await complete(scene)
        assert len(reads(scene)) == 1

    play(body)


def test_without_the_policy_it_is_applied_as_usual() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=operator(made()))
        await scene.life.put_version(operator(made().replace('"create"', '"apply"')))
        before = stored(scene)["data"]
        await complete(scene)
        assert stored(scene)["data"] != before

    play(body)


def test_what_a_former_version_has_applied_is_left_as_it_is() -> None:
    async def body(scene: Scene) -> None:
        await scene.install(
            "i", of=operator(*(one.replace('"create"', '"apply"') for one in TWO_TASKS))
        )
        await scene.life.put_version(operator(*TWO_TASKS))
        before = stored(scene), hashed(scene)
        await complete(scene)
        assert (stored(scene), hashed(scene)) == before

    play(body)


def test_it_goes_with_the_instance() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=operator(made()))
        await scene.delete("i")
        assert scene.stored(SECRETS, "o") is None

    play(body)


# Crashes


WRITES = cases(
    [(ONE_TASK, n) for n in range(1, 7)] + [(TWO_TASKS, n) for n in range(1, 9)],
    lambda case: len(case[0]),
    each=4,
)


@pytest.mark.parametrize(("tasks", "write"), WRITES)
def test_the_content_that_was_made_first_stays_whenever_the_process_dies(
    tasks: list[str], write: int
) -> None:
    async def main(life: Life) -> None:
        scene, network = await deadly(life)
        network.left = write
        contents: list[JsonObject] = []

        def look() -> bool:
            found = scene.stored(SECRETS, "o")
            if found is not None:
                contents.append(found["data"])
            return not scene.is_busy("i")

        await scene.life.put_version(operator(*tasks))
        await scene.life.user.create("i", {})
        await scene.until(look)
        assert scene.entry("i", "deploy")["status"] == "COMPLETE"
        await asyncio.sleep(30)
        assert has_killed(network)
        await complete(scene)
        assert stored(scene)["data"] == contents[0]
        assert contents == [contents[0]] * len(contents)
        assert hashed(scene) == hash_of_stored(scene)
        assert "o" in on_record(scene)

    passes(main, "admitted")
