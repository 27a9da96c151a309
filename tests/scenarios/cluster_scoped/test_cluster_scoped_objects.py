"""Cluster-scoped objects: shared between Instances, kept after them, deleted where asked for."""

import json
import uuid

import pytest

from kubeio.client import Client
from kubeio.errors import NotFound
from kubeio.resource import Resource
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.changes import FINALIZER, delete
from tests.support.cluster.events import event_text, until_event
from tests.support.cluster.interface import World
from tests.support.cluster.resources import INSTANCES
from tests.support.cluster.waiting import wait_until

PRIORITIES = Resource(
    "scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", namespaced=False
)
NAMESPACES = Resource("", "v1", "Namespace", "namespaces", namespaced=False)
SHARED_BY = "kudo.dev/shared-by"
KEPT = "ClusterResourcesKept"

RBAC = "rbac.authorization.k8s.io"
CLUSTER_ROLES = Resource(RBAC, "v1", "ClusterRole", "clusterroles", namespaced=False)
BINDINGS = Resource(RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False)


@pytest.fixture(autouse=True)
async def granted(admin: Client) -> None:
    """Let the reconciler write the cluster-scoped kinds that these tests use."""
    rules = [
        {
            "apiGroups": ["scheduling.k8s.io"],
            "resources": ["priorityclasses"],
            "verbs": ["get", "list", "watch", "create", "patch", "delete"],
        },
        {
            "apiGroups": [""],
            "resources": ["namespaces"],
            "verbs": ["get", "list", "watch", "create", "patch", "delete"],
        },
    ]
    name = "test-cluster-scoped"
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    user = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "kudo-reconciler"}
    rbac = "rbac.authorization.k8s.io/v1"
    objects: list[Json] = [
        {"apiVersion": rbac, "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules},
        {
            "apiVersion": rbac,
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": role,
            "subjects": [user],
        },
    ]
    for obj in objects:
        resource = CLUSTER_ROLES if obj["kind"] == "ClusterRole" else BINDINGS
        await admin.apply(resource, obj, field_manager="kubectl", force=True)


@pytest.fixture
def name() -> str:
    """Return a name that no other test uses: these objects have no namespace of their own."""
    return f"test-{uuid.uuid4().hex[:8]}"


def priority(name: str, text: str = "{{ .Params.TEXT }}", **annotations: str) -> Json:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {
            "name": name,
            "annotations": {k.replace("_", "/"): v for k, v in annotations.items()},
        },
        "value": 7,
        "description": text,
    }


def going(name: str) -> Json:
    made = priority(name)
    made["metadata"]["annotations"]["kudo.dev/delete-with-instance"] = "true"
    return made


def version(*objects: Json, **plans: Json) -> Json:
    return build.operator_version(
        "v",
        templates={"objects.yaml": build.template(*objects)},
        tasks=[build.task("objects", "Apply", "objects.yaml"), build.dummy("nothing", done=True)],
        plans={"deploy": build.plan({"objects": ["objects"]}), **plans},
        parameters=[build.parameter("TEXT", "one")],
    )


async def install(world: World, *names: str, of: Json, **parameters: str) -> None:
    done = await world.apply(of, *(build.instance(one, "v", **parameters) for one in names))
    assert done.code == 0, done.output
    for one in names:
        await world.until_complete(one)


async def sharing(admin: Client, world: World, name: str) -> list[str]:
    """Return the names of the Instances that the annotation of a PriorityClass names."""
    found = await admin.get(PRIORITIES, name)
    text = found["metadata"].get("annotations", {}).get(SHARED_BY, "")
    entries = [entry.split("/") for entry in text.split(",") if entry]
    assert all(entry[0] == world.namespace for entry in entries)
    return [entry[1] for entry in entries]


async def gone(admin: Client, resource: Resource, name: str) -> bool:
    try:
        await admin.get(resource, name)
    except NotFound:
        return True
    return False


async def test_a_cluster_scoped_object_has_no_owner_and_names_its_instance(
    world: World, admin: Client, name: str
) -> None:
    await install(world, "i", of=version(priority(name)))

    found = await admin.get(PRIORITIES, name)
    instance = await world.instance("i")

    assert "ownerReferences" not in found["metadata"]
    assert "namespace" not in found["metadata"]
    assert found["metadata"]["annotations"][SHARED_BY] == (
        f"{world.namespace}/i/{instance['metadata']['uid']}"
    )
    assert found["metadata"]["labels"]["kudo.dev/instance"] == "i"
    assert "finalizers" not in instance["metadata"]


