"""Runs that die between any two writes, and versions that are edited while they run.

The reconciler runs what may run, records the outcomes, and stores the entry before it sends
anything of the next serial step. Here it dies at every place that hypothesis can think of, and
begins again from the entry that was stored last. `make properties` looks at more runs.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from kudo.api import ExecutionStatus, JsonObject, Plan, PlanStatus
from kudo.plans.execution import (
    StepOutcome,
    StepRef,
    TaskOutcome,
    adapt,
    begin,
    ensure_entries,
    fail,
    finished_tasks,
    is_single_step,
    never_run,
    phases_of,
    record,
    runnable,
    status_of,
    step_of,
)
from tests.support.selection.properties import examples

S = ExecutionStatus
NOW = "2026-01-01T00:00:00Z"
_RANK = {S.NEVER_RUN: 0, S.PENDING: 1, S.IN_PROGRESS: 2, S.ERROR: 2}

many = settings(max_examples=examples(30, deep=3_000))

_strategies = st.sampled_from(["", "serial", "parallel"])
_names = st.sampled_from(["a", "b", "c"])
_going_on = st.sampled_from([S.COMPLETE, S.COMPLETE, S.IN_PROGRESS, S.ERROR])
_any_end = st.sampled_from([S.COMPLETE, S.COMPLETE, S.IN_PROGRESS, S.ERROR, S.FATAL_ERROR])


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Draw a plan whose steps have up to two tasks; names may repeat."""
    found: JsonObject = {
        "strategy": draw(_strategies),
        "phases": [
            {
                "name": phase,
                "strategy": draw(_strategies),
                "steps": [
                    {"name": step, "tasks": [f"{step}{number}" for number in range(tasks)]}
                    for step, tasks in draw(
                        st.lists(st.tuples(_names, st.integers(0, 2)), max_size=3)
                    )
                ],
            }
            for phase in draw(st.lists(_names, max_size=3))
        ],
    }
    return Plan.from_wire(found)


@dataclass
class Process:
    """A reconciler process: what it sends counts for ever, what it knows goes with it."""

    plan: Plan
    outcomes: st.SearchStrategy[ExecutionStatus]
    stored: PlanStatus
    sent: Counter[StepRef] = field(default_factory=Counter)
    finished: set[tuple[StepRef, str]] = field(default_factory=set)
    ticks: int = 0

    def now(self) -> str:
        self.ticks += 1
        return f"2026-01-01T{self.ticks // 60:02}:{self.ticks % 60:02}:00Z"

    def one_pass(self, data: st.DataObject) -> Iterator[str]:
        """Do a pass; yield before each write, so that the process can die there."""
        entry = record(self.stored, {}, self.now())
        attempted: set[StepRef] = set()
        while steps := [ref for ref in runnable(self.plan, entry) if ref not in attempted]:
            if attempted or not is_single_step(self.plan):
                yield "before the next steps"
                self.stored = entry
            attempted.update(steps)
            found = {ref: self._run(data, ref) for ref in steps}
            yield "after the steps"
            entry = record(entry, found, self.now())
            if status_of(entry) is S.FATAL_ERROR:
                break
        self.stored = entry

    def _run(self, data: st.DataObject, ref: StepRef) -> StepOutcome:
        assert ref not in _complete(self.plan, self.stored), f"{ref} was finished before"
        self.sent[ref] += 1
        tried: list[TaskOutcome] = []
        for task in step_of(self.plan, ref).tasks:
            known = (ref, task) in self.finished
            outcome = S.COMPLETE if known else data.draw(self.outcomes)
            if outcome is S.COMPLETE:
                self.finished.add((ref, task))
            tried.append(TaskOutcome(task, outcome, None if outcome is S.COMPLETE else "because"))
        found = [one.status for one in tried]
        worst = (S.FATAL_ERROR, S.ERROR, S.IN_PROGRESS)
        status = next((one for one in worst if one in found), S.COMPLETE)
        return StepOutcome(status, None if status is S.COMPLETE else "because", tuple(tried))

    def die(self) -> None:
        self.finished = set(finished_tasks(self.stored))


def _complete(plan: Plan, entry: PlanStatus) -> set[StepRef]:
    return {
        StepRef(phase_index, step_index, phase.name, step.name)
        for phase_index, phase in enumerate(entry.phases or ())
        for step_index, step in enumerate(phase.steps or ())
        if step.status == S.COMPLETE
    }


