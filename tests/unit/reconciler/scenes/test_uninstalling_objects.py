"""What the end of an Instance with cluster-scoped objects asks of the API server."""

import asyncio
from collections import Counter

import pytest

from tests.support.apiserver import status
from tests.support.apiserver.server import Request
from tests.support.apiserver.types.kinds import NAMESPACE
from tests.unit.reconciler.scenes.scene import GOES, ROLES, Scene, play, role, version

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
        scene.network.seen.clear()
        await scene.delete("i")
        for one in lists(scene):
            assert one.query["labelSelector"] == "heritage=kudo"
            assert int(one.query["limit"]) <= 500
            assert "as=PartialObjectMetadata" in one.accept

    play(body)


def test_uninstall_asks_for_several_kinds_at_the_same_time() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=version(role(**GOES), deploy=["apply"]))
        scene.network.held = lambda sent: (
            2.0 if sent.path.rsplit("/", 1)[-1] in CLUSTER_SCOPED else 0.0
        )
        await scene.life.user.delete("i")
        await asyncio.sleep(3)
        assert scene.life.observed.instance("i") is None

    play(body)


def test_uninstall_finds_the_objects_of_an_earlier_version() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=version(role("old", **GOES), deploy=["apply"]))
        await scene.life.put_version(version(role("new", **GOES), deploy=["apply"]))
        await scene.run("i", "deploy")
        await scene.life.crash(0)
        await asyncio.sleep(30)
        await scene.delete("i")
        assert scene.stored(ROLES, "old") is None
        assert scene.stored(ROLES, "new") is None

    play(body)


def test_uninstall_goes_on_where_a_kind_may_not_be_listed() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=version(role(**GOES), deploy=["apply"]))
        server = scene.life.cluster.server

        def authorize(request: Request) -> None:
            if request.path.endswith("/namespaces"):
                raise status.forbidden(NAMESPACE.about(), "not allowed")

        server.authorize = authorize
        await scene.delete("i")
        assert scene.life.observed.instance("i") is None
        assert scene.stored(ROLES, "role") is None

    play(body)
