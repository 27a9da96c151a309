"""What a Delete task may delete, and what it names when it does."""

import asyncio
from typing import Any

import orjson
import pytest

from kubeio.resource import Resource
from kubeio.types import JsonObject
from tests.support.apiserver.server import Request
from tests.unit.reconciler.scenes.scene import (
    CLAIMS,
    CONFIG_MAPS,
    ROLES,
    SHARED_BY,
    Scene,
    of_kind,
    play,
    role,
    version,
)

DELETING = {"deploy": ["apply"], "custom": ["delete"]}


async def put_role(scene: Scene, **metadata: Any) -> None:
    """Create a ClusterRole past the reconciler."""
    body = {"apiVersion": ROLES.api_version, "kind": "ClusterRole", "rules": []}
    await scene.admin.create(ROLES, {**body, "metadata": {"name": "role", **metadata}})


def preconditions(request: Request) -> JsonObject:
    found: JsonObject = orjson.loads(request.body).get("preconditions", {})
    return found


# Cluster-scoped objects


def test_a_delete_takes_our_share_off_an_object_that_another_instance_shares_and_keeps_it() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", "j", of=version(role(), **DELETING))
        assert (await scene.run("i", "custom"))["status"] == "COMPLETE"
        assert scene.sharing() == ["j"]
        (text,) = scene.told("ClusterResourcesKept")
        assert text.startswith("ClusterRole role of template object.yaml stays: ")
        assert text.endswith("Instance ns/j shares it; Instance ns/i no longer does")
        # Once more, as after a crash: it never becomes an object of nobody.
        assert (await scene.run("i", "custom"))["status"] == "COMPLETE"
        assert scene.sharing() == ["j"]

    play(body)


def test_a_delete_names_nobody_whom_the_object_does_not_name() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", "j", of=version(role(), **DELETING))
        many = f"more than 16 Instances, the last one ns i {scene.uid('i')}"
        named = {"metadata": {"annotations": {SHARED_BY: many}}}
        await scene.admin.merge_patch(ROLES, "role", named)
        assert (await scene.run("i", "custom"))["status"] == "COMPLETE"
        assert scene.stored(ROLES, "role") is not None
        (text,) = scene.told("ClusterResourcesKept")
        assert text.endswith("another Instance shares it; Instance ns/i no longer does")

    play(body)


def test_a_delete_removes_an_object_that_no_other_instance_shares() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=version(role(), **DELETING))
        assert (await scene.run("i", "custom"))["status"] == "COMPLETE"
        assert scene.stored(ROLES, "role") is None

    play(body)


def test_a_delete_refuses_a_cluster_scoped_object_that_was_never_applied_by_kudo() -> None:
    async def body(scene: Scene) -> None:
        await put_role(scene)
        await scene.install("i", of=version(role(), deploy=["delete"]))
        assert scene.entry("i", "deploy")["status"] == "FATAL_ERROR"
        assert scene.stored(ROLES, "role") is not None
        assert "ClusterRole role of template object.yaml" in scene.message("i", "deploy")
        assert "was never applied by KUDO" in scene.message("i", "deploy")

    play(body)


@pytest.mark.parametrize("label", ["i", "gone"])
def test_a_delete_removes_what_a_kudo_without_the_annotation_left(label: str) -> None:
    async def body(scene: Scene) -> None:
        await put_role(scene, labels={"heritage": "kudo", "kudo.dev/instance": label})
        await scene.install("i", of=version(role(), deploy=["delete"]))
        assert scene.entry("i", "deploy")["status"] == "COMPLETE"
        assert scene.stored(ROLES, "role") is None

    play(body)


def test_a_delete_soon_sees_that_what_a_kudo_without_the_annotation_left_is_gone() -> None:
    async def body(scene: Scene) -> None:
        labels = {"heritage": "kudo", "kudo.dev/instance": "i"}
        await put_role(scene, labels=labels, finalizers=["example.dev/held"])
        await scene.life.put_version(version(role(), deploy=["delete"]))
        await scene.life.user.create("i", {})
        await asyncio.sleep(5)
        assert scene.entry("i", "deploy")["status"] == "IN_PROGRESS"
        await scene.admin.merge_patch(ROLES, "role", {"metadata": {"finalizers": None}})
        assert scene.stored(ROLES, "role") is None
        # Nothing wakes the Instance: the object does not name it.
        await asyncio.sleep(10)
        assert scene.entry("i", "deploy")["status"] == "COMPLETE"

    play(body)


