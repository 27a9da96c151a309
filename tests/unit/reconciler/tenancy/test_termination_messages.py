"""What a Job says that has failed, if its template has the message of its containers shown."""

import asyncio
from typing import Any

import pytest

from kubeio.resource import PODS, Resource
from kubeio.types import JsonObject
from kudo.api.names import HERITAGE, LABEL_HERITAGE, LABEL_INSTANCE
from tests.support.apiserver.controllers.workloads import Outcome
from tests.support.apiserver.server import Request
from tests.support.apiserver.status import internal_error
from tests.unit.reconciler.scenes.scene import STRICT, Scene, play, version
from tests.unit.reconciler.tenancy.test_access_to_caches import forbid, named, reads
from tests.unit.reconciler.tenancy.test_unwatched_kinds import ACCOUNT, USER, create_account

JOBS = Resource("batch", "v1", "Job", "jobs", namespaced=True)
SHOW = "kudo.dev/show-termination-message"
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: validate}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: app, image: web}]}
"""
SAID = "NODE_COUNT is 4: use an odd number."
START = (
    "Error during execution: fatal error: ns/i failed in deploy.p.s0.apply: "
    "object ns/validate is NOT healthy: fatal error: HealthUtil: "
    'job "validate" has failed terminally: BackoffLimitExceeded'
)
POD = "; pod ns/validate-a: container app: Error: exit code 1"
DO = "; see its log: kubectl logs validate-a -n ns -c app"
UNSEEN = START
UNTOLD = f"{START}{POD}{DO}"
TOLD = f"{START}{POD}; container app says: {SAID}{DO}"


async def begin(scene: Scene, **spec: str) -> None:
    """Have an Instance wait for a Job."""
    scene.life.cluster.workloads.outcome = lambda _: Outcome("stuck", seconds=0.0)
    await scene.life.put_version(version(JOB, deploy=["apply"]))
    await scene.life.user.create("i", {}, spec)
    await asyncio.sleep(5)


async def create_pod(scene: Scene, annotations: dict[str, str]) -> None:
    """Create the pod of the Job, as its controller would."""
    job = scene.stored(JOBS, "validate")
    assert job is not None
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "validate", "controller": True}
    metadata: JsonObject = {
        "name": "validate-a",
        "namespace": "ns",
        "labels": {LABEL_HERITAGE: HERITAGE, LABEL_INSTANCE: "i"},
        "annotations": annotations,
        "ownerReferences": [{**owner, "uid": job["metadata"]["uid"]}],
    }
    spec = {"containers": [{"name": "app", "image": "web"}]}
    await scene.admin.create(PODS, {"metadata": metadata, "spec": spec})
    await asyncio.sleep(1)
    scene.network.seen.clear()


async def write_status(scene: Scene, kind: Resource, name: str, **status: Any) -> None:
    patch = {"status": status}
    await scene.admin.merge_patch(kind, name, patch, namespace="ns", subresource="status")


async def fail(scene: Scene) -> str:
    """Have the pod end, and then the Job; return what the step says when the plan has ended."""
    ended = {"exitCode": 1, "reason": "Error", "message": f"{SAID}\n"}
    container = {"name": "app", "image": "web", "state": {"terminated": ended}}
    await write_status(scene, PODS, "validate-a", phase="Failed", containerStatuses=[container])
    condition = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}
    await write_status(scene, JOBS, "validate", failed=1, conditions=[condition])
    await scene.until_idle("i")
    await asyncio.sleep(3)
    assert scene.entry("i", "deploy")["status"] == "FATAL_ERROR"
    return scene.message("i", "deploy")


async def fail_late(scene: Scene) -> str:
    """Do the same while the events of pods come later than those of Jobs."""
    scene.network.late["pods"] = 5.0
    return await fail(scene)


@pytest.mark.parametrize(
    ("value", "text"), [("true", TOLD), ("false", UNTOLD), ("yes", UNTOLD), (None, UNTOLD)]
)
def test_a_step_and_its_event_say_why_a_job_refused_and_nothing_is_read_for_it(
    value: str | None, text: str
) -> None:
    async def body(scene: Scene) -> None:
        await begin(scene)
        await create_pod(scene, {} if value is None else {SHOW: value})
        assert await fail(scene) == text
        assert scene.told("FailedTerminalStateError") == [text]
        assert reads(scene, "pods") == []

    play(body)


def test_a_pod_whose_last_event_is_late_is_read_once() -> None:
    async def body(scene: Scene) -> None:
        await begin(scene)
        await create_pod(scene, {SHOW: "true"})
        assert await fail_late(scene) == TOLD
        assert len(reads(scene, "pods")) == 1

    play(body)


def test_a_pod_that_shows_nothing_is_not_read_if_its_last_event_is_late() -> None:
    async def body(scene: Scene) -> None:
        await begin(scene)
        await create_pod(scene, {})
        assert await fail_late(scene) == UNSEEN
        assert reads(scene, "pods") == []

    play(body)


def test_a_pod_that_cannot_be_read_does_not_hold_up_the_end() -> None:
    def refuse(request: Request) -> None:
        if request.method == "GET" and named(request, "validate-a"):
            raise internal_error("down")

    async def body(scene: Scene) -> None:
        await begin(scene)
        await create_pod(scene, {SHOW: "true"})
        scene.life.cluster.server.authorize = refuse
        assert await fail_late(scene) == UNSEEN
        assert reads(scene, "pods") != []

    play(body)


def test_a_cause_that_was_told_just_before_does_not_stand_for_the_last_one() -> None:
    async def body(scene: Scene) -> None:
        await begin(scene)
        await create_pod(scene, {SHOW: "true"})
        waits = {"waiting": {"reason": "ErrImagePull"}}
        container = {"name": "app", "image": "web", "state": waits}
        await write_status(scene, PODS, "validate-a", containerStatuses=[container])
        await asyncio.sleep(3)
        assert "ImagePullBackOff" in scene.message("i", "deploy")
        assert await fail(scene) == TOLD

    play(body)


@pytest.mark.parametrize("late", [False, True])
def test_an_account_that_may_not_get_pods_is_not_told(late: bool) -> None:
    async def body(scene: Scene) -> None:
        await create_account(scene)
        forbid(scene, "pods")
        await begin(scene, serviceAccountName=ACCOUNT)
        await create_pod(scene, {SHOW: "true"})
        assert await (fail_late if late else fail)(scene) == UNSEEN
        assert reads(scene, "pods") == []

    play(body, STRICT)


def test_an_account_that_may_get_pods_is_told_and_reads_for_itself() -> None:
    async def body(scene: Scene) -> None:
        await create_account(scene)
        await begin(scene, serviceAccountName=ACCOUNT)
        await create_pod(scene, {SHOW: "true"})
        assert await fail_late(scene) == TOLD
        assert reads(scene, "pods") == [USER]

    play(body, STRICT)
