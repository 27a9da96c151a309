"""What a step that waits for pods says of them, and how many requests and writes that costs."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from kubeio.resource import PODS, Resource
from kubeio.types import JsonObject
from kudo.api.names import HERITAGE, LABEL_HERITAGE, LABEL_INSTANCE
from tests.support.apiserver.controllers.workloads import Outcome
from tests.unit.reconciler.scenes.scene import Scene, play, version

STATEFUL_SET = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: app, image: web}]}
"""
WAITING = 'statefulset "db" is not healthy: Waiting for 1 pods to be ready...'
PULLING = (
    f'{WAITING}; pod ns/db-0: container app: ImagePullBackOff: image "web" cannot be pulled; check '
    "the name and tag of the image, and the pod's imagePullSecrets; a corrected StatefulSet "
    "replaces this pod only once it is deleted: kubectl delete pod db-0 -n ns"
)


def waiting(scene: Scene, body: Callable[[], Awaitable[None]]) -> Awaitable[None]:
    """Have an Instance wait for the one pod of a StatefulSet."""

    async def waits() -> None:
        scene.life.cluster.workloads.outcome = lambda _: Outcome("stuck", seconds=0.0)
        await scene.life.put_version(version(STATEFUL_SET, deploy=["apply"]))
        await scene.life.user.create("i", {})
        await asyncio.sleep(5)
        assert scene.message("i", "deploy") == WAITING
        await body()

    return waits()


async def create_pod(scene: Scene) -> None:
    owner = scene.life.cluster.server.storage.table(("apps", "statefulsets")).objects["ns", "db"]
    reference = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "controller": True}
    pod: JsonObject = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "db-0",
            "namespace": "ns",
            "labels": {LABEL_HERITAGE: HERITAGE, LABEL_INSTANCE: "i"},
            "ownerReferences": [{**reference, "uid": owner["metadata"]["uid"]}],
        },
        "spec": {"containers": [{"name": "app", "image": "web"}]},
    }
    await scene.admin.create(PODS, pod)
    await asyncio.sleep(1)


async def say(scene: Scene, **container: Any) -> None:
    """Write the status of the pod, as its node would."""
    named = {"name": "app", "image": "web", "ready": False, **container}
    status = {"status": {"phase": "Pending", "containerStatuses": [named]}}
    await scene.admin.merge_patch(PODS, "db-0", status, namespace="ns", subresource="status")
    await asyncio.sleep(1)


async def wait_because(scene: Scene, reason: str, message: str = "") -> None:
    await say(scene, state={"waiting": {"reason": reason, "message": message}})


def test_a_step_names_the_pod_and_reads_nothing_for_it() -> None:
    async def body(scene: Scene) -> None:
        async def check() -> None:
            await create_pod(scene)
            scene.network.seen.clear()
            await wait_because(scene, "ContainerCreating")
            assert scene.message("i", "deploy") == WAITING
            await wait_because(scene, "ErrImagePull", "rpc error")
            assert scene.message("i", "deploy") == PULLING
            assert [one.method for one in scene.network.seen] == ["PUT"]

        await waiting(scene, check)

    play(body)


def test_what_a_node_alternates_between_is_written_once() -> None:
    async def body(scene: Scene) -> None:
        async def check() -> None:
            await create_pod(scene)
            scene.network.seen.clear()
            for number in range(15):
                await wait_because(scene, "ErrImagePull", f"rpc error {number}")
                await wait_because(scene, "ImagePullBackOff", f"Back-off {number}s")
            assert scene.message("i", "deploy") == PULLING
            assert len(scene.network.sent("PUT", "instances")) == 1

        await waiting(scene, check)

    play(body)


def test_a_cause_that_changes_all_the_time_is_written_twice_a_minute_at_most() -> None:
    async def body(scene: Scene) -> None:
        async def check() -> None:
            await create_pod(scene)
            scene.network.seen.clear()
            for number in range(60):
                await wait_because(scene, "RunContainerError", f"error {number}")
                await say(scene, state={"running": {}}, restartCount=number)
            assert "RunContainerError: error" in scene.message("i", "deploy")
            # 120 changes in two minutes.
            assert len(scene.network.sent("PUT", "instances")) <= 5

        await waiting(scene, check)

    play(body)


def test_a_pod_that_is_only_starting_is_named_by_the_recheck() -> None:
    async def body(scene: Scene) -> None:
        async def check() -> None:
            await create_pod(scene)
            await wait_because(scene, "ContainerCreating")
            assert scene.message("i", "deploy") == WAITING
            await asyncio.sleep(120)
            text = f"{WAITING}; pod ns/db-0: app: ContainerCreating for long"
            assert scene.message("i", "deploy").startswith(text)

        await waiting(scene, check)

    play(body)


def test_a_cause_goes_with_its_pod() -> None:
    async def body(scene: Scene) -> None:
        async def check() -> None:
            await create_pod(scene)
            await wait_because(scene, "ErrImagePull")
            await scene.admin.delete(PODS, "db-0", namespace="ns")
            await asyncio.sleep(3)
            assert scene.message("i", "deploy") == WAITING

        await waiting(scene, check)

    play(body)


def test_messages_that_change_all_the_time_are_written_every_two_seconds_at_most() -> None:
    async def body(scene: Scene) -> None:
        async def check() -> None:
            sets = Resource("apps", "v1", "StatefulSet", "statefulsets", namespaced=True)
            scene.network.seen.clear()
            for number in range(100):
                status = {"status": {"replicas": 2 + number, "readyReplicas": 1}}
                await scene.admin.merge_patch(
                    sets, "db", status, namespace="ns", subresource="status"
                )
                await asyncio.sleep(0.1)
            await asyncio.sleep(3)
            assert "100 old replicas are pending" in scene.message("i", "deploy")
            # 100 changes in ten seconds.
            assert 3 <= len(scene.network.sent("PUT", "instances")) <= 7

        await waiting(scene, check)

    play(body)
