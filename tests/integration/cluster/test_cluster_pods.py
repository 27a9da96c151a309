"""What simulated pods do: become ready, take their time, fail, or never start."""

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from kubeio.client import Client
from kubeio.resource import DEPLOYMENTS, PODS, SERVICES, STATEFUL_SETS, Resource
from tests.integration.cluster.simulated import Simulated, condition
from tests.support.build import Json
from tests.support.cluster.clients import new_namespace
from tests.support.cluster.resources import JOBS

ENDPOINTS = Resource("", "v1", "Endpoints", "endpoints", namespaced=True)


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


@pytest.fixture
async def simulated(admin: Client) -> Simulated:
    """Return a new namespace, in which pods can be created."""
    found = Simulated(admin, await new_namespace(admin))
    await found.until_account()
    return found


def _waits_because(reason: str) -> Callable[[Json], bool]:
    """Return whether the container of a pod waits for this reason."""

    def holds(pod: Json) -> bool:
        containers = pod.get("status", {}).get("containerStatuses", [])
        return any(
            one.get("state", {}).get("waiting", {}).get("reason") == reason for one in containers
        )

    return holds


async def test_a_deployment_becomes_ready(simulated: Simulated) -> None:
    await simulated.create(DEPLOYMENTS, _workload("Deployment", "web"))
    web = await simulated.until(DEPLOYMENTS, "web", condition("Available"), "an available one")
    assert web["status"]["readyReplicas"] == 3


async def test_a_stateful_set_becomes_ready(simulated: Simulated) -> None:
    await simulated.create(STATEFUL_SETS, _workload("StatefulSet", "database"))
    await simulated.until(
        STATEFUL_SETS,
        "database",
        lambda one: one.get("status", {}).get("readyReplicas") == 3,
        "ready replicas",
    )


async def test_a_service_finds_its_pods(simulated: Simulated) -> None:
    await simulated.create(PODS, _pod("app"))
    await simulated.create(
        SERVICES,
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "app"},
            "spec": {"selector": {"app": "test"}, "ports": [{"port": 80}]},
        },
    )
    await simulated.until(
        ENDPOINTS,
        "app",
        lambda one: (
            [
                address["targetRef"]["name"]
                for subset in one.get("subsets", [])
                for address in subset.get("addresses", [])
            ]
            == ["app"]
        ),
        "an endpoint",
    )


async def test_a_job_completes(simulated: Simulated) -> None:
    await simulated.create(JOBS, _job("work"))
    await simulated.until(JOBS, "work", condition("Complete"), "its end")


async def test_a_pod_with_a_ready_delay_is_pending_until_it_has_passed(
    simulated: Simulated,
) -> None:
    await simulated.create(PODS, _pod("slow", {"ready-delay": "3s"}))
    pod = await simulated.until(PODS, "slow", condition("Ready"), "a ready pod")
    took = _transition(pod, "Ready") - _time(pod["metadata"]["creationTimestamp"])
    # Timestamps are whole seconds.
    assert took >= dt.timedelta(seconds=2)


async def test_a_job_with_an_exit_code_fails(simulated: Simulated) -> None:
    await simulated.create(JOBS, _job("broken", {"exit-code": "3"}))
    await simulated.until(JOBS, "broken", condition("Failed"), "its failure")
    (pod,) = await simulated.pods()
    (container,) = pod["status"]["containerStatuses"]
    assert pod["status"]["phase"] == "Failed"
    assert container["state"]["terminated"]["exitCode"] == 3


@pytest.mark.parametrize(("code", "outcome"), [("0", "Complete"), ("3", "Failed")])
async def test_a_container_has_the_message_that_its_pod_says(
    simulated: Simulated, code: str, outcome: str
) -> None:
    message = '{"size": "3"}'
    annotations = {"exit-code": code, "termination-message": message}
    await simulated.create(JOBS, _job("wordy", annotations))
    await simulated.until(JOBS, "wordy", condition(outcome), outcome)
    (pod,) = await simulated.pods()
    (container,) = pod["status"]["containerStatuses"]
    ended = container["state"]["terminated"]
    assert (ended["exitCode"], ended["message"]) == (int(code), message)


async def test_the_exit_code_zero_is_success(simulated: Simulated) -> None:
    await simulated.create(JOBS, _job("fine", {"exit-code": "0"}))
    await simulated.until(JOBS, "fine", condition("Complete"), "its end")


@pytest.mark.parametrize(("code", "outcome"), [("0", "Complete"), ("1", "Failed")])
async def test_a_job_runs_for_as_long_as_its_pod_says(
    simulated: Simulated, code: str, outcome: str
) -> None:
    await simulated.create(JOBS, _job("long", {"run-for": "3s", "exit-code": code}))
    await simulated.until(
        JOBS, "long", lambda one: one.get("status", {}).get("active") == 1, "an active pod"
    )
    job = await simulated.until(JOBS, "long", condition(outcome), outcome)
    took = _transition(job, outcome) - _time(job["status"]["startTime"])
    assert took >= dt.timedelta(seconds=2)


async def test_an_image_that_never_pulls_keeps_its_pod_pending(simulated: Simulated) -> None:
    await simulated.create(PODS, _pod("stuck", image="example/never-pulls:1"))
    pod = await simulated.until(PODS, "stuck", _waits_because("ImagePullBackOff"), "the reason")
    ready = {entry["type"]: entry["status"] for entry in pod["status"]["conditions"]}["Ready"]
    assert (pod["status"]["phase"], ready) == ("Pending", "False")


async def test_a_deployment_with_an_exit_code_is_never_available(simulated: Simulated) -> None:
    await simulated.create(DEPLOYMENTS, _workload("Deployment", "crashing", {"exit-code": "1"}))
    await simulated.until(
        DEPLOYMENTS,
        "crashing",
        lambda one: one.get("status", {}).get("unavailableReplicas") == 3,
        "unavailable replicas",
    )
    for pod in await simulated.pods():
        name = pod["metadata"]["name"]
        await simulated.until(PODS, name, _waits_because("CrashLoopBackOff"), "the reason")
    found = await simulated.get(DEPLOYMENTS, "crashing")
    assert "readyReplicas" not in found["status"]


async def test_a_pod_may_crash_after_it_was_ready(simulated: Simulated) -> None:
    await simulated.create(PODS, _pod("brief", {"exit-code": "1", "run-for": "3s"}))
    await simulated.until(PODS, "brief", condition("Ready"), "a ready pod")
    pod = await simulated.until(PODS, "brief", condition("Ready", "False"), "its end")
    (container,) = pod["status"]["containerStatuses"]
    assert container["lastState"]["terminated"]["exitCode"] == 1