def _refs(plan: Plan) -> list[StepRef]:
    return [
        StepRef(phase_index, step_index, phase.name, step.name)
        for phase_index, phase in enumerate(phases_of(plan))
        for step_index, step in enumerate(phase.steps)
    ]


def _rank(entry: PlanStatus) -> int:
    return _RANK.get(status_of(entry), 3)


def life(
    data: st.DataObject, plan: Plan, outcomes: st.SearchStrategy[ExecutionStatus]
) -> Iterator[Process]:
    """Yield a process after each of up to ten passes that may be cut short by its death."""
    process = Process(plan, outcomes, begin("deploy", plan, "u", NOW))
    for _ in range(10):
        last = data.draw(st.integers(0, 12))
        for number, _where in enumerate(process.one_pass(data)):
            if number == last:
                process.die()
                break
        yield process
        if status_of(process.stored).terminal:
            return


# Deaths


@many
@given(st.data(), plans())
def test_no_finished_step_is_forgotten_or_run_again(data: st.DataObject, plan: Plan) -> None:
    before: set[StepRef] = set()
    for process in life(data, plan, _any_end):
        after = _complete(plan, process.stored)
        assert before <= after
        before = after


@many
@given(st.data(), plans())
def test_no_finished_task_is_forgotten(data: st.DataObject, plan: Plan) -> None:
    before: set[tuple[StepRef, str]] = set()
    for process in life(data, plan, _any_end):
        after = set(finished_tasks(process.stored))
        assert before <= after
        assert after <= process.finished
        before = after


@many
@given(st.data(), plans())
def test_a_status_never_goes_backwards(data: st.DataObject, plan: Plan) -> None:
    before = begin("deploy", plan, "u", NOW)
    for process in life(data, plan, _any_end):
        assert _rank(process.stored) >= _rank(before)
        assert process.stored.uid == "u"
        before = process.stored


@many
@given(st.data(), plans())
def test_nothing_serial_was_sent_before_what_comes_first_was_stored(
    data: st.DataObject, plan: Plan
) -> None:
    for process in life(data, plan, _going_on):
        stored = _complete(plan, process.stored)
        for ref in process.sent:
            for other in _refs(plan):
                if _comes_first(plan, other, ref):
                    assert other in stored, f"{ref} was sent before {other} was stored"


def _comes_first(plan: Plan, other: StepRef, ref: StepRef) -> bool:
    if other.phase_index == ref.phase_index:
        serial = phases_of(plan)[ref.phase_index].strategy != "parallel"
        return serial and other.step_index < ref.step_index
    return plan.strategy != "parallel" and other.phase_index < ref.phase_index


@many
@given(st.data(), plans())
def test_times_are_in_order(data: st.DataObject, plan: Plan) -> None:
    for process in life(data, plan, _any_end):
        entry = process.stored
        assert entry.started_at == NOW
        assert (entry.last_updated_timestamp or "") >= NOW
        assert (entry.finished_at is not None) == status_of(entry).terminal
        if entry.finished_at is not None:
            assert entry.finished_at == entry.last_updated_timestamp
        for phase in entry.phases or ():
            for step in phase.steps or ():
                for task in step.tasks or ():
                    assert task.started_at is not None
                    ended = status_of(PlanStatus(status=task.status)).terminal
                    assert (task.finished_at is not None) == ended
                    assert task.started_at <= (task.finished_at or task.started_at)


# The end


@many
@given(st.data(), plans())
def test_a_run_whose_tasks_succeed_ends_in_one_pass_with_every_step_sent_once(
    data: st.DataObject, plan: Plan
) -> None:
    process = Process(plan, st.just(S.COMPLETE), begin("deploy", plan, "u", NOW))
    for _where in process.one_pass(data):
        pass
    assert process.stored.status == "COMPLETE"
    assert process.sent == Counter(_refs(plan))


@many
@given(st.data(), plans())
def test_a_run_ends_once_its_tasks_succeed_whatever_came_before(
    data: st.DataObject, plan: Plan
) -> None:
    *_, process = life(data, plan, _going_on)
    process.outcomes = st.just(S.COMPLETE)
    for _where in process.one_pass(data):
        pass
    assert process.stored.status == "COMPLETE"
    assert _complete(plan, process.stored) == set(_refs(plan))
    assert finished_tasks_of_all_steps(plan) == set(finished_tasks(process.stored))


