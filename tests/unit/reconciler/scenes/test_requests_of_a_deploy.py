"""How many requests a deploy costs, by verb and kind."""

from collections import Counter

import pytest

from kubeio.types import JsonObject
from tests.unit.reconciler.scenes.scene import (
    CONFIG_MAPS,
    ROLES,
    Scene,
    of_kind,
    play,
    role,
    version,
)

CONFIG_MAP = of_kind("ConfigMap", "{{ .Name }}", "{{ .Params.TEXT }}")
APPLYING = {"deploy": ["apply"]}


def counted(scene: Scene) -> Counter[str]:
    """Return how often each request was sent since the last call, watches and lists left out."""
    found = Counter(
        f"{one.method} {one.path.split('/namespaces/ns/')[-1].split('/')[0]}"
        for one in scene.network.seen
        if one.path.count("/") > 4 and "watch" not in one.query
    )
    scene.network.seen.clear()
    return found


def test_nothing_is_read_before_an_object_is_created() -> None:
    async def body(scene: Scene) -> None:
        # The first of a kind is looked for, since its watch has only begun.
        await scene.install("first", of=version(CONFIG_MAP, **APPLYING))
        counted(scene)
        await scene.install("i", of=version(CONFIG_MAP, **APPLYING))
        assert scene.network.sent("GET", "configmaps") == []
        assert len(scene.network.sent("PATCH", "configmaps")) == 1
        assert scene.stored(CONFIG_MAPS, "i") is not None

    play(body)


def test_a_cluster_scoped_object_is_created_by_one_request() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("first", of=version(role("{{ .Name }}"), **APPLYING))
        counted(scene)
        await scene.install("i", of=version(role("{{ .Name }}"), **APPLYING))
        assert scene.network.sent("GET", "clusterroles") == []
        assert scene.network.sent("POST", "clusterroles") == []
        (created,) = scene.network.sent("PATCH", "clusterroles")
        assert "dryRun" not in created.query
        stored = scene.stored(ROLES, "i")
        assert stored is not None
        (entry,) = stored["metadata"]["managedFields"]
        assert (entry["manager"], entry["operation"]) == ("kudo", "Apply")

    play(body)


@pytest.mark.parametrize("labels", [{}, {"heritage": "kudo"}], ids=["unlabelled", "labelled"])
def test_an_object_of_another_controller_is_left_alone_although_nothing_was_read(
    labels: dict[str, str],
) -> None:
    async def body(scene: Scene) -> None:
        await scene.install("first", of=version(CONFIG_MAP, **APPLYING))
        owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "theirs", "uid": "u"}
        made: JsonObject = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": "i",
                "namespace": "ns",
                "labels": labels,
                "ownerReferences": [{**owner, "controller": True}],
            },
        }
        scene.network.late["configmaps"] = 60.0
        # Else the garbage collector takes it, since its owner does not exist.
        scene.life.cluster.collector.delay = lambda: 1e6
        await scene.admin.create(CONFIG_MAPS, made)
        await scene.install("i", of=version(CONFIG_MAP, **APPLYING))
        assert scene.entry("i", "deploy")["status"] == "FATAL_ERROR"
        assert "already owned by another Deployment controller" in scene.message("i", "deploy")
        stored = scene.stored(CONFIG_MAPS, "i")
        assert stored is not None
        assert stored["metadata"]["ownerReferences"] == made["metadata"]["ownerReferences"]
        assert "data" not in stored

    play(body)
