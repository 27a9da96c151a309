"""Pauses in a status: when they begin and end, and what their time is added to."""

from typing import Any

import pytest

from kudo.api import Instance, InstanceStatus
from kudo.plans.runs.suspension import with_suspension

NOW = "2026-01-01T01:00:10Z"
BEFORE = "2026-01-01T01:00:00Z"
DONE = {"name": "done", "status": "COMPLETE", "startedAt": BEFORE, "finishedAt": BEFORE}
WAITS = {"name": "waits", "status": "IN_PROGRESS", "startedAt": BEFORE}


def instance(status: dict[str, Any], **spec: Any) -> Instance:
    metadata: dict[str, Any] = {"name": "i", "namespace": "ns"}
    if spec.pop("deleting", False):
        metadata["deletionTimestamp"] = NOW
    return Instance.from_wire({"metadata": metadata, "spec": spec, "status": status})


def changed(status: dict[str, Any], **spec: Any) -> dict[str, Any]:
    found = instance(status, **spec)
    return with_suspension(found, found.status, NOW).to_wire()


def test_a_pause_is_recorded_when_it_is_first_seen() -> None:
    assert changed({}, suspend=True) == {"suspendedAt": NOW}
    assert changed({"suspendedAt": BEFORE}, suspend=True) == {"suspendedAt": BEFORE}


def test_without_a_pause_nothing_changes(subtests: pytest.Subtests) -> None:
    for spec in [{}, {"suspend": False}]:
        with subtests.test(spec=spec):
            found = instance({"planStatus": {}}, **spec)
            assert with_suspension(found, found.status, NOW) is found.status


def test_an_instance_that_is_being_deleted_is_not_suspended() -> None:
    assert changed({"suspendedAt": BEFORE}, suspend=True, deleting=True) == {}
    assert changed({}, suspend=True, deleting=True) == {}


def test_the_end_of_a_pause_adds_its_time_to_what_it_held_up() -> None:
    steps = [
        {"name": "a", "status": "COMPLETE", "startedAt": BEFORE, "tasks": [DONE]},
        {"name": "b", "status": "IN_PROGRESS", "startedAt": BEFORE, "tasks": [DONE, WAITS]},
        {"name": "c", "status": "PENDING"},
    ]
    phase = {"name": "p", "status": "IN_PROGRESS", "startedAt": BEFORE, "steps": steps}
    entry = {"name": "deploy", "status": "IN_PROGRESS", "uid": "u", "phases": [phase]}
    other = {"name": "backup", "status": "COMPLETE", "uid": "v"}
    status = {"suspendedAt": BEFORE, "planStatus": {"deploy": entry, "backup": other}}
    found = changed(status)
    assert "suspendedAt" not in found
    assert found["planStatus"]["backup"] == other
    deploy = found["planStatus"]["deploy"]
    # Both times were cut to a second, so the pause may have lasted almost one second more.
    assert deploy["suspendedSeconds"] == 11
    [after] = deploy["phases"]
    assert after["suspendedSeconds"] == 11
    a, b, c = after["steps"]
    assert "suspendedSeconds" not in a
    assert b["suspendedSeconds"] == 11
    assert [task.get("suspendedSeconds") for task in b["tasks"]] == [None, 11]
    assert c == {"name": "c", "status": "PENDING"}


def test_pauses_add_up_and_move_the_last_progress() -> None:
    task = {**WAITS, "suspendedSeconds": 4, "progressedAt": "2026-01-01T00:59:00Z", "progress": "x"}
    steps = [{"name": "a", "status": "IN_PROGRESS", "tasks": [task]}]
    phases = [{"name": "p", "status": "IN_PROGRESS", "steps": steps}]
    entry = {
        "name": "deploy",
        "status": "ERROR",
        "uid": "u",
        "suspendedSeconds": 100,
        "phases": phases,
    }
    found = changed({"suspendedAt": BEFORE, "planStatus": {"deploy": entry}})
    deploy = found["planStatus"]["deploy"]
    assert deploy["suspendedSeconds"] == 111
    [after] = deploy["phases"][0]["steps"][0]["tasks"]
    assert (after["suspendedSeconds"], after["progressedAt"]) == (15, "2026-01-01T00:59:11Z")


def test_a_time_that_somebody_edited_prolongs_nothing(subtests: pytest.Subtests) -> None:
    for since in ["yesterday", "2026-01-01T01:00:00", "2026-01-02T00:00:00Z"]:
        with subtests.test(since=since):
            entry = {"name": "deploy", "status": "IN_PROGRESS", "uid": "u"}
            found = changed({"suspendedAt": since, "planStatus": {"deploy": entry}})
            assert found["planStatus"]["deploy"].get("suspendedSeconds", 0) <= 1
            assert "suspendedAt" not in found


def test_a_status_that_is_resumed_is_not_resumed_again() -> None:
    entry = {"name": "deploy", "status": "IN_PROGRESS", "uid": "u"}
    found = instance({"suspendedAt": BEFORE, "planStatus": {"deploy": entry}})
    once = with_suspension(found, found.status, NOW)
    assert isinstance(once, InstanceStatus)
    assert with_suspension(found.model_copy(update={"status": once}), once, NOW) is once
