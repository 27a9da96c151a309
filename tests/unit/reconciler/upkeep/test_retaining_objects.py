"""Objects that their template retains: they stay, and a later Instance takes them over."""

import asyncio
import json

import pytest

from kubeio.resource import Resource
from kubeio.types import JsonObject
from kudo.api.names import FIELD_MANAGER
from tests.support import build
from tests.support.apiserver.controllers.workloads import Outcome
from tests.unit.reconciler.scenes.scene import (
    CLAIMS,
    CONFIG_MAPS,
    ROLES,
    SECRETS,
    Scene,
    play,
    role,
    version,
)

POLICY, BY = "kudo.dev/deletion-policy", "kudo.dev/retained-by"


DATA = [SECRETS, CLAIMS]


KINDS = [CONFIG_MAPS, *DATA]


PLANS = {"deploy": ["apply"], "custom": ["apply"]}


def template(resource: Resource = CONFIG_MAPS, *, retain: str = "true") -> str:
    """Return a template whose object is retained if an expression is true."""
    head = f'{{"apiVersion": "v1", "kind": "{resource.kind}", "metadata": {{"name": "o"'
    policy = f'{{{{ if {retain} }}}}, "annotations": {{"{POLICY}": "retain"}}{{{{ end }}}}'
    return f'{head}{policy}}}, "data": {{"a": "{{{{ .Params.TEXT }}}}"}}}}'


RETAINED_IF_KEEP = template(retain='eq .Params.TEXT "keep"')


def stored(scene: Scene, resource: Resource = CONFIG_MAPS) -> JsonObject:
    found = scene.stored(resource, "o")
    assert found is not None
    return found


async def put(scene: Scene, resource: Resource) -> None:
    """Create the object past the reconciler."""
    metadata = {"name": "o", "namespace": "ns"}
    made = {"apiVersion": "v1", "kind": resource.kind, "metadata": metadata, "data": {"b": "old"}}
    await scene.admin.create(resource, made, field_manager="somebody")


def owners(scene: Scene, resource: Resource = CONFIG_MAPS) -> list[str]:
    found = stored(scene, resource)["metadata"].get("ownerReferences") or []
    return [one["uid"] for one in found]


def retained_by(scene: Scene, resource: Resource = CONFIG_MAPS) -> str | None:
    text: str | None = (stored(scene, resource)["metadata"].get("annotations") or {}).get(BY)
    return text


async def set_text(scene: Scene, text: str) -> None:
    await scene.life.user.set("i", {"parameters": {"TEXT": text}})
    await asyncio.sleep(30)


# It stays


@pytest.mark.parametrize("resource", KINDS)
def test_a_retained_object_has_no_owner_and_stays(resource: Resource) -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=version(template(resource), **PLANS))
        by = f"ns/i/{stored(scene, resource)['metadata']['labels']['kudo.dev/operator']}"
        assert retained_by(scene, resource) == f"{by}/{scene.uid('i')}"
        assert owners(scene, resource) == []
        assert (await scene.run("i", "custom"))["status"] == "COMPLETE"
        assert owners(scene, resource) == []
        await scene.delete("i")
        assert scene.life.observed.instance("i") is None
        assert stored(scene, resource)["data"] == {"a": "one"}

    play(body)


@pytest.mark.parametrize("resource", KINDS)
def test_a_new_instance_of_the_name_takes_it_over_by_force(resource: Resource) -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=version(template(resource), **PLANS))
        await scene.delete("i")
        edit = {"data": {"a": "edited"}}
        await scene.admin.merge_patch(resource, "o", edit, namespace="ns", field_manager="somebody")
        uid = stored(scene, resource)["metadata"]["uid"]
        await scene.life.user.create("i", {"TEXT": "two"})
        await scene.until_idle("i")
        assert scene.entry("i", "deploy")["status"] == "COMPLETE"
        found = stored(scene, resource)
        assert (found["metadata"]["uid"], found["data"]) == (uid, {"a": "two"})
        existed = "" if resource == CONFIG_MAPS else "/adopted"
        assert str(retained_by(scene, resource)).endswith(scene.uid("i") + existed)
        await asyncio.sleep(5)
        (text,) = scene.told("ObjectTakenOver")
        assert text.endswith("has taken it over, and it stays when the Instance is deleted")
        assert scene.told("ObjectAdopted") == []

    play(body)


def test_who_takes_an_object_over_may_own_it() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=version(RETAINED_IF_KEEP, **PLANS), TEXT="keep")
        await scene.delete("i")
        await scene.life.user.create("i", {"TEXT": "two"})
        await scene.until_idle("i")
        assert owners(scene) == [scene.uid("i")]
        assert retained_by(scene) is None
        await asyncio.sleep(5)
        (text,) = scene.told("ObjectTakenOver")
        assert text.endswith("is deleted with the Instance")

    play(body)


