"""What pauses, limits, retries and the history promise at every write: a breach is noticed."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from kudo.api import Instance, JsonObject, OperatorVersion
from kudo.api.times import moment
from tests.unit.kudo.plans.runs import control_promises as promises
from tests.unit.kudo.plans.runs.control_promises import HIDDEN, PROMISES, passed_limits
from tests.unit.kudo.plans.runs.writes import Record, Write

AT = "2026-01-01T00:00:00Z"
"""When runs and pauses begin here."""
STARTED = moment(AT)
assert STARTED is not None
VERSION = OperatorVersion.from_wire(
    {
        "metadata": {"name": "v1", "namespace": "ns"},
        "spec": {
            "plans": {
                "deploy": {
                    "timeout": "1h",
                    "phases": [
                        {
                            "name": "p",
                            "timeout": "30m",
                            "steps": [{"name": "a", "timeout": "10m", "tasks": ["t"]}],
                        }
                    ],
                }
            },
            "tasks": [{"name": "t", "timeout": "5m", "progressDeadline": "1m"}],
        },
    }
)


def entry(uid: str, status: str, *steps: str, **fields: Any) -> JsonObject:
    """Return an entry of deploy; a step is `name=STATUS`."""
    found = [dict(zip(("name", "status"), step.split("="), strict=True)) for step in steps]
    phases = [{"name": "p", "status": status, "steps": found}]
    return {"name": "deploy", "uid": uid, "status": status, "phases": phases, **fields}


def record(uid: str, **fields: Any) -> JsonObject:
    return {"plan": "deploy", "uid": uid, "status": "FATAL_ERROR", **fields}


def instance(
    *entries: JsonObject,
    suspended: bool = False,
    since: str = "",
    history: tuple[JsonObject, ...] = (),
    run: JsonObject | None = None,
    limit: int | None = None,
) -> Instance:
    spec: JsonObject = {"suspend": suspended, "planExecution": run or {}, "historyLimit": limit}
    status: JsonObject = {"planStatus": {one["name"]: one for one in entries}}
    if since:
        status["suspendedAt"] = since
    if history:
        status["history"] = list(history)
    metadata = {"name": "i", "namespace": "ns"}
    return Instance.from_wire({"metadata": metadata, "spec": spec, "status": status})


def write(before: Instance, after: Instance, *, seconds: float = 60, **fields: Any) -> Write:
    """Return a write of the reconciler so many seconds after the beginning."""
    assert STARTED is not None
    seen = Record(**{name: fields.pop(name) for name in ("retried", "recorded") if name in fields})
    at = STARTED + timedelta(seconds=seconds)
    pair = (VERSION, VERSION)
    since = STARTED if before.suspended else None
    known = {"now": at, "held_up_since": since, "known_versions": (VERSION,)}
    return Write(before, after, "reconciler", seen, pair, **{**known, **fields})


def timed_out(text: str, seconds: int, **step: Any) -> JsonObject:
    """Return an entry that ended so many seconds after it began, as its step did."""
    ended = f"2026-01-01T00:{seconds // 60:02}:{seconds % 60:02}Z"
    found = entry("A", "FATAL_ERROR", startedAt=AT, finishedAt=ended)
    found["phases"][0]["steps"] = [
        {"name": "a", "status": "FATAL_ERROR", "message": text, "startedAt": AT, **step}
    ]
    return found


PAUSED: dict[str, Any] = {"suspended": True, "since": AT}
RUNNING = entry("A", "IN_PROGRESS", "a=COMPLETE", "b=PENDING")
FAILED = entry("A", "FATAL_ERROR", "a=COMPLETE", "b=FATAL_ERROR")
LATE = "step deploy.p.a took longer than its timeout of 10m"
TASK = {"name": "t", "status": "FATAL_ERROR", "startedAt": AT}
RETRY = {"planName": "deploy", "uid": "B", "retryOf": "A"}
RETRIED = entry("B", "IN_PROGRESS", "a=COMPLETE", "b=PENDING", retryOf="A")
Promise = Callable[[Write], None]
BROKEN: list[tuple[str, Promise, Write]] = [
    (
        "a step begins in a pause",
        promises.no_step_starts_during_a_pause,
        write(
            instance(RUNNING, **PAUSED),
            instance(entry("A", "IN_PROGRESS", "a=COMPLETE", "b=IN_PROGRESS"), **PAUSED),
        ),
    ),
    (
        "a run begins in a pause",
        promises.no_run_begins_during_a_pause,
        write(instance(**PAUSED), instance(RUNNING, **PAUSED)),
    ),
    (
        "the beginning of a pause moves",
        promises.a_status_says_whether_it_is_suspended,
        write(instance(**PAUSED), instance(suspended=True, since="2026-01-01T00:00:09Z")),
    ),
    (
        "a pause begins that nobody asked for",
        promises.a_status_says_whether_it_is_suspended,
        write(instance(), instance(since=AT)),
    ),
    (
        "paused seconds shrink",
        promises.paused_time_is_never_forgotten,
        write(
            instance(entry("A", "IN_PROGRESS", suspendedSeconds=9)),
            instance(entry("A", "IN_PROGRESS", suspendedSeconds=8)),
        ),
    ),
    (
        "a pause is not counted",
        promises.an_ended_pause_is_counted,
        write(instance(RUNNING, since=AT), instance(RUNNING)),
    ),
    (
        "a pause is counted twice",
        promises.an_ended_pause_is_counted,
        write(
            instance(RUNNING, since=AT),
            instance({**RUNNING, "suspendedSeconds": 120}),
        ),
    ),
    (
        "a step times out early",
        promises.no_run_times_out_early,
        write(instance(RUNNING), instance(timed_out(LATE, 599)), seconds=599),
    ),
    (
        "paused time counts",
        promises.no_run_times_out_early,
        write(instance(RUNNING), instance(timed_out(LATE, 660, suspendedSeconds=61)), seconds=660),
    ),
    (
        "a run times out in a pause",
        promises.no_run_times_out_early,
        write(instance(RUNNING, since=AT), instance(timed_out(LATE, 660), since=AT), seconds=660),
    ),
    (
        "a run times out in the future",
        promises.no_run_times_out_early,
        write(instance(RUNNING), instance(timed_out(LATE, 660)), seconds=600),
    ),
    (
        "a task that progressed times out",
        promises.no_run_times_out_early,
        write(
            instance(RUNNING),
            instance(
                timed_out(
                    "nothing has changed for 1m (progressDeadline)",
                    100,
                    tasks=[{**TASK, "progressedAt": "2026-01-01T00:00:50Z"}],
                )
            ),
            seconds=100,
        ),
    ),
    (
        "a retry forgets a finished step",
        promises.a_retry_keeps_what_was_finished,
        write(
            instance(FAILED, run=RETRY),
            instance(entry("B", "IN_PROGRESS", "a=PENDING", "b=PENDING", retryOf="A"), run=RETRY),
        ),
    ),
    (
        "a retry does not name the failed run",
        promises.a_retry_keeps_what_was_finished,
        write(instance(FAILED, run=RETRY), instance({**RETRIED, "retryOf": ""}, run=RETRY)),
    ),
    (
        "a retry of what did not fail",
        promises.a_retry_keeps_what_was_finished,
        write(
            instance(entry("A", "COMPLETE", "a=COMPLETE", "b=COMPLETE"), run=RETRY),
            instance(RETRIED, run=RETRY),
        ),
    ),
    (
        "a retry does not begin where it was told to",
        promises.a_retry_keeps_what_was_finished,
        write(
            instance(FAILED, run={**RETRY, "from": "p.a"}),
            instance(RETRIED, run={**RETRY, "from": "p.a"}),
        ),
    ),
    (
        "a run is retried twice",
        promises.a_run_is_retried_once,
        write(instance(FAILED, run=RETRY), instance(RETRIED, run=RETRY), retried={"A"}),
    ),
    (
        "an end leaves no record",
        promises.each_run_that_ends_is_recorded_once,
        write(instance(RUNNING), instance(FAILED)),
    ),
    (
        "a replaced run leaves no record",
        promises.each_run_that_ends_is_recorded_once,
        write(instance(RUNNING), instance(RETRIED)),
    ),
    (
        "a record is lost",
        promises.each_run_that_ends_is_recorded_once,
        write(instance(RUNNING, history=(record("Z"),)), instance({**RUNNING, "message": "m"})),
    ),
    (
        "a record changes",
        promises.each_run_that_ends_is_recorded_once,
        write(
            instance(RUNNING, history=(record("Z"),)),
            instance(FAILED, history=(record("A"), record("Z", message="other"))),
        ),
    ),
    (
        "a run is recorded again",
        promises.each_run_that_ends_is_recorded_once,
        write(instance(RUNNING), instance(FAILED, history=(record("A"),)), recorded={"A"}),
    ),
    (
        "there are more records than wanted",
        promises.each_run_that_ends_is_recorded_once,
        write(
            instance(RUNNING, history=(record("Z"),), limit=1),
            instance(FAILED, history=(record("A"), record("Z")), limit=1),
        ),
    ),
    (
        "the newest record comes last",
        promises.each_run_that_ends_is_recorded_once,
        write(
            instance(RUNNING, history=(record("Z"),)),
            instance(FAILED, history=(record("Z"), record("A"))),
        ),
    ),
    (
        "a record tells a value",
        promises.no_record_has_a_value,
        write(instance(), instance(history=(record("A", message=f"is {HIDDEN}"),))),
    ),
]
KEPT: dict[str, Write] = {
    "what was sent before a pause is recorded": write(
        instance(RUNNING, **PAUSED),
        instance(entry("A", "IN_PROGRESS", "a=COMPLETE", "b=COMPLETE"), **PAUSED),
        seconds=5,
    ),
    "a run is ended before it begins in a pause": write(
        instance(**PAUSED), instance(FAILED, history=(record("A"),), **PAUSED)
    ),
    "a pause ends": write(
        instance(RUNNING, since=AT), instance({**RUNNING, "suspendedSeconds": 61})
    ),
    "a step times out": write(
        instance(RUNNING),
        instance(timed_out(LATE, 600), history=(record("A"),)),
        seconds=601,
    ),
    "a task makes no progress": write(
        instance(RUNNING),
        instance(
            timed_out("nothing changed (progressDeadline)", 61, tasks=[TASK]),
            history=(record("A"),),
        ),
        seconds=61,
    ),
    "a retry begins": write(instance(FAILED, run=RETRY), instance(RETRIED, run=RETRY)),
    "a retry begins at a step": write(
        instance(FAILED, run={**RETRY, "from": "p.b"}),
        instance(RETRIED, run={**RETRY, "from": "p.b"}),
    ),
    "no record is wanted": write(
        instance(RUNNING, history=(record("Z"),), limit=0), instance(FAILED, limit=0)
    ),
}


def test_a_write_that_breaks_a_promise_is_noticed(subtests: pytest.Subtests) -> None:
    for promise, breach in [one[1:] for one in BROKEN]:
        with subtests.test(promise=promise, breach=breach), pytest.raises(AssertionError):
            promise(breach)


def test_a_write_that_keeps_them_all_passes(subtests: pytest.Subtests) -> None:
    for kept in KEPT.values():
        with subtests.test(kept=kept):
            for promise in PROMISES:
                promise(kept)


def test_every_promise_is_broken_by_one_of_these_writes() -> None:
    assert {promise for _, promise, _ in BROKEN} == {*PROMISES}


def test_limits_that_have_passed_are_told_from_those_that_have_not() -> None:
    assert STARTED is not None
    entries = instance(timed_out(LATE, 600, tasks=[TASK])).plan_status
    found = passed_limits(entries["deploy"], VERSION, None, STARTED + timedelta(minutes=30))
    assert found == ["deploy/0/0", "deploy/0/0/t", "deploy/0/0/t"]


def test_an_instance_at_rest_in_a_pause_says_what_is_held_up(subtests: pytest.Subtests) -> None:
    for run in [None, RETRY]:
        with subtests.test(run=run):
            found = instance(run=run, **PAUSED)
            with pytest.raises((AssertionError, KeyError)):
                promises.held_up_instance_says_so(found)
