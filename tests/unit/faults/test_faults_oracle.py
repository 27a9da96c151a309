"""What counts as a difference between the state after a fault and the state without."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from tests.faults.cells.oracle import (
    Outcome,
    canonical,
    compare,
    differences,
    event_texts,
    execution_of,
    has_orphans,
)

UID = "8a7b6c5d-0000-4000-8000-000000000001"
OTHER = "8a7b6c5d-0000-4000-8000-000000000002"


def config_map(namespace: str, uid: str, time: str, **data: str) -> dict[str, Any]:
    return {
        "kind": "ConfigMap",
        "metadata": {
            "name": "a",
            "namespace": namespace,
            "uid": uid,
            "resourceVersion": uid[-1],
            "creationTimestamp": time,
            "annotations": {"kudo.dev/last-plan-execution-uid": uid},
        },
        "data": data,
    }


def pod(owner: str, **metadata: str) -> dict[str, Any]:
    return {"kind": "Pod", "metadata": {"name": "x", "generateName": owner, **metadata}}


def test_two_runs_of_the_same_have_the_same_state() -> None:
    one = config_map("ns-1", UID, "2026-01-01T00:00:00Z", host="a.ns-1.svc")
    two = config_map("ns-2", OTHER, "2026-01-01T00:00:01.123456Z", host="a.ns-2.svc")

    assert canonical([one], "ns-1") == canonical([two], "ns-2")


@pytest.mark.parametrize(
    "change",
    [
        {"data": {"b": "1"}},
        {"metadata": {"name": "b"}},
        {"kind": "Secret"},
        {"extra": 1},
    ],
)
def test_what_a_fault_could_change_is_part_of_the_state(change: dict[str, Any]) -> None:
    obj = {"kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "1"}}

    assert canonical([obj], "ns") != canonical([{**obj, **change}], "ns")


def test_an_object_that_is_being_deleted_is_not_as_it_was() -> None:
    before = {"kind": "Job", "metadata": {"name": "a"}}
    after = {"kind": "Job", "metadata": {"name": "a", "deletionTimestamp": "2026-01-01T00:00:00Z"}}

    assert canonical([before], "ns") != canonical([after], "ns")


def test_pods_are_counted_by_their_owner_and_those_that_go_are_not() -> None:
    pods = [pod("book-front-7f9-"), pod("book-front-8a0-"), pod("book-front-8a0-")]
    pods[0]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    assert canonical(pods, "ns") == {"pods": {"book-front": 2}}


def test_what_goes_with_an_instance_names_it_as_owner_and_pods_go_too() -> None:
    owner = {"kind": "Instance", "name": "book", "uid": "u"}
    owned = {"kind": "Job", "metadata": {"name": "a", "ownerReferences": [owner]}}
    retained = {"kind": "Job", "metadata": {"name": "a", "labels": {"kudo.dev/instance": "book"}}}
    living = {"kind": "Instance", "metadata": {"name": "book"}}

    assert has_orphans(canonical([owned], "spaces"))
    assert has_orphans(canonical([pod("book-front-")], "spaces"))
    assert not has_orphans(canonical([owned, living], "spaces"))
    assert not has_orphans(canonical([retained], "spaces"))


def test_uids_in_names_of_records_and_events_are_no_difference() -> None:
    states = [
        canonical([{"kind": "Inventory", "metadata": {"name": f"book.{uid}.0"}}], "spaces")
        for uid in ("0123abcd", "89efcdab")
    ]

    assert states[0] == states[1]


def test_the_order_of_objects_in_a_list_is_no_difference() -> None:
    a, b = {"type": "Ready"}, {"type": "Idle"}

    first = canonical([{"kind": "K", "metadata": {"name": "n"}, "conditions": [a, b]}], "ns")
    second = canonical([{"kind": "K", "metadata": {"name": "n"}, "conditions": [b, a]}], "ns")

    assert first == second


def test_differences_name_their_place() -> None:
    expected = {"a": {"b": 1, "c": [1, 2]}, "d": 1}
    found = {"a": {"b": 2, "c": [1, 3], "e": 5}}

    assert differences(expected, found) == [
        "a.b is 2 instead of 1",
        "a.c[1] is 3 instead of 2",
        "a.e is there: 5",
        "d is missing",
    ]


EVENTS = ["i.RUN.finished: ended", "i.RUN.started: begun"]
WARNED = [*EVENTS, "i.RUN.timedout: late"]
GOOD = Outcome(UID, "COMPLETE", Counter({"j": 1}), EVENTS, {"a": 1}, Counter())


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        (replace(GOOD, status="FATAL_ERROR"), "the plan is FATAL_ERROR"),
        (replace(GOOD, jobs=Counter({"j": 2})), f"Job j was created 2 times for {UID}"),
        (replace(GOOD, jobs=Counter()), f"Job j was created 0 times for {UID}"),
        (replace(GOOD, jobs=Counter({"j": 1, "k": 1})), f"Job k was created 1 times for {UID}"),
        (replace(GOOD, events=EVENTS[:1]), f"events {EVENTS[:1]} instead of {EVENTS}"),
        (replace(GOOD, events=WARNED), f"events {WARNED} instead of {EVENTS}"),
        (replace(GOOD, state={"a": 2}), "a is 2 instead of 1"),
    ],
)
def test_what_a_fault_left_is_a_problem(found: Outcome, problem: str) -> None:
    assert compare(GOOD, found) == [problem]


def test_a_plan_that_ended_as_without_the_fault_has_no_problem() -> None:
    assert compare(GOOD, replace(GOOD, uid=OTHER, seen=Counter({"x": 9}))) == []


def test_a_run_that_is_to_fail_has_to_fail() -> None:
    failed = replace(GOOD, status="FATAL_ERROR")
    assert compare(failed, GOOD) == ["the plan is COMPLETE"]
    assert compare(failed, failed) == []


def test_a_warning_may_be_missing_since_no_leader_repeats_it() -> None:
    assert compare(replace(GOOD, events=WARNED), GOOD) == []


def test_events_are_told_apart_by_the_run() -> None:
    def event(name: str, kind: str = "Instance") -> dict[str, Any]:
        return {"metadata": {"name": name}, "message": "m", "involvedObject": {"kind": kind}}

    events = [event(f"book.{UID}.started"), event(f"book.{OTHER}.x"), event("p.1", "Pod")]

    assert event_texts(events, UID) == ["book.RUN.started: m", "book.UID.x: m"]


def test_a_job_names_the_execution_that_created_it() -> None:
    assert execution_of(config_map("ns", UID, "")) == UID
    assert execution_of({"metadata": {}}) == ""
