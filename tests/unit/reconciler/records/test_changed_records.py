"""Records that somebody else changes or deletes while their Instance lives."""

import asyncio

from kubeio.types import JsonObject
from kudo_reconciler.common.keys import INVENTORIES
from tests.support import build
from tests.unit.reconciler.records.recorded import inventory, on_record, operator, run, writes
from tests.unit.reconciler.scenes.scene import Scene, of_kind, play, version

CONFIG_MAP = of_kind("ConfigMap", "{{ .Name }}", "{{ .Params.TEXT }}")
OF = version(CONFIG_MAP, deploy=["apply"])
_SENT = ("name", "namespace", "labels", "ownerReferences")


async def installed(scene: Scene) -> JsonObject:
    """Return the Inventory of an Instance that is at rest."""
    await scene.install("i", of=OF)
    await asyncio.sleep(10)
    scene.network.seen.clear()
    stored = inventory(scene)
    assert stored is not None
    return stored


def test_what_somebody_else_has_removed_and_added_is_restored_with_one_warning() -> None:
    async def body(scene: Scene) -> None:
        stored = await installed(scene)
        forged = {**stored["objects"][0], "name": "forged"}
        await scene.admin.replace(INVENTORIES, {**stored, "objects": [forged]})
        await asyncio.sleep(10)
        assert set(on_record(scene)) == {"i"}
        assert writes(scene) == ["PUT"]
        (told,) = scene.told("InventoryChanged")
        assert "what it knew of them is restored" in told

    play(body)


def test_what_was_deleted_is_created_again() -> None:
    async def body(scene: Scene) -> None:
        stored = await installed(scene)
        await scene.admin.delete(INVENTORIES, stored["metadata"]["name"], namespace="ns")
        await asyncio.sleep(10)
        again = inventory(scene)
        assert again is not None
        assert (again["objects"], again["complete"]) == (stored["objects"], True)
        assert again["metadata"]["uid"] != stored["metadata"]["uid"]
        assert len(scene.told("InventoryChanged")) == 1

    play(body)


def test_a_record_is_never_complete_because_somebody_else_says_so() -> None:
    async def body(scene: Scene) -> None:
        of = version(CONFIG_MAP, deploy=["fails"], update=["apply"])
        of["spec"]["tasks"][2]["spec"]["fatal"] = True
        await scene.install("i", of=of)
        await run(scene, "update")
        await asyncio.sleep(10)
        stored = inventory(scene)
        assert stored is not None
        await scene.admin.replace(INVENTORIES, {**stored, "complete": True})
        await asyncio.sleep(10)
        after = inventory(scene)
        assert after is not None
        assert "complete" not in after

    play(body)


def test_labels_of_an_inventory_are_nobodys_business() -> None:
    async def body(scene: Scene) -> None:
        stored = await installed(scene)
        stored["metadata"]["labels"] = {"theirs": "x"}
        await scene.admin.replace(INVENTORIES, stored)
        await asyncio.sleep(60)
        assert writes(scene) == []
        assert scene.told("InventoryChanged") == []

    play(body)


def test_two_writers_fight_no_faster_than_every_30_seconds() -> None:
    async def body(scene: Scene) -> None:
        await installed(scene)
        name = f"i.{scene.uid('i')[:8]}.0"

        async def fight() -> None:
            while True:
                stored = await scene.admin.get(INVENTORIES, name, namespace="ns")
                if stored["objects"]:
                    await scene.admin.replace(INVENTORIES, {**stored, "objects": []})
                await asyncio.sleep(0.5)

        fighting = asyncio.create_task(fight())
        await asyncio.sleep(301)
        fighting.cancel()
        assert 10 <= len(writes(scene)) <= 11
        await asyncio.sleep(60)
        assert set(on_record(scene)) == {"i"}

    play(body)


def test_a_run_restores_what_somebody_else_has_removed_whenever_it_writes() -> None:
    async def body(scene: Scene) -> None:
        stored = await installed(scene)
        await scene.admin.replace(INVENTORIES, {**stored, "objects": []})
        await run(scene, "deploy")
        assert set(on_record(scene)) == {"i"}
        assert scene.entry("i", "deploy")["status"] == "COMPLETE"

    play(body)


def test_what_is_about_to_be_taken_back_is_not_on_record() -> None:
    """The second of two changes within 30 seconds is not taken back at once."""

    async def body(scene: Scene) -> None:
        templates = {
            "kept.yaml": of_kind("ConfigMap", "kept"),
            "other.yaml": of_kind("ConfigMap", "other"),
        }
        tasks = [build.task(name, "Apply", f"{name}.yaml") for name in ("kept", "other")]
        of = operator(templates, tasks, deploy=[["kept"]], other=[["other"]])
        await scene.install("i", of=of)
        await run(scene, "other")
        kept, other = (on_record(scene)[name] for name in ("kept", "other"))

        async def change(*objects: JsonObject) -> None:
            stored = inventory(scene)
            assert stored is not None
            await scene.admin.replace(INVENTORIES, {**stored, "objects": [*objects]})

        await scene.life.crash(0)
        await change(kept)  # while nobody leads, so it is taken as it is
        await asyncio.sleep(60)
        await change()
        await asyncio.sleep(1)
        await change(kept, other)
        await asyncio.sleep(1)
        assert set(on_record(scene)) == {"kept", "other"}
        await scene.run("i", "other")
        await asyncio.sleep(60)
        assert set(on_record(scene)) == {"kept", "other"}

    play(body)


def test_the_first_record_of_an_instance_that_has_none_is_taken_as_it_is() -> None:
    """It may be a write of a former leader that comes late."""

    async def body(scene: Scene) -> None:
        stored = await installed(scene)
        await scene.lose_records()
        await asyncio.sleep(1)
        late = {key: value for key, value in stored["metadata"].items() if key in _SENT}
        await scene.admin.create(INVENTORIES, {**stored, "metadata": late}, namespace="ns")
        await asyncio.sleep(60)
        assert scene.told("InventoryChanged") == []
        again = inventory(scene)
        assert again is not None
        assert again["objects"] == stored["objects"]

    play(body)


def test_a_change_while_nobody_leads_is_taken_as_it_is_and_what_cannot_be_is_told() -> None:
    async def body(scene: Scene) -> None:
        stored = await installed(scene)
        await scene.life.hand_over(20.0)
        bad = {**stored["objects"][0], "name": "../../secrets/x"}
        await scene.admin.replace(INVENTORIES, {**stored, "objects": [bad]})
        await asyncio.sleep(60)
        assert scene.told("InventoryChanged") == []
        await run(scene, "deploy")
        await asyncio.sleep(10)
        assert set(on_record(scene)) == {"i"}
        (told,) = scene.told("InventoryIgnored")
        assert told.startswith("1 entry of its Inventories left out")

    play(body)


def test_a_new_leader_finds_no_fault_with_what_the_former_one_wrote() -> None:
    async def body(scene: Scene) -> None:
        life = scene.life
        await scene.install("i", of=OF)
        life.start_replica(leading=False)
        await asyncio.sleep(10)
        scene.network.late["inventories"] = 60.0
        life.network = scene.network
        await scene.life.user.change("i", {"parameters": {"TEXT": "two"}})
        await scene.until_idle("i")
        await life.hand_over(1.0)
        await asyncio.sleep(120)
        assert scene.told("InventoryChanged") == []
        assert set(on_record(scene)) == {"i"}

    play(body)
