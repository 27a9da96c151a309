"""The state machine of a run: vectors of the original, and properties over random runs.

The one difference from the original: a missing strategy is `serial`, and an unknown one is an
error instead of parallel.
"""

from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo.api import ExecutionStatus, JsonObject, Plan, PlanStatus
from kudo.plans.declaration import check_plan
from kudo.plans.execution import (
    StepOutcome,
    StepRef,
    TaskOutcome,
    adapt,
    attempted_still,
    begin,
    ensure_entries,
    fail,
    finished_tasks,
    never_run,
    record,
    runnable,
    status_of,
    step_of,
)

S = ExecutionStatus
NOW, LATER, LATEST = (f"2026-01-01T00:00:0{second}Z" for second in (0, 1, 9))


def plan_of(
    phases: Mapping[str, tuple[str, ...]] | None, strategy: str = "", steps: str = ""
) -> Plan:
    """Return a plan: phases by name with their steps; one strategy for all phases."""
    found: JsonObject = {"strategy": strategy}
    if phases is not None:
        found["phases"] = [
            {
                "name": name,
                "strategy": steps,
                "steps": [{"name": step, "tasks": [step]} for step in of],
            }
            for name, of in phases.items()
        ]
    return Plan.from_wire(found)


def one_pass(
    plan: Plan, entry: PlanStatus, outcomes: Mapping[str, StepOutcome], now: str = LATER
) -> PlanStatus:
    """Do what a pass does: run every step once that may run, by the outcome of its name."""
    entry = record(entry, {}, now)
    attempted: set[StepRef] = set()
    while steps := [ref for ref in runnable(plan, entry) if ref not in attempted]:
        attempted.update(steps)
        found = {ref: outcomes[ref.step] for ref in steps}
        entry = record(entry, found, now)
        if S.FATAL_ERROR in {out.status for out in found.values()}:
            break
    return entry


def statuses(entry: PlanStatus) -> dict[str, str]:
    """Return the status of the plan, each phase and each step by name."""
    found = {"plan": entry.status}
    for phase in entry.phases or ():
        found[phase.name] = phase.status
        found |= {step.name: step.status for step in phase.steps or ()}
    return found


OK = StepOutcome(S.COMPLETE)
WAIT = StepOutcome(S.IN_PROGRESS, "not yet")
ERROR = StepOutcome(
    S.ERROR, "A transient error when executing task deploy.ph0.s1.err. Will retry. dummy error"
)
FATAL = StepOutcome(
    S.FATAL_ERROR,
    "Error during execution: fatal error: ns/i failed in deploy.ph0.s1.fatal: dummy error",
)
TWO_PHASES = {"ph0": ("s1", "s2"), "ph1": ("t1",)}


# Vectors of the original


def test_what_waits_holds_up_only_what_is_serial(subtests: pytest.Subtests) -> None:
    table = [
        ("serial", "serial", "PENDING", "PENDING"),
        ("serial", "", "PENDING", "PENDING"),
        ("", "", "PENDING", "PENDING"),
        ("serial", "parallel", "COMPLETE", "PENDING"),
        ("", "parallel", "COMPLETE", "PENDING"),
        ("parallel", "parallel", "COMPLETE", "COMPLETE"),
        ("parallel", "serial", "PENDING", "COMPLETE"),
        ("parallel", "", "PENDING", "COMPLETE"),
    ]
    for strategy, steps, s2, ph1 in table:
        with subtests.test(strategy=strategy, steps=steps, s2=s2, ph1=ph1):
            plan = plan_of(TWO_PHASES, strategy, steps)
            after = one_pass(
                plan, begin("deploy", plan, "u", NOW), {"s1": WAIT, "s2": OK, "t1": OK}
            )
            assert statuses(after) == {
                "plan": "IN_PROGRESS",
                "ph0": "IN_PROGRESS",
                "s1": "IN_PROGRESS",
                "s2": s2,
                "ph1": ph1,
                "t1": ph1,
            }


