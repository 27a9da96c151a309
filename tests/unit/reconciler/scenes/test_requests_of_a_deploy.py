"""How many requests a deploy costs, by verb and kind."""

import asyncio
from collections import Counter

import pytest

from kubeio.types import JsonObject
from tests.unit.reconciler.scenes.scene import (
    CONFIG_MAPS,
    ROLES,
    Refusing,
    Scene,
    Shaped,
    of_kind,
    play,
    role,
    version,
)

CONFIG_MAP = of_kind("ConfigMap", "{{ .Name }}", "{{ .Params.TEXT }}")
APPLYING = {"deploy": ["apply"]}
PLANS = {"deploy": ["apply"], "custom": ["apply"]}


def counted(scene: Scene) -> Counter[str]:
    """Return how often each request was sent since the last call, watches and lists left out."""
    found = Counter(
        f"{one.method} {one.path.split('/namespaces/ns/')[-1].split('/')[0]}"
        for one in scene.network.seen
        if one.path.count("/") > 4 and "watch" not in one.query
    )
    scene.network.seen.clear()
    return found


def test_a_deploy_costs_one_read_five_writes_and_two_events() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("first", of=version(CONFIG_MAP, **APPLYING))
        await asyncio.sleep(10)
        counted(scene)
        await scene.life.user.create("i", {})
        await scene.until_idle("i")
        await asyncio.sleep(10)
        assert counted(scene) == {
            "GET operatorversions": 1,
            "POST inventories": 1,
            "PATCH configmaps": 1,
            "PUT instances": 2,
            "PATCH instances": 1,
            "POST events": 2,
        }

    play(body)


def test_a_second_run_of_the_same_objects_writes_no_record() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=version(CONFIG_MAP, **PLANS))
        await scene.run("i", "custom")
        await asyncio.sleep(10)
        counted(scene)
        await scene.run("i", "custom")
        await asyncio.sleep(10)
        found = counted(scene)
        assert {name for name in found if name.endswith("inventories")} == set()
        assert found["PATCH configmaps"] == 1

    play(body)


def test_runs_that_were_scheduled_together_share_the_reads_of_their_version() -> None:
    async def body(scene: Scene) -> None:
        of = version(CONFIG_MAP, **APPLYING)
        await scene.install("first", of=of)
        counted(scene)
        # Each worker reads it once; who comes after that goes by what was read.
        scene.network.held = lambda sent: 0.0 if sent.method == "GET" else 0.1
        names = [f"i-{number}" for number in range(40)]
        await scene.install(*names, of=of)
        assert 0 < counted(scene)["GET operatorversions"] <= 2 * 16

    play(body)


def test_a_run_gets_what_was_edited_before_it_was_scheduled_although_the_event_is_late() -> None:
    async def body(scene: Scene) -> None:
        await scene.install(
            "i", "j", of=version(of_kind("ConfigMap", "{{ .Name }}", "old"), **PLANS)
        )
        await asyncio.sleep(10)
        # What was read for this run is no older than the run, but older than the next one.
        await scene.run("i", "custom")
        scene.network.late["operatorversions"] = 600.0
        await asyncio.sleep(1)
        await scene.life.put_version(version(of_kind("ConfigMap", "{{ .Name }}", "new"), **PLANS))
        await scene.run("j", "custom")
        stored = scene.stored(CONFIG_MAPS, "j")
        assert stored is not None
        assert stored["data"] == {"a": "new"}

    play(body)


def test_a_new_leader_does_not_run_again_what_its_cache_has_not_seen_the_end_of() -> None:
    async def body(scene: Scene) -> None:
        life = scene.life
        await scene.install("i", of=version(CONFIG_MAP, **PLANS))
        standby, behind = life.start_replica(leading=False), Shaped(life.rng, 0.0)
        for transport in standby.process.transports:
            transport.network = behind
        await asyncio.sleep(10)
        # It hears of the beginning of the run after its term has begun, of the end 5 s later.
        behind.late["instances"] = 60.0
        scene.network.held = lambda sent: 5.0 if sent.path.endswith("/configmaps/i") else 0.0
        assert (await scene.run("i", "custom"))["status"] == "COMPLETE"
        ended = scene.entry("i", "custom")
        await life.hand_over(1.0)
        await asyncio.sleep(120)
        assert standby.candidate.leading
        assert [one for one in behind.seen if one.path.endswith("/configmaps/i")] == []
        assert scene.entry("i", "custom") == ended

    play(body)


def test_an_instance_is_read_until_it_is_known_what_was_stored_before_the_term() -> None:
    async def body(scene: Scene) -> None:
        network = Refusing(scene.life.rng, 0.0)
        for transport in scene.life.replicas[0].process.transports:
            transport.network = network
        network.refused = lambda sent: sent.query.get("limit") == "1"
        await scene.install("i", of=version(CONFIG_MAP, **APPLYING))
        assert len(network.sent("GET", "instances")) > 0
        network.refused = lambda _: False
        await asyncio.sleep(120)
        network.seen.clear()
        await scene.install("j", of=version(CONFIG_MAP, **APPLYING))
        assert network.sent("GET", "instances") == []

    play(body)


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
