"""Orphans, objects that plans no longer apply, are deleted: which, when, and as whom."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from kubeio.resource import Resource
from kubeio.types import JsonObject
from kudo.api.identity import InstanceIdentity
from kudo.api.names import ANNOTATION_SHARED_BY
from kudo.objects.sharing import shared_by
from kudo_reconciler.common.keys import INVENTORIES
from tests.support import build
from tests.support.apiserver.network.faults import Fate
from tests.support.apiserver.server import Request
from tests.support.apiserver.status import StatusError, internal_error, no_such_path
from tests.unit.reconciler.scenes.scene import (
    CLAIMS,
    CONFIG_MAPS,
    GOES,
    RIGHTS,
    ROLES,
    STRICT,
    Scene,
    Shaped,
    play,
)
from tests.unit.reconciler.tenancy.test_unwatched_kinds import ACCOUNT, USER, create_account
from tests.unit.reconciler.upkeep.changing_operator import (
    PRUNE,
    ask,
    config_map,
    entries,
    exists,
    inventories,
    is_asked,
    on_record,
    operator,
    orphans,
    set_names,
    there,
)

ACCOUNTS = Resource("", "v1", "ServiceAccount", "serviceaccounts", namespaced=True)


PRUNING = operator(prune=True)


def deletions(network: Shaped) -> list[str]:
    """Return the objects whose deletion was asked for, as plural/name."""
    sent = [one for one in network.seen if one.method == "DELETE"]
    return ["/".join(one.path.split("/")[-2:]) for one in sent]


# Whether


def test_one_pruned_object_is_told_as_one() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=PRUNING)
        await set_names(scene, "a b")
        await asyncio.sleep(5)
        (text,) = scene.told("ObjectsPruned")
        assert text == "1 object that plans no longer apply was deleted: ConfigMap ns/c"

    play(body)


def test_pruned_objects_leave_status_and_record_and_are_told() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=PRUNING)
        await set_names(scene, "a")
        await asyncio.sleep(5)
        assert there(scene) == on_record(scene) == ["a"]
        assert orphans(scene) is None
        (text,) = scene.told("ObjectsPruned")
        assert text == (
            "2 objects that plans no longer apply were deleted: ConfigMap ns/c, ConfigMap ns/b"
        )
        assert scene.told("ObjectsNotPruned") == []
        scene.network.seen.clear()
        await asyncio.sleep(600)
        assert [one for one in scene.network.seen if "watch" not in one.query] == []

    play(body)


def test_a_deletion_names_uid_and_resource_version_and_goes_on_in_the_background() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=PRUNING)
        await set_names(scene, "a b")
        await asyncio.sleep(5)
        (sent,) = scene.network.sent("DELETE", "configmaps")
        assert b'"propagationPolicy":"Background"' in sent.body
        assert b'"uid":' in sent.body
        assert b'"resourceVersion":' in sent.body

    play(body)


def test_a_request_without_orphans_is_removed() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=operator())
        await ask(scene, PRUNE)
        await asyncio.sleep(5)
        assert not is_asked(scene, PRUNE)
        assert there(scene) == ["a", "b", "c"]

    play(body)


def test_a_suspended_instance_is_pruned_when_it_is_resumed() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=operator())
        await set_names(scene, "a")
        await scene.life.user.set("i", {"suspend": True})
        await ask(scene, PRUNE)
        await asyncio.sleep(60)
        assert there(scene) == ["a", "b", "c"]
        await scene.life.user.set("i", {"suspend": False})
        await asyncio.sleep(5)
        assert there(scene) == ["a"]
        assert not is_asked(scene, PRUNE)

    play(body)


# Which, and in which order


def of_kind(kind: str, name: str, api_version: str = "v1", **metadata: JsonObject) -> JsonObject:
    metadata = {"name": name, **metadata}  # type: ignore[dict-item]
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


async def take_the_owner_off(scene: Scene, resource: Resource, name: str) -> None:
    change = {"metadata": {"ownerReferences": None}}
    await scene.admin.merge_patch(resource, name, change, namespace="ns")


def kept(scene: Scene) -> str:
    (text,) = scene.told("ObjectsNotPruned")
    return text


def test_a_share_is_given_up_and_the_object_goes_with_the_last_one() -> None:
    async def body(scene: Scene) -> None:
        made = of_kind("ClusterRole", "a", f"{RIGHTS}/v1", annotations=GOES) | {"rules": []}
        await scene.install("i", "j", of=operator(made, prune=True))
        scene.network.seen.clear()
        await set_names(scene, "-")
        await asyncio.sleep(5)
        assert scene.sharing("a") == ["j"]
        (text,) = scene.told("ClusterResourcesKept")
        assert text.endswith("and this one shares them no longer: ClusterRole a, for ns/j")
        assert orphans(scene) is None
        assert scene.told("ObjectsNotPruned") == []
        assert len(on_record(scene)) == 1
        assert len(scene.network.sent("PATCH", "clusterroles")) == 1
        await scene.delete("j")
        assert not exists(scene, "a", ROLES)

    play(body)


def test_an_orphan_whose_share_was_given_up_before_a_crash_leaves_the_record() -> None:
    async def body(scene: Scene) -> None:
        made = of_kind("ClusterRole", "a", f"{RIGHTS}/v1", annotations=GOES) | {"rules": []}
        await scene.install("i", "j", of=operator(made))
        await set_names(scene, "-")
        assert orphans(scene) is not None
        j = InstanceIdentity("ns", "j", scene.uid("j"))
        text = {"metadata": {"annotations": {ANNOTATION_SHARED_BY: shared_by([j])}}}
        await scene.admin.merge_patch(ROLES, "a", text)
        await ask(scene, PRUNE)
        await asyncio.sleep(5)
        assert orphans(scene) is None
        assert len(on_record(scene)) == 1
        assert scene.told("ObjectsNotPruned") == []
        assert scene.sharing("a") == ["j"]

    play(body)


def test_the_event_of_orphans_says_that_they_are_deleted_next() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=operator(prune=True))
        await set_names(scene, "a")
        await asyncio.sleep(10)
        (text,) = scene.told("ObjectsOrphaned")
        assert text.endswith("; pruning is on, so what need not be kept is deleted next")
        assert "kubectl kudo prune" not in text

    play(body)


def test_a_share_of_what_a_run_applies_again_is_not_given_up() -> None:
    async def body(scene: Scene) -> None:
        made = of_kind("ClusterRole", "a", f"{RIGHTS}/v1") | {"rules": []}
        await scene.install("i", "j", of=operator(made, prune=True))
        scene.network.held = lambda sent: (
            5.0 if sent.method == "GET" and sent.path.endswith("/instances/j") else 0.0
        )
        await scene.life.user.set("i", {"parameters": {"NAMES": "-"}})
        await asyncio.sleep(3)
        assert [one for one in scene.network.seen if one.path.endswith("/instances/j")]
        await scene.life.user.set("i", {"parameters": {"NAMES": "a"}})
        await asyncio.sleep(60)
        assert scene.sharing("a") == ["i", "j"]
        assert orphans(scene) is None
        assert on_record(scene) == ["a", "a"]

    play(body)


def test_orphans_that_stay_are_looked_at_and_told_only_once() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=operator(of_kind("PersistentVolumeClaim", "a"), prune=True))
        await set_names(scene, "-")
        await asyncio.sleep(5)
        reads = len(scene.network.sent("GET", "a"))
        for value in ("x", "y"):
            await scene.life.user.label("i", value)
            await asyncio.sleep(600)
        assert len(scene.network.sent("GET", "a")) == reads
        await scene.life.crash(0)
        await asyncio.sleep(600)
        assert len(scene.network.sent("GET", "a")) == reads + 1
        assert len(scene.told("ObjectsNotPruned")) == 1

    play(body)


def test_what_was_deleted_by_hand_leaves_the_record() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=operator())
        await set_names(scene, "a b")
        await scene.admin.delete(CONFIG_MAPS, "c", namespace="ns")
        await ask(scene, PRUNE)
        await asyncio.sleep(5)
        assert on_record(scene) == ["a", "b"]
        assert scene.told("ObjectsPruned") == []

    play(body)


def test_more_orphans_than_are_deleted_at_once_are_all_deleted() -> None:
    async def body(scene: Scene) -> None:
        made = [config_map(f"o{number:03}") for number in range(110)]
        await scene.install("i", of=operator(*made, prune=True), NAMES=" ".join(names(made)))
        await set_names(scene, "o109")
        await asyncio.sleep(30)
        assert on_record(scene) == ["o109"]
        assert len(deletions(scene.network)) == 109

    play(body)


def test_one_that_fails_does_not_keep_the_others_waiting() -> None:
    async def body(scene: Scene) -> None:
        claims = [of_kind("PersistentVolumeClaim", f"p{number:03}") for number in range(101)]
        made = [config_map("last"), *claims]
        await scene.install("i", of=operator(*made, prune=True), NAMES=" ".join(names(made)))
        fate = scene.network.fate

        def failing(request: Request) -> Fate:
            reads = request.method == "GET" and request.path.endswith("/p100")
            return Fate(refused=internal_error("not now")) if reads else fate(request)

        scene.network.fate = failing  # type: ignore[method-assign]
        await set_names(scene, "-")
        await asyncio.sleep(60)
        assert not exists(scene, "last")
        assert exists(scene, "p100", CLAIMS)

    play(body)


def names(made: list[JsonObject]) -> list[str]:
    return [one["metadata"]["name"] for one in made]


# As whom


def strict(body: Callable[[Scene], Awaitable[None]]) -> None:
    async def begin(scene: Scene) -> None:
        await create_account(scene)
        await scene.life.put_version(PRUNING)
        await scene.life.user.create("i", {}, {"serviceAccountName": ACCOUNT})
        await scene.until_idle("i")
        await body(scene)

    play(begin, STRICT)


def forbid(scene: Scene, method: str, name: str) -> None:
    def authorize(request: Request) -> None:
        path = f"/configmaps/{name}"
        if (request.user, request.method) == (USER, method) and request.path.endswith(path):
            raise StatusError(403, "Forbidden", f"{USER} cannot {method}")

    scene.life.cluster.server.authorize = authorize


def test_reads_and_deletions_go_out_as_the_account() -> None:
    async def body(scene: Scene) -> None:
        scene.network.seen.clear()
        await set_names(scene, "a")
        await asyncio.sleep(5)
        assert there(scene) == ["a"]
        sent = [one for one in scene.network.seen if "/configmaps/" in one.path]
        assert {one.user for one in sent} == {USER}
        assert deletions(scene.network) == ["configmaps/c", "configmaps/b"]

    strict(body)


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_what_the_account_may_not_do_is_told_and_tried_again(method: str) -> None:
    async def body(scene: Scene) -> None:
        forbid(scene, method, "b")
        await set_names(scene, "a")
        await asyncio.sleep(5)
        assert there(scene) == ["a", "b"]
        assert orphans(scene) == on_record(scene)[1:] == ["b"]
        assert f"ConfigMap ns/b: {USER} cannot {method}" in kept(scene)
        scene.life.cluster.server.authorize = lambda _: None
        await asyncio.sleep(320)
        assert there(scene) == on_record(scene) == ["a"]

    strict(body)


def test_what_is_refused_among_many_is_tried_again() -> None:
    async def body(scene: Scene) -> None:
        made = [config_map(f"o{number:03}") for number in range(110)]
        await scene.life.user.set("i", {"parameters": {"NAMES": "-"}})
        await scene.life.put_version(operator(*made, prune=True))
        await set_names(scene, " ".join(names(made)))
        # Those that were recorded last are deleted first.
        forbid(scene, "DELETE", "o109")
        await set_names(scene, "-")
        await asyncio.sleep(30)
        assert on_record(scene) == ["o109"]
        scene.life.cluster.server.authorize = lambda _: None
        await asyncio.sleep(320)
        assert on_record(scene) == []

    strict(body)


def test_without_its_account_nothing_is_deleted() -> None:
    async def body(scene: Scene) -> None:
        await scene.life.user.set("i", {"prune": False})
        await set_names(scene, "a")
        await scene.admin.delete(ACCOUNTS, ACCOUNT, namespace="ns")
        await ask(scene, PRUNE)
        await asyncio.sleep(60)
        assert there(scene) == ["a", "b", "c"]
        assert is_asked(scene, PRUNE)
        assert f"ServiceAccount {ACCOUNT} does not exist" in kept(scene)
        await create_account(scene)
        await asyncio.sleep(120)
        assert there(scene) == ["a"]
        assert not is_asked(scene, PRUNE)

    strict(body)


# While others write


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize("seconds", [0.3, 20.0])
def test_a_run_that_applies_an_orphan_again_keeps_it(method: str, seconds: float) -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=operator())
        await set_names(scene, "a b")
        path = (method, "/configmaps/c")
        scene.network.held = lambda sent: seconds if (sent.method, sent.path[-13:]) == path else 0.0
        await ask(scene, PRUNE)
        await asyncio.sleep(0.2)
        await set_names(scene, "a b c")
        await asyncio.sleep(60)
        assert there(scene) == on_record(scene) == ["a", "b", "c"]
        assert not any("orphanedBy" in one for one in entries(scene))
        assert orphans(scene) is None
        assert not is_asked(scene, PRUNE)

    play(body)


def test_nothing_more_is_deleted_once_the_instance_is_suspended() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=operator())
        await set_names(scene, "a")
        scene.network.held = lambda sent: 5.0 if sent.method == "DELETE" else 0.0
        await ask(scene, PRUNE)
        await asyncio.sleep(1)
        await scene.life.user.set("i", {"suspend": True})
        await asyncio.sleep(60)
        assert there(scene) == ["a", "b"]
        assert is_asked(scene, PRUNE)
        await scene.life.user.set("i", {"suspend": False})
        await asyncio.sleep(60)
        assert there(scene) == on_record(scene) == ["a"]
        assert not is_asked(scene, PRUNE)

    play(body)


def test_an_instance_that_is_deleted_meanwhile_goes() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=operator())
        await set_names(scene, "a")
        scene.network.held = lambda sent: 5.0 if sent.method == "DELETE" else 0.0
        await ask(scene, PRUNE)
        await asyncio.sleep(1)
        await scene.delete("i")
        assert scene.life.observed.instance("i") is None
        assert there(scene) == []

    play(body)


def test_an_object_that_changes_while_it_is_deleted_is_judged_again() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=operator())
        await set_names(scene, "a b")
        scene.network.held = lambda sent: 5.0 if sent.method == "DELETE" else 0.0
        await ask(scene, PRUNE)
        await asyncio.sleep(1)
        await take_the_owner_off(scene, CONFIG_MAPS, "c")
        await asyncio.sleep(60)
        assert there(scene) == ["a", "b", "c"]
        assert "ns/c: it does not belong to the Instance any more" in kept(scene)

    play(body)


def test_an_orphan_whose_path_is_unknown_is_not_taken_for_deleted() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=operator())
        await set_names(scene, "a")
        fate = scene.network.fate
        unknown: list[Request] = []

        def once(request: Request) -> Fate:
            reads = request.method == "GET" and request.path.endswith("/configmaps/b")
            if not reads or unknown:
                return fate(request)
            unknown.append(request)
            return Fate(refused=no_such_path())

        scene.network.fate = once  # type: ignore[method-assign]
        await ask(scene, PRUNE)
        await asyncio.sleep(60)
        assert unknown
        assert there(scene) == on_record(scene) == ["a"]

    play(body)


def test_what_no_plan_can_have_recorded_is_told_before_a_prune_drops_it() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=operator())
        await set_names(scene, "a")
        await scene.life.crash(0)
        await asyncio.sleep(0)
        (stored,) = inventories(scene)
        bad = {**stored["objects"][0], "name": "../../secrets/x"}
        changed = {**stored, "objects": [*stored["objects"], bad]}
        await scene.admin.replace(INVENTORIES, changed)
        await asyncio.sleep(60)
        await ask(scene, PRUNE)
        await asyncio.sleep(60)
        assert on_record(scene) == ["a"]
        (told,) = scene.told("InventoryIgnored")
        assert told.startswith("1 entry of its Inventories left out")

    play(body)


def test_what_no_plan_can_have_recorded_is_told_once_by_pruning_and_by_a_run() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=operator())
        await scene.admin.create(CONFIG_MAPS, build.config_map("theirs"), namespace="ns")
        await scene.life.crash(0)
        await asyncio.sleep(0)
        (stored,) = inventories(scene)
        first = stored["objects"][0]
        theirs = {**first, "name": "theirs", "orphanedBy": "A"}
        bad = {**first, "name": "../../secrets/x"}
        changed = {**stored, "objects": [*stored["objects"], theirs, bad]}
        await scene.admin.replace(INVENTORIES, changed)
        await asyncio.sleep(60)
        await ask(scene, PRUNE)
        await asyncio.sleep(60)
        # Nothing was deleted, so the record was not written, and the run finds the entry again.
        assert len(scene.told("ObjectsNotPruned")) == 1
        assert len(scene.told("InventoryIgnored")) == 1
        await set_names(scene, "a b")
        await asyncio.sleep(60)
        assert len(scene.told("InventoryIgnored")) == 1

    play(body)


# What the marks are worth


@pytest.mark.parametrize("asked", [True, False])
def test_nothing_is_pruned_for_another_version_than_that_of_the_last_run(asked: bool) -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=operator())
        await set_names(scene, "a")
        await asyncio.sleep(5)
        # An edit starts no plan. The task may apply the orphans again, under any condition.
        await scene.life.put_version(operator(prune=not asked, appVersion="2"))
        if asked:
            await ask(scene, PRUNE)
        await asyncio.sleep(60)
        assert there(scene) == ["a", "b", "c"]
        assert not is_asked(scene, PRUNE)
        told = scene.told("ObjectsNotPruned")
        assert len(told) == (1 if asked else 0)
        assert all("have changed since the last run; run a plan" in text for text in told)
        await scene.run("i", "deploy")
        if asked:
            await ask(scene, PRUNE, "again")
        await asyncio.sleep(60)
        assert there(scene) == ["a"]

    play(body)


def test_a_request_prunes_nothing_after_a_run_that_failed() -> None:
    async def body(scene: Scene) -> None:
        of = operator()
        fails = {"name": "fails", "kind": "Dummy", "spec": {"wantErr": True, "fatal": True}}
        of["spec"]["tasks"].append(fails)
        of["spec"]["plans"]["broken"] = build.serial(["fails"])
        await scene.install("i", of=of)
        await set_names(scene, "a")
        await asyncio.sleep(5)
        await scene.run("i", "broken")
        await ask(scene, PRUNE)
        await asyncio.sleep(60)
        assert there(scene) == ["a", "b", "c"]
        (told,) = scene.told("ObjectsNotPruned")
        assert "the last run is not COMPLETE" in told
        assert not is_asked(scene, PRUNE)

    play(body)