def test_a_transient_error_shows_at_the_step_alone() -> None:
    plan = plan_of(TWO_PHASES, "serial", "serial")
    after = one_pass(plan, begin("deploy", plan, "u", NOW), {"s1": ERROR})
    found = statuses(after)
    assert (found["plan"], found["ph0"], found["s1"], found["s2"]) == (
        "IN_PROGRESS",
        "IN_PROGRESS",
        "ERROR",
        "PENDING",
    )
    assert (after.phases or ())[0].steps[0].message == ERROR.message  # type: ignore[index]


def test_a_fatal_error_shows_at_step_phase_and_plan_and_ends_the_pass() -> None:
    plan = plan_of(TWO_PHASES, "serial", "serial")
    after = one_pass(plan, begin("deploy", plan, "u", NOW), {"s1": FATAL})
    assert statuses(after) == {
        "plan": "FATAL_ERROR",
        "ph0": "FATAL_ERROR",
        "s1": "FATAL_ERROR",
        "s2": "PENDING",
        "ph1": "PENDING",
        "t1": "PENDING",
    }
    assert after.message is None


def test_a_plan_with_nothing_to_do_is_complete_at_once(subtests: pytest.Subtests) -> None:
    for phases in [None, {}, {"ph0": ()}, {"ph0": (), "ph1": ()}]:
        with subtests.test(phases=phases):
            plan = plan_of(phases)
            after = one_pass(plan, begin("deploy", plan, "u", NOW), {})
            assert set(statuses(after).values()) == {"COMPLETE"}


def test_steps_that_have_never_run_are_run() -> None:
    plan = plan_of({"ph0": ("s1", "s2")})
    after = one_pass(plan, never_run("deploy", plan), {"s1": OK, "s2": WAIT})
    assert statuses(after) == {
        "plan": "IN_PROGRESS",
        "ph0": "IN_PROGRESS",
        "s1": "COMPLETE",
        "s2": "IN_PROGRESS",
    }


def test_an_empty_phase_holds_up_nothing() -> None:
    plan = plan_of({"ph0": (), "ph1": ("t1",)}, "serial", "serial")
    assert statuses(one_pass(plan, begin("deploy", plan, "u", NOW), {"t1": OK}))["plan"] == (
        "COMPLETE"
    )


def test_steps_of_the_same_name_are_told_apart_by_position() -> None:
    plan = plan_of({"ph0": ("s", "s")}, steps="parallel")
    first, second = runnable(plan, entry := begin("deploy", plan, "u", NOW))
    after = record(entry, {first: OK, second: WAIT}, LATER)
    assert [step.status for step in (after.phases or ())[0].steps or ()] == [
        "COMPLETE",
        "IN_PROGRESS",
    ]
    assert after.status == "IN_PROGRESS"


def test_an_error_message_goes_when_the_step_goes_on() -> None:
    plan = plan_of({"ph0": ("s1",)})
    failed = one_pass(plan, begin("deploy", plan, "u", NOW), {"s1": ERROR})
    after = one_pass(plan, failed, {"s1": StepOutcome(S.IN_PROGRESS)})
    assert (after.phases or ())[0].steps[0].message is None  # type: ignore[index]


# Details


def test_a_run_begins_with_everything_pending_under_its_uid() -> None:
    plan = plan_of(TWO_PHASES)
    entry = begin("deploy", plan, "u", NOW)
    assert (entry.name, entry.uid, entry.last_updated_timestamp) == ("deploy", "u", NOW)
    assert set(statuses(entry).values()) == {"PENDING"}


def test_a_plan_that_never_ran_has_no_uid_and_no_time() -> None:
    entry = never_run("deploy", plan_of(TWO_PHASES))
    assert (entry.uid, entry.last_updated_timestamp, entry.message) == (None, None, None)
    assert set(statuses(entry).values()) == {"NEVER_RUN"}


def test_an_unknown_strategy_is_a_problem_of_the_plan(subtests: pytest.Subtests) -> None:
    for strategy in ["Serial", "paralel", "parallel ", "none"]:
        with subtests.test(strategy=strategy):
            (problem,) = check_plan("deploy", plan_of(TWO_PHASES, strategy))
            assert problem.reason == "InvalidPlan"
            assert problem.field == "spec.plans[deploy]"
            assert f"strategy '{strategy}' of plan 'deploy' is unknown" in problem.message


