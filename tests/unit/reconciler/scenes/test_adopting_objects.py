"""Objects that existed before an Instance applied them: whose they are, what becomes of them."""

import asyncio

import pytest

from kubeio.resource import Resource
from kubeio.types import JsonObject
from tests.unit.reconciler.scenes.scene import (
    CLAIMS,
    CONFIG_MAPS,
    GOES,
    ROLES,
    SECRETS,
    Scene,
    of_kind,
    play,
    role,
    version,
)

APPLYING = {"deploy": ["apply"], "custom": ["apply"]}
KEPT = [SECRETS, CLAIMS]


def template(resource: Resource) -> str:
    return of_kind(resource.kind, "o", "{{ .Params.TEXT }}")


async def put(scene: Scene, resource: Resource) -> None:
    """Create an object past the reconciler."""
    metadata = {"name": "o", "namespace": "ns"}
    body = {"apiVersion": "v1", "kind": resource.kind, "metadata": metadata, "data": {"b": "old"}}
    await scene.admin.create(resource, body, field_manager="somebody")


def stored(scene: Scene, resource: Resource) -> JsonObject:
    found = scene.stored(resource, "o")
    assert found is not None
    return found


# What the event says


def test_the_event_of_an_adoption_says_that_the_object_is_deleted_with_its_instance() -> None:
    async def body(scene: Scene) -> None:
        await put(scene, CONFIG_MAPS)
        await scene.install("i", of=version(template(CONFIG_MAPS), **APPLYING))
        (text,) = scene.told("ObjectAdopted")
        assert text.endswith("it is now managed by KUDO, and is deleted with the Instance")
        await scene.delete("i")
        assert scene.stored(CONFIG_MAPS, "o") is None

    play(body)


@pytest.mark.parametrize(
    ("goes", "fate"),
    [
        (False, "and stays when the Instance is deleted"),
        (True, "and is deleted with the last Instance that shares it"),
    ],
)
def test_the_event_says_what_becomes_of_a_cluster_scoped_object(goes: bool, fate: str) -> None:
    async def body(scene: Scene) -> None:
        made = {"apiVersion": ROLES.api_version, "kind": "ClusterRole", "rules": []}
        await scene.admin.create(ROLES, {**made, "metadata": {"name": "role"}})
        annotations = GOES if goes else {}
        await scene.install("i", of=version(role(**annotations), **APPLYING))
        (text,) = scene.told("ObjectAdopted")
        assert text.endswith(fate)

    play(body)


# What holds data stays


@pytest.mark.parametrize("resource", KEPT)
def test_what_holds_data_and_was_not_created_by_us_stays_when_the_instance_goes(
    resource: Resource,
) -> None:
    async def body(scene: Scene) -> None:
        await put(scene, resource)
        await scene.install("i", of=version(template(resource), **APPLYING))
        (text,) = scene.told("ObjectAdopted")
        assert text.endswith("and stays when the Instance is deleted")
        assert stored(scene, resource)["data"] == {"a": "one", "b": "old"}
        assert "ownerReferences" not in stored(scene, resource)["metadata"]
        await scene.delete("i")
        assert scene.life.observed.instance("i") is None
        assert stored(scene, resource)["data"]["b"] == "old"

    play(body)


@pytest.mark.parametrize("resource", KEPT)
def test_what_holds_data_stays_also_after_later_plans_and_a_restart(resource: Resource) -> None:
    async def body(scene: Scene) -> None:
        await put(scene, resource)
        await scene.install("i", of=version(template(resource), **APPLYING))
        edit = {"data": {"a": "edited"}}
        await scene.admin.merge_patch(resource, "o", edit, namespace="ns")
        await scene.life.crash(0)
        await asyncio.sleep(30)
        assert (await scene.run("i", "custom"))["status"] == "COMPLETE"
        # It is ours to apply, so that edits by hand are undone as those of other objects are.
        assert stored(scene, resource)["data"] == {"a": "one", "b": "old"}
        assert "ownerReferences" not in stored(scene, resource)["metadata"]
        assert len(scene.told("ObjectAdopted")) == 1
        await scene.delete("i")
        assert scene.stored(resource, "o") is not None

    play(body)


@pytest.mark.parametrize("resource", KEPT)
def test_what_holds_data_and_was_made_while_we_created_it_stays(resource: Resource) -> None:
    async def body(scene: Scene) -> None:
        path = f"/{resource.plural}/o"
        scene.network.held = lambda sent: (
            5.0 if sent.method == "PATCH" and sent.path.endswith(path) else 0.0
        )
        await scene.life.put_version(version(template(resource), **APPLYING))
        await scene.life.user.create("i", {})
        await asyncio.sleep(1)
        await put(scene, resource)
        await scene.until_idle("i")
        assert stored(scene, resource)["data"] == {"a": "one", "b": "old"}
        assert "ownerReferences" not in stored(scene, resource)["metadata"]
        assert len(scene.told("ObjectAdopted")) == 1

    play(body)


@pytest.mark.parametrize("resource", KEPT)
def test_what_holds_data_and_was_created_by_us_goes_with_the_instance(resource: Resource) -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=version(template(resource), **APPLYING))
        await scene.run("i", "custom")
        assert scene.told("ObjectAdopted") == []
        await scene.delete("i")
        assert scene.stored(resource, "o") is None

    play(body)


def test_what_one_instance_keeps_is_not_taken_by_another() -> None:
    async def body(scene: Scene) -> None:
        await put(scene, SECRETS)
        await scene.install("i", of=version(template(SECRETS), **APPLYING))
        await scene.life.user.create("j", {"TEXT": "other"})
        await scene.until_idle("j")
        assert scene.entry("j", "deploy")["status"] == "FATAL_ERROR"
        assert "applied by another Instance i" in scene.message("j", "deploy")
        assert stored(scene, SECRETS)["data"]["a"] == "one"

    play(body)


def test_what_an_instance_kept_is_adopted_by_the_next_one() -> None:
    async def body(scene: Scene) -> None:
        await put(scene, SECRETS)
        await scene.install("i", of=version(template(SECRETS), **APPLYING))
        await scene.delete("i")
        await scene.life.user.create("j", {"TEXT": "next"})
        await scene.until_idle("j")
        assert scene.entry("j", "deploy")["status"] == "COMPLETE"
        assert stored(scene, SECRETS)["data"] == {"a": "next", "b": "old"}
        assert "ownerReferences" not in stored(scene, SECRETS)["metadata"]

    play(body)
