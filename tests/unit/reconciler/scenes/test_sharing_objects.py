"""Cluster-scoped objects that Instances share: who counts, who is woken, and what it costs."""

import asyncio

import pytest

from kubeio.types import JsonObject
from tests.support import build
from tests.support.apiserver.server import Request
from tests.unit.reconciler.scenes.scene import (
    GOES,
    ROLES,
    SHARED_BY,
    Scene,
    of_kind,
    play,
    role,
    version,
)


async def share_unseen(scene: Scene) -> None:
    """Have an Instance j share the role of i that the reconciler knows nothing of."""
    scene.network.late["instances"] = 60.0
    await scene.life.user.create("j", {})
    named = f"ns/i/{scene.uid('i')},ns/j/{scene.uid('j')}"
    await scene.admin.merge_patch(ROLES, "role", {"metadata": {"annotations": {SHARED_BY: named}}})


# Whether another sharer lives


def test_nobody_loses_a_share_because_the_cache_does_not_know_it_yet() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=version(role(), deploy=["apply"], custom=["apply"]))
        scene.network.held = lambda sent: 5.0 if sent.method == "PATCH" else 0.0
        await scene.trigger("i", "custom")
        await asyncio.sleep(1)
        await share_unseen(scene)
        await asyncio.sleep(40)
        assert scene.sharing() == ["i", "j"]

    play(body)


def test_uninstall_keeps_what_a_sharer_needs_that_the_cache_does_not_know_yet() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=version(role(**GOES), deploy=["apply"]))
        scene.network.held = lambda sent: 5.0 if sent.path.endswith("/clusterroles/role") else 0.0
        await scene.life.user.delete("i")
        await asyncio.sleep(1)
        await share_unseen(scene)
        await asyncio.sleep(30)
        assert scene.life.observed.instance("i") is None
        assert scene.sharing() == ["j"]

    play(body)


def test_uninstall_deletes_an_object_whose_other_sharers_are_gone_unseen() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=version(role(**GOES), deploy=["apply"]))
        named = f"ns/ghost/none,ns/i/{scene.uid('i')}"
        change = {"metadata": {"annotations": {SHARED_BY: named}}}
        await scene.admin.merge_patch(ROLES, "role", change)
        await scene.delete("i")
        assert scene.life.observed.instance("i") is None
        assert scene.stored(ROLES, "role") is None

    play(body)


def failing_before_the_role() -> JsonObject:
    """Return a version whose plan fails after its first step has recorded what all steps apply."""
    return build.stored_version(
        tasks=[
            {"name": "first", "kind": "Apply", "spec": {"resources": ["c.yaml"]}},
            {"name": "fails", "kind": "Dummy", "spec": {"wantErr": True, "fatal": True}},
            {"name": "apply", "kind": "Apply", "spec": {"resources": ["object.yaml"]}},
        ],
        templates={"c.yaml": of_kind("ConfigMap", "c"), "object.yaml": role(**GOES)},
        plans={"deploy": build.serial(["first"], ["fails"], ["apply"])},
    )


def test_an_object_goes_although_an_instance_that_failed_before_it_has_it_on_record() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("b", of=version(role(**GOES), deploy=["apply"]))
        await scene.install("a", of=failing_before_the_role())
        assert scene.entry("a", "deploy")["status"] == "FATAL_ERROR"
        assert scene.sharing() == ["b"]
        recorded = [{entry["name"] for entry in one["objects"]} for one in scene.inventories()]
        assert recorded == [{"role"}, {"c", "role"}]
        await scene.delete("b")
        assert scene.stored(ROLES, "role") is None

    play(body)


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("held", ["DELETE", "PATCH"])
def test_an_apply_that_is_in_flight_while_the_last_sharer_goes_has_its_object(
    held: str, restarted: bool
) -> None:
    async def body(scene: Scene) -> None:
        await scene.install("b", of=version(role(**GOES), deploy=["apply"]))

        def hold(sent: Request) -> float:
            on_role = sent.path.endswith("/clusterroles/role")
            return 5.0 if on_role and sent.method == held else 0.0

        scene.network.held = hold
        # The other request is sent while this one is on its way, and arrives first.
        if held == "DELETE":
            await scene.life.user.delete("b")
            await asyncio.sleep(1)
            await scene.life.user.create("a", {})
        else:
            await scene.life.user.create("a", {})
            await asyncio.sleep(1)
            await scene.life.user.delete("b")
        await asyncio.sleep(1)
        assert scene.network.sent(held, "clusterroles")
        if restarted:
            await scene.life.crash(0)
        await asyncio.sleep(60)
        await scene.until_idle("a")
        assert scene.entry("a", "deploy")["status"] == "COMPLETE"
        assert scene.life.observed.instance("b") is None
        assert scene.sharing() == ["a"]
        finalizers = scene.life.observed.instance("a")
        assert finalizers is not None
        assert "kudo.dev/cluster-resources" in finalizers["metadata"]["finalizers"]

    play(body)


