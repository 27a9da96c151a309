"""What the end of an Instance with cluster-scoped objects asks of the API server.

If it has a complete record, what is on record; else all cluster-scoped kinds are listed.
"""

import asyncio
import copy
from collections import Counter
from collections.abc import Callable

import pytest

from kudo.api import JsonObject
from kudo.objects.sharing import sharers
from kudo_reconciler.common.keys import INVENTORIES
from tests.support.apiserver import status
from tests.support.apiserver.server import Request
from tests.support.apiserver.types.kinds import NAMESPACE
from tests.unit.reconciler.scenes.scene import GOES, ROLES, SHARED_BY, Scene, play, role, version

CLUSTER_SCOPED = ("namespaces", "customresourcedefinitions", "clusterroles", "clusterrolebindings")


def lists(scene: Scene) -> list[Request]:
    """Return the LIST requests for cluster-scoped kinds."""
    return [
        one
        for one in scene.network.seen
        if one.path.rsplit("/", 1)[-1] in CLUSTER_SCOPED and "watch" not in one.query
        if one.method == "GET"
    ]


def reconciles(scene: Scene) -> float:
    return sum(replica.reconciles for replica in scene.life.replicas)


@pytest.mark.parametrize("late", [0.0, 0.02, 5.0])
def test_uninstall_asks_for_each_kind_once_however_late_events_are(late: float) -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=version(role(**GOES), deploy=["apply"]))
        await scene.lose_records()
        scene.network.late["instances"] = late
        scene.network.seen.clear()
        await scene.delete("i")
        assert scene.life.observed.instance("i") is None
        assert scene.stored(ROLES, "role") is None
        asked = Counter(one.path for one in lists(scene))
        assert set(asked.values()) == {1}
        assert len(asked) == len(CLUSTER_SCOPED)

    play(body)


def test_uninstall_is_not_woken_by_its_own_deletions() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=version(role(**GOES), deploy=["apply"]))
        await asyncio.sleep(60)
        before = reconciles(scene)
        scene.network.late["instances"] = 1.0
        await scene.delete("i")
        # The deletion is asked for, and the Instance is gone.
        assert reconciles(scene) - before == 2

    play(body)


def test_uninstall_asks_for_metadata_of_our_objects_in_bounded_pages() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=version(role(**GOES), deploy=["apply"]))
        await scene.lose_records()
        scene.network.seen.clear()
        await scene.delete("i")
        assert lists(scene)
        for one in lists(scene):
            assert one.query["labelSelector"] == "heritage=kudo"
            assert int(one.query["limit"]) <= 500
            assert "as=PartialObjectMetadata" in one.accept

    play(body)


def test_uninstall_asks_for_several_kinds_at_the_same_time() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=version(role(**GOES), deploy=["apply"]))
        await scene.lose_records()
        scene.network.held = lambda sent: (
            2.0 if sent.path.rsplit("/", 1)[-1] in CLUSTER_SCOPED else 0.0
        )
        await scene.life.user.delete("i")
        await asyncio.sleep(3)
        assert scene.life.observed.instance("i") is None

    play(body)


@pytest.mark.parametrize("lost", [False, True])
def test_uninstall_finds_the_objects_of_an_earlier_version(lost: bool) -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=version(role("old", **GOES), deploy=["apply"]))
        await scene.life.put_version(version(role("new", **GOES), deploy=["apply"]))
        await scene.run("i", "deploy")
        if lost:
            await scene.lose_records()
        else:
            await scene.life.crash(0)
            await asyncio.sleep(30)
        await scene.delete("i")
        assert scene.stored(ROLES, "old") is None
        assert scene.stored(ROLES, "new") is None

    play(body)


def test_uninstall_goes_on_where_a_kind_may_not_be_listed() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=version(role(**GOES), deploy=["apply"]))
        await scene.lose_records()
        server = scene.life.cluster.server

        def authorize(request: Request) -> None:
            if request.path.endswith("/namespaces"):
                raise status.forbidden(NAMESPACE.about(), "not allowed")

        server.authorize = authorize
        await scene.delete("i")
        assert scene.life.observed.instance("i") is None
        assert scene.stored(ROLES, "role") is None

    play(body)


# With a complete record


def requests_of_an_uninstall(others: int) -> list[str]:
    """Return the requests in a cluster with other objects that Instances applied."""
    found: list[str] = []

    async def body(scene: Scene) -> None:
        for number in range(others):
            await put(scene, f"other-{number}", **{SHARED_BY: f"ns/x{number}/u{number}"})
        await scene.install("i", of=version(role(**GOES), deploy=["apply"]))
        uid = scene.uid("i")
        scene.network.seen.clear()
        await scene.delete("i")
        assert scene.life.observed.instance("i") is None
        assert scene.stored(ROLES, "role") is None
        sent = [one for one in scene.network.seen if "watch" not in one.query]
        found.extend(f"{one.method} {one.path.replace(uid[:8], 'UID')}" for one in sent)

    play(body)
    return found


async def put(scene: Scene, name: str, **annotations: str) -> None:
    """Create a ClusterRole past the reconciler."""
    metadata = {"name": name, "labels": {"heritage": "kudo"}, "annotations": annotations}
    body = {"apiVersion": ROLES.api_version, "kind": "ClusterRole", "rules": []}
    await scene.admin.create(ROLES, {**body, "metadata": metadata})


def test_uninstall_asks_the_same_whatever_else_the_cluster_holds() -> None:
    alone = requests_of_an_uninstall(0)
    assert not [one for one in alone if one.endswith(CLUSTER_SCOPED)]
    assert [one for one in alone if one.endswith("/clusterroles/role")] == [
        f"{method} /apis/rbac.authorization.k8s.io/v1/clusterroles/role"
        for method in ("GET", "DELETE")
    ]
    assert requests_of_an_uninstall(700) == alone


