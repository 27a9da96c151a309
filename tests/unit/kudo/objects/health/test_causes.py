"""Which pod an unhealthy object waits for, why, and what to do about it."""

from typing import Any

import pytest

from kudo.api import JsonObject
from kudo.objects.health import cause_of, unready_pods

REVISION = "controller-revision-hash"


def owned(name: str, owner: str, *, kind: str = "Pod", **status: Any) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": f"uid-{name}",
            "ownerReferences": [{"uid": "other"}, {"uid": owner, "controller": True}],
        },
        "status": status,
    }


def pending(name: str = "x-0", **state: Any) -> JsonObject:
    container = {"name": "app", "image": "web:1", "state": {"waiting": state}}
    return owned(name, "uid-x", phase="Pending", containerStatuses=[container])


def ready(name: str) -> JsonObject:
    conditions = [{"type": "Ready", "status": "True"}]
    return owned(name, "uid-x", phase="Running", conditions=conditions)


def crashed(reason: str = "Error", code: int = 1) -> JsonObject:
    last = {"terminated": {"reason": reason, "exitCode": code}}
    waiting = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s"}}
    container = {"name": "app", "restartCount": 2, "state": waiting, "lastState": last}
    return owned("x-0", "uid-x", phase="Running", containerStatuses=[container])


def unschedulable(message: str, reason: str = "Unschedulable") -> JsonObject:
    scheduled = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
    return owned("x-0", "uid-x", phase="Pending", conditions=[scheduled])


def workload(kind: str = "DaemonSet", **spec: Any) -> JsonObject:
    group = "batch" if kind == "Job" else "apps"
    return {
        "apiVersion": f"{group}/v1",
        "kind": kind,
        "metadata": {"name": "x", "namespace": "ns", "uid": "uid-x"},
        "spec": spec,
        "status": {"updateRevision": "x-2"},
    }


def told(obj: JsonObject, *pods: JsonObject, patient: bool = False) -> str:
    cause = cause_of(obj, unready_pods(obj, pods, ()), patient=patient)
    return "" if cause is None else cause.text


def test_the_cause_names_pod_container_reason_and_what_to_do() -> None:
    table: list[tuple[JsonObject, str]] = [
        (
            pending(reason="ErrImagePull", message="rpc error"),
            (
                'container app: ImagePullBackOff: image "web:1" cannot be pulled; '
                "check the name and tag of the image, and the pod's imagePullSecrets"
            ),
        ),
        (
            pending(reason="InvalidImageName", message="couldn't parse image"),
            "container app: InvalidImageName: couldn't parse image; correct the name of the image",
        ),
        (
            pending(reason="CreateContainerConfigError", message='configmap "c" not found'),
            (
                'container app: CreateContainerConfigError: configmap "c" not found; '
                "create the ConfigMap, Secret or key that it refers to"
            ),
        ),
        (
            pending(reason="RunContainerError", message="no such file"),
            (
                "container app: RunContainerError: no such file; "
                "see its events: kubectl describe pod x-0 -n ns"
            ),
        ),
        (
            crashed(),
            (
                "container app: CrashLoopBackOff: it ends with exit code 1; "
                "see its log: kubectl logs x-0 -n ns -c app --previous"
            ),
        ),
        (
            crashed("OOMKilled", 137),
            "container app: OOMKilled: it ends with exit code 137; raise its memory limit",
        ),
        (
            unschedulable("0/3 nodes are available: 3 Insufficient cpu."),
            (
                "Unschedulable: 0/3 nodes are available: 3 Insufficient cpu.; compare the pod's "
                "requests, nodeSelector, affinity and tolerations with the nodes: "
                "kubectl describe pod x-0 -n ns"
            ),
        ),
        (
            unschedulable("pod has unbound immediate PersistentVolumeClaims"),
            (
                "Unschedulable: pod has unbound immediate PersistentVolumeClaims; "
                "see why its claim has no volume: kubectl describe pvc -n ns"
            ),
        ),
        (
            owned("x-0", "uid-x", phase="Failed", reason="Evicted", message="no memory"),
            "Evicted: no memory; free the resource on the node, or lower what the pod uses",
        ),
        (
            owned(
                "x-0",
                "uid-x",
                phase="Failed",
                containerStatuses=[
                    {
                        "name": "app",
                        "state": {
                            "terminated": {"exitCode": 3, "reason": "Error", "message": "the log"}
                        },
                    }
                ],
            ),
            "container app: Error: exit code 3; see its log: kubectl logs x-0 -n ns -c app",
        ),
    ]
    for pod, text in table:
        assert told(workload(), ready("x-9"), pod) == f"pod ns/x-0: {text}"