def test_a_delete_keeps_what_the_labels_of_an_earlier_kudo_say_is_anothers() -> None:
    async def body(scene: Scene) -> None:
        await put_role(scene, labels={"heritage": "kudo", "kudo.dev/instance": "j"})
        await scene.install("i", "j", of=version(role(), deploy=["done"], custom=["delete"]))
        assert (await scene.run("i", "custom"))["status"] == "COMPLETE"
        assert scene.stored(ROLES, "role") is not None
        assert "Instance ns/j" in scene.told("ClusterResourcesKept")[0]

    play(body)


def test_a_delete_asks_the_api_server_whether_another_sharer_lives() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=version(role(), **DELETING))
        scene.network.held = lambda sent: 5.0 if sent.path.endswith("/clusterroles/role") else 0.0
        await scene.trigger("i", "custom")
        await asyncio.sleep(1)
        # Of j nothing here knows but the API server.
        scene.network.late["instances"] = 60.0
        await scene.life.user.create("j", {})
        named = f"ns/i/{scene.uid('i')},ns/j/{scene.uid('j')}"
        change = {"metadata": {"annotations": {SHARED_BY: named}}}
        await scene.admin.merge_patch(ROLES, "role", change)
        await asyncio.sleep(30)
        assert scene.entry("i", "custom")["status"] == "COMPLETE"
        assert scene.sharing() == ["j"]

    play(body)


# Objects with a namespace


@pytest.mark.parametrize("resource", [CLAIMS, CONFIG_MAPS])
def test_a_delete_removes_an_object_of_its_namespace_that_has_no_owner_as_before(
    resource: Resource,
) -> None:
    async def body(scene: Scene) -> None:
        meta = {"name": "data-0", "namespace": "ns"}
        body = {"apiVersion": "v1", "kind": resource.kind, "metadata": meta}
        await scene.admin.create(resource, body)
        await scene.install("i", of=version(of_kind(resource.kind, "data-0"), deploy=["delete"]))
        assert scene.entry("i", "deploy")["status"] == "COMPLETE"
        assert scene.stored(resource, "data-0") is None

    play(body)


# What a deletion names


def test_a_delete_names_uid_and_resource_version() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=version(of_kind("ConfigMap", "c"), **DELETING))
        stored = scene.stored(CONFIG_MAPS, "c")
        assert stored is not None
        await scene.run("i", "custom")
        (sent,) = scene.network.sent("DELETE", "configmaps")
        metadata = stored["metadata"]
        assert preconditions(sent) == {
            "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"],
        }

    play(body)


def test_a_delete_of_a_former_leader_does_not_remove_what_its_successor_applied_again() -> None:
    async def body(scene: Scene) -> None:
        template = of_kind("ConfigMap", "c", "{{ .Params.TEXT }}")
        await scene.install("i", of=version(template, **DELETING))
        scene.network.held = lambda sent: 40.0 if sent.method == "DELETE" else 0.0
        await scene.trigger("i", "custom")
        await asyncio.sleep(1)
        assert scene.network.sent("DELETE", "configmaps")
        await scene.life.crash(0)
        await scene.life.user.change("i", {"run": "cancel"})
        await asyncio.sleep(15)
        await scene.life.user.change("i", {"parameters": {"TEXT": "two"}})
        await asyncio.sleep(40)
        stored = scene.stored(CONFIG_MAPS, "c")
        assert stored is not None
        assert stored["data"] == {"a": "two"}

    play(body)


def test_a_delete_of_an_object_that_changed_meanwhile_is_decided_again() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=version(of_kind("ConfigMap", "c"), **DELETING))
        held = [5.0]
        scene.network.held = lambda sent: held.pop() if sent.method == "DELETE" and held else 0.0
        await scene.trigger("i", "custom")
        await asyncio.sleep(1)
        change = {"metadata": {"labels": {"changed": "yes"}}}
        await scene.admin.merge_patch(CONFIG_MAPS, "c", change, namespace="ns")
        await scene.until_idle("i")
        assert scene.entry("i", "custom")["status"] == "COMPLETE"
        assert scene.stored(CONFIG_MAPS, "c") is None
        versions = [preconditions(one) for one in scene.network.sent("DELETE", "configmaps")]
        assert len(versions) == 2
        assert versions[0] != versions[1]

    play(body)
