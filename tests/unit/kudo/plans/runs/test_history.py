"""The history of an Instance: which writes add records, and what records say."""

from typing import Any

import pytest

from kudo.api import Instance, InstanceStatus
from kudo.plans.runs.history import STOPPED, end_unknown, superseded_by, with_history

AT = "2026-01-01T00:00:00Z"
END = "2026-01-01T01:00:00Z"


def entry(status: str, uid: str = "u", name: str = "deploy", **fields: Any) -> dict[str, Any]:
    ended = {"finishedAt": END} if status in {"COMPLETE", "FATAL_ERROR"} else {}
    return {"name": name, "status": status, "uid": uid, "startedAt": AT, **ended, **fields}


def last_run(uid: str = "u", **fields: Any) -> dict[str, Any]:
    return {"plan": "deploy", "uid": uid, "version": "ns/v1", "configuration": "c0", **fields}


def stored(
    *entries: dict[str, Any], history: list[dict[str, Any]] | None = None, **spec: Any
) -> Instance:
    status = {
        "planStatus": {one["name"]: one for one in entries},
        "lastRun": last_run(),
        "history": history,
    }
    spec = {"planExecution": {"planName": "deploy", "uid": "u"}, **spec}
    metadata = {"name": "i", "namespace": "ns"}
    return Instance.from_wire({"metadata": metadata, "spec": spec, "status": status})


def after(
    instance: Instance, *entries: dict[str, Any], reason: str = "", **status: Any
) -> list[dict[str, Any]]:
    """Return the history once these entries are stored."""
    plans = {one["name"]: one for one in entries}
    new = {**instance.status.to_wire(), "planStatus": plans, **status}
    found = with_history(instance, InstanceStatus.from_wire(new), reason)
    return [record.to_wire() for record in found.history or ()]


def test_a_run_that_completes_is_recorded() -> None:
    cause = {"requestedBy": "alice", "parameters": ["NODES"]}
    before = stored(entry("IN_PROGRESS"))
    found = after(before, entry("COMPLETE"), lastRun=last_run(cause=cause))
    assert found == [
        {
            "plan": "deploy",
            "uid": "u",
            "status": "COMPLETE",
            "startedAt": AT,
            "finishedAt": END,
            "operatorVersion": "ns/v1",
            "cause": cause,
            "configuration": "c0",
        }
    ]


def test_a_run_that_begins_and_ends_in_one_write_is_recorded() -> None:
    assert [one["uid"] for one in after(stored(), entry("COMPLETE"))] == ["u"]


def test_a_run_of_an_earlier_release_has_no_configuration() -> None:
    old = {"plan": "deploy", "uid": "u"}
    [record] = after(stored(entry("IN_PROGRESS")), entry("COMPLETE"), lastRun=old)
    assert "configuration" not in record


def test_what_had_ended_before_is_not_recorded_again() -> None:
    before = stored(entry("COMPLETE"), entry("FATAL_ERROR", "v", "backup"))
    assert after(before, entry("COMPLETE"), entry("FATAL_ERROR", "v", "backup", message="m")) == []


def test_without_an_end_there_is_no_history() -> None:
    before = stored(entry("IN_PROGRESS"))
    status = before.status
    assert with_history(before, status) is status
    assert after(before, entry("ERROR")) == []


def test_what_the_original_left_has_no_uid_and_is_no_run_of_ours() -> None:
    assert after(stored(entry("IN_PROGRESS", "")), entry("FATAL_ERROR", "")) == []


def failed_step(status: str, message: str = "it broke") -> dict[str, Any]:
    steps = [
        {"name": "a", "status": "COMPLETE"},
        {"name": "b", "status": status, "message": message},
        {"name": "c", "status": "PENDING"},
    ]
    return {"phases": [{"name": "p", "status": status, "steps": steps}]}


def test_a_failed_run_names_its_step_its_reason_and_its_message(subtests: pytest.Subtests) -> None:
    for status in ["FATAL_ERROR", "ERROR", "IN_PROGRESS"]:
        with subtests.test(status=status):
            before = stored(entry("IN_PROGRESS"))
            ended = entry("FATAL_ERROR", **failed_step(status))
            [record] = after(before, ended, reason="TaskApplyError")
            assert (record["reason"], record["message"]) == ("TaskApplyError", "it broke")
            assert record["failedStep"] == "p.b"


def test_the_message_of_the_plan_comes_before_that_of_the_step_and_is_short() -> None:
    ended = entry("FATAL_ERROR", message="x" * 1000, **failed_step("IN_PROGRESS"))
    [record] = after(stored(entry("IN_PROGRESS")), ended)
    assert len(record["message"]) == 200
    assert record["message"].endswith("x ...")


def test_runs_that_another_cause_ended_have_its_reason(subtests: pytest.Subtests) -> None:
    table: list[tuple[str, str]] = [
        (superseded_by("update"), "PlanSuperseded"),
        (STOPPED, "PlanStopped"),
        (end_unknown("deploy"), "PlanResultUnknown"),
    ]
    for message, reason in table:
        with subtests.test(message=message, reason=reason):
            before = stored(entry("IN_PROGRESS", "v", "backup"))
            [record] = after(before, entry("FATAL_ERROR", "v", "backup", message=message))
            assert record["reason"] == reason
            # What it began with is no longer known: lastRun is of another run.
            assert "configuration" not in record


def test_a_run_in_whose_place_one_of_the_same_plan_comes_is_recorded() -> None:
    before = stored(entry("IN_PROGRESS", "old"))
    [record] = after(before, entry("PENDING", "u"))
    assert (record["uid"], record["status"], record["reason"]) == (
        "old",
        "FATAL_ERROR",
        "PlanSuperseded",
    )
    assert record["finishedAt"] == AT


def test_a_run_that_was_replaced_has_the_record_of_its_own_beginning() -> None:
    before = stored(entry("IN_PROGRESS"))
    [record] = after(before, entry("PENDING", "new"), lastRun=last_run("new", configuration="c1"))
    assert (record["uid"], record["configuration"]) == ("u", "c0")


OLD = [{"plan": "deploy", "uid": f"r{number}", "status": "COMPLETE"} for number in range(60)]


def test_the_newest_come_first_and_as_many_as_the_limit_says_are_kept(
    subtests: pytest.Subtests,
) -> None:
    for limit, expected in [(None, 10), (0, 0), (1, 1), (50, 50), (500, 50), (-3, 0)]:
        with subtests.test(limit=limit, expected=expected):
            before = stored(entry("IN_PROGRESS"), history=OLD, historyLimit=limit)
            found = after(before, entry("COMPLETE"))
            assert [one["uid"] for one in found] == ["u", *(one["uid"] for one in OLD)][:expected]


def test_runs_that_end_together_stand_in_the_order_of_their_ends() -> None:
    before = stored(entry("IN_PROGRESS"), entry("IN_PROGRESS", "v", "backup"))
    found = after(
        before,
        entry("COMPLETE"),
        entry("FATAL_ERROR", "v", "backup", message=STOPPED, finishedAt="2026-01-01T00:30:00Z"),
    )
    assert [one["uid"] for one in found] == ["u", "v"]
