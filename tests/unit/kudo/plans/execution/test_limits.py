"""Time limits as they are read from an OperatorVersion."""

from typing import Any

import pytest

from kudo.api import OperatorVersion
from kudo.plans.execution import (
    NO_LIMITS,
    InvalidLimits,
    Limit,
    LimitKind,
    limits_of,
)

K = LimitKind
ADVICE = "write a duration of more than zero, such as 90s, 10m or 1h30m"


def version(
    *,
    plan: str | None = None,
    phase: str | None = None,
    step: str | None = None,
    tasks: tuple[dict[str, Any], ...] = (),
) -> OperatorVersion:
    """Return a version whose plan deploy has the phases first and main; limits are of main."""
    steps = [{"name": "one", "tasks": ["a"]}, {"name": "db", "tasks": ["a", "b"], "timeout": step}]
    phases = [
        {"name": "first", "steps": []},
        {"name": "main", "steps": steps, "timeout": phase},
    ]
    plans = {"deploy": {"phases": phases, "timeout": plan}, "other": {"timeout": "never"}}
    return OperatorVersion.from_wire({"spec": {"plans": plans, "tasks": list(tasks)}})


def a_task(name: str, **limits: str) -> dict[str, Any]:
    return {"name": name, "kind": "Dummy", **limits}


def test_a_version_without_limits_has_none() -> None:
    tasks = a_task("a"), a_task("b", timeout="", progressDeadline="")
    found = limits_of(version(plan="", tasks=tasks), "deploy", default=None)
    assert found is NO_LIMITS
    assert not found
    assert limits_of(version(), "deploy", default="") is NO_LIMITS


def test_every_limit_has_its_seconds_its_text_and_its_field() -> None:
    tasks = (
        a_task("a", timeout="90s"),
        a_task("b", progressDeadline="1m"),
        a_task("a", timeout="1s", progressDeadline="1s"),
    )
    of = version(plan="2h", phase="1h", step="30m", tasks=tasks)
    found = limits_of(of, "deploy", default=None)
    assert found
    assert found.by_key == {
        (K.PLAN,): Limit(7200, "2h", "plans.deploy.timeout"),
        (K.PHASE, 1): Limit(3600, "1h", "plans.deploy.phases[main].timeout"),
        (K.STEP, 1, 1): Limit(1800, "30m", "plans.deploy.phases[main].steps[db].timeout"),
        (K.TASK, "a"): Limit(90, "90s", "tasks[a].timeout"),
        (K.PROGRESS, "b"): Limit(60, "1m", "tasks[b].progressDeadline"),
    }


def test_what_has_to_be_recorded_is_asked_for_by_place() -> None:
    tasks = (a_task("a", timeout="1m"), a_task("b", progressDeadline="1m"))
    found = limits_of(version(phase="1h", step="1m", tasks=tasks), "deploy", default=None)
    assert [found.times_phase(index) for index in (0, 1)] == [False, True]
    assert [found.times_step(1, index) for index in (0, 1)] == [False, True]
    assert [found.watches_progress(name) for name in "ab"] == [False, True]
    assert found.get((K.PLAN,)) is None


def test_the_timeout_of_the_plan_wins_over_that_of_the_instance(subtests: pytest.Subtests) -> None:
    table: list[tuple[str | None, str, Limit]] = [
        ("1h", "5m", Limit(3600, "1h", "plans.deploy.timeout")),
        ("1h", "never", Limit(3600, "1h", "plans.deploy.timeout")),
        (None, "5m", Limit(300, "5m", "spec.planTimeout")),
        ("", "5m", Limit(300, "5m", "spec.planTimeout")),
    ]
    for own, default, expected in table:
        with subtests.test(own=own, default=default, expected=expected):
            found = limits_of(version(plan=own), "deploy", default=default)
            assert found.by_key == {(K.PLAN,): expected}


def test_the_default_counts_for_a_plan_that_is_not_there() -> None:
    found = limits_of(version(), "gone", default="5m")
    assert found.by_key == {(K.PLAN,): Limit(300, "5m", "spec.planTimeout")}


def test_limits_of_tasks_that_the_plan_does_not_name_are_not_read() -> None:
    assert limits_of(version(tasks=(a_task("c", timeout="never"),)), "deploy", default=None) == (
        NO_LIMITS
    )


def test_limits_that_cannot_be_used_are_named_all_at_once() -> None:
    tasks = (a_task("a", timeout="0s"), a_task("b", progressDeadline="-1m"))
    of = version(plan="soon", phase="10", step="1d", tasks=tasks)
    with pytest.raises(InvalidLimits) as caught:
        limits_of(of, "deploy", default=None)
    assert {problem.reason for problem in caught.value.problems} == {"TimeLimitInvalid"}
    assert [str(problem) for problem in caught.value.problems] == [
        f'plans.deploy.timeout: time: invalid duration "soon"; {ADVICE}',
        f'plans.deploy.phases[main].timeout: time: missing unit in duration "10"; {ADVICE}',
        (
            "plans.deploy.phases[main].steps[db].timeout: "
            f'time: unknown unit "d" in duration "1d"; {ADVICE}'
        ),
        f'tasks[a].timeout: "0s" is not more than zero; {ADVICE}',
        f'tasks[b].progressDeadline: "-1m" is not more than zero; {ADVICE}',
    ]


def test_a_default_that_cannot_be_used_is_named() -> None:
    with pytest.raises(InvalidLimits) as caught:
        limits_of(version(), "deploy", default="-5m")
    (problem,) = caught.value.problems
    assert str(problem) == f'spec.planTimeout: "-5m" is not more than zero; {ADVICE}'
    assert limits_of(version(), "deploy", default="5m")


def test_of_many_wrong_limits_the_first_are_named_and_the_others_counted() -> None:
    steps = [{"name": "x" * 500, "tasks": [], "timeout": "é" * 500} for _ in range(100)]
    plans = {"deploy": {"phases": [{"name": "p" * 500, "steps": steps}]}}
    of = OperatorVersion.from_wire({"spec": {"plans": plans}})
    with pytest.raises(InvalidLimits) as caught:
        limits_of(of, "deploy", default=None)
    found = caught.value.problems
    assert len(found) == 21
    assert found[-1].message == "and 80 more problems like these"
    assert sum(len(str(problem)) for problem in found) < 21 * 500
