"""Runs as they stand in Instances that were not parsed."""

import pytest

from kudo.api import ExecutionStatus, JsonObject
from kudo.plans.runs.history import (
    STOPPED,
    EndedRun,
    end_unknown,
    ended_since,
    has_begun,
    superseded_by,
)

SINCE, AFTER = "2026-01-01T00:10:00Z", "2026-01-01T00:10:01Z"
DONE, FAILED = ExecutionStatus.COMPLETE, ExecutionStatus.FATAL_ERROR
RUN = {"planName": "deploy", "uid": "u"}


def test_a_run_has_begun_once_its_entry_has_its_uid(subtests: pytest.Subtests) -> None:
    table: list[tuple[JsonObject, JsonObject, bool]] = [
        (RUN, {"uid": "u", "status": "IN_PROGRESS"}, True),
        (RUN, {"uid": "u", "status": "COMPLETE"}, True),
        (RUN, {"uid": "older", "status": "COMPLETE"}, False),
        (RUN, {}, False),
        ({"planName": "deploy"}, {"status": "NEVER_RUN"}, False),
        ({"planName": "update", "uid": "u"}, {"uid": "u"}, False),
        ({}, {"uid": "u"}, False),
    ]
    for run, entry, begun in table:
        with subtests.test(run=run, entry=entry, begun=begun):
            instance = {"spec": {"planExecution": run}, "status": {"planStatus": {"deploy": entry}}}
            assert has_begun(instance) is begun


@pytest.mark.parametrize(
    "instance", [{}, {"spec": {}}, {"spec": {"planExecution": RUN}, "status": None}]
)
def test_an_instance_without_a_status_has_begun_nothing(instance: JsonObject) -> None:
    assert not has_begun(instance)


def with_entries(last: str = "u", **entries: JsonObject) -> JsonObject:
    return {"status": {"planStatus": entries, "lastRun": {"uid": last}}}


def test_a_run_that_ended_then_or_later_is_found(subtests: pytest.Subtests) -> None:
    for moment in [SINCE, AFTER, "2027-01-01T00:00:00Z"]:
        with subtests.test(moment=moment):
            entry = {"uid": "u", "status": "COMPLETE", "finishedAt": moment}
            found = ended_since(with_entries(deploy=entry), SINCE)
            assert found == [EndedRun("deploy", "u", DONE)]


def test_what_is_older_runs_is_not_ours_or_ended_unseen_is_left_out() -> None:
    table: list[JsonObject] = [
        {"uid": "u", "status": "COMPLETE", "finishedAt": "2026-01-01T00:09:59Z"},
        {"uid": "u", "status": "COMPLETE"},
        {"uid": "u", "status": "COMPLETE", "finishedAt": None},
        {"uid": "u", "status": "IN_PROGRESS", "finishedAt": AFTER},
        {"uid": "u", "status": "strange", "finishedAt": AFTER},
        {"uid": "u", "finishedAt": AFTER},
        {"status": "COMPLETE", "finishedAt": AFTER},
        {
            "uid": "u",
            "status": "FATAL_ERROR",
            "finishedAt": AFTER,
            "message": end_unknown("deploy"),
        },
    ]
    for entry in table:
        assert ended_since(with_entries(deploy=entry), SINCE) == []


def test_runs_in_whose_place_the_last_came_are_found_before_it(subtests: pytest.Subtests) -> None:
    for message, superseded in [(superseded_by("update"), True), (STOPPED, False)]:
        with subtests.test(message=message, superseded=superseded):
            before = {"uid": "a", "status": "FATAL_ERROR", "finishedAt": SINCE, "message": message}
            last = {"uid": "b", "status": "COMPLETE", "finishedAt": AFTER}
            earlier = {"uid": "c", "status": "COMPLETE", "finishedAt": SINCE}
            found = ended_since(with_entries("b", update=last, deploy=before, other=earlier), SINCE)
            assert found == [
                EndedRun("deploy", "a", FAILED, superseded),
                EndedRun("update", "b", DONE),
            ]


def test_an_instance_without_entries_or_a_last_run_has_ended_nothing() -> None:
    table: list[JsonObject] = [
        {},
        {"status": None},
        {"status": {"planStatus": None}},
        {
            "status": {
                "planStatus": {"deploy": {"uid": "u", "status": "COMPLETE", "finishedAt": AFTER}}
            }
        },
    ]
    for instance in table:
        assert ended_since(instance, SINCE) == []