async def test_a_change_is_applied_exactly_also_right_after_the_creation(
    world: World, admin: Client, name: str
) -> None:
    desired = priority(name)
    desired["metadata"]["annotations"]["example.org/{{ .Params.TEXT }}"] = "yes"
    await install(world, "i", of=version(desired))

    await world.patch("i", {"parameters": {"TEXT": "two"}})
    await world.until("i", lambda i: i["metadata"]["generation"] > 3, "another run")
    await world.until_complete("i")

    found = await admin.get(PRIORITIES, name)
    annotations = found["metadata"]["annotations"]
    assert found["description"] == "two"
    assert "example.org/two" in annotations
    assert "example.org/one" not in annotations
    assert await sharing(admin, world, name) == ["i"]


async def test_identical_objects_are_shared_in_silence(
    world: World, admin: Client, name: str
) -> None:
    await install(world, "a", of=version(priority(name)))
    before = await admin.get(PRIORITIES, name)
    await install(world, "b", of=version(priority(name)))

    after = await admin.get(PRIORITIES, name)
    assert await sharing(admin, world, name) == ["a", "b"]
    assert after["metadata"]["labels"] == before["metadata"]["labels"]
    assert await world.events("ObjectShared") == []


async def test_a_differing_object_is_applied_with_a_warning_that_names_the_other(
    world: World, admin: Client, name: str
) -> None:
    await install(world, "a", of=version(priority(name)))
    await install(world, "b", of=version(priority(name)), TEXT="other")

    text = await event_text(world, "ObjectShared")

    assert (await admin.get(PRIORITIES, name))["description"] == "other"
    assert await sharing(admin, world, name) == ["a", "b"]
    assert f"{world.namespace}/a" in text
    assert name in text
    assert (await world.events("ObjectShared"))[0]["type"] == "Warning"


async def test_two_instances_made_at_once_are_both_written_on_the_object(
    world: World, admin: Client, name: str
) -> None:
    names = [f"i{number}" for number in range(6)]

    await install(world, *names, of=version(priority(name)))

    assert await sharing(admin, world, name) == names


async def test_an_object_stays_when_its_instance_goes_and_an_event_says_so(
    world: World, admin: Client, name: str
) -> None:
    await install(world, "i", of=version(priority(name)))

    await delete(world)

    event = await until_event(world, KEPT)
    assert f"PriorityClass {name}" in event["message"]
    assert await sharing(admin, world, name) == []
    assert not await gone(admin, PRIORITIES, name)


async def test_uninstall_names_what_stays(world: World, admin: Client, name: str) -> None:
    await install(world, "i", of=version(priority(name), going(f"{name}-going")))
    rules = [
        {
            "apiGroups": ["scheduling.k8s.io"],
            "resources": ["priorityclasses"],
            "verbs": ["get", "list"],
        }
    ]
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": name}
    subject = {"apiGroup": RBAC, "kind": "User", "name": "kudo-user"}
    binding = {"metadata": {"name": name}, "roleRef": reference, "subjects": [subject]}
    await admin.create(CLUSTER_ROLES, {"metadata": {"name": name}, "rules": rules})
    await admin.create(BINDINGS, binding)

    done = await world.kudo("uninstall", "--instance=i", "--wait")

    assert done.code == 0, done.output
    assert done.stdout.startswith("instance.kudo.dev/v1beta1/i deleted\n")
    stays = f"these cluster-scoped objects stay in the cluster: PriorityClass {name} "
    assert f'{stays}(without kudo.dev/delete-with-instance: "true")\n' in done.stderr


async def test_an_object_that_stayed_is_taken_up_by_the_next_instance(
    world: World, admin: Client, name: str
) -> None:
    await install(world, "i", of=version(priority(name)))
    await delete(world)
    await until_event(world, KEPT)

    await install(world, "j", of=version(priority(name)), TEXT="next")

    assert (await admin.get(PRIORITIES, name))["description"] == "next"
    assert await sharing(admin, world, name) == ["j"]


async def test_an_object_goes_with_its_last_instance_where_its_template_asks_for_it(
    world: World, admin: Client, name: str
) -> None:
    await install(world, "a", "b", of=version(going(name)))
    instance = await world.instance("a")
    assert instance["metadata"]["finalizers"] == ["kudo.dev/cluster-resources"]

    await delete(world, "a")
    await world.until_gone(INSTANCES, "a")
    assert await sharing(admin, world, name) == ["b"]

    await delete(world, "b")
    await world.until_gone(INSTANCES, "b")
    assert await gone(admin, PRIORITIES, name)


async def test_the_last_instance_knows_its_objects_also_after_a_restart(
    world: World, admin: Client, name: str
) -> None:
    await install(world, "i", of=version(going(name)))

    await world.reconciler.kill()
    await delete(world)
    await world.reconciler.start()

    await world.until_gone(INSTANCES, "i")
    assert await gone(admin, PRIORITIES, name)


