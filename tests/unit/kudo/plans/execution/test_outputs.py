"""Outputs of tasks: which of them a step sees, what of them is stored, and how much."""

from collections.abc import Mapping

import pytest

from kudo.api import ExecutionStatus, InstanceStatus, JsonObject, Plan, PlanStatus
from kudo.api.bounds import INSTANCE_OUTPUTS
from kudo.plans.execution import (
    StepOutcome,
    TaskOutcome,
    adapt,
    attempted_still,
    begin,
    bounded_outputs,
    outputs_before,
    record,
    runnable,
    size_of,
    sizes_in_entry,
    step_named,
    step_status,
    steps_before,
    steps_of,
)
from kudo.plans.runs.status import with_entry

S = ExecutionStatus
NOW, LATER, LATEST = (f"2026-01-01T00:00:0{second}Z" for second in (0, 1, 9))


def plan_of(strategy: str, *phases: tuple[str, str]) -> Plan:
    """Return a plan of phases, each with its strategy and the names of its steps."""
    return Plan.from_wire(
        {
            "strategy": strategy,
            "phases": [
                {
                    "name": f"p{number}",
                    "strategy": of_phase,
                    "steps": [{"name": name, "tasks": [name]} for name in names],
                }
                for number, (of_phase, names) in enumerate(phases)
            ],
        }
    )


@pytest.mark.parametrize(
    ("strategy", "phases", "step", "before"),
    [
        ("serial", [("serial", "abc")], "p0.a", ""),
        ("serial", [("serial", "abc")], "p0.c", "ab"),
        ("", [("", "abc")], "p0.b", "a"),
        ("serial", [("parallel", "abc")], "p0.c", ""),
        ("serial", [("serial", "ab"), ("serial", "cd")], "p1.d", "abc"),
        ("serial", [("parallel", "ab"), ("parallel", "cd")], "p1.d", "ab"),
        ("parallel", [("serial", "ab"), ("serial", "cd")], "p1.d", "c"),
        ("parallel", [("serial", "ab"), ("parallel", "cd")], "p1.d", ""),
        ("serial", [("serial", "ab"), ("serial", "cd")], "p0.b", "a"),
    ],
)
def test_a_step_sees_the_steps_that_are_complete_when_it_begins(
    strategy: str, phases: list[tuple[str, str]], step: str, before: str
) -> None:
    plan = plan_of(strategy, *phases)
    ref = step_named(plan, step)
    assert ref is not None
    assert "".join(other.step for other in steps_before(plan, ref)) == before
    # Nothing that it sees may still run: it may begin only once all of these are COMPLETE.
    entry = begin("deploy", plan, "u", NOW)
    for other in steps_of(plan):
        if other not in steps_before(plan, ref) and other != ref:
            continue
        if other == ref:
            assert ref in runnable(plan, entry)
        else:
            assert ref not in runnable(plan, entry)
            entry = record(entry, {other: StepOutcome(S.COMPLETE)}, NOW)


def entry_of(plan: Plan, outputs: Mapping[str, JsonObject]) -> PlanStatus:
    """Return an entry whose steps are COMPLETE, with their outputs by the name of the step."""
    phases = [
        {
            "name": phase.name,
            "status": "COMPLETE",
            "steps": [
                {"name": step.name, "status": "COMPLETE", "outputs": outputs.get(step.name)}
                for step in phase.steps
            ],
        }
        for phase in plan.phases or ()
    ]
    return PlanStatus.from_wire({"name": "deploy", "status": "IN_PROGRESS", "phases": phases})


def test_of_a_task_that_ran_twice_the_later_outputs_count_as_a_whole() -> None:
    plan = plan_of("serial", ("serial", "abcd"))
    entry = entry_of(
        plan,
        {"a": {"t": {"x": "1", "y": "2"}, "u": {"z": "3"}}, "b": {"t": {"x": "4"}}, "d": {"t": {}}},
    )
    ref = step_named(plan, "p0.c")
    assert ref is not None
    assert outputs_before(plan, entry, ref) == {"t": {"x": "4"}, "u": {"z": "3"}}


