"""What a run has created is not created again for an Instance that is gone."""

import asyncio

import pytest

from kubeio.types import JsonObject
from tests.support.apiserver.controllers.workloads import Outcome
from tests.support.apiserver.storage import Revision, StorageName
from tests.unit.reconciler.scenes.scene import Refusing, Scene, of_kind, play, version

JOB = '{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "o"}, "spec": {}}'
DEPLOYMENT = (
    '{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "o"}, "spec": '
    '{"selector": {}, "template": {"metadata": {}, "spec": {"containers": []}}}}'
)


def made(scene: Scene) -> list[JsonObject]:
    """Return the list to which every Job is added that is made from now on."""
    found: list[JsonObject] = []

    def written(name: StorageName, revision: Revision) -> None:
        if name == ("batch", "jobs") and revision.old is None and not revision.deleted:
            found.append(revision.new)

    scene.life.cluster.server.storage.listeners.append(written)
    return found


async def delete_unseen(scene: Scene) -> None:
    """Delete the Instance, of which the reconciler hears late; the collector does not."""
    scene.network.late["instances"] = 60.0
    await scene.life.user.delete("i")
    assert scene.life.observed.instance("i") is None


def test_a_job_that_was_collected_with_its_instance_is_not_made_again_beside_another() -> None:
    async def body(scene: Scene) -> None:
        scene.life.cluster.workloads.outcome = lambda _: Outcome("stuck")
        jobs = made(scene)
        await scene.life.put_version(version(f"{DEPLOYMENT}\n---\n{JOB}", deploy=["apply"]))
        await scene.life.user.create("i", {})
        await asyncio.sleep(10)
        assert len(jobs) == 1
        await delete_unseen(scene)
        await asyncio.sleep(50)
        assert len(jobs) == 1

    play(body)


@pytest.mark.parametrize("late", [0.0, 60.0])
def test_a_job_that_was_collected_with_its_instance_is_not_made_again_by_another_attempt(
    late: float,
) -> None:
    async def body(scene: Scene) -> None:
        refusing = Refusing(scene.life.rng, 0.0)
        scene.life.replicas[0].process.transports[0].network = refusing
        refusing.refused = lambda sent: sent.path.endswith("/configmaps/o")
        refusing.late = scene.network.late
        jobs = made(scene)
        template = f"{JOB}\n---\n{of_kind('ConfigMap', 'o')}"
        await scene.life.put_version(version(template, deploy=["apply"]))
        await scene.life.user.create("i", {})
        await asyncio.sleep(10)
        assert len(jobs) == 1
        scene.network.late["jobs"] = late
        await delete_unseen(scene)
        await asyncio.sleep(50)
        assert len(jobs) == 1

    play(body)


def test_what_somebody_deleted_in_mid_run_is_made_again() -> None:
    async def body(scene: Scene) -> None:
        scene.life.cluster.workloads.outcome = lambda _: Outcome(seconds=20)
        await scene.life.put_version(version(DEPLOYMENT, deploy=["apply"]))
        await scene.life.user.create("i", {})
        await asyncio.sleep(10)
        await scene.admin.raw("DELETE", "/apis/apps/v1/namespaces/ns/deployments/o")
        await scene.until_idle("i")
        assert scene.entry("i", "deploy")["status"] == "COMPLETE"
        table = scene.life.cluster.server.storage.table(("apps", "deployments"))
        assert ("ns", "o") in table.objects

    play(body)


def test_a_job_that_somebody_deleted_is_not_made_again_where_another_object_is() -> None:
    async def body(scene: Scene) -> None:
        scene.life.cluster.workloads.outcome = lambda _: Outcome("stuck")
        jobs = made(scene)
        await scene.life.put_version(version(f"{DEPLOYMENT}\n---\n{JOB}", deploy=["apply"]))
        await scene.life.user.create("i", {})
        await asyncio.sleep(10)
        scene.network.held = lambda sent: 5.0 if sent.method == "GET" else 0.0
        await scene.admin.raw("DELETE", "/apis/apps/v1/namespaces/ns/deployments/o")
        await scene.admin.raw("DELETE", "/apis/batch/v1/namespaces/ns/jobs/o")
        await asyncio.sleep(60)
        assert len(jobs) == 1
        assert scene.entry("i", "deploy")["status"] == "FATAL_ERROR"
        assert "Job ns/o was deleted before it was seen to end" in scene.message("i", "deploy")

    play(body)
