"""What simulated pods do: become ready, take their time, fail, or never start."""

import datetime as dt
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.support.cluster.kubectl import Kubectl

pytestmark = pytest.mark.cluster


def _template(
    restart: str, annotations: Mapping[str, str] | None = None, image: str = "example/app:1"
) -> dict[str, Any]:
    return {
        "metadata": {
            "labels": {"app": "test"},
            "annotations": {f"kwok.kudo.dev/{k}": v for k, v in (annotations or {}).items()},
        },
        "spec": {"restartPolicy": restart, "containers": [{"name": "app", "image": image}]},
    }


def _pod(
    name: str, annotations: Mapping[str, str] | None = None, image: str = "example/app:1"
) -> dict[str, Any]:
    pod = {"apiVersion": "v1", "kind": "Pod", **_template("Always", annotations, image)}
    pod["metadata"]["name"] = name
    return pod


def _job(name: str, annotations: Mapping[str, str] | None = None) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"backoffLimit": 0, "template": _template("Never", annotations)},
    }


def _workload(kind: str, name: str, annotations: Mapping[str, str] | None = None) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "test"}},
            "template": _template("Always", annotations),
        },
    }


def _time(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


def _transition(found: Mapping[str, Any], condition: str) -> dt.datetime:
    (time,) = (
        entry["lastTransitionTime"]
        for entry in found["status"]["conditions"]
        if entry["type"] == condition
    )
    return _time(time)


def test_a_deployment_becomes_ready(kubectl: "Kubectl") -> None:
    kubectl.apply(_workload("Deployment", "web"))
    kubectl.wait("condition=Available", "deployment/web")
    assert kubectl.get("deployment/web")["status"]["readyReplicas"] == 3


def test_a_stateful_set_becomes_ready(kubectl: "Kubectl") -> None:
    kubectl.apply(_workload("StatefulSet", "database"))
    kubectl.wait("jsonpath={.status.readyReplicas}=3", "statefulset/database")


def test_a_service_finds_its_pods(kubectl: "Kubectl") -> None:
    kubectl.apply(_pod("app"))
    kubectl.apply(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "app"},
            "spec": {"selector": {"app": "test"}, "ports": [{"port": 80}]},
        }
    )
    kubectl.wait("jsonpath={.subsets[0].addresses[0].targetRef.name}=app", "endpoints/app")


def test_a_job_completes(kubectl: "Kubectl") -> None:
    kubectl.apply(_job("work"))
    kubectl.wait("condition=Complete", "job/work")


def test_a_pod_with_a_ready_delay_is_pending_until_it_has_passed(kubectl: "Kubectl") -> None:
    kubectl.apply(_pod("slow", {"ready-delay": "3s"}))
    kubectl.wait("condition=Ready", "pod/slow")
    pod = kubectl.get("pod/slow")
    took = _transition(pod, "Ready") - _time(pod["metadata"]["creationTimestamp"])
    # Timestamps are whole seconds.
    assert took >= dt.timedelta(seconds=2)


def test_a_job_with_an_exit_code_fails(kubectl: "Kubectl") -> None:
    kubectl.apply(_job("broken", {"exit-code": "3"}))
    kubectl.wait("condition=Failed", "job/broken")
    (pod,) = kubectl.get("pods")["items"]
    (container,) = pod["status"]["containerStatuses"]
    assert pod["status"]["phase"] == "Failed"
    assert container["state"]["terminated"]["exitCode"] == 3


def test_the_exit_code_zero_is_success(kubectl: "Kubectl") -> None:
    kubectl.apply(_job("fine", {"exit-code": "0"}))
    kubectl.wait("condition=Complete", "job/fine")


@pytest.mark.parametrize(("code", "outcome"), [("0", "Complete"), ("1", "Failed")])
def test_a_job_runs_for_as_long_as_its_pod_says(
    kubectl: "Kubectl", code: str, outcome: str
) -> None:
    kubectl.apply(_job("long", {"run-for": "3s", "exit-code": code}))
    kubectl.wait("jsonpath={.status.active}=1", "job/long")
    kubectl.wait(f"condition={outcome}", "job/long")
    job = kubectl.get("job/long")
    took = _transition(job, outcome) - _time(job["status"]["startTime"])
    assert took >= dt.timedelta(seconds=2)


def test_an_image_that_never_pulls_keeps_its_pod_pending(kubectl: "Kubectl") -> None:
    kubectl.apply(_pod("stuck", image="example/never-pulls:1"))
    reason = "{.status.containerStatuses[0].state.waiting.reason}"
    kubectl.wait(f"jsonpath={reason}=ImagePullBackOff", "pod/stuck")
    pod = kubectl.get("pod/stuck")
    ready = {entry["type"]: entry["status"] for entry in pod["status"]["conditions"]}["Ready"]
    assert (pod["status"]["phase"], ready) == ("Pending", "False")


def test_a_deployment_with_an_exit_code_is_never_available(kubectl: "Kubectl") -> None:
    kubectl.apply(_workload("Deployment", "crashing", {"exit-code": "1"}))
    reason = "{.status.containerStatuses[0].state.waiting.reason}"
    kubectl.wait("jsonpath={.status.unavailableReplicas}=3", "deployment/crashing")
    kubectl.wait(f"jsonpath={reason}=CrashLoopBackOff", "pods", "--selector=app=test")
    assert "readyReplicas" not in kubectl.get("deployment/crashing")["status"]


def test_a_pod_may_crash_after_it_was_ready(kubectl: "Kubectl") -> None:
    kubectl.apply(_pod("brief", {"exit-code": "1", "run-for": "3s"}))
    kubectl.wait("condition=Ready", "pod/brief")
    kubectl.wait("condition=Ready=False", "pod/brief")
    (container,) = kubectl.get("pod/brief")["status"]["containerStatuses"]
    assert container["lastState"]["terminated"]["exitCode"] == 1
