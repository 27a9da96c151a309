"""An Instance without a record gets one from what exists: `kudo.dev/adopt-requested-at`."""

import asyncio

import pytest

from kubeio.resource import Resource
from kubeio.types import JsonObject
from tests.support import build
from tests.support.apiserver.controllers.workloads import Outcome
from tests.support.apiserver.server import Request
from tests.support.apiserver.status import StatusError
from tests.unit.reconciler.scenes.scene import (
    CLAIMS,
    CONFIG_MAPS,
    RIGHTS,
    ROLES,
    SECRETS,
    SHARED_BY,
    STRICT,
    Scene,
    play,
)
from tests.unit.reconciler.tenancy.test_unwatched_kinds import ACCOUNT, USER, create_account
from tests.unit.reconciler.upkeep.changing_operator import (
    ADOPT,
    ask,
    config_map,
    entries,
    forget_the_record,
    inventories,
    is_asked,
    on_record,
    operator,
    orphans,
    set_names,
    there,
)

PODS = Resource("", "v1", "Pod", "pods", namespaced=True)


async def adopt(scene: Scene) -> str:
    """Ask for an adoption, and return what the event says."""
    await ask(scene, ADOPT)
    await asyncio.sleep(10)
    assert not is_asked(scene, ADOPT)
    (text,) = scene.told("InventoryAdopted")
    return text


def entry(scene: Scene, name: str) -> JsonObject:
    (found,) = (one for one in entries(scene) if one["name"] == name)
    return found


def test_what_an_instance_owns_is_recorded_with_plan_task_and_uid() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=operator())
        (before,) = inventories(scene)
        await forget_the_record(scene)
        assert inventories(scene) == []
        text = await adopt(scene)
        assert text == "3 objects belong to the Instance, 3 of them were not on record"
        (inventory,) = inventories(scene)
        assert inventory["complete"] is True
        assert on_record(scene) == ["a", "b", "c"]
        uid = scene.stored(CONFIG_MAPS, "a")["metadata"]["uid"]  # type: ignore[index]
        expected = {key: value for key, value in before["objects"][0].items() if key != "digest"}
        assert entry(scene, "a") == {**expected, "uid": uid}

    play(body)


def test_adopting_changes_no_object() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=operator(prune=True))
        await set_names(scene, "a b c")
        await asyncio.sleep(5)
        await forget_the_record(scene)
        scene.network.seen.clear()
        await adopt(scene)
        writes = [one for one in scene.network.seen if one.method not in {"GET", "POST"}]
        assert {one.path.split("/")[-1] for one in writes} <= {"i", "status"}
        assert there(scene) == ["a", "b", "c"]

    play(body)


def test_the_job_of_a_job_task_is_recorded_by_no_adoption() -> None:
    async def body(scene: Scene) -> None:
        scene.life.cluster.workloads.outcome = lambda _: Outcome()
        job = build.task("run", "Job", job={"image": "a", "command": ["a"]})
        plans = {"deploy": build.serial(["run"])}
        await scene.install("i", of=build.stored_version(tasks=[job], templates={}, plans=plans))
        await ask(scene, ADOPT)
        await asyncio.sleep(10)
        assert scene.told("InventoryAdopted") == [
            "0 objects belong to the Instance, 0 of them were not on record"
        ]

    play(body)


def test_what_is_on_record_stays_as_it_is() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=operator())
        await set_names(scene, "a b")
        await asyncio.sleep(5)
        before = {one["name"]: one for one in entries(scene)}
        text = await adopt(scene)
        assert text == "3 objects belong to the Instance, 0 of them were not on record"
        for name, known in before.items():
            assert known.items() <= entry(scene, name).items()
        assert orphans(scene) == ["c"]

    play(body)


def test_what_was_adopted_is_pruned_if_its_task_no_longer_renders_it() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=operator(prune=True))
        await forget_the_record(scene)
        await adopt(scene)
        await set_names(scene, "a")
        await asyncio.sleep(5)
        assert there(scene) == on_record(scene) == ["a"]

    play(body)


def test_objects_of_others_are_not_recorded() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=operator(config_map("a")))
        await forget_the_record(scene)
        stranger = {"kind": "ReplicaSet", "apiVersion": "apps/v1", "name": "x", "uid": "x"}
        labels = {"heritage": "kudo", "kudo.dev/instance": "i"}
        metadata = {"namespace": "ns", "labels": labels}
        for resource, name, owners in (
            (PODS, "pod", [{**stranger, "controller": True}]),
            (CLAIMS, "of-a-stateful-set", []),
            (CONFIG_MAPS, "without-owner", []),
        ):
            made = {"metadata": {**metadata, "name": name, "ownerReferences": owners}}
            await scene.admin.create(resource, made)
        await adopt(scene)
        assert on_record(scene) == ["a"]

    play(body)


