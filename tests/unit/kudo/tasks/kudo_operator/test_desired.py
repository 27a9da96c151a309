"""What a KudoOperator task wants to have, and the Instance that is sent for it."""

from typing import Any

import pytest

from kubeio.names import is_subdomain
from kudo.api import Instance, OperatorVersion, Task
from kudo.api.task_kinds import FatalTaskError
from kudo.tasks.kudo_operator import Child, child_of, execution_of, manifest

PARENT = Instance.from_wire(
    {
        "metadata": {"name": "shop", "namespace": "ns", "uid": "p"},
        "spec": {"operatorVersion": {"name": "shop-1.0.0"}},
    }
)
VERSION = OperatorVersion.from_wire({"metadata": {"name": "shop-1.0.0", "namespace": "ns"}})
ELSEWHERE = OperatorVersion.from_wire({"metadata": {"name": "shop-1.0.0", "namespace": "library"}})


def task(**spec: str) -> Task:
    fields = {"package": "db", "operatorVersion": "0.2.0", **spec}
    return Task.from_wire({"name": "have-db", "kind": "KudoOperator", "spec": fields})


def desired(version: OperatorVersion = VERSION, **spec: Any) -> Child:
    return child_of(task(**spec), PARENT, version, {})


def refused(**spec: Any) -> FatalTaskError:
    with pytest.raises(FatalTaskError) as caught:
        desired(**spec)
    return caught.value


def test_a_child_is_named_after_its_parent_and_its_operator() -> None:
    found = desired()
    assert (found.namespace, found.name, found.operator) == ("ns", "shop-db", "db")


def test_instance_name_is_taken_as_it_stands() -> None:
    assert desired(instanceName="main-db").name == "main-db"


def test_the_version_is_named_by_the_fields_of_the_task() -> None:
    table: list[tuple[dict[str, Any], str]] = [
        ({}, "db-0.2.0"),
        ({"appVersion": "14"}, "db-14-0.2.0"),
        ({"package": "Db", "operatorVersion": "v1"}, "Db-v1"),
    ]
    for spec, name in table:
        assert desired(instanceName="x", **spec).version == ("ns", name)


def test_the_version_is_looked_for_beside_that_of_the_parent() -> None:
    assert desired(version=ELSEWHERE).version == ("library", "db-0.2.0")
    assert desired(version=ELSEWHERE).namespace == "ns"


def test_a_name_that_no_instance_can_have_is_refused(subtests: pytest.Subtests) -> None:
    for name in ["Shop", "a_b", "../x", "-a", "a.", "", "a" * 254]:
        with subtests.test(name=name):
            assert not is_subdomain(name)
            if name:
                error = refused(instanceName=name)
                assert error.reason == "TaskEnhancementError"
                text = f"task have-db: '{name}' cannot be the name of an Instance; set instanceName"
                assert str(error) == text


def test_a_default_name_may_be_impossible_too() -> None:
    assert "'shop-My_Db' cannot be the name" in str(refused(package="My_Db"))


# Parameters


def test_the_child_gets_the_values_of_the_parameter_file() -> None:
    found = child_of(task(parameterFile="f.yaml"), PARENT, VERSION, {"SIZE": "10000000"})
    assert found.parameters == {"SIZE": "10000000"}


# What is sent


def test_what_is_sent_is_what_the_original_sends_and_the_execution() -> None:
    found = child_of(task(parameterFile="f.yaml"), PARENT, VERSION, {"SIZE": "3"})
    assert manifest(found, PARENT, "run", found.version, found.parameters) == {
        "apiVersion": "kudo.dev/v1beta1",
        "kind": "Instance",
        "metadata": {
            "namespace": "ns",
            "name": "shop-db",
            "labels": {"kudo.dev/operator": "db"},
            "annotations": {"kudo.dev/last-plan-execution-uid": "run"},
            "ownerReferences": [
                {"apiVersion": "kudo.dev/v1beta1", "kind": "Instance", "name": "shop", "uid": "p"}
            ],
        },
        "spec": {"operatorVersion": {"name": "db-0.2.0"}, "parameters": {"SIZE": "3"}},
    }


def test_a_version_in_another_namespace_is_named_with_it_and_no_parameters_are_left_out() -> None:
    found = desired(version=ELSEWHERE)
    sent = manifest(found, PARENT, "run", found.version, {})
    assert sent["spec"] == {"operatorVersion": {"name": "db-0.2.0", "namespace": "library"}}


def test_the_execution_that_sent_a_child_is_written_on_it() -> None:
    table: list[tuple[dict[str, object], str]] = [
        ({}, ""),
        ({"annotations": None}, ""),
        ({"annotations": {"a": "b"}}, ""),
        ({"annotations": {"kudo.dev/last-plan-execution-uid": "run"}}, "run"),
    ]
    for metadata, uid in table:
        assert execution_of(metadata) == uid
