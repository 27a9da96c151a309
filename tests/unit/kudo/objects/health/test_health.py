"""Health beside its truth table: what is needed to judge, objects of any shape, readiness."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo.api import JsonObject
from kudo.objects.health import Health, State, health_of, needs_body, readiness


def obj(api_version: str, kind: str, **fields: Any) -> JsonObject:
    metadata: JsonObject = {"name": "x", "namespace": "ns", "generation": 1}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def pod(phase: str, **metadata: Any) -> JsonObject:
    conditions = [{"type": "Ready", "status": "True"}]
    found = obj("v1", "Pod", status={"phase": phase, "conditions": conditions})
    found["metadata"].update(metadata)
    return found


# What is needed

BUILT_IN = [
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("apps/v1", "ReplicaSet"),
    ("batch/v1", "Job"),
    ("batch/v1", "CronJob"),
    ("v1", "Pod"),
    ("v1", "PersistentVolumeClaim"),
    ("v1", "Service"),
    ("v1", "Namespace"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("apiregistration.k8s.io/v1", "APIService"),
    ("policy/v1", "PodDisruptionBudget"),
    ("networking.k8s.io/v1", "Ingress"),
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("kudo.dev/v1beta1", "Instance"),
]
CUSTOM = [("example.org/v1", "Thing"), ("example.org/v1", "ConfigMap"), ("secrets/v1", "Secret")]
WITHOUT_STATUS = [
    ("v1", "ConfigMap"),
    ("v1", "Secret"),
    ("v1", "ServiceAccount"),
    ("v1", "Endpoints"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("scheduling.k8s.io/v1", "PriorityClass"),
    ("storage.k8s.io/v1", "StorageClass"),
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
    ("kudo.dev/v1beta1", "OperatorVersion"),
]


def test_what_may_have_a_status_is_judged_with_its_body() -> None:
    for api_version, kind in [*BUILT_IN, *CUSTOM]:
        assert needs_body(api_version, kind)


def test_what_has_no_status_is_judged_by_its_metadata_alone(subtests: pytest.Subtests) -> None:
    for api_version, kind in WITHOUT_STATUS:
        with subtests.test(api_version=api_version, kind=kind):
            assert not needs_body(api_version, kind)
            assert health_of(obj(api_version, kind)).healthy
            going = obj(api_version, kind)
            going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
            assert health_of(going) == Health(State.WAITING, f"{kind} ns/x is being deleted")


# Objects of any shape

_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(),
    st.floats(),
    st.sampled_from(["", "x", "1", "-2", "٣", "9" * 40, "True", "False", "Unknown", "Failed"]),
)
_words = st.sampled_from(
    [
        *("name", "namespace", "generation", "deletionTimestamp", "finalizers", "annotations"),
        *("conditions", "type", "status", "reason", "message", "observedGeneration"),
        *("replicas", "readyReplicas", "updatedReplicas", "availableReplicas", "updateRevision"),
        *("updateStrategy", "rollingUpdate", "partition", "desiredNumberScheduled"),
        *("phase", "containerStatuses", "state", "waiting", "terminated", "exitCode"),
        *("clusterIP", "loadBalancer", "ingress", "volumeName", "ownerReferences"),
        *("planExecution", "planName", "planStatus", "lastRun", "plan", "uid", "deploy", "phases"),
        *("steps", "lastUpdatedTimestamp", "volume.kubernetes.io/selected-node"),
    ]
)
_anything = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_words, inner, max_size=4),
    max_leaves=25,
)
_conditions = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["Ready", "Stalled", "Reconciling", "Failed"]) | _anything,
            "status": _anything,
            "reason": _anything,
            "message": _anything,
            "observedGeneration": _anything,
        },
    )
    | _anything,
    max_size=3,
)
_statuses = _anything | st.builds(
    lambda status, conditions: {**status, "conditions": conditions},
    st.dictionaries(_words, _anything, max_size=4),
    _conditions,
)
_kinds = st.sampled_from([*BUILT_IN, *CUSTOM, *WITHOUT_STATUS])


@given(_kinds, _anything, _anything, _statuses)
def test_no_object_is_so_odd_that_it_cannot_be_judged(
    kind: tuple[str, str], metadata: object, spec: object, status: object
) -> None:
    odd: JsonObject = {"apiVersion": kind[0], "kind": kind[1]}
    parts = {"metadata": metadata, "spec": spec, "status": status}
    odd |= {part: value for part, value in parts.items() if value is not None}
    found = health_of(odd)
    assert isinstance(found.state, State)
    assert found.healthy == (found.message == "")
    assert readiness([odd]) in {(), (found.message,)}


@given(_anything, _anything)
def test_an_object_of_an_odd_kind_is_judged_like_a_custom_resource(
    api_version: object, kind: object
) -> None:
    ready = obj("", "", status={"conditions": [{"type": "Ready", "status": "True"}]})
    assert health_of({**ready, "apiVersion": api_version, "kind": kind}).healthy


@given(_kinds, _statuses)
def test_whatever_is_not_healthy_names_itself(kind: tuple[str, str], status: object) -> None:
    found = health_of(obj(*kind, status=status))
    assert found.healthy or "x" in found.message.split(":")[0]


@given(_kinds, _statuses, st.integers(2, 5))
def test_a_status_that_does_not_say_what_it_speaks_of_fails_no_changed_custom_resource(
    kind: tuple[str, str], status: object, generation: int
) -> None:
    changed = obj("example.org/v1", kind[1], status=status)
    changed["metadata"]["generation"] = generation
    found = health_of(changed)
    assert found.state is not State.FAILED or "observedGeneration" in str(status)


# Readiness of an idle Instance


def test_an_instance_without_objects_is_ready() -> None:
    assert readiness([]) == ()


def test_what_keeps_an_instance_from_being_ready_is_named_in_order() -> None:
    deployment = obj("apps/v1", "Deployment", spec={"replicas": 1}, status={})
    objects = [pod("Pending"), deployment, pod("Running"), obj("v1", "Secret")]
    assert readiness(objects) == (
        'deployment "x" is not healthy: Waiting for deployment spec update to be observed...',
        "pod ns/x is not running yet: Pending",
    )


def test_pods_of_a_job_say_nothing_about_the_instance(subtests: pytest.Subtests) -> None:
    for phase in ["Running", "Failed", "Pending"]:
        with subtests.test(phase=phase):
            owner = {"kind": "Job", "name": "j", "controller": True}
            assert readiness([pod(phase, ownerReferences=[owner])]) == ()


def test_pods_beside_a_job_say_something_about_the_instance() -> None:
    beside = pod("Failed", ownerReferences=[{"kind": "Job", "name": "j"}])
    of_another = pod("Failed", ownerReferences=[{"kind": "ReplicaSet", "controller": True}])
    for found in (beside, of_another):
        assert readiness([found]) == ("pod ns/x is not running yet: Failed",)


def test_a_pod_that_has_succeeded_does_not_count() -> None:
    assert readiness([pod("Succeeded")]) == ()


def test_a_pod_on_its_way_out_does_not_count_but_a_workload_does() -> None:
    deleted = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    workload = obj("apps/v1", "ReplicaSet", spec={"replicas": 0})
    workload["metadata"].update(deleted)
    objects = [pod("Running", **deleted), workload]
    assert readiness(objects) == ("ReplicaSet ns/x is being deleted",)