@pytest.mark.parametrize("resource", DATA)
def test_data_that_is_taken_over_is_not_owned_by_who_did_not_create_it(resource: Resource) -> None:
    async def body(scene: Scene) -> None:
        changing = template(resource, retain='eq .Params.TEXT "keep"')
        await scene.install("i", of=version(changing, **PLANS), TEXT="keep")
        await scene.delete("i")
        await scene.life.user.create("i", {"TEXT": "two"})
        await scene.until_idle("i")
        assert owners(scene, resource) == []
        await asyncio.sleep(5)
        (text,) = scene.told("ObjectTakenOver")
        assert text.endswith("stays when the Instance is deleted")
        await scene.delete("i")
        assert stored(scene, resource)["data"] == {"a": "two"}

    play(body)


# Others are refused


@pytest.mark.parametrize("lives", [True, False])
def test_another_instance_is_told_how_to_adopt_it(lives: bool) -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=version(template(), **PLANS))
        if not lives:
            await scene.delete("i")
        await scene.life.user.create("j", {"TEXT": "other"})
        await scene.until_idle("j")
        assert scene.entry("j", "deploy")["status"] == "FATAL_ERROR"
        assert stored(scene)["data"] == {"a": "one"}
        await asyncio.sleep(5)
        (text,) = scene.told("ObjectRetained")
        assert "the object is retained for Instance ns/i of operator" in text
        assert text.endswith(f"kubectl annotate configmaps o -n ns {BY}-")
        await scene.admin.merge_patch(
            CONFIG_MAPS, "o", {"metadata": {"annotations": {BY: None}}}, namespace="ns"
        )
        assert (await scene.run("j", "deploy"))["status"] == "COMPLETE"
        assert stored(scene)["data"] == {"a": "other"}
        assert str(retained_by(scene)).endswith(scene.uid("j"))
        await asyncio.sleep(5)
        assert len(scene.told("ObjectAdopted")) == 1

    play(body)


# Its template changes its mind


@pytest.mark.parametrize("resource", KINDS)
def test_an_object_that_becomes_retained_loses_its_owner_and_gets_it_back(
    resource: Resource,
) -> None:
    async def body(scene: Scene) -> None:
        changing = template(resource, retain='eq .Params.TEXT "keep"')
        await scene.install("i", of=version(changing, deploy=["apply"], update=["apply"]))
        assert owners(scene, resource) == [scene.uid("i")]
        await set_text(scene, "keep")
        assert owners(scene, resource) == []
        assert str(retained_by(scene, resource)).endswith(scene.uid("i"))
        await set_text(scene, "go")
        assert owners(scene, resource) == [scene.uid("i")]
        assert retained_by(scene, resource) is None
        assert scene.told("ObjectAdopted") == scene.told("ObjectTakenOver") == []
        await scene.delete("i")
        assert scene.stored(resource, "o") is None

    play(body)


@pytest.mark.parametrize("lost", ["nothing", "process", "records"])
@pytest.mark.parametrize("first", ["go", "keep"])
@pytest.mark.parametrize("resource", DATA)
def test_data_that_existed_before_has_no_owner_to_get_back(
    resource: Resource, first: str, lost: str
) -> None:
    async def body(scene: Scene) -> None:
        await put(scene, resource)
        changing = template(resource, retain='eq .Params.TEXT "keep"')
        of = version(changing, deploy=["apply"], update=["apply"])
        await scene.install("i", of=of, TEXT=first)
        await set_text(scene, "keep")
        assert str(retained_by(scene, resource)).endswith(f"{scene.uid('i')}/adopted")
        if lost == "process":
            await scene.life.crash(0)
            await asyncio.sleep(30)
        elif lost == "records":
            await scene.lose_records()
        await set_text(scene, "go on")
        assert stored(scene, resource)["data"] == {"a": "go on", "b": "old"}
        assert owners(scene, resource) == []
        assert retained_by(scene, resource) is None
        (entry,) = scene.inventories()[0]["objects"]
        assert entry["adopted"] is True
        await scene.delete("i")
        assert stored(scene, resource)["data"]["b"] == "old"

    play(body)


def test_the_record_of_an_adoption_outlives_that_the_object_is_retained() -> None:
    async def body(scene: Scene) -> None:
        await put(scene, SECRETS)
        changing = template(SECRETS, retain='eq .Params.TEXT "keep"')
        await scene.install("i", of=version(changing, deploy=["apply"], update=["apply"]))
        await set_text(scene, "keep")
        (entry,) = scene.inventories()[0]["objects"]
        assert entry["retained"] is entry["adopted"] is True

    play(body)