def finished_tasks_of_all_steps(plan: Plan) -> set[tuple[StepRef, str]]:
    return {(ref, task) for ref in _refs(plan) for task in step_of(plan, ref).tasks}


@many
@given(st.data(), plans())
def test_a_run_ends_once_a_task_fails_for_good(data: st.DataObject, plan: Plan) -> None:
    *_, process = life(data, plan, _going_on)
    process.outcomes = st.just(S.FATAL_ERROR)
    for _where in process.one_pass(data):
        pass
    assert status_of(process.stored).terminal
    assert runnable(plan, process.stored) == ()


@many
@given(st.data(), plans())
def test_a_run_that_goes_on_waits_at_a_step_that_says_why(data: st.DataObject, plan: Plan) -> None:
    for process in life(data, plan, _going_on):
        process.die()
        for _where in process.one_pass(data):
            pass
        if status_of(process.stored).terminal:
            return
        steps = [s for phase in process.stored.phases or () for s in phase.steps or ()]
        waiting = [step for step in steps if step.status in {S.IN_PROGRESS, S.ERROR}]
        assert waiting
        assert all(step.message == "because" for step in waiting)


@many
@given(st.data(), plans())
def test_a_run_that_was_ended_from_outside_stays_ended(data: st.DataObject, plan: Plan) -> None:
    for process in life(data, plan, _going_on):
        if status_of(process.stored).terminal:
            return
        ended = fail(process.stored, "superseded by plan custom", "2026-01-02T00:00:00Z")
        outcomes = {ref: StepOutcome(S.COMPLETE) for ref in _refs(plan)}
        assert record(ended, outcomes, "2026-01-03T00:00:00Z") is ended
        assert runnable(plan, ended) == ()
        assert _complete(plan, ended) == _complete(plan, process.stored)


# Edited versions


@many
@given(st.data(), plans(), plans())
def test_a_run_ends_also_when_its_plan_is_edited_and_the_process_dies(
    data: st.DataObject, plan: Plan, edited: Plan
) -> None:
    *_, process = life(data, plan, _going_on)
    if status_of(process.stored).terminal:
        return
    resumed = Process(edited, st.just(S.COMPLETE), adapt("deploy", edited, process.stored))
    resumed.die()
    for _where in resumed.one_pass(data):
        pass
    assert resumed.stored.status == "COMPLETE"
    assert _complete(edited, resumed.stored) == set(_refs(edited))


@many
@given(st.data(), plans(), plans())
def test_an_edited_plan_forgets_no_finished_step_that_it_still_has(
    data: st.DataObject, plan: Plan, edited: Plan
) -> None:
    *_, process = life(data, plan, _any_end)
    known = _by_occurrence(process.stored)
    after = _by_occurrence(adapt("deploy", edited, process.stored))
    for key, status in after.items():
        assert status == known.get(key, "NEVER_RUN")
    assert len(after) == len(_refs(edited))


def _by_occurrence(entry: PlanStatus) -> dict[tuple[str, int, str, int], str]:
    found: dict[tuple[str, int, str, int], str] = {}
    phases: Counter[str] = Counter()
    for phase in entry.phases or ():
        phases[phase.name] += 1
        steps: Counter[str] = Counter()
        for step in phase.steps or ():
            steps[step.name] += 1
            found[phase.name, phases[phase.name], step.name, steps[step.name]] = step.status
    return found


@many
@given(st.data(), plans())
def test_an_entry_survives_the_way_over_the_wire(data: st.DataObject, plan: Plan) -> None:
    for process in life(data, plan, _any_end):
        again = PlanStatus.from_wire(process.stored.to_wire())
        assert again == process.stored
        assert adapt("deploy", plan, again) is again
        assert ensure_entries({"deploy": plan}, {"deploy": again})["deploy"] is again


@many
@given(plans())
def test_a_plan_that_never_ran_may_run_what_a_fresh_run_may(plan: Plan) -> None:
    assert runnable(plan, never_run("deploy", plan)) == runnable(
        plan, begin("deploy", plan, "u", NOW)
    )
