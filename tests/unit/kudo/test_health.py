"""Health: one table for each kind, as the API server shows its objects."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo.api import JsonObject
from kudo.health import Health, State, has_rule, judge, readiness


def obj(api_version: str, kind: str, *, generation: int | None = 1, **fields: Any) -> JsonObject:
    metadata: JsonObject = {"name": "x", "namespace": "ns"}
    if generation is not None:
        metadata["generation"] = generation
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def message(found: Health) -> str:
    assert found.state is State.WAITING
    return found.message


# Deployment


def deployment(spec: JsonObject | None = None, **status: object) -> JsonObject:
    return obj("apps/v1", "Deployment", generation=2, spec=spec or {}, status=status)


@pytest.mark.parametrize(
    ("spec", "status"),
    [
        (
            {"replicas": 2},
            {"observedGeneration": 2, "updatedReplicas": 2, "replicas": 2, "availableReplicas": 2},
        ),
        (
            {"replicas": 2},
            {"observedGeneration": 3, "updatedReplicas": 3, "replicas": 3, "availableReplicas": 3},
        ),
        (
            {},
            {"observedGeneration": 2, "updatedReplicas": 1, "replicas": 1, "availableReplicas": 1},
        ),
        ({"replicas": 0}, {"observedGeneration": 2}),
    ],
)
def test_a_deployment_that_is_rolled_out_is_healthy(spec: JsonObject, status: JsonObject) -> None:
    assert judge(deployment(spec, **status)).healthy


@pytest.mark.parametrize(
    ("status", "text"),
    [
        ({}, "Waiting for deployment spec update to be observed..."),
        (
            {"observedGeneration": 1, "updatedReplicas": 3, "availableReplicas": 3, "replicas": 3},
            "Waiting for deployment spec update to be observed...",
        ),
        (
            {"observedGeneration": 2, "updatedReplicas": 1, "availableReplicas": 1, "replicas": 3},
            "Waiting for rollout to finish: 1 out of 3 new replicas have been updated...",
        ),
        (
            {"observedGeneration": 2, "updatedReplicas": 3, "availableReplicas": 3, "replicas": 4},
            "Waiting for rollout to finish: 1 old replicas are pending termination...",
        ),
        (
            {"observedGeneration": 2, "updatedReplicas": 3, "availableReplicas": 2, "replicas": 3},
            "Waiting for rollout to finish: 2 of 3 updated replicas are available...",
        ),
        (
            {
                "observedGeneration": 2,
                "conditions": [
                    {
                        "type": "Progressing",
                        "reason": "ProgressDeadlineExceeded",
                        "message": "it took too long",
                    }
                ],
            },
            "it took too long",
        ),
        (
            {
                "observedGeneration": 2,
                "conditions": [{"type": "Progressing", "reason": "ProgressDeadlineExceeded"}],
            },
            "exceeded its progress deadline",
        ),
    ],
)
def test_a_deployment_says_what_it_waits_for(status: JsonObject, text: str) -> None:
    found = judge(deployment({"replicas": 3}, **status))
    assert message(found) == f'deployment "x" is not healthy: {text}'


# StatefulSet


def stateful_set(strategy: JsonObject | None = None, **status: object) -> JsonObject:
    spec: JsonObject = {"replicas": 3}
    if strategy is not None:
        spec["updateStrategy"] = strategy
    return obj("apps/v1", "StatefulSet", generation=2, spec=spec, status=status)


ROLLING: JsonObject = {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
PARTITIONED: JsonObject = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
SEEN: JsonObject = {"observedGeneration": 2, "readyReplicas": 3}


@pytest.mark.parametrize(
    ("strategy", "status"),
    [
        (ROLLING, {"updateRevision": "b", "currentRevision": "b", "updatedReplicas": 3}),
        (None, {"updateRevision": "b", "currentRevision": "b"}),
        ({"type": "RollingUpdate"}, {"updateRevision": "b", "currentRevision": "b"}),
        (PARTITIONED, {"updatedReplicas": 1, "updateRevision": "b", "currentRevision": "a"}),
        ({"type": "OnDelete"}, {"updateRevision": "b", "currentRevision": "a"}),
    ],
)
def test_a_stateful_set_that_is_rolled_out_is_healthy(
    strategy: JsonObject | None, status: JsonObject
) -> None:
    assert judge(stateful_set(strategy, **SEEN, **status)).healthy


@pytest.mark.parametrize(
    ("strategy", "status", "text"),
    [
        (ROLLING, {}, "Waiting for statefulset spec update to be observed..."),
        (
            ROLLING,
            {"observedGeneration": 1, "readyReplicas": 3},
            "Waiting for statefulset spec update to be observed...",
        ),
        (
            ROLLING,
            {"observedGeneration": 2, "readyReplicas": 1},
            "Waiting for 2 pods to be ready...",
        ),
        (
            {"type": "OnDelete"},
            {"observedGeneration": 2, "readyReplicas": 1},
            "Waiting for 2 pods to be ready...",
        ),
        (
            PARTITIONED,
            {**SEEN, "updatedReplicas": 0},
            "Waiting for partitioned roll out to finish: 0 out of 1 new pods have been updated...",
        ),
        (
            ROLLING,
            {**SEEN, "updatedReplicas": 2, "updateRevision": "b", "currentRevision": "a"},
            "Waiting for statefulset rolling update to complete 2 pods at revision b...",
        ),
    ],
)
def test_a_stateful_set_says_what_it_waits_for(
    strategy: JsonObject, status: JsonObject, text: str
) -> None:
    found = judge(stateful_set(strategy, **status))
    assert message(found) == f'statefulset "x" is not healthy: {text}'


# DaemonSet and ReplicaSet


def daemon_set(strategy: str = "RollingUpdate", **status: object) -> JsonObject:
    spec = {"updateStrategy": {"type": strategy}}
    return obj("apps/v1", "DaemonSet", spec=spec, status=status)


@pytest.mark.parametrize(
    ("strategy", "updated"), [("RollingUpdate", 2), ("OnDelete", 2), ("OnDelete", 0)]
)
def test_a_daemon_set_that_is_rolled_out_is_healthy(strategy: str, updated: int) -> None:
    status = {
        "observedGeneration": 1,
        "desiredNumberScheduled": 2,
        "updatedNumberScheduled": updated,
        "numberAvailable": 2,
    }
    assert judge(daemon_set(strategy, **status)).healthy


def test_a_daemon_set_on_no_node_is_healthy_once_it_was_seen() -> None:
    assert judge(daemon_set(observedGeneration=1)).healthy


@pytest.mark.parametrize(
    ("status", "text"),
    [
        ({}, "Waiting for daemon set spec update to be observed..."),
        (
            {"observedGeneration": 1, "desiredNumberScheduled": 2, "updatedNumberScheduled": 1},
            "Waiting for rollout to finish: 1 out of 2 new pods have been updated...",
        ),
        (
            {
                "observedGeneration": 1,
                "desiredNumberScheduled": 2,
                "updatedNumberScheduled": 2,
                "numberAvailable": 1,
            },
            "Waiting for rollout to finish: 1 of 2 updated pods are available...",
        ),
    ],
)
def test_a_daemon_set_says_what_it_waits_for(status: JsonObject, text: str) -> None:
    assert message(judge(daemon_set(**status))) == f'daemonset "x" is not healthy: {text}'


@pytest.mark.parametrize(
    ("status", "text"),
    [
        ({"observedGeneration": 1, "readyReplicas": 2}, ""),
        (
            {"observedGeneration": 1, "readyReplicas": 1},
            'replicaset "x" is not healthy: Waiting for 1 pods to be ready...',
        ),
        (
            {"readyReplicas": 2},
            'replicaset "x" is not healthy: Waiting for replica set spec update to be observed...',
        ),
    ],
)
def test_a_replica_set_waits_for_its_pods(status: JsonObject, text: str) -> None:
    found = judge(obj("apps/v1", "ReplicaSet", spec={"replicas": 2}, status=status))
    assert (found.healthy, found.message) == (text == "", text)


# Job


def job(*conditions: JsonObject, **status: object) -> JsonObject:
    return obj("batch/v1", "Job", status={"conditions": list(conditions), **status})


def test_a_job_is_healthy_by_its_condition_alone() -> None:
    assert judge(job({"type": "Complete", "status": "True"}, succeeded=3)).healthy
    assert not judge(job(succeeded=1)).healthy
    assert not judge(job({"type": "SuccessCriteriaMet", "status": "True"})).healthy


@pytest.mark.parametrize(
    "conditions",
    [
        (),
        ({"type": "Failed", "status": "False"},),
        ({"type": "FailureTarget", "status": "True"},),
        ({"type": "Suspended", "status": "True"},),
    ],
)
def test_a_job_that_has_not_ended_is_waited_for(conditions: tuple[JsonObject, ...]) -> None:
    assert message(judge(job(*conditions))) == 'job "x" still running or failed'


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        ({"message": "backoff limit reached", "reason": "B"}, "backoff limit reached"),
        ({"reason": "DeadlineExceeded"}, "DeadlineExceeded"),
        ({}, "no message"),
    ],
)
def test_a_failed_job_is_beyond_hope_and_says_why(condition: JsonObject, text: str) -> None:
    found = judge(job({"type": "Failed", "status": "True", **condition}))
    assert found == Health(State.FAILED, f'job "x" has failed terminally: {text}')


# Pod


def pod(phase: str | None, ready: str = "True", **status: object) -> JsonObject:
    conditions = [{"type": "Ready", "status": ready}]
    return obj("v1", "Pod", status={"phase": phase, "conditions": conditions, **status})


@pytest.mark.parametrize(
    ("phase", "ready", "healthy"),
    [
        ("Running", "True", True),
        ("Running", "False", False),
        ("Succeeded", "False", True),
        ("Pending", "True", False),
        ("Failed", "False", False),
    ],
)
def test_a_pod_is_healthy_while_it_serves_or_when_it_has_succeeded(
    phase: str, ready: str, healthy: bool
) -> None:
    found = judge(pod(phase, ready))
    assert found.healthy is healthy
    assert found.message == ("" if healthy else f"pod ns/x is not running yet: {phase}")


def test_a_pod_without_a_phase_is_not_known() -> None:
    assert message(judge(pod(None))) == "pod ns/x is not running yet: Unknown"


def test_a_pod_says_why_its_first_waiting_container_waits() -> None:
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}
    found = judge(
        pod(
            "Pending",
            initContainerStatuses=[{"name": "init", "state": {"terminated": {}}}],
            containerStatuses=[
                {"name": "a", "state": {"running": {}}},
                {"name": "b", "state": waiting},
                {"name": "c", "state": {"waiting": {"reason": "PodInitializing"}}},
            ],
        )
    )
    assert message(found) == (
        "pod ns/x is not running yet: Pending (b: ImagePullBackOff: no such image)"
    )


def test_a_container_that_waits_without_a_message_gives_its_reason() -> None:
    waiting = [{"name": "b", "state": {"waiting": {"reason": "ContainerCreating"}}}]
    found = judge(pod("Pending", initContainerStatuses=waiting))
    assert message(found).endswith("Pending (b: ContainerCreating)")


# Service


@pytest.mark.parametrize(
    ("spec", "status", "text"),
    [
        ({"type": "ExternalName"}, {}, ""),
        ({"clusterIP": "10.0.0.1"}, {}, ""),
        ({"clusterIP": "None"}, {}, ""),
        ({}, {}, "service ns/x does not have cluster IP address"),
        (
            {"type": "LoadBalancer"},
            {"loadBalancer": {"ingress": [{}]}},
            "service ns/x does not have cluster IP address",
        ),
        ({"type": "LoadBalancer", "clusterIP": "1", "externalIPs": ["2"]}, {}, ""),
        (
            {"type": "LoadBalancer", "clusterIP": "1"},
            {"loadBalancer": {"ingress": [{"ip": "3"}]}},
            "",
        ),
        (
            {"type": "LoadBalancer", "clusterIP": "1"},
            {"loadBalancer": {}},
            "service ns/x does not have load balancer ingress IP address",
        ),
    ],
)
def test_a_service_is_healthy_once_it_can_be_reached(
    spec: JsonObject, status: JsonObject, text: str
) -> None:
    found = judge(obj("v1", "Service", spec=spec, status=status))
    assert (found.healthy, found.message) == (text == "", text)


# Every kind

RULES = [
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("apps/v1", "ReplicaSet"),
    ("batch/v1", "Job"),
    ("v1", "Pod"),
    ("v1", "Service"),
]


@pytest.mark.parametrize(("api_version", "kind"), RULES)
def test_a_kind_with_a_rule_is_not_healthy_before_it_has_a_status(
    api_version: str, kind: str
) -> None:
    assert has_rule(api_version, kind)
    for fields in ({}, {"spec": None, "status": None}, {"status": {"conditions": None}}):
        assert judge(obj(api_version, kind, generation=None, **fields)).state is State.WAITING


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("v1", "ConfigMap"),
        ("v1", "Deployment"),
        ("extensions/v1beta1", "Deployment"),
        ("example.org/v1", "Job"),
        ("apps/v1", "Pod"),
    ],
)
def test_a_kind_without_a_rule_is_healthy_once_it_exists(api_version: str, kind: str) -> None:
    assert not has_rule(api_version, kind)
    assert judge(obj(api_version, kind)).healthy


_numbers = st.none() | st.integers(0, 3)
_statuses = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(
        (
            "observedGeneration",
            "replicas",
            "readyReplicas",
            "updatedReplicas",
            "availableReplicas",
            "desiredNumberScheduled",
            "updatedNumberScheduled",
            "numberAvailable",
        ),
        _numbers,
    ),
)


@given(st.sampled_from(RULES), st.integers(1, 3), st.none() | st.integers(0, 3), _statuses)
def test_whatever_is_not_healthy_names_itself_and_nothing_but_a_job_fails(
    kind: tuple[str, str], generation: int, replicas: int | None, status: JsonObject
) -> None:
    found = judge(obj(*kind, generation=generation, spec={"replicas": replicas}, status=status))
    assert found.healthy == (found.message == "")
    assert found.healthy or "x" in found.message
    assert found.state is not State.FAILED


# Readiness of an idle Instance


def test_an_instance_without_objects_is_ready() -> None:
    assert readiness([]) == ()


def test_what_keeps_an_instance_from_being_ready_is_named_in_order() -> None:
    objects = [pod("Pending"), deployment({"replicas": 1}), pod("Running"), obj("v1", "Secret")]
    assert readiness(objects) == (
        'deployment "x" is not healthy: Waiting for deployment spec update to be observed...',
        "pod ns/x is not running yet: Pending",
    )


def test_pods_of_a_job_say_nothing_about_the_instance() -> None:
    of_a_job = pod("Failed", "False")
    of_a_job["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "j", "controller": True}]
    beside_a_job = pod("Failed", "False")
    beside_a_job["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "j"}]
    assert readiness([of_a_job]) == ()
    assert len(readiness([beside_a_job])) == 1
