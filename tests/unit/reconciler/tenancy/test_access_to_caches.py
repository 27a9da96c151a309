"""What caches hold is used and told only if the account of the Instance may get it."""

import asyncio
from collections.abc import Awaitable, Callable

import orjson

from kubeio.resource import PODS, STATEFUL_SETS
from kubeio.types import JsonObject
from kudo.api.names import HERITAGE, LABEL_HERITAGE, LABEL_INSTANCE
from kudo_reconciler.common.keys import INSTANCES
from tests.support import build
from tests.support.apiserver.controllers.workloads import Outcome
from tests.support.apiserver.server import Request
from tests.support.apiserver.status import StatusError, internal_error
from tests.unit.reconciler.scenes.scene import STRICT, Scene, play, version
from tests.unit.reconciler.tenancy.test_unwatched_kinds import (
    ACCOUNT,
    USER,
    create_account,
    install,
)

SET = (STRICT, "--watch=pods,replicasets.apps")
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
UNTOLD = (
    f"{USER} may not get statefulsets.apps in the namespace ns; grant it that right, so that "
    "Ready can tell of them"
)


def strict(body: Callable[[Scene], Awaitable[None]], options: tuple[str, ...] = (STRICT,)) -> None:
    async def begin(scene: Scene) -> None:
        scene.life.cluster.workloads.outcome = lambda _: Outcome()
        await create_account(scene)
        await body(scene)

    play(begin, *options)


def forbid(scene: Scene, *plurals: str) -> None:
    """Have the account not be allowed to get some kinds."""
    server = scene.life.cluster.server

    def authorize(request: Request) -> None:
        if (request.user, request.method) == (USER, "GET") and named(request, *plurals):
            raise StatusError(403, "Forbidden", f"{USER} cannot get")

    server.authorize = authorize
    server.may = lambda user, asked: (
        user != USER or asked["verb"] != "get" or asked["resource"] not in plurals
    )


def named(request: Request, *plurals: str) -> bool:
    return not set(plurals).isdisjoint(request.path.split("/"))


def reviews(scene: Scene) -> int:
    """Return how often it was asked whether the account may get a kind."""
    sent = scene.network.sent("POST", "selfsubjectaccessreviews")
    asked = [orjson.loads(one.body)["spec"]["resourceAttributes"] for one in sent]
    return sum(one["verb"] == "get" for one in asked)


def reads(scene: Scene, plural: str) -> list[str]:
    """Return who read single objects of a kind."""
    sent = scene.network.sent("GET", plural)
    return [one.user for one in sent if "namespaces" in one.path.split("/")]


def ready(scene: Scene) -> tuple[str, str, str]:
    """Return status, reason and message of Ready."""
    stored = scene.life.observed.instance("i")
    assert stored is not None
    found = stored["status"]["conditions"][0]
    return found["status"], found["reason"], found["message"]


async def begin_to_wait(scene: Scene, template: str = STATEFUL_SET) -> None:
    """Have an Instance wait for a workload that does not become healthy."""
    scene.life.cluster.workloads.outcome = lambda _: Outcome("stuck", seconds=0.0)
    await scene.life.put_version(version(template, deploy=["apply"]))
    await scene.life.user.create("i", {}, {"serviceAccountName": ACCOUNT})
    await asyncio.sleep(5)


async def create_broken_pod(scene: Scene) -> None:
    """Create a pod of the StatefulSet whose image cannot be pulled."""
    owner = scene.life.cluster.server.storage.table(("apps", "statefulsets")).objects["ns", "db"]
    reference = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "controller": True}
    metadata: JsonObject = {
        "name": "db-0",
        "namespace": "ns",
        "labels": {LABEL_HERITAGE: HERITAGE, LABEL_INSTANCE: "i"},
        "ownerReferences": [{**reference, "uid": owner["metadata"]["uid"]}],
    }
    spec = {"containers": [{"name": "app", "image": "web"}]}
    await scene.admin.create(PODS, {"metadata": metadata, "spec": spec})
    waits = {"reason": "ErrImagePull", "message": "rpc error"}
    container = {"name": "app", "image": "web", "ready": False, "state": {"waiting": waits}}
    status = {"status": {"phase": "Pending", "containerStatuses": [container]}}
    await scene.admin.merge_patch(PODS, "db-0", status, namespace="ns", subresource="status")
    await asyncio.sleep(2)


def test_a_step_reads_as_the_account_what_it_may_not_get_and_tells_nothing_of_the_cache() -> None:
    async def body(scene: Scene) -> None:
        await begin_to_wait(scene)
        assert scene.message("i", "deploy") == WAITING
        assert reads(scene, "statefulsets") == []
        # The answers to earlier reviews are kept for a minute.
        await asyncio.sleep(60)
        forbid(scene, "statefulsets")
        await asyncio.sleep(120)
        assert set(reads(scene, "statefulsets")) == {USER}
        assert scene.message("i", "deploy").endswith("cannot get (403 Forbidden)")
        assert "Waiting for" not in scene.message("i", "deploy")

    strict(body)


def test_a_step_names_no_pod_that_the_account_may_not_get() -> None:
    async def body(scene: Scene) -> None:
        forbid(scene, "pods")
        await begin_to_wait(scene)
        await create_broken_pod(scene)
        assert scene.message("i", "deploy") == WAITING
        assert reads(scene, "pods") == []

    strict(body)


def test_a_step_names_the_pod_that_the_account_may_get_and_asks_once() -> None:
    async def body(scene: Scene) -> None:
        await begin_to_wait(scene)
        await create_broken_pod(scene)
        assert "pod ns/db-0: container app: ImagePullBackOff" in scene.message("i", "deploy")
        assert reviews(scene) == 2

    strict(body)