async def change_record(scene: Scene, change: Callable[[JsonObject], None]) -> None:
    """Change the record of i while no process lives that knows it."""
    await scene.life.crash(0)
    (stored,) = scene.inventories()
    edited = copy.deepcopy(stored)
    change(edited)
    await scene.admin.replace(INVENTORIES, edited)
    await asyncio.sleep(30)


@pytest.mark.parametrize(
    ("kind", "group", "resource", "name"),
    [
        pytest.param("ClusterRole", ROLES.group, "clusterroles", "gone", id="does not exist"),
        pytest.param("ClusterRole", ROLES.group, "clusterroles", "theirs", id="of others"),
        pytest.param("ClusterRole", ROLES.group, "clusterroles", "system", id="of nobody"),
        pytest.param("Thing", "example.dev", "things", "x", id="of a kind that there is not"),
        pytest.param("Secret", "", "secrets", "token", id="of a kind with namespaces"),
    ],
)
def test_uninstall_leaves_alone_what_only_its_record_says_it_shares(
    kind: str, group: str, resource: str, name: str
) -> None:
    async def body(scene: Scene) -> None:
        await put(scene, "theirs", **GOES, **{SHARED_BY: "ns/x/u"})
        metadata = {"name": "system", "annotations": GOES}
        role_body = {"apiVersion": ROLES.api_version, "kind": "ClusterRole", "rules": []}
        await scene.admin.create(ROLES, {**role_body, "metadata": metadata})
        before = [scene.stored(ROLES, one) for one in ("theirs", "system")]
        await scene.install("i", of=version(role(**GOES), deploy=["apply"]))
        entry = {"group": group, "version": "v1", "kind": kind, "resource": resource, "name": name}
        await change_record(scene, lambda found: found["objects"].append({**entry, "shared": True}))
        await scene.delete("i")
        assert scene.life.observed.instance("i") is None
        assert scene.stored(ROLES, "role") is None
        assert [scene.stored(ROLES, one) for one in ("theirs", "system")] == before

    play(body)


def test_uninstall_finds_an_object_whose_version_is_not_served_any_more() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=version(role(**GOES), deploy=["apply"]))

        def former(found: JsonObject) -> None:
            found["objects"][0]["version"] = "v1beta1"

        await change_record(scene, former)
        await scene.delete("i")
        assert scene.stored(ROLES, "role") is None

    play(body)


def test_uninstall_keeps_and_tells_what_it_may_not_read() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=version(role(**GOES), deploy=["apply"]))

        def authorize(request: Request) -> None:
            if request.path.endswith("/clusterroles/role"):
                raise status.forbidden(NAMESPACE.about(), "not allowed")

        scene.life.cluster.server.authorize = authorize
        await scene.delete("i")
        assert scene.life.observed.instance("i") is None
        assert scene.stored(ROLES, "role") is not None
        (text,) = scene.told("ClusterResourcesNotReleased")
        assert text == (
            "cluster-scoped objects are not released: the reconciler may not release "
            "ClusterRole role"
        )

    play(body)


def test_uninstall_waits_for_an_api_server_that_fails() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=version(role(**GOES), deploy=["apply"]))
        server = scene.life.cluster.server

        def authorize(request: Request) -> None:
            if request.path.endswith("/clusterroles/role"):
                raise status.internal_error("not now")

        server.authorize = authorize
        await scene.delete("i")
        assert scene.life.observed.instance("i") is not None
        server.authorize = lambda _: None
        await asyncio.sleep(120)
        assert scene.life.observed.instance("i") is None
        assert scene.stored(ROLES, "role") is None

    play(body)


def test_uninstall_of_all_that_share_an_object_deletes_it_however_many_they_are() -> None:
    async def body(scene: Scene) -> None:
        names = [f"i{number:02}" for number in range(33)]
        await scene.install(*names, of=version(role(**GOES), deploy=["apply"]))
        stored = scene.stored(ROLES, "role")
        assert stored is not None
        assert len(sharers(stored["metadata"])) == 32
        for name in names:
            await scene.life.user.delete(name)
        await asyncio.sleep(120)
        assert [name for name in names if scene.life.observed.instance(name)] == []
        assert scene.stored(ROLES, "role") is None

    play(body)


def test_uninstall_of_some_keeps_the_object_for_the_others() -> None:
    async def body(scene: Scene) -> None:
        names = [f"i{number:02}" for number in range(33)]
        await scene.install(*names, of=version(role(**GOES), deploy=["apply"]))
        for name in names[:32]:
            await scene.life.user.delete(name)
        await asyncio.sleep(120)
        assert scene.stored(ROLES, "role") is not None
        await scene.delete(names[32])
        assert scene.stored(ROLES, "role") is None

    play(body)


@pytest.mark.parametrize("many", [False, True])
def test_an_instance_that_is_deleted_without_a_release_is_told_what_stays(many: bool) -> None:
    async def body(scene: Scene) -> None:
        names = [f"i{number:02}" for number in range(33 if many else 2)]
        await scene.install(*names, of=version(role(), deploy=["apply"]))
        # The collector of a real cluster is not as fast.
        scene.network.late["inventories"] = 5.0
        await scene.delete(names[-1])
        assert scene.told("ClusterResourcesKept") == [
            "these cluster-scoped objects stay: ClusterRole role"
        ]
        stored = scene.stored(ROLES, "role")
        assert stored is not None
        assert f"/{names[-1]}/" not in stored["metadata"]["annotations"][SHARED_BY]

    play(body)
