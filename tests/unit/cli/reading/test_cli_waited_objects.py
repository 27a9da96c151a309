"""Which objects the message of a step names, beside the messages of `kudo.objects.health`."""

import pytest

from kubectl_kudo.reading.explanations import WaitedObject, waited_objects
from kudo.objects.health import cause_of
from tests.unit.kudo.objects.health.test_causes import pending, workload
from tests.unit.kudo.objects.health.test_truth_table import TABLE

CLUSTER_SCOPED = {"CustomResourceDefinition", "APIService", "Namespace"}
WITHOUT_NAMESPACE = {"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job"}
"""Kinds whose messages, as those of KUDO 0.19, name no namespace."""


def test_the_object_is_found_in_every_message_about_its_health() -> None:
    namespaced = [
        row
        for row in TABLE
        if row.expected.message
        and row.object["kind"] not in CLUSTER_SCOPED
        and row.object["metadata"].get("namespace")
    ]
    assert namespaced
    for row in namespaced:
        kind = row.object["kind"]
        terminating = "is being deleted" in row.expected.message
        namespace = "" if kind in WITHOUT_NAMESPACE and not terminating else "ns"
        found = waited_objects(row.expected.message)
        assert WaitedObject(kind, namespace, "x") in found, row.id


def test_the_pod_that_is_to_blame_comes_first() -> None:
    cause = cause_of(workload("StatefulSet"), [pending(reason="ErrImagePull")], patient=False)
    assert cause is not None
    message = f'statefulset "x" is not healthy: Waiting for 1 pods to be ready...; {cause.text}'
    assert waited_objects(message) == [
        WaitedObject("Pod", "ns", "x-0"),
        WaitedObject("StatefulSet", "", "x"),
    ]


@pytest.mark.parametrize(
    "message", ["", "no such object", 'job "../x"', "pod x", "Pod A/B is not healthy"]
)
def test_what_is_no_name_of_an_object_is_not_found(message: str) -> None:
    assert waited_objects(message) == []


def test_a_long_message_is_searched_at_its_beginning_alone() -> None:
    assert waited_objects("x" * 5000 + ' job "y"') == []
