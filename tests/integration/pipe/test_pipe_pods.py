"""The pod of a Pipe task: how it looks, how long it stays, and what replaces it."""

from collections.abc import Callable

import pytest

from kudo_cluster.control_plane.network import free_ports
from tests.integration.pipe.pipes import (
    POD,
    PODS,
    SLOW,
    Pipes,
    decoded,
    entry_of,
    make_ready,
    serve_from,
    set_status,
)
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.changes import delete, edit
from tests.support.cluster.events import event_text, reasons, until_event
from tests.support.cluster.resources import CONFIG_MAPS, INSTANCES
from tests.support.cluster.waiting import wait_until

ARTIFACT = "i.deploy.phase1.make.pipe.a"


NO_CLAIM = 'persistentvolumeclaim "no-claim" not found'


async def until_pod(pipes: Pipes, condition: Callable[[Json], bool], what: str) -> Json:
    seen: list[Json] = []

    async def there() -> bool:
        found = await pipes.world.find(PODS, POD)
        seen[:] = [found] if found is not None and condition(found) else []
        return bool(seen)

    await wait_until(there, lambda: f"a pipe pod that {what}")
    return seen[0]


async def waiting_pod(pipes: Pipes, content: bytes = b"x") -> Json:
    """Install an Instance whose pipe pod does not become ready by itself."""
    await pipes.install(entry_of(pipes.file("a", content), "a"), pod=pipes.pod(**SLOW))
    return await until_pod(pipes, bool, "exists")


async def content(pipes: Pipes) -> bytes:
    found = await pipes.world.get(CONFIG_MAPS, ARTIFACT)
    return decoded(found["binaryData"])["a"]


