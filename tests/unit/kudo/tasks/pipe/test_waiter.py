"""The pod that runs for a Pipe task, and what is told while it runs."""

import copy
from typing import Any

import pytest

from kudo.api import JsonObject
from kudo.tasks.pipe import is_pipe_pod, waiter_pod
from kudo.tasks.pipe.pod import has_ended, waits_for
from tests.unit.kudo.tasks.pipe.test_pods import POD, changed, with_further_volumes

# The pod that runs


def test_the_users_pod_gets_a_waiter_and_a_name() -> None:
    before = copy.deepcopy(POD)
    pod = waiter_pod(POD, "i.pipepod", "img")
    assert pod == {
        **POD,
        "metadata": {
            "name": "i.pipepod",
            "annotations": {"mine": "1", "kudo.dev/pipepod": "true"},
            "labels": {"app": "a"},
        },
        "spec": {
            **POD["spec"],
            "restartPolicy": "OnFailure",
            "containers": [
                {
                    "name": "waiter",
                    "image": "img",
                    "imagePullPolicy": "IfNotPresent",
                    "command": ["/bin/sh", "-c"],
                    "args": ["sleep infinity"],
                    "securityContext": {"allowPrivilegeEscalation": False},
                    "volumeMounts": [{"name": "shared", "mountPath": "/tmp"}],
                }
            ],
        },
    }
    assert before == POD
    assert is_pipe_pod(pod)
    assert not is_pipe_pod(POD)


def test_the_waiter_mounts_nothing_but_the_shared_volume() -> None:
    given = changed(with_further_volumes)
    pod = waiter_pod(given, "n", "img")
    assert pod["spec"]["volumes"] == given["spec"]["volumes"]
    assert pod["spec"]["initContainers"] == given["spec"]["initContainers"]
    (waiter,) = pod["spec"]["containers"]
    assert waiter["volumeMounts"] == [{"name": "shared", "mountPath": "/tmp"}]
    assert not {"env", "envFrom", "volumeDevices"} & waiter.keys()


RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "runAsUser": 65534,
    "seccompProfile": {"type": "RuntimeDefault"},
}


@pytest.mark.parametrize(
    ("given", "of_pod", "waiter"),
    [
        (RESTRICTED, None, RESTRICTED),
        (
            {"privileged": True, "procMount": "Unmasked", "runAsUser": 0},
            None,
            {"runAsUser": 0, "allowPrivilegeEscalation": False},
        ),
        (
            {"capabilities": {"add": ["SYS_ADMIN"], "drop": ["ALL"]}},
            None,
            {"capabilities": {"drop": ["ALL"]}, "allowPrivilegeEscalation": False},
        ),
        ({"runAsNonRoot": True}, None, {"allowPrivilegeEscalation": False}),
        (
            {"runAsNonRoot": True},
            {"runAsUser": 7},
            {"runAsNonRoot": True, "allowPrivilegeEscalation": False},
        ),
        (None, {"runAsUser": 7}, {"allowPrivilegeEscalation": False}),
    ],
)
def test_the_waiter_is_no_more_privileged_than_the_init_container(
    given: JsonObject | None, of_pod: JsonObject | None, waiter: JsonObject
) -> None:
    def change(spec: Any) -> None:
        spec["initContainers"][0]["securityContext"] = given
        spec["securityContext"] = of_pod

    pod = waiter_pod(changed(change), "n", "img")
    assert pod["spec"]["containers"][0]["securityContext"] == waiter


# How far it is


def pod_with(phase: str, **status: Any) -> JsonObject:
    metadata = {"name": "p", "namespace": "ns"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    return {**pod, "status": {"phase": phase, **status}}


UNBOUND = "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims."
NO_CLAIM = 'persistentvolumeclaim "data-db-0" not found'


def unschedulable(message: str) -> JsonObject:
    scheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    return pod_with("Pending", conditions=[{**scheduled, "message": message}])


READY = {"conditions": [{"type": "Ready", "status": "True"}]}
CRASHED = {
    "name": "gen",
    "restartCount": 3,
    "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}},
    "lastState": {"terminated": {"exitCode": 7, "reason": "Error"}},
}


def test_a_waiting_step_says_what_the_pod_is_at(subtests: pytest.Subtests) -> None:
    table: list[tuple[JsonObject, list[str]]] = [
        (pod_with("Running", **READY), []),
        (pod_with("Pending"), ["ns/p", "Pending"]),
        (pod_with("Running"), ["ns/p", "Running"]),
        (
            unschedulable(UNBOUND),
            [UNBOUND, "see why its claim has no volume: kubectl describe pvc -n ns"],
        ),
        (
            unschedulable(NO_CLAIM),
            [NO_CLAIM, "see why its claim has no volume: kubectl describe pvc -n ns"],
        ),
        (
            pod_with("Pending", initContainerStatuses=[CRASHED]),
            [
                "gen: CrashLoopBackOff",
                "init container gen ended with exit code 7 (Error)",
                "see its log: kubectl logs p -n ns -c gen --previous",
            ],
        ),
        (
            pod_with(
                "Pending",
                initContainerStatuses=[{"name": "gen", "state": {"terminated": {"exitCode": 1}}}],
            ),
            ["init container gen ended with exit code 1 (Error)"],
        ),
    ]
    for pod, parts in table:
        with subtests.test(pod=pod, parts=parts):
            message = waits_for(pod)
            assert bool(message) == bool(parts)
            assert all(part in message for part in parts), message


def test_an_init_container_that_succeeded_is_not_told() -> None:
    done = {"name": "gen", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}
    assert "gen" not in waits_for(pod_with("Pending", initContainerStatuses=[done]))


def test_a_pod_ends_by_its_phase() -> None:
    table = [("Pending", False), ("Running", False), ("Failed", True), ("Succeeded", True)]
    for phase, ended in table:
        assert has_ended(pod_with(phase)) is ended
