"""Faults of a step: how they are read, and which mistakes are told."""

from pathlib import Path

import pytest

from kudo_harness.suite import (
    DeletePods,
    Fault,
    FaultService,
    FaultTime,
    NodeNotReady,
    RefuseWrites,
    RestartService,
)
from tests.unit.harness.suite.writing import errors, load

STEP = """
    apiVersion: kuttl.dev/v1beta1
    kind: TestStep
    faults:
"""


def read(folder: Path, faults: str) -> tuple[Fault, ...]:
    suite = load(folder, {"e2e/a/00-b.yaml": STEP + faults})
    [step] = suite.test_dirs[0].cases[0].steps
    assert step.options is not None
    return step.options.faults


def test_each_fault_is_read_with_its_line(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        """\
    - deletePods:
        labels: {app: db}
    - deletePods:
        labels: {app: db}
        namespace: other
      when: before
    - restart: Webhook
      when: after
    - nodeNotReady: {name: node-1, seconds: 20}
    - refuseWrites:
        apiVersion: apps/v1
        kind: Deployment
        seconds: 5
        reason: the quota is used up
""",
    )
    assert [(fault.action, fault.time) for fault in found] == [
        (DeletePods({"app": "db"}, ""), FaultTime.AFTER),
        (DeletePods({"app": "db"}, "other"), FaultTime.BEFORE),
        (RestartService(FaultService.WEBHOOK), FaultTime.AFTER),
        (NodeNotReady("node-1", 20), FaultTime.AFTER),
        (RefuseWrites("apps/v1", "Deployment", 5, "the quota is used up"), FaultTime.AFTER),
    ]
    assert [fault.place.line for fault in found] == [4, 6, 10, 12, 13]
    assert [fault.seconds for fault in found] == [0, 0, 0, 20, 5]
    assert {fault.when for fault in found} == {None}


def test_a_fault_can_wait_for_a_state_of_an_object(tmp_path: Path) -> None:
    [fault] = read(
        tmp_path,
        """\
    - restart: reconciler
      when:
        apiVersion: kudo.dev/v1beta1
        kind: Instance
        metadata: {name: db}
        status:
          planStatus: {deploy: {status: IN_PROGRESS}}
""",
    )
    assert fault.when is not None
    assert fault.when.value["kind"] == "Instance"
    place = fault.when.place("status", "planStatus", "deploy", "status")
    assert (Path(place.file).name, place.line) == ("00-b.yaml", 10)


def test_without_faults_there_are_none(tmp_path: Path) -> None:
    suite = load(tmp_path, {"e2e/a/00-b.yaml": STEP.replace("faults:", "index: 1")})
    [step] = suite.test_dirs[0].cases[0].steps
    assert step.options is not None
    assert step.options.faults == ()


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        ("{}", "a fault is one of deletePods, restart, nodeNotReady, refuseWrites"),
        ("{restart: webhook, nodeNotReady: {name: a, seconds: 1}}", "a fault is one of"),
        ("{restarts: webhook}", "unknown field faults[0].restarts; did you mean restart?"),
        ("restart", "faults[0] must be a mapping, not text"),
        ("{restart: etcd}", "restart must be one of reconciler, webhook, not "),
        ("{deletePods: {namespace: a}}", "labels must be set: they say which pods are deleted"),
        ("{deletePods: {labels: {}}}", "labels must be set"),
        ("{deletePods: {labels: {a: 1}}}", "faults[0].deletePods.labels.a must be text"),
        ("{deletePods: {label: {a: b}}}", "unknown field faults[0].deletePods.label"),
        ("{nodeNotReady: {seconds: 1}}", "name must be set"),
        ("{nodeNotReady: {name: a}}", "seconds must be set, from 1 to 600"),
        ("{nodeNotReady: {name: a, seconds: 601}}", "seconds must be set, from 1 to 600"),
        ("{nodeNotReady: {name: a, seconds: -1}}", "seconds must be set, from 1 to 600"),
        ("{refuseWrites: {kind: Pod, seconds: 1}}", "apiVersion must be set"),
        ("{refuseWrites: {apiVersion: v1, seconds: 1}}", "kind must be set"),
        (
            '{refuseWrites: {apiVersion: v1, kind: Pod, seconds: 1, reason: "a\\nb"}}',
            "reason is one line of at most 200 characters",
        ),
        ("{restart: webhook, when: later}", "when must be one of before, after, not "),
        ("{restart: webhook, when: [a]}", "faults[0].when must be text, not a list"),
        (
            "{restart: webhook, when: {apiVersion: v1, kind: Pod}}",
            "when is before, after, or part of an object with apiVersion, kind and its name",
        ),
        ("{restart: webhook, when: {metadata: {name: a}}}", "when is before, after, or part of"),
    ],
)
def test_a_mistake_in_a_fault_is_told_with_its_line(
    tmp_path: Path, fault: str, problem: str
) -> None:
    found = errors(tmp_path, {"e2e/a/00-b.yaml": f"{STEP}    - {fault}\n"})
    assert any(one.startswith(f"e2e/a/00-b.yaml:4: {problem}") for one in found), found