def test_a_pod_that_is_starting_is_no_cause_for_a_while(subtests: pytest.Subtests) -> None:
    for reason in ["", "ContainerCreating", "PodInitializing"]:
        with subtests.test(reason=reason):
            pod = pending(reason=reason) if reason else owned("x-0", "uid-x", phase="Pending")
            assert told(workload(), pod) == ""
            assert told(workload(), pod, patient=True).startswith("pod ns/x-0: ")


def test_a_pod_that_runs_and_is_not_ready_is_a_cause_after_a_while() -> None:
    said = "containers with unready status: [app]"
    unready = [{"type": "Ready", "status": "False", "message": said}]
    pod = owned("x-0", "uid-x", phase="Running", conditions=unready)
    assert told(workload(), pod) == ""
    text = f"pod ns/x-0: {said}; its readiness probe may fail: see its events and log"
    assert told(workload(), pod, patient=True) == text


def test_ready_pods_are_no_cause_however_long_it_takes() -> None:
    assert told(workload(), ready("x-0"), patient=True) == ""
    assert told(workload(), patient=True) == ""


def test_of_several_pods_one_with_a_problem_is_named() -> None:
    starting = pending("a", reason="ContainerCreating")
    broken = pending("b", reason="InvalidImageName")
    assert told(workload(), starting, broken, patient=True).startswith("pod ns/b: container app")


def test_a_pod_of_its_own_needs_only_the_advice() -> None:
    text = "check the name and tag of the image, and the pod's imagePullSecrets"
    assert told(pending(reason="ErrImagePull")) == text
    assert told(ready("x-0")) == ""


def test_a_long_text_is_cut() -> None:
    text = told(workload(), pending(reason="RunContainerError", message="x" * 5000))
    assert len(text) == 600
    assert "xxx ... " in text
    assert text.endswith("kubectl describe pod x-0 -n ns"), "what to do is at the end"


def test_a_broken_pod_of_a_stateful_set_must_be_deleted(subtests: pytest.Subtests) -> None:
    table: list[tuple[JsonObject, str, str]] = [
        ({}, "x-1", "the pod is of an older revision and is not replaced by itself: "),
        ({}, "x-2", "a corrected StatefulSet replaces this pod only once it is deleted: "),
        ({}, "", "a corrected StatefulSet replaces this pod only once it is deleted: "),
        ({"podManagementPolicy": "Parallel"}, "x-1", ""),
        (
            {"podManagementPolicy": "Parallel", "updateStrategy": {"type": "OnDelete"}},
            "x-1",
            "the pod is of an older revision and is not replaced by itself: ",
        ),
    ]
    for spec, revision, text in table:
        with subtests.test(spec=spec, revision=revision, text=text):
            pod = pending(reason="ErrImagePull")
            pod["metadata"]["labels"] = {REVISION: revision}
            found = told(workload("StatefulSet", **spec), pod)
            end = f"{text}kubectl delete pod x-0 -n ns" if text else "imagePullSecrets"
            assert found.endswith(end)


def test_pods_belong_to_the_workload_that_controls_them() -> None:
    mine, other = owned("b", "uid-x"), owned("c", "uid-y")
    going = owned("a", "uid-x")
    going["metadata"]["deletionTimestamp"] = "2030-05-06T07:08:09Z"
    assert unready_pods(workload("Job"), [mine, other, going, owned("a", "uid-x")], []) == [
        owned("a", "uid-x"),
        mine,
    ]


def test_pods_of_a_deployment_are_those_of_its_replica_sets() -> None:
    sets = [owned("rs", "uid-x", kind="ReplicaSet"), owned("no", "uid-y", kind="ReplicaSet")]
    pods = [owned("a", "uid-rs"), owned("b", "uid-no"), owned("c", "uid-x")]
    assert unready_pods(workload("Deployment"), pods, sets) == [pods[0]]


def test_of_very_many_pods_some_are_looked_at() -> None:
    pods = [owned(f"p-{number:03}", "uid-x") for number in range(500)]
    assert unready_pods(workload(), [*map(ready, "abc"), *pods], []) == pods[:100]


def test_odd_objects_have_no_pods_and_no_cause(subtests: pytest.Subtests) -> None:
    table: list[JsonObject] = [
        {},
        {"kind": 3},
        {"status": [1], "metadata": {"ownerReferences": "x", "labels": 1}},
    ]
    for odd in table:
        with subtests.test(odd=odd):
            assert unready_pods(odd, [odd], [odd]) == []
            assert told(workload("StatefulSet"), odd) == ""