async def test_the_pod_belongs_to_the_instance_and_says_which_execution_made_it(
    pipes: Pipes,
) -> None:
    pod = await waiting_pod(pipes)
    instance = await pipes.world.instance("i")
    (owner,) = pod["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("Instance", instance["metadata"]["uid"])
    annotations = pod["metadata"]["annotations"]
    assert annotations["kudo.dev/pipepod"] == "true"
    assert annotations["kudo.dev/last-plan-execution-uid"] == instances.scheduled(instance)["uid"]
    assert pod["metadata"]["labels"]["kudo.dev/instance"] == "i"
    (waiter,) = pod["spec"]["containers"]
    assert (waiter["name"], waiter["image"]) == ("waiter", "busybox")
    assert waiter["args"] == ["sleep infinity"]
    assert pod["spec"]["restartPolicy"] == "OnFailure"


async def test_the_pod_goes_and_the_artifacts_stay_until_their_instance_goes(pipes: Pipes) -> None:
    pod = await waiting_pod(pipes)
    await make_ready(pipes, pod)
    await pipes.world.until_complete("i")
    await pipes.world.until_gone(PODS, POD)
    artifact = await pipes.world.get(CONFIG_MAPS, ARTIFACT)
    annotations = artifact["metadata"]["annotations"]
    assert annotations["kudo.dev/plan"] == "deploy"
    assert annotations["kudo.dev/last-plan-execution-uid"]
    assert await reasons(pipes.world) == ["PlanStarted", "PlanFinished"]
    await delete(pipes.world)
    await pipes.world.until_gone(INSTANCES, "i")
    await pipes.world.until_gone(CONFIG_MAPS, ARTIFACT)


async def test_the_step_says_why_the_pod_is_waited_for(pipes: Pipes) -> None:
    pod = await waiting_pod(pipes)
    crashed = {
        "name": "gen",
        "image": "busybox",
        "imageID": "",
        "ready": False,
        "restartCount": 4,
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s"}},
        "lastState": {
            "terminated": {
                "exitCode": 3,
                "reason": "Error",
                "startedAt": "2026-01-01T00:00:00Z",
                "finishedAt": "2026-01-01T00:00:01Z",
            }
        },
    }
    await set_status(pipes, pod, initContainerStatuses=[crashed])
    text = "init container gen ended with exit code 3 (Error); see its log: "
    await pipes.world.until("i", lambda i: text in instances.messages(i, "deploy"), text)
    await make_ready(pipes, pod)
    await pipes.world.until_complete("i")


async def test_a_pod_that_ended_is_replaced_and_its_files_are_made_anew(pipes: Pipes) -> None:
    pod = await waiting_pod(pipes)
    await set_status(pipes, pod, phase="Failed", reason="Evicted", message="low on memory")
    uid = pod["metadata"]["uid"]
    other = await until_pod(pipes, lambda new: new["metadata"]["uid"] != uid, "is another one")
    pipes.file("a", b"anew")
    await make_ready(pipes, other)
    await pipes.world.until_complete("i")
    assert await content(pipes) == b"anew"
    assert await event_text(pipes.world, "PipePodReplaced") == (
        f"pod {pipes.world.namespace}/{POD} has ended: Failed: Evicted: low on memory; "
        "it is replaced by a new one"
    )


async def test_a_pod_that_is_deleted_while_it_is_waited_for_is_replaced(pipes: Pipes) -> None:
    pod = await waiting_pod(pipes)
    await pipes.admin.delete(PODS, POD, namespace=pipes.world.namespace, grace_period_seconds=0)
    uid = pod["metadata"]["uid"]
    other = await until_pod(pipes, lambda new: new["metadata"]["uid"] != uid, "is another one")
    await make_ready(pipes, other)
    await pipes.world.until_complete("i")
    told = await until_event(pipes.world, "PipePodReplaced")
    assert told["type"] == "Warning"


async def test_an_exec_that_cannot_connect_is_tried_again(pipes: Pipes, exec_port: int) -> None:
    pod = await waiting_pod(pipes)
    await serve_from(pipes.admin, free_ports(1)[0])
    try:
        await make_ready(pipes, pod)
        text = "A transient error when executing task deploy.phase1.make.pipe. Will retry. stat"
        await pipes.world.until("i", lambda i: text in instances.messages(i, "deploy"), text)
        assert [pod["metadata"]["uid"]] == [one["metadata"]["uid"] for one in await pipes.pods()]
    finally:
        await serve_from(pipes.admin, exec_port)
    await pipes.world.until_complete("i")


@pytest.mark.parametrize("annotation", ["true", None])
async def test_a_new_execution_makes_its_files_anew_in_a_pod_of_its_own(
    pipes: Pipes, annotation: str | None
) -> None:
    """Also where the pod was not swept away when the run was taken over."""
    pod = await waiting_pod(pipes, b"old")
    marks = {"metadata": {"annotations": {"kudo.dev/pipepod": annotation}}}
    await pipes.admin.merge_patch(PODS, POD, marks, namespace=pipes.world.namespace)
    await edit(
        pipes.world, "i", {"spec": {"planExecution": {"planName": "deploy", "uid": "other"}}}
    )
    uid = pod["metadata"]["uid"]
    other = await until_pod(pipes, lambda new: new["metadata"]["uid"] != uid, "is another one")
    pipes.file("a", b"new")
    await make_ready(pipes, other)
    await pipes.world.until_complete("i")
    assert await content(pipes) == b"new"


async def test_a_cancelled_run_leaves_no_pod(pipes: Pipes) -> None:
    await waiting_pod(pipes)
    await pipes.world.patch("i", {"planExecution": {"status": "FATAL_ERROR"}})
    await pipes.world.until_failed("i")
    await pipes.world.until_gone(PODS, POD)


async def test_the_pod_goes_with_its_instance(pipes: Pipes) -> None:
    await waiting_pod(pipes)
    await delete(pipes.world)
    await pipes.world.until_gone(INSTANCES, "i")
    await pipes.world.until_gone(PODS, POD)


async def test_an_instance_that_comes_back_waits_until_the_old_pod_is_gone(pipes: Pipes) -> None:
    pod = await waiting_pod(pipes)
    await pipes.admin.merge_patch(
        PODS,
        POD,
        {"metadata": {"finalizers": ["example.org/hold"]}},
        namespace=pipes.world.namespace,
    )
    await delete(pipes.world)
    await pipes.world.until_gone(INSTANCES, "i")
    await pipes.install(entry_of(pipes.file("a", b"new"), "a"))
    text = f"pod {pipes.world.namespace}/{POD} belongs to an earlier Instance of this name"
    await pipes.world.until("i", lambda i: text in instances.messages(i, "deploy"), text)
    await pipes.admin.merge_patch(
        PODS, POD, {"metadata": {"finalizers": None}}, namespace=pipes.world.namespace
    )
    await pipes.world.until_complete("i")
    assert await content(pipes) == b"new"
    assert pod["metadata"]["uid"] not in {one["metadata"]["uid"] for one in await pipes.pods()}


async def test_a_cleanup_that_takes_over_leaves_no_pod_of_the_run_before(pipes: Pipes) -> None:
    version = pipes.version("v", [entry_of(pipes.path("a"), "a")], pod=pipes.pod(**SLOW))
    version["spec"]["tasks"].append(build.dummy("wait", done=False))
    version["spec"]["plans"]["cleanup"] = build.plan({"wait": ["wait"]})
    await pipes.world.apply(version, build.instance("i", "v"))
    await until_pod(pipes, bool, "exists")
    await delete(pipes.world)
    await pipes.world.until_gone(PODS, POD)
    # The pod goes before the first status of the run that takes over.
    await pipes.world.until(
        "i", lambda i: instances.status_of(i, "cleanup") == "IN_PROGRESS", "the cleanup to run"
    )
    await pipes.world.patch("i", {"planExecution": {"status": "FATAL_ERROR"}})
    await pipes.world.until_gone(INSTANCES, "i")


async def test_the_init_container_mounts_further_volumes_and_the_waiter_does_not(
    pipes: Pipes,
) -> None:
    kinds: list[Json] = [
        {"name": "claim", "persistentVolumeClaim": {"claimName": "no-claim"}},
        {"name": "config", "configMap": {"name": "c", "optional": True}},
        {"name": "secret", "secret": {"secretName": "s", "optional": True}},
        {"name": "projected", "projected": {"sources": [{"configMap": {"name": "c"}}]}},
    ]
    pod = pipes.pod(**SLOW)
    pod["spec"]["volumes"] += kinds
    (generator,) = pod["spec"]["initContainers"]
    generator["volumeMounts"] += [
        {"name": one["name"], "mountPath": f"/mnt/{one['name']}"} for one in kinds
    ]
    await pipes.install(entry_of(pipes.file("a", b"x"), "a"), pod=pod)
    made = await until_pod(pipes, bool, "exists")
    (waiter,) = made["spec"]["containers"]
    mounts = [one["name"] for one in waiter["volumeMounts"]]
    assert [name for name in mounts if not name.startswith("kube-api-access")] == ["shared"]
    # What the scheduler says of it.
    await pipes.world.until(
        "i", lambda i: NO_CLAIM in instances.messages(i, "deploy"), "the message to name the claim"
    )
