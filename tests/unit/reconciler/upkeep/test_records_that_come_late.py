"""A leader whose cache lacks what the former one has recorded last."""

import asyncio

from tests.unit.reconciler.scenes.scene import Scene, play
from tests.unit.reconciler.upkeep.changing_operator import (
    PRUNE,
    ask,
    is_asked,
    operator,
    orphans,
    set_names,
    there,
)


async def with_a_leader_that_is_behind(scene: Scene) -> None:
    """Make two orphans, of which the next leader's cache learns a minute later."""
    await scene.install("i", of=operator())
    scene.life.start_replica(leading=False)
    await asyncio.sleep(5)
    scene.network.late["inventories"] = 60
    await set_names(scene, "a")
    await asyncio.sleep(1)
    assert orphans(scene) == ["b", "c"]
    await scene.life.crash(0)
    await asyncio.sleep(0)


def test_a_request_is_not_fulfilled_by_a_cache_that_is_behind() -> None:
    async def body(scene: Scene) -> None:
        await with_a_leader_that_is_behind(scene)
        await ask(scene, PRUNE)
        await asyncio.sleep(100)
        assert there(scene) == ["a"]
        assert not is_asked(scene, PRUNE)
        assert orphans(scene) is None

    play(body)


def test_the_status_names_orphans_again_once_the_cache_knows_them() -> None:
    async def body(scene: Scene) -> None:
        await with_a_leader_that_is_behind(scene)
        await asyncio.sleep(100)
        assert there(scene) == ["a", "b", "c"]
        assert orphans(scene) == ["b", "c"]

    play(body)