def test_each_phase_with_an_unknown_strategy_is_named() -> None:
    problems = list(check_plan("deploy", plan_of(TWO_PHASES, "serial", "Parallel")))
    assert [p.message.partition(" is unknown")[0] for p in problems] == [
        "strategy 'Parallel' of phase 'deploy.ph0'",
        "strategy 'Parallel' of phase 'deploy.ph1'",
    ]


def test_the_known_strategies_are_no_problem() -> None:
    for strategy in ["", "serial", "parallel"]:
        assert list(check_plan("deploy", plan_of(TWO_PHASES, strategy, strategy))) == []


def test_a_plan_fails_with_its_message_and_its_steps_stay_as_they_are() -> None:
    plan = plan_of(TWO_PHASES)
    before = begin("deploy", plan, "u", NOW)
    after = fail(before, "stopped", LATER)
    assert (after.status, after.message, after.last_updated_timestamp, after.uid) == (
        "FATAL_ERROR",
        "stopped",
        LATER,
        "u",
    )
    assert after.phases == before.phases


def test_an_unreadable_status_counts_as_never_run(subtests: pytest.Subtests) -> None:
    for status in ["", "complete", "DONE"]:
        with subtests.test(status=status):
            assert status_of(PlanStatus(status=status)) is S.NEVER_RUN
            assert status_of(None) is S.NEVER_RUN


def test_the_time_stands_still_while_nothing_else_changes() -> None:
    plan = plan_of({"ph0": ("s1",)})
    first = one_pass(plan, begin("deploy", plan, "u", NOW), {"s1": WAIT}, LATER)
    assert first.last_updated_timestamp == LATER
    assert one_pass(plan, first, {"s1": WAIT}, LATEST) == first


def test_a_run_knows_when_it_began_and_when_it_ended() -> None:
    plan = plan_of({"ph0": ("s1",)})
    entry = begin("deploy", plan, "u", NOW)
    assert (entry.started_at, entry.finished_at) == (NOW, None)
    waiting = one_pass(plan, entry, {"s1": WAIT}, LATER)
    assert (waiting.started_at, waiting.finished_at) == (NOW, None)
    for ended in (
        one_pass(plan, waiting, {"s1": OK}, LATEST),
        one_pass(plan, waiting, {"s1": FATAL}, LATEST),
        fail(waiting, "stopped", LATEST),
    ):
        assert (ended.started_at, ended.finished_at) == (NOW, LATEST)
    again = begin("deploy", plan, "v", LATEST)
    assert (again.started_at, again.finished_at) == (LATEST, None)


def test_no_message_makes_a_status_too_large(subtests: pytest.Subtests) -> None:
    for length in [1999, 2000, 2001, 1_000_000]:
        with subtests.test(length=length):
            plan = plan_of({"ph0": ("s1",)})
            text = "x" * length
            task = TaskOutcome("t", S.ERROR, text)
            after = one_pass(
                plan, begin("deploy", plan, "u", NOW), {"s1": StepOutcome(S.ERROR, text, (task,))}
            )
            step = (after.phases or ())[0].steps[0]  # type: ignore[index]
            for found in (step.message, step.tasks[0].message, fail(after, text, NOW).message):  # type: ignore[index]
                assert found is not None
                assert len(found) == min(length, 2000)
                assert (" ... " in found) == (length > 2000)


def test_a_task_keeps_the_times_of_its_first_try_and_of_its_end() -> None:
    plan = plan_of({"ph0": ("s1",)})

    def tried(entry: PlanStatus, now: str, **tasks: ExecutionStatus) -> PlanStatus:
        found = tuple(TaskOutcome(name, status) for name, status in tasks.items())
        return one_pass(plan, entry, {"s1": StepOutcome(S.IN_PROGRESS, None, found)}, now)

    first = tried(begin("deploy", plan, "u", NOW), NOW, a=S.IN_PROGRESS)
    second = tried(first, LATER, a=S.COMPLETE, b=S.ERROR)
    third = tried(second, LATEST, a=S.COMPLETE, b=S.COMPLETE)
    a, b = (third.phases or ())[0].steps[0].tasks or ()  # type: ignore[index]
    assert (a.started_at, a.finished_at) == (NOW, LATER)
    assert (b.started_at, b.finished_at) == (LATER, LATEST)
    ref = StepRef(0, 0, "ph0", "s1")
    assert list(finished_tasks(first)) == []
    assert list(finished_tasks(second)) == [(ref, "a")]
    assert list(finished_tasks(third)) == [(ref, "a"), (ref, "b")]
    assert list(finished_tasks(begin("deploy", plan, "v", NOW))) == []


