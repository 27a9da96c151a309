"""Objects with the policy `create` that exist before their Instance: used, and not written."""

import asyncio

import pytest

from kubeio.resource import Resource
from tests.unit.reconciler.lives.life import Life, passes
from tests.unit.reconciler.scenes.scene import (
    CLAIMS,
    CONFIG_MAPS,
    SECRETS,
    SHARED_BY,
    STRICT,
    Scene,
    play,
    role,
)
from tests.unit.reconciler.tenancy.test_unwatched_kinds import ACCOUNT, USER, create_account
from tests.unit.reconciler.upkeep.changing_operator import entries, on_record
from tests.unit.reconciler.upkeep.only_created import (
    BY,
    IF_KEEP,
    ONE_TASK,
    POLICY,
    RETAIN,
    RETAINED,
    complete,
    content_of,
    has_killed,
    hash_of_stored,
    hashed,
    made,
    operator,
    put,
    reads,
    stored,
    writes,
)
from tests.unit.reconciler.upkeep.test_crashes_of_upkeep import deadly

# What existed


@pytest.mark.parametrize("resource", [SECRETS, CLAIMS, CONFIG_MAPS])
def test_what_belongs_to_nobody_is_used_and_stays_whose_it_is(resource: Resource) -> None:
    async def body(scene: Scene) -> None:
        before = await put(scene, resource)
        await scene.install("i", of=operator(made(resource.kind)))
        await complete(scene)
        assert stored(scene, resource) == before
        assert [one["adopted"] for one in entries(scene)] == [True]
        assert scene.told("ObjectAdopted") == []
        assert writes(scene, resource.plural) == []
        scene.network.seen.clear()
        await complete(scene)
        assert writes(scene, "inventories") == []
        await scene.delete("i")
        assert stored(scene, resource) == before

    play(body)


def test_pods_restart_with_what_its_owner_has_changed() -> None:
    async def body(scene: Scene) -> None:
        await put(scene)
        await scene.install("i", of=operator(*ONE_TASK))
        before = hashed(scene)
        assert before == hash_of_stored(scene)
        edit = {"data": {"b": "bmV3"}}
        await scene.admin.merge_patch(SECRETS, "o", edit, namespace="ns", field_manager="somebody")
        await complete(scene)
        assert hashed(scene) == hash_of_stored(scene) != before

    play(body)


def test_a_delete_task_leaves_what_belongs_to_nobody() -> None:
    async def body(scene: Scene) -> None:
        before = await put(scene)
        await scene.install("i", of=operator(made(), deploy=["t0"], custom=["delete"]))
        await complete(scene)
        assert stored(scene) == before
        assert on_record(scene) == []

    play(body)


def test_a_delete_task_deletes_what_the_instance_has_created() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=operator(made(), deploy=["t0"], custom=["delete"]))
        await complete(scene)
        assert scene.stored(SECRETS, "o") is None

    play(body)


def test_what_another_instance_owns_is_refused() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("j", of=operator(made()))
        before = stored(scene)
        await scene.life.user.create("i", {})
        await scene.until_idle("i")
        assert scene.entry("i", "deploy")["status"] == "FATAL_ERROR"
        assert "already owned by another Instance controller j" in scene.message("i", "deploy")
        assert stored(scene) == before

    play(body)


# Retained objects


@pytest.mark.parametrize("resource", [SECRETS, CLAIMS, CONFIG_MAPS])
def test_a_new_instance_of_the_name_takes_over_the_marks_and_not_the_content(
    resource: Resource,
) -> None:
    async def body(scene: Scene) -> None:
        content = {"data": {"a": "{{ randAlphaNum 20 | b64enc }}"}}
        await scene.install("i", of=operator(made(resource.kind, content, **RETAINED)))
        before = stored(scene, resource)
        await scene.delete("i")
        await scene.life.user.create("i", {})
        await scene.until_idle("i")
        assert scene.entry("i", "deploy")["status"] == "COMPLETE"
        await asyncio.sleep(10)
        found = stored(scene, resource)
        existed = "" if resource == CONFIG_MAPS else "/adopted"
        assert found["metadata"]["annotations"][BY].endswith(scene.uid("i") + existed)
        assert content_of(found) == content_of(before)
        assert len(scene.told("ObjectTakenOver")) == 1
        await complete(scene)
        assert stored(scene, resource) == found

    play(body)


