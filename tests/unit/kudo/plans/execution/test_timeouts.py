"""Which limit passes next, and what is left of a run that one has ended."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo.api import ExecutionStatus, OperatorVersion, PlanStatus
from kudo.plans.execution import (
    NO_LIMITS,
    Limits,
    Passing,
    limits_of,
    next_limit,
    runnable,
    time_out,
)

S = ExecutionStatus
BEGAN = "2026-11-23T06:40:00Z"
START = datetime(2026, 11, 23, 6, 40, tzinfo=UTC)
END = "2026-11-23T07:00:00Z"
READY = "Deployment default/db: 1 of 3 replicas are ready"


def version(
    *,
    plan: str | None = None,
    phase: str | None = None,
    step: str | None = None,
    task: str | None = None,
    progress: str | None = None,
) -> OperatorVersion:
    """Return a version with a phase main and its steps db and web; limits are of main, db, a."""
    steps = [{"name": "db", "tasks": ["a", "b"], "timeout": step}, {"name": "web", "tasks": ["a"]}]
    phases = [{"name": "main", "strategy": "parallel", "steps": steps, "timeout": phase}]
    tasks = [{"name": "a", "timeout": task, "progressDeadline": progress}, {"name": "b"}]
    plans = {"deploy": {"phases": phases, "timeout": plan}}
    return OperatorVersion.from_wire({"spec": {"plans": plans, "tasks": tasks}})


PLAN = version().plans["deploy"]


def limits(*, default: str | None = None, **texts: str | None) -> Limits:
    return limits_of(version(**texts), "deploy", default=default)


def a_task(name: str = "a", **fields: Any) -> dict[str, Any]:
    begun = {"status": "IN_PROGRESS", "message": READY, "startedAt": BEGAN}
    return {"name": name, **begun, **fields}


def entry(
    *tasks: dict[str, Any],
    db: dict[str, Any] | None = None,
    web: dict[str, Any] | None = None,
    phase: dict[str, Any] | None = None,
    **fields: Any,
) -> PlanStatus:
    """Return the entry of a run whose step db has begun with these tasks, and web with none."""
    running = {"status": "IN_PROGRESS"}
    steps = [
        {"name": "db", **running, "tasks": list(tasks or (a_task(),)), **(db or {})},
        {"name": "web", "status": "PENDING", **(web or {})},
    ]
    phases = [{"name": "main", **running, "steps": steps, **(phase or {})}]
    return PlanStatus.from_wire(
        {"name": "deploy", **running, "startedAt": BEGAN, "uid": "u", "phases": phases, **fields}
    )


def after(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def ahead(
    status: PlanStatus, of: Limits, seconds: float = 0, *, suspended_at: str | None = None
) -> Passing | None:
    return next_limit(PLAN, status, of, after(seconds), suspended_at=suspended_at)


def left(status: PlanStatus, of: Limits, seconds: float = 0) -> float:
    found = ahead(status, of, seconds)
    assert found is not None
    return found.seconds_left


STARTED = {"startedAt": BEGAN}
EACH: list[tuple[str, PlanStatus, str, tuple[int, ...]]] = [
    ("plan", entry(), "deploy", ()),
    ("phase", entry(phase=STARTED), "deploy.main", (0,)),
    ("step", entry(db=STARTED), "deploy.main.db", (0, 0)),
    ("task", entry(), "deploy.main.db", (0, 0, 0)),
    ("progress", entry(), "deploy.main.db", (0, 0, 0)),
]


def test_a_limit_passes_a_second_after_its_time_and_not_before(subtests: pytest.Subtests) -> None:
    for kind, status, path, position in EACH:
        with subtests.test(kind=kind, status=status, path=path, position=position):
            of = limits(**{kind: "10m"})
            found = ahead(status, of)
            assert found is not None
            assert (found.kind, found.path, found.position) == (kind, path, position)
            assert found.limit.text == "10m"
            assert found.task == ("a" if len(position) == 3 else "")
            assert found.seconds_left == 601
            for seconds, passed in ((600, False), (600.99, False), (601, True), (9999, True)):
                late = ahead(status, of, seconds)
                assert late is not None
                assert late.passed is passed


DONE = {"status": "COMPLETE"}


def test_no_limit_counts_where() -> None:
    table: list[tuple[str, PlanStatus, Limits]] = [
        ("nothing has a limit", entry(), NO_LIMITS),
        ("the run has ended", entry(status="FATAL_ERROR"), limits(plan="1m")),
        ("the run is complete", entry(status="COMPLETE"), limits(plan="1m")),
        ("the run has no start", entry(startedAt=None), limits(plan="1m")),
        ("the phase has not begun", entry(), limits(phase="1m")),
        ("the phase is complete", entry(phase=DONE | STARTED), limits(phase="1m")),
        ("the step has not begun", entry(), limits(step="1m")),
        ("the step is complete", entry(db=DONE | STARTED), limits(step="1m")),
        ("its step is complete", entry(db=DONE), limits(task="1m", progress="1m")),
        ("the task is complete", entry(a_task(**DONE)), limits(task="1m", progress="1m")),
        ("the task has no start", entry(a_task(startedAt=None)), limits(task="1m")),
        ("another task has begun", entry(a_task("b")), limits(task="1m", progress="1m")),
        ("the step no longer names it", entry(db={"tasks": []}), limits(task="1m")),
        ("the time is no time", entry(startedAt="yesterday"), limits(plan="1m")),
        ("the time has no zone", entry(startedAt="2026-11-23T06:40:00"), limits(plan="1m")),
        ("the entry has no phases", entry(phases=None), limits(phase="1m", step="1m", task="1m")),
        ("the entry has no steps", entry(phase={"steps": None}), limits(step="1m", task="1m")),
    ]
    for what, status, of in table:
        assert ahead(status, of, 9999) is None, what


def test_nothing_times_out_while_the_instance_is_suspended() -> None:
    assert ahead(entry(), limits(plan="1s"), 9999, suspended_at=BEGAN) is None


def test_paused_time_of_the_same_thing_is_left_out(subtests: pytest.Subtests) -> None:
    for kind, status, path, position in EACH:
        with subtests.test(kind=kind, status=status, path=path, position=position):
            of = limits(**{kind: "10m"})
            paused: dict[str, Any] = {"suspendedSeconds": 100}
            statuses = {
                "plan": entry(**paused),
                "phase": entry(phase=STARTED | paused),
                "step": entry(db=STARTED | paused),
                "task": entry(a_task(**paused)),
                "progress": entry(a_task(**paused)),
            }
            assert left(statuses[kind], of) == left(status, of) + 100


def test_progress_counts_from_the_last_change_which_the_end_of_a_pause_moves() -> None:
    changed = a_task(progressedAt="2026-11-23T06:45:00Z", suspendedSeconds=100)
    assert left(entry(changed), limits(progress="1m")) == 300 + 61
    unreadable = a_task(progressedAt="x", suspendedSeconds=100)
    assert left(entry(unreadable), limits(progress="1m")) == 100 + 61


def test_the_limit_that_comes_first_decides_and_of_several_the_outer_one(
    subtests: pytest.Subtests,
) -> None:
    table: list[tuple[dict[str, str], str]] = [
        ({"plan": "3m", "task": "2m", "progress": "1m"}, "progress"),
        ({"plan": "1m", "task": "2m", "progress": "3m"}, "plan"),
        ({"plan": "1m", "phase": "1m", "step": "1m", "task": "1m", "progress": "1m"}, "plan"),
        ({"phase": "1m", "step": "1m", "task": "1m", "progress": "1m"}, "phase"),
        ({"step": "1m", "task": "1m", "progress": "1m"}, "step"),
        ({"task": "1m", "progress": "1m"}, "task"),
    ]
    for texts, first in table:
        with subtests.test(texts=texts, first=first):
            found = ahead(entry(db=STARTED, phase=STARTED), limits(**texts))
            assert found is not None
            assert found.kind == first


def test_a_limit_of_a_task_counts_in_each_step_for_itself() -> None:
    both = entry(web={"status": "ERROR", "tasks": [a_task(startedAt="2026-11-23T06:39:00Z")]})
    found = ahead(both, limits(task="10m"))
    assert found is not None
    assert (found.path, found.position) == ("deploy.main.web", (0, 1, 0))
    assert found.seconds_left == 541


def ended(status: PlanStatus, of: Limits) -> tuple[dict[str, Any], str]:
    """Return the entry, as it is stored, of a run that the next limit has ended."""
    found = ahead(status, of)
    assert found is not None
    result, message = time_out(PLAN, status, found, END)
    assert runnable(PLAN, result) == ()
    assert (result.status, result.finished_at) == (S.FATAL_ERROR, END)
    assert result.uid == status.uid
    return result.to_wire(), message


def test_a_limit_of_a_task_fails_the_task_and_its_step(subtests: pytest.Subtests) -> None:
    table = [
        ("task", f"deploy.main.db: task a was not done within its timeout of 10m: {READY}"),
        (
            "progress",
            (
                "deploy.main.db: nothing that task a waits for has changed for 10m "
                f"(progressDeadline): {READY}"
            ),
        ),
    ]
    for kind, message in table:
        with subtests.test(kind=kind, message=message):
            retried = a_task(status="ERROR", failures=3, nextAttemptAt=END, suspendedSeconds=7)
            result, said = ended(entry(retried, a_task("b")), limits(**{kind: "10m"}))
            assert said == message
            assert "message" not in result
            [phase] = result["phases"]
            assert phase["status"] == "FATAL_ERROR"
            db, web = phase["steps"]
            assert (db["status"], db["message"]) == ("FATAL_ERROR", message)
            assert web == {"name": "web", "status": "PENDING"}
            failed = {"status": "FATAL_ERROR", "message": message, "finishedAt": END}
            assert db["tasks"] == [a_task(**failed, suspendedSeconds=7), a_task("b")]


def test_a_limit_of_a_step_fails_the_step_and_leaves_its_tasks() -> None:
    status = entry(a_task(), a_task("b", message=None), a_task("a", **DONE), db=STARTED)
    result, message = ended(status, limits(step="10m"))
    assert message == (
        "step deploy.main.db took longer than its timeout of 10m: "
        f"waiting for task a: {READY}; task b"
    )
    [phase] = result["phases"]
    assert phase["status"] == "FATAL_ERROR"
    db = phase["steps"][0]
    assert (db["status"], db["message"]) == ("FATAL_ERROR", message)
    assert [task["status"] for task in db["tasks"]] == ["IN_PROGRESS", "IN_PROGRESS", "COMPLETE"]


def test_a_limit_of_a_phase_fails_the_phase_with_the_message_at_the_plan() -> None:
    result, message = ended(entry(phase=STARTED), limits(phase="10m"))
    assert message == (
        f"phase deploy.main took longer than its timeout of 10m: waiting for step db: {READY}"
    )
    assert result["message"] == message
    [phase] = result["phases"]
    assert (phase["status"], phase.get("message")) == ("FATAL_ERROR", None)
    assert [step["status"] for step in phase["steps"]] == ["IN_PROGRESS", "PENDING"]


@pytest.mark.parametrize(
    ("texts", "limit"),
    [({"plan": "1h"}, "1h"), ({"default": "1h"}, "1h (spec.planTimeout)")],
)
def test_a_limit_of_the_plan_leaves_its_phases_and_steps(texts: dict[str, str], limit: str) -> None:
    result, message = ended(entry(), limits(**texts))
    assert message == (
        f"plan deploy took longer than its timeout of {limit}: waiting for step main.db: {READY}"
    )
    assert result["message"] == message
    [phase] = result["phases"]
    assert phase["status"] == "IN_PROGRESS"
    assert [step["status"] for step in phase["steps"]] == ["IN_PROGRESS", "PENDING"]


def test_a_run_that_has_hardly_begun_says_what_is_known(subtests: pytest.Subtests) -> None:
    table: list[tuple[PlanStatus, str]] = [
        (entry(db={"status": "PENDING", "tasks": None}), ""),
        (
            entry(db={"tasks": None, "message": "rendering"}),
            ": waiting for step main.db: rendering",
        ),
        (entry(a_task(message=None)), ": waiting for step main.db"),
    ]
    for status, rest in table:
        with subtests.test(status=status, rest=rest):
            _, message = ended(status, limits(plan="1h"))
            assert message == f"plan deploy took longer than its timeout of 1h{rest}"


def test_a_task_without_a_message_says_what_passed() -> None:
    _, message = ended(entry(a_task(message=None)), limits(task="1h"))
    assert message == "deploy.main.db: task a was not done within its timeout of 1h"


def test_three_waits_are_told_and_the_others_counted_and_all_of_it_is_bounded() -> None:
    name = "n" * 250
    step = {"name": name, "tasks": [name] * 9}
    plans = {name: {"timeout": "1h", "phases": [{"name": name, "steps": [step]}]}}
    of = OperatorVersion.from_wire({"spec": {"plans": plans}})
    tasks = [a_task(name, message="m" * 5000)] * 9
    steps = [{"name": name, "status": "IN_PROGRESS", "tasks": tasks}]
    phases = [{"name": name, "status": "IN_PROGRESS", "steps": steps}]
    status = PlanStatus.from_wire(
        {"name": name, "status": "IN_PROGRESS", "startedAt": BEGAN, "phases": phases}
    )
    plan = of.plans[name]
    found = next_limit(plan, status, limits_of(of, name, default=None), START, suspended_at=None)
    assert found is not None
    result, message = time_out(plan, status, found, END)
    assert message.endswith("; and 6 more")
    assert message.count("m" * 300) == 3
    assert len(message) < 2000
    assert result.message == message


# Properties

_seconds = st.integers(1, 10_000)
_texts = st.one_of(
    st.none(),
    st.just(BEGAN),
    st.text(max_size=25),
    st.datetimes().map(lambda time: f"{time:%Y-%m-%dT%H:%M:%SZ}"),
    st.from_regex(r"[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-9]{2}:[0-9]{2}:[0-9]{2}[+-][0-9]{2}:[0-9]{2}"),
)
_states = st.sampled_from([*S]) | st.text(max_size=3)


@st.composite
def entries(draw: st.DrawFn) -> PlanStatus:
    """Draw an entry that somebody may have edited."""

    def timed() -> dict[str, Any]:
        paused = draw(st.none() | st.integers(-5, 10_000))
        return {"status": draw(_states), "startedAt": draw(_texts), "suspendedSeconds": paused}

    tasks = [
        {"name": name, **timed(), "progressedAt": draw(_texts)}
        for name in draw(st.lists(st.sampled_from("abc"), max_size=3))
    ]
    steps = [{"name": "db", **timed(), "tasks": tasks}, {"name": "web", **timed()}]
    phases = [{"name": "main", **timed(), "steps": steps[: draw(st.integers(0, 2))]}]
    wire = {"name": "deploy", **timed(), "phases": phases[: draw(st.integers(0, 1))]}
    return PlanStatus.from_wire(wire)


_limits = st.fixed_dictionaries(
    {},
    optional={
        name: _seconds.map("{}s".format)
        for name in ("plan", "phase", "step", "task", "progress", "default")
    },
).map(lambda texts: limits(**texts))


@given(entries(), _limits, st.integers(0, 100_000))
def test_any_entry_has_one_next_limit_and_ends_by_it_or_has_none(
    status: PlanStatus, of: Limits, seconds: int
) -> None:
    found = ahead(status, of, seconds)
    assert ahead(status, of, seconds) == found
    assert ahead(status, NO_LIMITS, seconds) is None
    assert ahead(status, of, seconds, suspended_at=BEGAN) is None
    if found is not None:
        assert found.limit in of.by_key.values()
        result, message = time_out(PLAN, status, found, END)
        assert result.status == S.FATAL_ERROR
        assert message
        assert ahead(result, of, seconds) is None


@given(
    st.sampled_from(EACH),
    _seconds,
    st.floats(0, 0.999),
    st.floats(0, 20_000),
    st.integers(0, 10_000),
)
def test_no_limit_passes_early_and_pauses_shift_it_by_exactly_their_seconds(
    each: tuple[str, PlanStatus, str, tuple[int, ...]],
    seconds: int,
    into_the_second: float,
    passed: float,
    paused: int,
) -> None:
    kind, status, _, _ = each
    of = limits(**{kind: f"{seconds}s"})
    # The status has the whole second in which it began.
    found = ahead(status, of, into_the_second + passed)
    assert found is not None
    assert not found.passed or passed > seconds
    assert found.passed or passed < seconds + 1.001
    longer = ahead(_paused(status, paused), of, into_the_second + passed)
    assert longer is not None
    assert longer.seconds_left == pytest.approx(found.seconds_left + paused, abs=1e-6)


def _paused(status: PlanStatus, seconds: int) -> PlanStatus:
    """Return the entry with these paused seconds at everything in it."""

    def add(value: Any) -> Any:
        if isinstance(value, list):
            return [add(item) for item in value]
        if not isinstance(value, dict):
            return value
        return {name: add(item) for name, item in value.items()} | {"suspendedSeconds": seconds}

    return PlanStatus.from_wire(add(status.to_wire()))
