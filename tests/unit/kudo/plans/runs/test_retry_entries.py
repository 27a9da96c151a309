"""The status entry of a retry: what is kept of the failed run, and what runs again."""

from typing import Any

import pytest

from kudo.api import Plan, PlanStatus
from kudo.plans.execution import record, runnable, status_of
from kudo.plans.runs.retries import begin_retry

NOW, BEFORE = "2026-01-01T01:00:00Z", "2026-01-01T00:00:00Z"
TASKS = [{"name": "t", "status": "COMPLETE", "startedAt": BEFORE, "finishedAt": BEFORE}]
DONE, FAILED, PENDING = "COMPLETE", "FATAL_ERROR", "PENDING"


def plan(strategy: str = "serial") -> Plan:
    """Return a plan of the steps p.a and p.b, and q.c."""
    phases = [
        {"name": "p", "strategy": strategy, "steps": [{"name": n, "tasks": ["t"]} for n in "ab"]},
        {"name": "q", "steps": [{"name": "c", "tasks": ["t"]}]},
    ]
    return Plan.from_wire({"strategy": strategy, "phases": phases})


def failed(a: str, b: str, c: str) -> PlanStatus:
    """Return the entry of a run that ended with these statuses of its steps."""
    steps = [
        {"name": name, "status": status, **({"tasks": TASKS} if status != PENDING else {})}
        for name, status in zip("abc", (a, b, c), strict=True)
    ]
    phases = [
        {"name": "p", "status": FAILED, "message": "old", "steps": steps[:2], "startedAt": BEFORE},
        {"name": "q", "status": c, "steps": steps[2:]},
    ]
    entry: dict[str, Any] = {
        "name": "deploy",
        "status": FAILED,
        "message": "it failed",
        "uid": "old",
        "startedAt": BEFORE,
        "finishedAt": BEFORE,
        "suspendedSeconds": 5,
        "phases": phases,
    }
    return PlanStatus.from_wire(entry)


def retried(entry: PlanStatus, from_step: str = "", of: Plan | None = None) -> PlanStatus:
    return begin_retry("deploy", of or plan(), entry, "new", NOW, from_step=from_step)


def statuses(entry: PlanStatus) -> list[str]:
    return [step.status for phase in entry.phases or () for step in phase.steps or ()]


def test_finished_steps_stay_with_their_tasks_and_the_others_begin_anew() -> None:
    entry = retried(failed(DONE, FAILED, PENDING))
    assert statuses(entry) == [DONE, PENDING, PENDING]
    [p, q] = entry.phases or ()
    [a, b] = p.steps or ()
    assert [task.to_wire() for task in a.tasks or ()] == TASKS
    assert b.to_wire() == {"name": "b", "status": PENDING}
    assert (p.status, p.message, p.started_at, q.status) == (PENDING, None, None, PENDING)


def test_it_is_a_run_of_its_own_that_names_the_failed_one() -> None:
    entry = retried(failed(DONE, FAILED, PENDING))
    assert (entry.uid, entry.retry_of, entry.retried) == ("new", "old", "old")
    assert (entry.status, entry.message, entry.started_at) == (PENDING, None, NOW)
    assert (entry.finished_at, entry.suspended_seconds) == (None, None)


def test_it_begins_at_the_failed_step_or_where_it_is_told(subtests: pytest.Subtests) -> None:
    table: list[tuple[tuple[str, str, str], str, list[str], str]] = [
        ((DONE, FAILED, PENDING), "", [DONE, PENDING, PENDING], "p.b"),
        ((FAILED, PENDING, PENDING), "", [PENDING] * 3, "p.a"),
        ((DONE, DONE, FAILED), "", [DONE, DONE, PENDING], "q.c"),
        ((DONE, DONE, FAILED), "p.a", [PENDING] * 3, "p.a"),
        ((DONE, DONE, FAILED), "p.b", [DONE, PENDING, PENDING], "p.b"),
        ((DONE, FAILED, PENDING), "q.c", [DONE, DONE, PENDING], "q.c"),
        ((FAILED, PENDING, PENDING), "q.c", [DONE, DONE, PENDING], "q.c"),
    ]
    for steps, from_step, expected, first in table:
        with subtests.test(steps=steps, from_step=from_step, expected=expected, first=first):
            entry = retried(failed(*steps), from_step)
            assert statuses(entry) == expected
            assert str(runnable(plan(), entry)[0]) == first


def test_what_is_assumed_finished_says_so() -> None:
    entry = retried(failed(DONE, FAILED, PENDING), "q.c")
    [p, _] = entry.phases or ()
    [a, b] = p.steps or ()
    assert a.message is None
    assert b.message == "assumed finished by the retry from q.c"
    assert p.status == DONE


def test_parallel_steps_that_were_finished_are_not_repeated() -> None:
    entry = retried(failed(FAILED, DONE, DONE), of=plan("parallel"))
    assert [str(ref) for ref in runnable(plan("parallel"), entry)] == ["p.a"]


def test_a_run_that_failed_although_all_its_steps_were_done_is_complete_at_once() -> None:
    entry = record(retried(failed(DONE, DONE, DONE)), {}, NOW)
    assert status_of(entry) == DONE


def test_outputs_of_the_steps_that_are_kept_stay() -> None:
    entry = failed(DONE, DONE, FAILED)
    outputs = {name: {"t": {"size": name}} for name in "abc"}
    phases = tuple(
        phase.model_copy(
            update={
                "steps": tuple(
                    step.model_copy(update={"outputs": outputs[step.name]})
                    for step in phase.steps or ()
                )
            }
        )
        for phase in entry.phases or ()
    )
    entry = entry.model_copy(update={"phases": phases})

    def kept(retry: PlanStatus) -> list[str]:
        steps = [step for phase in retry.phases or () for step in phase.steps or ()]
        return [step.name for step in steps if step.outputs]

    assert kept(retried(entry)) == ["a", "b"]
    assert kept(retried(entry, "p.b")) == ["a"]
    assert kept(retried(entry, "p.a")) == []
    assert kept(retried(failed(FAILED, PENDING, PENDING), "q.c")) == []