def test_what_another_instance_has_retained_is_refused() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("j", of=operator(made(**RETAINED)))
        before = stored(scene)
        await scene.life.user.create("i", {})
        await scene.until_idle("i")
        assert "the object is retained for Instance ns/j" in scene.message("i", "deploy")
        assert stored(scene) == before

    play(body)


def test_a_policy_of_deletion_that_comes_and_goes_changes_the_marks_alone() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=operator(IF_KEEP))
        before = stored(scene)
        owner = before["metadata"]["ownerReferences"]
        await scene.life.user.change("i", {"parameters": {"TEXT": "keep"}})
        await scene.until_idle("i")
        await asyncio.sleep(10)
        kept = stored(scene)
        assert "ownerReferences" not in kept["metadata"] or not kept["metadata"]["ownerReferences"]
        assert kept["metadata"]["annotations"][RETAIN] == "retain"
        assert kept["metadata"]["annotations"][BY].endswith(scene.uid("i"))
        assert kept["data"] == before["data"]
        await scene.life.user.change("i", {"parameters": {"TEXT": "two"}})
        await scene.until_idle("i")
        await asyncio.sleep(10)
        found = stored(scene)
        assert found["metadata"]["ownerReferences"] == owner
        assert found["metadata"]["annotations"] == before["metadata"]["annotations"]
        assert found["data"] == before["data"]

    play(body)


@pytest.mark.parametrize("write", range(1, 6))
def test_it_is_taken_over_as_it_is_whenever_the_process_dies(write: int) -> None:
    async def main(life: Life) -> None:
        scene, network = await deadly(life)
        await scene.install("i", of=operator(made(**RETAINED)))
        before = stored(scene)
        await scene.delete("i")
        network.left = write
        await scene.life.user.create("i", {})
        await scene.until_idle("i")
        assert scene.entry("i", "deploy")["status"] == "COMPLETE"
        await asyncio.sleep(30)
        assert has_killed(network)
        found = stored(scene)
        assert found["metadata"]["annotations"][BY].endswith(f"{scene.uid('i')}/adopted")
        assert content_of(found) == content_of(before)

    passes(main, "admitted")


def test_data_that_is_taken_over_and_retained_no_more_stays_nobodys() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=operator(IF_KEEP), TEXT="keep")
        before = stored(scene)
        await scene.delete("i")
        await scene.life.user.create("i", {"TEXT": "two"})
        await scene.until_idle("i")
        await complete(scene)
        found = stored(scene)
        assert not found["metadata"].get("ownerReferences")
        assert not {BY, RETAIN} & found["metadata"]["annotations"].keys()
        assert found["data"] == before["data"]
        assert [one["adopted"] for one in entries(scene)] == [True]
        await complete(scene)
        assert stored(scene) == found

    play(body)


# Strict mode


@pytest.mark.parametrize("exists", [True, False])
def test_it_is_read_and_created_as_the_account(exists: bool) -> None:
    async def body(scene: Scene) -> None:
        await create_account(scene)
        before = await put(scene) if exists else None
        await scene.life.put_version(operator(made()))
        await scene.life.user.create("i", {}, {"serviceAccountName": ACCOUNT})
        await scene.until_idle("i")
        await complete(scene)
        assert before in (None, stored(scene))
        assert {one.user for one in [*reads(scene), *writes(scene)]} == {USER}
        assert len(writes(scene)) == int(not exists)

    play(body, STRICT)


# Refused


@pytest.mark.parametrize(
    ("template", "text"),
    [
        (
            made().replace('"create"', '"once"'),
            "Secret o: the annotation kudo.dev/apply-policy is 'once'; it can be apply or create",
        ),
        (
            role(**{POLICY: "create"}),
            (
                "ClusterRole role: the annotation kudo.dev/apply-policy is 'create', which only "
                "objects in a namespace can have: cluster-scoped ones are shared; remove it"
            ),
        ),
    ],
)
def test_a_policy_that_there_is_not_ends_the_plan(template: str, text: str) -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=operator(template))
        assert scene.entry("i", "deploy")["status"] == "FATAL_ERROR"
        assert text in scene.message("i", "deploy")
        assert SHARED_BY not in str(writes(scene, "clusterroles"))

    play(body)