async def lose_replicas(scene: Scene, ready: int) -> None:
    """Write the status of the StatefulSet, as its controller would."""
    status = {"status": {"readyReplicas": ready}}
    await scene.admin.merge_patch(STATEFUL_SETS, "db", status, namespace="ns", subresource="status")
    await asyncio.sleep(5)


async def begin_idle(scene: Scene) -> None:
    """Deploy a StatefulSet, and wait until no answer to a review is kept."""
    await install(scene, "i", version(STATEFUL_SET, deploy=["apply"]))
    await asyncio.sleep(120)
    assert ready(scene) == ("True", "ResourcesReady", "")
    scene.network.seen.clear()


def test_nothing_is_asked_for_an_idle_instance_that_is_ready() -> None:
    async def body(scene: Scene) -> None:
        await begin_idle(scene)
        forbid(scene, "pods", "statefulsets")
        await lose_replicas(scene, 1)
        labels = {"metadata": {"labels": {"a": "b"}}}
        await scene.admin.merge_patch(STATEFUL_SETS, "db", labels, namespace="ns")
        await asyncio.sleep(120)
        assert ready(scene) == ("True", "ResourcesReady", "")
        assert reviews(scene) == 0

    strict(body)


def test_ready_tells_of_objects_that_the_account_may_get() -> None:
    async def body(scene: Scene) -> None:
        await begin_idle(scene)
        await lose_replicas(scene, 0)
        assert ready(scene) == ("False", "ResourceNotReady", WAITING)
        assert reviews(scene) == 1

    strict(body)


def test_ready_tells_that_the_account_may_not_get_them_and_looks_again() -> None:
    async def body(scene: Scene) -> None:
        await begin_idle(scene)
        forbid(scene, "statefulsets")
        await lose_replicas(scene, 0)
        assert ready(scene) == ("Unknown", "ResourcesUnknown", UNTOLD)
        forbid(scene)
        await asyncio.sleep(180)
        assert ready(scene) == ("False", "ResourceNotReady", WAITING)

    strict(body)


def test_ready_stays_as_it_is_while_the_api_server_does_not_answer_the_review() -> None:
    async def body(scene: Scene) -> None:
        await begin_idle(scene)
        scene.life.cluster.server.authorize = refuse_reviews
        await lose_replicas(scene, 0)
        assert ready(scene) == ("True", "ResourcesReady", "")
        scene.life.cluster.server.authorize = lambda _: None
        await asyncio.sleep(60)
        assert ready(scene) == ("False", "ResourceNotReady", WAITING)

    strict(body)


def refuse_reviews(request: Request) -> None:
    if named(request, "selfsubjectaccessreviews"):
        raise internal_error("down")


def test_nothing_is_asked_for_who_acts_as_the_reconciler() -> None:
    async def body(scene: Scene) -> None:
        scene.life.cluster.workloads.outcome = lambda _: Outcome()
        await install(scene, "i", version(STATEFUL_SET, deploy=["apply"]), account=None)
        await lose_replicas(scene, 0)
        assert ready(scene) == ("False", "ResourceNotReady", WAITING)
        assert reviews(scene) == 0

    play(body)


def test_a_kind_outside_the_set_is_polled_and_nobody_is_told_to_grant_anything() -> None:
    async def body(scene: Scene) -> None:
        await begin_to_wait(scene)
        unwatched = "statefulsets.apps are not among the kinds that are watched: polled"
        assert scene.message("i", "deploy") == f"{WAITING}, {unwatched}"
        polled = scene.network.sent("GET", "statefulsets")
        assert len(polled) > 1
        assert {one.user for one in polled} == {USER}
        assert {one.path for one in polled} == {"/apis/apps/v1/namespaces/ns/statefulsets/db"}
        scene.life.cluster.workloads.make_healthy()
        await asyncio.sleep(60)
        status, reason, message = ready(scene)
        assert (status, reason) == ("Unknown", "ResourcesUnknown")
        assert unwatched in message

    strict(body, SET)


def operator(name: str, *tasks: JsonObject) -> JsonObject:
    """Return an OperatorVersion whose deploy has one step with these tasks."""
    plans = {"deploy": build.serial([one["name"] for one in tasks])}
    found = build.stored_version(tasks=list(tasks), plans=plans)
    return found | {"metadata": {**found["metadata"], "name": name}}


def test_a_child_is_read_as_the_account_if_that_may_not_get_instances() -> None:
    async def body(scene: Scene) -> None:
        child = {"package": "child", "operatorVersion": "1"}
        waits = {"name": "waits", "kind": "Dummy", "spec": {"done": False}}
        await scene.life.put_version(operator("child-1", waits))
        await scene.life.put_version(
            operator("v1", {"name": "child", "kind": "KudoOperator", "spec": child})
        )
        await scene.life.user.create("i", {}, {"serviceAccountName": ACCOUNT})
        await asyncio.sleep(100)
        waiting = scene.message("i", "deploy")
        assert waiting.startswith("instance ")
        forbid(scene, "instances")
        # An event of the child has it looked at.
        labels = {"metadata": {"labels": {"a": "b"}}}
        (name,) = (one for one in instances(scene) if one != "i")
        await scene.admin.merge_patch(INSTANCES, name, labels, namespace="ns")
        await asyncio.sleep(10)
        assert "cannot get" in scene.message("i", "deploy")
        assert waiting not in scene.message("i", "deploy")
        forbid(scene)
        await asyncio.sleep(180)
        assert scene.message("i", "deploy") == waiting

    strict(body)


def instances(scene: Scene) -> list[str]:
    table = scene.life.cluster.server.storage.table((INSTANCES.group, INSTANCES.plural))
    return [name for _, name in table.objects]