def test_a_new_step_of_a_complete_phase_has_never_run() -> None:
    old, new = plan_of({"ph0": ("s1",)}), plan_of({"ph0": ("s0", "s1")})
    complete = one_pass(old, begin("deploy", old, "u", NOW), {"s1": OK})
    after = adapt("deploy", new, complete)
    assert (after.uid, after.status) == ("u", "COMPLETE")
    assert statuses(after) == {
        "plan": "COMPLETE",
        "ph0": "COMPLETE",
        "s0": "NEVER_RUN",
        "s1": "COMPLETE",
    }


def test_a_new_step_of_a_complete_phase_is_run_before_the_run_is_complete() -> None:
    old, new = plan_of({"ph0": ("s1",), "ph1": ("t1",)}), plan_of({"ph0": ("s1", "s2")})
    under_way = one_pass(old, begin("deploy", old, "u", NOW), {"s1": OK, "t1": WAIT})
    after = record(adapt("deploy", new, under_way), {}, LATER)
    assert statuses(after) == {
        "plan": "IN_PROGRESS",
        "ph0": "IN_PROGRESS",
        "s1": "COMPLETE",
        "s2": "NEVER_RUN",
    }
    assert [ref.step for ref in runnable(new, after)] == ["s2"]


def test_entries_of_plans_that_are_gone_stay_and_their_steps_too() -> None:
    gone = begin("old", plan_of(TWO_PHASES), "u", NOW)
    after = ensure_entries({"deploy": plan_of(None)}, {"old": gone})
    assert after == {"old": gone, "deploy": never_run("deploy", plan_of(None))}


def test_an_entry_without_phases_gets_those_of_the_plan() -> None:
    plan = plan_of(TWO_PHASES)
    after = adapt("deploy", plan, PlanStatus(name="deploy", status="IN_PROGRESS", uid="u"))
    assert (after.uid, after.status) == ("u", "IN_PROGRESS")
    assert [phase.name for phase in after.phases or ()] == ["ph0", "ph1"]


# Properties

_strategies = st.sampled_from(["", "serial", "parallel"])
_names = st.sampled_from(["a", "b", "c", "d"])
_outcomes = st.sampled_from([OK, OK, WAIT, ERROR])


@st.composite
def plans(draw: st.DrawFn, *, unique: bool = False) -> Plan:
    """Draw a plan; names may repeat, as they do in old packages."""
    phases = [
        {
            "name": phase,
            "strategy": draw(_strategies),
            "steps": [{"name": step} for step in draw(st.lists(_names, max_size=4, unique=unique))],
        }
        for phase in draw(st.lists(_names, max_size=4, unique=unique))
    ]
    return Plan.from_wire({"strategy": draw(_strategies), "phases": phases})


def run_of(data: st.DataObject, plan: Plan, *, fatal: bool = True) -> Iterator[PlanStatus]:
    """Yield the entry after each round of a run with drawn outcomes, until it ends or drags on."""
    outcomes = st.one_of(_outcomes, st.just(FATAL)) if fatal else _outcomes
    entry = record(begin("deploy", plan, "u", NOW), {}, NOW)
    yield entry
    for _ in range(12):
        steps = runnable(plan, entry)
        if status_of(entry).terminal:
            return
        chosen = data.draw(st.sets(st.sampled_from(steps), min_size=1))
        entry = record(entry, {ref: data.draw(outcomes) for ref in sorted(chosen)}, LATER)
        yield entry


def states(entry: PlanStatus) -> list[list[str]]:
    return [[step.status for step in phase.steps or ()] for phase in entry.phases or ()]