def test_an_owner_that_a_backup_brings_back_is_not_believed() -> None:
    async def body(scene: Scene) -> None:
        await put(scene, SECRETS)
        changing = template(SECRETS, retain='eq .Params.TEXT "keep"')
        of = version(changing, deploy=["apply"], update=["apply"])
        await scene.install("i", of=of, TEXT="keep")
        owner = {"apiVersion": "kudo.dev/v1beta1", "kind": "Instance", "name": "i"}
        references = [{**owner, "uid": scene.uid("i"), "controller": True}]
        change = {"metadata": {"ownerReferences": references}}
        await scene.admin.merge_patch(
            SECRETS, "o", change, namespace="ns", field_manager=FIELD_MANAGER
        )
        assert owners(scene, SECRETS) == [scene.uid("i")]
        await set_text(scene, "go")
        assert owners(scene, SECRETS) == []

    play(body)


def test_the_owner_goes_although_somebody_else_has_written_it_too() -> None:
    async def body(scene: Scene) -> None:
        changing = version(RETAINED_IF_KEEP, deploy=["apply"], update=["apply"])
        await scene.install("i", of=changing)
        references = stored(scene)["metadata"]["ownerReferences"]
        restored = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "o", "namespace": "ns", "ownerReferences": references},
        }
        await scene.admin.apply(CONFIG_MAPS, restored, field_manager="backup", force=True)
        await set_text(scene, "keep")
        assert owners(scene) == []
        await set_text(scene, "keep ")
        await set_text(scene, "keep")
        assert scene.entry("i", "update")["status"] == "COMPLETE"
        assert owners(scene) == []

    play(body)


def test_an_object_of_the_original_becomes_retained() -> None:
    async def body(scene: Scene) -> None:
        await scene.life.put_version(version("{}", deploy=["done"], custom=["apply"]))
        await scene.life.user.create("i", {})
        await scene.until_idle("i")
        await put_as_the_original(scene)
        await scene.life.put_version(version(template(), deploy=["done"], custom=["apply"]))
        await asyncio.sleep(1)
        assert (await scene.run("i", "custom"))["status"] == "COMPLETE"
        assert owners(scene) == []
        assert stored(scene)["data"] == {"a": "one"}
        await scene.delete("i")
        assert scene.stored(CONFIG_MAPS, "o") is not None

    play(body)


async def put_as_the_original(scene: Scene) -> None:
    """Create the object as KUDO 0.19 did: by an update, with what it applied in an annotation."""
    owner = {
        "apiVersion": "kudo.dev/v1beta1",
        "kind": "Instance",
        "name": "i",
        "uid": scene.uid("i"),
        "controller": True,
        "blockOwnerDeletion": True,
    }
    metadata: JsonObject = {
        "name": "o",
        "namespace": "ns",
        "labels": {"heritage": "kudo", "kudo.dev/instance": "i"},
        "ownerReferences": [owner],
    }
    made = {**build.config_map("o", a="old"), "metadata": metadata}
    last = {"kudo.dev/last-applied-configuration": json.dumps(made)}
    made = {**made, "metadata": {**metadata, "annotations": last}}
    await scene.admin.create(CONFIG_MAPS, made, namespace="ns", field_manager="manager")


# Its health


def test_a_plan_waits_for_a_retained_workload_as_for_others() -> None:
    async def body(scene: Scene) -> None:
        workloads = scene.life.cluster.workloads
        workloads.outcome = lambda _: Outcome("stuck", seconds=0.0)
        workload = build.deployment("o")
        workload["metadata"]["annotations"] = {POLICY: "retain"}
        await scene.life.put_version(version(json.dumps(workload), deploy=["apply"]))
        await scene.life.user.create("i", {})
        await asyncio.sleep(60)
        assert scene.entry("i", "deploy")["status"] == "IN_PROGRESS"
        assert '"o" is not healthy' in scene.message("i", "deploy")
        workloads.make_healthy()
        await scene.until_idle("i")
        assert scene.entry("i", "deploy")["status"] == "COMPLETE"

    play(body)


# Cluster-scoped


def test_a_cluster_scoped_object_that_is_retained_is_shared_and_stays() -> None:
    async def body(scene: Scene) -> None:
        goes = {"kudo.dev/delete-with-instance": "true", POLICY: "retain"}
        await scene.install("i", "j", of=version(role(**goes), **PLANS))
        assert sorted(scene.sharing()) == ["i", "j"]
        await scene.delete("i")
        await scene.delete("j")
        assert scene.stored(ROLES, "role") is not None
        await scene.life.user.create("i", {})
        await scene.until_idle("i")
        assert scene.entry("i", "deploy")["status"] == "COMPLETE"
        assert scene.sharing() == ["i"]

    play(body)
