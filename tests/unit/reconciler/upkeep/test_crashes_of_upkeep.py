"""The process dies after each write of a prune and of an adoption; the next one continues."""

import asyncio
from dataclasses import dataclass

import pytest

from kubeio.types import JsonObject
from tests.support.apiserver.network.faults import Fate
from tests.support.apiserver.server import Request
from tests.support.selection.cases import cases
from tests.unit.reconciler.lives.life import Life, passes
from tests.unit.reconciler.scenes.scene import CONFIG_MAPS, Scene, Shaped
from tests.unit.reconciler.upkeep.changing_operator import (
    ADOPT,
    PRUNE,
    ask,
    entries,
    exists,
    forget_the_record,
    instance,
    inventories,
    is_asked,
    on_record,
    operator,
    orphans,
    set_names,
    there,
)

WRITES = 6
"""One more than a prune has: two deletions, the record, the annotation, the status."""
SOME_WRITES = cases(range(1, WRITES + 1), lambda _: "write", each=3)


@dataclass
class Deadly(Shaped):
    """Kills the leader when the API server has taken one of its writes.

    Attributes:
        life: Whose leader it is.
        left: Writes until then; None to kill nobody.
    """

    life: Life | None = None
    left: int | None = None

    def fate(self, request: Request) -> Fate:
        self.seen.append(request)
        ours = "/events" not in request.path and "selfsubject" not in request.path
        if self.left is None or request.method == "GET" or not ours:
            return Fate()
        self.left -= 1
        if self.left > 0:
            return Fate()
        self.left = None
        assert self.life is not None
        asyncio.get_running_loop().create_task(self.life.crash(0))
        return Fate(lost="answer")


async def deadly(life: Life) -> tuple[Scene, Deadly]:
    network = Deadly(life.rng, 0.0, life=life)
    life.network = network
    life.replicas[0].process.transports[0].network = network
    admin, _ = life.cluster.client()
    return Scene(life, network, admin), network


def deletions(network: Deadly) -> list[str]:
    return [one.path.split("/")[-1] for one in network.seen if one.method == "DELETE"]


@pytest.mark.parametrize("write", range(1, WRITES + 1))
def test_a_prune_is_continued(write: int) -> None:
    async def main(life: Life) -> None:
        scene, network = await deadly(life)
        await scene.install("i", of=operator())
        await set_names(scene, "a")
        await asyncio.sleep(5)
        assert orphans(scene) == ["b", "c"]
        network.left = write
        await ask(scene, PRUNE)
        await asyncio.sleep(120)
        # Fewer writes than expected: the test would kill nobody.
        assert (network.left is None) == (write < WRITES)
        assert there(scene) == on_record(scene) == ["a"]
        assert orphans(scene) is None
        assert not is_asked(scene, PRUNE)
        assert sorted(deletions(network)) == ["b", "c"]

    passes(main, "admitted")


@pytest.mark.parametrize("write", SOME_WRITES)
def test_what_is_created_again_after_a_crash_is_not_deleted(write: int) -> None:
    async def main(life: Life) -> None:
        scene, network = await deadly(life)
        await scene.install("i", of=operator())
        await set_names(scene, "a b")
        await asyncio.sleep(5)
        network.left = write
        await ask(scene, PRUNE)
        await scene.until(lambda: not exists(scene, "c"))
        by_hand: JsonObject = {"metadata": {"name": "c", "namespace": "ns"}, "data": {"by": "hand"}}
        await scene.admin.create(CONFIG_MAPS, by_hand)
        await asyncio.sleep(120)
        found = scene.stored(CONFIG_MAPS, "c")
        assert found is not None
        assert found["data"] == {"by": "hand"}
        assert deletions(network) == ["c"]

    passes(main, "admitted")


@pytest.mark.parametrize("write", SOME_WRITES)
def test_a_run_after_a_crash_applies_what_was_to_be_pruned(write: int) -> None:
    async def main(life: Life) -> None:
        scene, network = await deadly(life)
        await scene.install("i", of=operator())
        await set_names(scene, "a b")
        await asyncio.sleep(5)
        network.left = write
        await ask(scene, PRUNE)
        await asyncio.sleep(0.01)
        await set_names(scene, "a b c")
        await asyncio.sleep(120)
        assert there(scene) == on_record(scene) == ["a", "b", "c"]
        assert not any("orphanedBy" in one for one in entries(scene))

    passes(main, "admitted")


@pytest.mark.parametrize("write", range(1, 4))
def test_an_adoption_is_continued(write: int) -> None:
    async def main(life: Life) -> None:
        scene, network = await deadly(life)
        await scene.install("i", of=operator())
        before = inventories(scene)[0]["objects"]
        await forget_the_record(scene)
        network.left = write
        await ask(scene, ADOPT)
        await asyncio.sleep(120)
        assert (network.left is None) == (write < 3)
        assert not is_asked(scene, ADOPT)
        (inventory,) = inventories(scene)
        assert inventory["complete"] is True
        assert [one["name"] for one in inventory["objects"]] == [one["name"] for one in before]
        assert "orphans" not in instance(scene)["status"]

    passes(main, "admitted")