@given(st.data(), plans())
def test_only_what_the_strategies_let_run_may_run_until_everything_is_complete(
    data: st.DataObject, plan: Plan
) -> None:
    for entry in run_of(data, plan, fatal=False):
        found = states(entry)
        may_run = runnable(plan, entry)
        for ref in may_run:
            assert step_of(plan, ref).name == ref.step
            if plan.strategy != "parallel":
                earlier = [status for steps in found[: ref.phase_index] for status in steps]
                assert set(earlier) <= {"COMPLETE"}
            if (plan.phases or ())[ref.phase_index].strategy != "parallel":
                assert set(found[ref.phase_index][: ref.step_index]) <= {"COMPLETE"}
        complete = {status for steps in found for status in steps} <= {"COMPLETE"}
        assert (entry.status == "COMPLETE") == complete
        assert (may_run == ()) == complete


@given(st.data(), plans())
def test_what_holds_at_every_moment_of_a_run(data: st.DataObject, plan: Plan) -> None:
    names = [(p.name, [s.name for s in p.steps]) for p in plan.phases or ()]
    before: list[list[str]] | None = None
    for entry in run_of(data, plan):
        # Uid, name and layout stay as the run began.
        phases = entry.phases or ()
        found = [(p.name, [s.name for s in p.steps or ()]) for p in phases]
        assert (entry.name, entry.uid, found) == ("deploy", "u", names)
        # Phase and plan say what their children make of them.
        after = states(entry)
        for phase, steps in zip(phases, after, strict=True):
            _assert_rolled_up(phase.status, steps)
        _assert_rolled_up(entry.status, [phase.status for phase in phases])
        # What is complete stays complete.
        for old_steps, new_steps in zip(before or after, after, strict=True):
            pairs = zip(old_steps, new_steps, strict=True)
            assert all(new == "COMPLETE" for old, new in pairs if old == "COMPLETE")
        before = after
        # Nothing new changes nothing, and what fits the plan is kept as it is.
        assert record(entry, {}, LATEST) is entry
        assert adapt("deploy", plan, entry) is entry


def _assert_rolled_up(parent: str, children: list[str]) -> None:
    assert (parent == "FATAL_ERROR") == ("FATAL_ERROR" in children)
    assert (parent == "COMPLETE") == (set(children) <= {"COMPLETE"})
    assert parent in {"PENDING", "IN_PROGRESS", "COMPLETE", "FATAL_ERROR"}


@given(st.data(), plans(), plans())
def test_entries_are_ensured_once_and_for_all(
    data: st.DataObject, stored: Plan, desired: Plan
) -> None:
    *_, entry = run_of(data, stored)
    once = ensure_entries({"deploy": desired, "new": stored}, {"deploy": entry, "gone": entry})
    assert ensure_entries({"deploy": desired, "new": stored}, once) == once
    layout = [(p.name, [s.name for s in p.steps]) for p in desired.phases or ()]
    found = [(p.name, [s.name for s in p.steps or ()]) for p in once["deploy"].phases or ()]
    assert found == layout
    assert (once["deploy"].uid, once["deploy"].status) == (entry.uid, entry.status)
    assert once["gone"] is entry


@given(st.data(), plans(unique=True), plans(unique=True))
def test_a_step_that_both_plans_have_keeps_its_status(
    data: st.DataObject, stored: Plan, desired: Plan
) -> None:
    *_, entry = run_of(data, stored)
    known = {(p.name, s.name): s.status for p in entry.phases or () for s in p.steps or ()}
    for phase in adapt("deploy", desired, entry).phases or ():
        for step in phase.steps or ():
            assert step.status == known.get((phase.name, step.name), "NEVER_RUN")


def test_a_task_started_when_its_first_pass_began() -> None:
    plan = plan_of({"ph": ("s",)})
    entry = begin("deploy", plan, "u", NOW)
    ref = runnable(plan, entry)[0]

    def passed(status: S, began: str) -> StepOutcome:
        return StepOutcome(status, tasks=(TaskOutcome("t", status, began=began),))

    entry = record(entry, {ref: passed(S.IN_PROGRESS, NOW)}, LATER)
    entry = record(entry, {ref: passed(S.COMPLETE, LATER)}, LATEST)

    assert entry.phases is not None
    step = (entry.phases[0].steps or ())[0]
    (task,) = step.tasks or ()
    assert (task.started_at, task.finished_at) == (NOW, LATEST)