# Who is woken, and what a share costs


def reconciles(scene: Scene) -> float:
    return sum(replica.reconciles for replica in scene.life.replicas)


def test_a_new_sharer_wakes_none_of_the_others() -> None:
    async def body(scene: Scene) -> None:
        names = [f"i{number}" for number in range(12)]
        await scene.install(*names, of=version(role(), deploy=["apply"]))
        await asyncio.sleep(60)
        before = reconciles(scene)
        await scene.life.user.create("last", {})
        await asyncio.sleep(60)
        assert len(scene.sharing()) == 13
        # Its own run: nothing else has changed for anybody.
        assert reconciles(scene) - before == 1

    play(body)


def test_a_share_takes_one_read_and_one_write() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("a", "b", of=version(role(), deploy=["apply"]))
        scene.network.seen.clear()
        await scene.life.user.create("c", {})
        await scene.until_idle("c")
        sent = [one.method for one in scene.network.seen if "clusterroles" in one.path]
        assert sent == ["GET", "PATCH"]
        assert sorted(scene.sharing()) == ["a", "b", "c"]

    play(body)


def test_an_object_that_differs_is_applied_with_a_warning_that_names_some_of_the_others() -> None:
    async def body(scene: Scene) -> None:
        template = role(rules='[{"verbs": ["{{ .Params.TEXT }}"]}]')
        names = [f"i{number}" for number in range(6)]
        await scene.install(*names, of=version(template, deploy=["apply"]))
        assert scene.told("ObjectShared") == []
        await scene.life.user.create("j", {"TEXT": "two"})
        await scene.until_idle("j")
        stored = scene.stored(ROLES, "role")
        assert stored is not None
        assert stored["rules"] == [{"verbs": ["two"]}]
        assert stored["metadata"]["labels"]["kudo.dev/instance"] == "j"
        (text,) = scene.told("ObjectShared")
        assert "by Instance ns/i0, ns/i1, ns/i2 and 3 others with other content" in text

    play(body)


def test_the_warning_names_nobody_whom_the_object_does_not_name() -> None:
    async def body(scene: Scene) -> None:
        template = role(rules='[{"verbs": ["{{ .Params.TEXT }}"]}]')
        await scene.install("i", of=version(template, deploy=["apply"]))
        await scene.admin.merge_patch(
            ROLES, "role", {"metadata": {"annotations": {SHARED_BY: None}, "labels": None}}
        )
        change = {"metadata": {"labels": {"heritage": "kudo"}}}
        await scene.admin.merge_patch(ROLES, "role", change)
        await scene.life.user.create("j", {"TEXT": "two"})
        await scene.until_idle("j")
        (text,) = scene.told("ObjectShared")
        assert "was applied by another Instance with other content" in text

    play(body)


def test_an_object_that_was_replaced_since_it_was_seen_is_not_taken_by_force() -> None:
    async def body(scene: Scene) -> None:
        template = role(rules='[{"verbs": ["ours"]}]')
        await scene.install("a", "b", of=version(template, deploy=["apply"]))
        scene.network.held = lambda sent: (
            5.0 if sent.method == "GET" and sent.path.endswith("/clusterroles/role") else 0.0
        )
        await scene.life.user.create("c", {})
        await asyncio.sleep(1)
        await scene.admin.delete(ROLES, "role")
        theirs = {"apiVersion": ROLES.api_version, "kind": "ClusterRole"}
        rules = {"metadata": {"name": "role"}, "rules": [{"verbs": ["theirs"]}]}
        await scene.admin.create(ROLES, theirs | rules, field_manager="somebody")
        await scene.until_idle("c")
        stored = scene.stored(ROLES, "role")
        assert stored is not None
        assert stored["rules"] == [{"verbs": ["theirs"]}]
        assert "belong to other managers: somebody: .rules" in scene.message("c", "deploy")

    play(body)


def test_a_sharer_that_is_gone_unseen_makes_room_for_others() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("a", "b", of=version(role(), deploy=["apply"]))
        ghosts = ",".join(f"ns/ghost{number}/none" for number in range(40))
        named = f"{ghosts},ns/a/{scene.uid('a')},ns/b/{scene.uid('b')}"
        change = {"metadata": {"annotations": {SHARED_BY: named}}}
        await scene.admin.merge_patch(ROLES, "role", change)
        await scene.life.user.create("c", {})
        await scene.until_idle("c")
        assert sorted(scene.sharing()) == ["a", "b", "c"]

    play(body)