def test_shared_retained_and_adopted_objects_are_recorded_as_such() -> None:
    async def body(scene: Scene) -> None:
        retain: JsonObject = {"kudo.dev/deletion-policy": "retain"}
        role = {"apiVersion": f"{RIGHTS}/v1", "kind": "ClusterRole", "metadata": {"name": "a"}}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "c"}}
        metadata = {"name": "c", "namespace": "ns"}
        await scene.admin.create(SECRETS, {"metadata": metadata}, field_manager="somebody")
        made = [{**role, "rules": []}, config_map("b", annotations=retain), secret]
        await scene.install("i", "j", of=operator(made[0]), NAMES="a")
        await scene.life.put_version(operator(*made))
        await set_names(scene, "a b c")
        await asyncio.sleep(5)
        await forget_the_record(scene)
        await adopt(scene)
        assert sorted(scene.sharing("a")) == ["i", "j"]
        assert entry(scene, "a")["shared"] is True
        assert entry(scene, "b")["retained"] is True
        assert entry(scene, "c")["adopted"] is True
        assert scene.stored(ROLES, "a") is not None

    play(body)


def test_kinds_that_the_account_may_not_list_are_named_and_the_record_is_not_complete() -> None:
    async def body(scene: Scene) -> None:
        def authorize(request: Request) -> None:
            if request.user == USER and request.path.endswith("/secrets"):
                raise StatusError(403, "Forbidden", "no")

        await create_account(scene)
        await scene.life.put_version(operator())
        await scene.life.user.create("i", {}, {"serviceAccountName": ACCOUNT})
        await scene.until_idle("i")
        await forget_the_record(scene)
        scene.life.cluster.server.authorize = authorize
        scene.network.seen.clear()
        text = await adopt(scene)
        assert text.endswith("; these kinds could not be listed, and may have more: secrets")
        (inventory,) = inventories(scene)
        assert "complete" not in inventory
        assert on_record(scene) == ["a", "b", "c"]
        lists = [one for one in scene.network.seen if one.path.endswith("/configmaps")]
        assert {one.user for one in lists} == {USER}

    play(body, STRICT)


@pytest.mark.parametrize(("failures", "told"), [(1, ""), (2, "secrets")])
def test_what_the_api_server_fails_to_list_is_listed_once_more(failures: int, told: str) -> None:
    async def body(scene: Scene) -> None:
        def authorize(request: Request) -> None:
            if request.path.endswith("/namespaces/ns/secrets"):
                tries.append(scene.life.cluster.server.now())
                if len(tries) <= failures:
                    raise StatusError(500, "InternalError", "etcdserver: request timed out")

        tries: list[str] = []
        await scene.install("i", of=operator())
        await forget_the_record(scene)
        scene.life.cluster.server.authorize = authorize
        text = await adopt(scene)
        assert ("could not be listed" in text) == bool(told)
        assert text.endswith(told)
        (inventory,) = inventories(scene)
        assert inventory.get("complete", False) is not bool(told)
        assert len(tries) == 2
        assert tries[1] > tries[0]

    play(body)


def test_what_cannot_be_recorded_leaves_the_record_incomplete() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=operator())
        await forget_the_record(scene)
        annotations = {SHARED_BY: f"ns/i/{scene.uid('i')}"}
        metadata = {"name": "a%b", "labels": {"heritage": "kudo"}, "annotations": annotations}
        made = {"apiVersion": ROLES.api_version, "kind": "ClusterRole", "rules": []}
        await scene.admin.create(ROLES, {**made, "metadata": metadata})
        await adopt(scene)
        assert on_record(scene) == ["a", "b", "c"]
        assert not any(one.get("complete") for one in inventories(scene))

    play(body)


@pytest.mark.parametrize(("verb", "complete"), [("create", False), ("patch", False), ("", True)])
def test_a_kind_that_the_account_may_neither_list_nor_apply_does_not_count(
    verb: str, complete: bool
) -> None:
    async def body(scene: Scene) -> None:
        def authorize(request: Request) -> None:
            if request.user == USER and request.path.endswith("/secrets"):
                raise StatusError(403, "Forbidden", "no")

        def may(user: str, attributes: JsonObject) -> bool:
            asked.append((user, attributes["resource"], attributes["namespace"]))
            return bool(attributes["verb"] == verb)

        asked: list[tuple[str, str, str]] = []
        await create_account(scene)
        await scene.life.put_version(operator())
        await scene.life.user.create("i", {}, {"serviceAccountName": ACCOUNT})
        await scene.until_idle("i")
        await forget_the_record(scene)
        scene.life.cluster.server.authorize = authorize
        scene.life.cluster.server.may = may
        text = await adopt(scene)
        assert ("could not be listed" in text) != complete
        (inventory,) = inventories(scene)
        assert inventory.get("complete", False) is complete
        # Nothing is asked about what may be listed.
        assert set(asked) == {(USER, "secrets", "ns")}

    play(body, STRICT)


def test_a_run_that_begins_meanwhile_comes_first() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=operator())
        await forget_the_record(scene)
        scene.network.held = lambda sent: 5.0 if sent.path.endswith("/secrets") else 0.0
        await ask(scene, ADOPT)
        await asyncio.sleep(1)
        await set_names(scene, "a b")
        assert is_asked(scene, ADOPT)
        await asyncio.sleep(30)
        assert not is_asked(scene, ADOPT)
        assert on_record(scene) == ["a", "b", "c"]
        assert orphans(scene) is None

    play(body)