# Digests of what was applied


def waiting(applied: str, message: str = "waits", status: S = S.IN_PROGRESS) -> StepOutcome:
    task = TaskOutcome("a", status, message, applied=applied)
    return StepOutcome(status, message, (task,))


def applied_of(entry: PlanStatus) -> list[str | None]:
    steps = (step for phase in entry.phases or () for step in phase.steps or ())
    return [task.applied for step in steps for task in step.tasks or ()]


def recorded(before: PlanStatus, plan: Plan, *outcomes: StepOutcome, now: str) -> PlanStatus:
    return record(before, dict(zip(runnable(plan, before), outcomes, strict=False)), now)


def test_digests_are_kept_while_a_task_waits_and_are_gone_when_it_is_done() -> None:
    plan = plan_of({"p": ("a",)})
    entry = recorded(begin("x", plan, "u", NOW), plan, waiting("12345678"), now=NOW)
    assert applied_of(entry) == ["12345678"]
    failed = recorded(entry, plan, waiting("12345678", "e", S.ERROR), now=LATER)
    assert applied_of(failed) == ["12345678"]
    for status in (S.COMPLETE, S.FATAL_ERROR):
        assert applied_of(recorded(entry, plan, waiting("1", "", status), now=LATER)) == [None]


def test_the_uid_of_a_job_is_kept_until_its_task_has_ended_and_alone_changes_an_entry() -> None:
    plan = plan_of({"p": ("a",)})

    def outcome(uid: str, status: S = S.IN_PROGRESS) -> StepOutcome:
        return StepOutcome(status, "runs", (TaskOutcome("a", status, "runs", job_uid=uid),))

    def uids(entry: PlanStatus) -> list[str | None]:
        steps = (step for phase in entry.phases or () for step in phase.steps or ())
        return [task.job_uid for step in steps for task in step.tasks or ()]

    before = recorded(begin("x", plan, "u", NOW), plan, outcome(""), now=NOW)
    entry = recorded(before, plan, outcome("j"), now=LATER)
    assert (uids(before), uids(entry)) == ([None], ["j"])
    (ref,) = runnable(plan, entry)
    assert uids(record(entry, {ref: attempted_still(entry, ref, "")}, LATER)) == ["j"]
    assert uids(recorded(entry, plan, outcome("j", S.ERROR), now=LATER)) == ["j"]
    for status in (S.COMPLETE, S.FATAL_ERROR):
        assert uids(recorded(entry, plan, outcome("j", status), now=LATER)) == [None]


def test_digests_alone_change_no_entry() -> None:
    plan = plan_of({"p": ("a",)})
    entry = recorded(begin("x", plan, "u", NOW), plan, waiting("12345678"), now=NOW)
    assert recorded(entry, plan, waiting("87654321"), now=LATER) == entry
    moved = recorded(entry, plan, waiting("87654321", "waits longer"), now=LATER)
    assert applied_of(moved) == ["87654321"]


def test_an_attempt_that_goes_on_keeps_the_digests() -> None:
    plan = plan_of({"p": ("a",)})
    entry = recorded(begin("x", plan, "u", NOW), plan, waiting("12345678"), now=NOW)
    (ref,) = runnable(plan, entry)
    going = record(entry, {ref: attempted_still(entry, ref, "copies files")}, LATER)
    assert applied_of(going) == ["12345678"]


def test_the_digests_of_all_tasks_are_bounded() -> None:
    names = tuple(f"s{number}" for number in range(40))
    plan = plan_of({"p": names}, steps="parallel")
    entry = recorded(begin("x", plan, "u", NOW), plan, *[waiting("1" * 800)] * 40, now=NOW)
    found = applied_of(entry)
    assert found == ["1" * 800] * 20 + [None] * 20
    first, *others = runnable(plan, entry)
    ended = StepOutcome(S.COMPLETE, None, (TaskOutcome("a", S.COMPLETE),))
    outcomes = {first: ended} | {ref: waiting("1" * 800, "moves") for ref in others}
    assert applied_of(record(entry, outcomes, LATER)).count("1" * 800) == 20