async def test_the_cleanup_plan_runs_before_the_objects_go(
    world: World, admin: Client, name: str
) -> None:
    cleanup = build.operator_version(
        "v",
        templates={
            "objects.yaml": build.template(going(name)),
            "bye.yaml": build.template(build.config_map("bye")),
        },
        plans={
            "deploy": build.plan({"objects": ["objects"]}),
            "cleanup": build.plan({"bye": ["bye"]}),
        },
        parameters=[build.parameter("TEXT", "one")],
    )
    await install(world, "i", of=cleanup)
    found = await world.instance("i")
    assert sorted(found["metadata"]["finalizers"]) == sorted(
        [FINALIZER, "kudo.dev/cluster-resources"]
    )

    await delete(world)

    await world.until_gone(INSTANCES, "i")
    assert await gone(admin, PRIORITIES, name)


async def test_a_namespace_never_goes_with_an_instance(
    world: World, admin: Client, name: str
) -> None:
    desired: Json = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "annotations": {"kudo.dev/delete-with-instance": "true"}},
    }
    await install(world, "i", of=version(desired))
    assert "finalizers" not in (await world.instance("i"))["metadata"]

    await delete(world)

    await until_event(world, KEPT)
    assert "deletionTimestamp" not in (await admin.get(NAMESPACES, name))["metadata"]
    await admin.delete(NAMESPACES, name)


async def test_an_object_of_nobody_is_adopted_unless_a_field_is_anothers(
    world: World, admin: Client, name: str
) -> None:
    other = f"{name}-other"
    mine = json.dumps(priority(name, "mine", example_org="x"))
    theirs = {"metadata": {"name": other}, "value": 7, "description": "theirs"}
    await admin.create(PRIORITIES, theirs, field_manager="kubectl-create")
    await admin.create(PRIORITIES, json.loads(mine), field_manager="somebody")

    await world.apply(
        version(priority(other), priority(name, "mine")), build.instance("i", "v", TEXT="ours")
    )
    failed = await world.until_failed("i")
    assert ".description" in instances.messages(failed, "deploy")
    assert (await admin.get(PRIORITIES, other))["description"] == "theirs"

    await install(world, "j", of=version(priority(name, "mine")))
    assert "belonged to nobody" in (await until_event(world, "ObjectAdopted"))["message"]
    assert await sharing(admin, world, name) == ["j"]


async def test_a_sharer_that_vanished_unseen_does_not_count(
    world: World, admin: Client, name: str
) -> None:
    await install(world, "i", of=version(going(name)))
    ghost = f"{world.namespace}/ghost/00000000-0000-0000-0000-000000000000"
    live = await admin.get(PRIORITIES, name)
    named = f"{ghost},{live['metadata']['annotations'][SHARED_BY]}"
    await admin.merge_patch(PRIORITIES, name, {"metadata": {"annotations": {SHARED_BY: named}}})

    await delete(world)
    await world.until_gone(INSTANCES, "i")

    async def is_gone() -> bool:
        return await gone(admin, PRIORITIES, name)

    await wait_until(is_gone, lambda: "the object to go with its last Instance")


# Delete tasks


def deleting(*objects: Json) -> Json:
    return build.operator_version(
        "v",
        templates={"objects.yaml": build.template(*objects)},
        tasks=[
            build.task("objects", "Apply", "objects.yaml"),
            build.task("away", "Delete", "objects.yaml"),
        ],
        plans={
            "deploy": build.plan({"objects": ["objects"]}),
            "remove": build.plan({"away": ["away"]}),
        },
        parameters=[build.parameter("TEXT", "one")],
    )


async def remove(world: World, name: str) -> None:
    await world.patch(name, {"planExecution": {"planName": "remove"}})

    def removed(instance: Json) -> bool:
        status = instance["status"]["planStatus"].get("remove", {}).get("status")
        return status == "COMPLETE" and not instance["spec"].get("planExecution")

    await world.until(name, removed, "plan remove to be COMPLETE")


async def test_a_delete_task_keeps_what_another_instance_shares_and_deletes_it_after_that(
    world: World, admin: Client, name: str
) -> None:
    await install(world, "a", "b", of=deleting(priority(name)))

    await remove(world, "a")
    assert await sharing(admin, world, name) == ["b"]
    assert f"Instance {world.namespace}/b shares it" in (await until_event(world, KEPT))["message"]

    await remove(world, "b")
    assert await gone(admin, PRIORITIES, name)