# What is recorded


def test_outputs_are_recorded_with_the_end_of_their_task_and_stay() -> None:
    plan = plan_of("serial", ("serial", "ab"))
    fresh = begin("deploy", plan, "u", NOW)
    ref, other = steps_of(plan)
    read = TaskOutcome("a", S.COMPLETE, outputs={"size": "3"})
    waiting = TaskOutcome("b", S.IN_PROGRESS, "waits")
    entry = record(fresh, {ref: StepOutcome(S.IN_PROGRESS, None, (read, waiting))}, NOW)
    assert step_status(entry, ref).outputs == {"a": {"size": "3"}}
    # The next attempt finds the task done, and reads nothing.
    done = TaskOutcome("a", S.COMPLETE)
    for outcome in (
        StepOutcome(S.IN_PROGRESS, None, (done, waiting)),
        attempted_still(entry, ref, "copies"),
        StepOutcome(S.COMPLETE, None, (done, TaskOutcome("b", S.COMPLETE, outputs={"n": "1"}))),
    ):
        entry = record(entry, {ref: outcome}, LATER)
        assert (step_status(entry, ref).outputs or {})["a"] == {"size": "3"}
    assert step_status(entry, ref).outputs == {"a": {"size": "3"}, "b": {"n": "1"}}
    assert sizes_in_entry(entry) == {(ref, "a"): 5, (ref, "b"): 2}
    assert step_status(entry, other).outputs is None
    stored = PlanStatus.from_wire(entry.to_wire())
    assert stored == entry
    assert adapt("deploy", plan_of("serial", ("serial", "abc")), stored).phases != entry.phases
    assert step_status(adapt("deploy", plan, stored), ref) == step_status(entry, ref)
    assert sizes_in_entry(begin("deploy", plan, "v", LATER)) == {}


@pytest.mark.parametrize("status", [S.IN_PROGRESS, S.ERROR, S.FATAL_ERROR])
def test_a_task_that_is_not_complete_has_no_outputs(status: S) -> None:
    plan = plan_of("serial", ("serial", "a"))
    (ref,) = steps_of(plan)
    read = TaskOutcome("a", status, "m", outputs={"size": "3"})
    entry = record(begin("deploy", plan, "u", NOW), {ref: StepOutcome(status, "m", (read,))}, LATER)
    assert "outputs" not in entry.to_wire()["phases"][0]["steps"][0]


# How much is stored


def test_the_size_counts_bytes_of_names_and_texts() -> None:
    assert size_of({}) == 0
    assert size_of({"a": "é", "bc": ""}) == 5


def test_the_plan_that_changed_longest_ago_loses_its_outputs_first() -> None:
    plan = plan_of("serial", ("serial", "a"))
    half = {"a": {"t": {"x": "1" * (INSTANCE_OUTPUTS // 2 - 1)}}}
    entries = {
        name: entry_of(plan, half).model_copy(
            update={"name": name, "last_updated_timestamp": changed}
        )
        for name, changed in (("new", LATEST), ("old", NOW), ("last", NOW), ("older", LATER))
    }
    two = {name: entries[name] for name in ("new", "old")}
    assert bounded_outputs(two, None) is two
    kept = bounded_outputs(entries, "last")
    assert [name for name, entry in kept.items() if sizes_in_entry(entry)] == ["new", "last"]
    assert bounded_outputs(kept, "last") is kept
    # Nothing else of the entry changes.
    assert (
        kept["old"].to_wire()
        == entry_of(plan, {})
        .model_copy(update={"name": "old", "last_updated_timestamp": NOW})
        .to_wire()
    )
    status = InstanceStatus(plan_status={**entries}, last_run={"plan": "last", "uid": "u"})
    stored = with_entry(status, entries["last"]).plan_status or {}
    assert [name for name, entry in stored.items() if sizes_in_entry(entry)] == ["new", "last"]