async def test_a_delete_task_removes_what_kudo_019_left_unless_another_has_the_name_on_it(
    world: World, admin: Client, name: str
) -> None:
    # Other tests have Instances of common names, and the label names no namespace.
    ours, others = f"{name}-a", f"{name}-b"
    labels = {"heritage": "kudo", "kudo.dev/instance": others}
    left = priority(name, "left")
    left["metadata"]["labels"] = labels
    await admin.create(PRIORITIES, left)
    left_alone = deleting(priority(name))
    left_alone["spec"]["plans"]["deploy"] = build.plan({"nothing": ["nothing"]})
    left_alone["spec"]["tasks"].append(build.dummy("nothing", done=True))
    await install(world, ours, others, of=left_alone)

    await remove(world, ours)
    assert not await gone(admin, PRIORITIES, name)

    await remove(world, others)
    assert await gone(admin, PRIORITIES, name)


async def test_a_share_of_what_is_shared_already_writes_nothing(
    world: World, admin: Client, name: str
) -> None:
    again = version(priority(name), again=build.plan({"objects": ["objects"]}))
    await install(world, "a", "b", of=again)
    before = await admin.get(PRIORITIES, name)

    await world.patch("a", {"planExecution": {"planName": "again"}})
    await world.until(
        "a",
        lambda i: i["status"]["planStatus"].get("again", {}).get("status") == "COMPLETE",
        "plan again to be COMPLETE",
    )

    assert await admin.get(PRIORITIES, name) == before


# Many sharers, and what is on record


def entries(metadata: Json) -> list[str]:
    """Return the names of the Instances that the annotation lists."""
    text = metadata["annotations"][SHARED_BY]
    return [entry.split("/")[1] for entry in text.split(",") if entry.count("/") == 2]


async def test_an_object_of_many_lists_some_and_goes_with_the_last_of_them(
    world: World, admin: Client, name: str
) -> None:
    names = [f"i{number:02}" for number in range(34)]
    await install(world, *names[:33], of=version(going(name)))
    before = (await admin.get(PRIORITIES, name))["metadata"]
    await install(world, names[33], of=version(going(name)))

    after = (await admin.get(PRIORITIES, name))["metadata"]
    assert after["resourceVersion"] != before["resourceVersion"]
    assert names[33] in entries(after)
    assert len(entries(after)) == len(entries(before)) == 32

    for one in names[:33]:
        await delete(world, one)
    for one in names[:33]:
        await world.until_gone(INSTANCES, one)
    assert await sharing(admin, world, name) == [names[33]]

    await delete(world, names[33])
    await world.until_gone(INSTANCES, names[33])
    assert await gone(admin, PRIORITIES, name)


async def test_whom_an_older_release_named_stays_named_whatever_their_number(
    world: World, admin: Client, name: str
) -> None:
    nothing = build.operator_version(
        "none",
        templates={},
        tasks=[build.dummy("nothing", done=True)],
        plans={"deploy": build.plan({"nothing": ["nothing"]})},
    )
    former = [f"old{number:02}" for number in range(40)]
    done = await world.apply(nothing, *(build.instance(one, "none") for one in former))
    assert done.code == 0, done.output
    named = []
    for one in former:
        stored = await world.until_complete(one)
        named.append(f"{world.namespace}/{one}/{stored['metadata']['uid']}")
    left = priority(name, "one")
    left["metadata"]["labels"] = {"heritage": "kudo", "kudo.dev/instance": "old00"}
    left["metadata"]["annotations"][SHARED_BY] = ",".join(named)
    await admin.create(PRIORITIES, left, field_manager="kudo")

    await install(world, "i", of=version(going(name)))

    found = (await admin.get(PRIORITIES, name))["metadata"]
    assert entries(found) == ["i", *former]
    await delete(world)
    await world.until_gone(INSTANCES, "i")
    assert not await gone(admin, PRIORITIES, name)


async def test_a_delete_task_keeps_what_another_instance_has_on_record(
    world: World, admin: Client, name: str
) -> None:
    await install(world, "a", "b", of=deleting(priority(name)))
    unnamed = {"annotations": {SHARED_BY: None}, "labels": {"kudo.dev/instance": None}}
    await admin.merge_patch(PRIORITIES, name, {"metadata": unnamed})

    await remove(world, "a")

    # Nothing on the object names it.
    assert "stays: another Instance shares it" in (await until_event(world, KEPT))["message"]
    assert not await gone(admin, PRIORITIES, name)


async def test_uninstall_finds_an_object_that_an_earlier_version_applied(
    world: World, admin: Client, name: str
) -> None:
    former = f"{name}-former"
    await install(world, "i", of=version(going(former)))
    await world.apply(version(going(name)))
    await world.patch("i", {"parameters": {"TEXT": "two"}})

    async def is_applied() -> bool:
        return not await gone(admin, PRIORITIES, name)

    await wait_until(is_applied, lambda: "the object of the new version")
    await world.until_complete("i")

    await delete(world)
    await world.until_gone(INSTANCES, "i")
    assert await gone(admin, PRIORITIES, name)
    assert await gone(admin, PRIORITIES, former)
