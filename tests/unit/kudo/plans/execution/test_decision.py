"""What happens next in a run: every step progresses, waits and backs off on its own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo.api import ExecutionStatus, Phase, Plan, PlanStatus, Step
from kudo.plans.execution import (
    Decision,
    Intent,
    StepOutcome,
    StepRef,
    StepState,
    after_attempt,
    after_interruption,
    begin,
    decide,
    fail,
    record,
    runnable,
    with_look,
)

S = ExecutionStatus
NOW = "2026-01-01T00:00:00Z"


def plan_of(strategy: str, *phases: tuple[str, int]) -> Plan:
    return Plan(
        strategy=strategy,
        phases=tuple(
            Phase(
                name=f"p{index}",
                strategy=inner,
                steps=tuple(Step(name=f"s{number}", tasks=("t",)) for number in range(steps)),
            )
            for index, (inner, steps) in enumerate(phases)
        ),
    )


def ref(phase: int, step: int) -> StepRef:
    return StepRef(phase, step, f"p{phase}", f"s{step}")


def begun(plan: Plan, outcomes: dict[StepRef, ExecutionStatus] | None = None) -> PlanStatus:
    found = {at: StepOutcome(status) for at, status in (outcomes or {}).items()}
    return record(begin("deploy", plan, "u", NOW), found, NOW)


PARALLEL = plan_of("parallel", ("parallel", 2), ("serial", 2))


def test_everything_that_may_run_is_started() -> None:
    assert decide(PARALLEL, begun(PARALLEL), Intent.RUN, {}, 0.0) == Decision(
        start=(ref(0, 0), ref(0, 1), ref(1, 0))
    )


def test_a_failing_step_delays_no_other_one() -> None:
    entry = begun(PARALLEL, {ref(0, 0): S.ERROR, ref(1, 0): S.COMPLETE})
    states = {ref(0, 0): StepState(failures=7, due=40.0), ref(0, 1): StepState()}
    assert decide(PARALLEL, entry, Intent.RUN, states, 10.0) == Decision(
        start=(ref(0, 1), ref(1, 1)), look_again=30.0
    )


def test_a_step_is_attempted_again_once_it_is_due() -> None:
    plan = plan_of("serial", ("serial", 1))
    entry = begun(plan, {ref(0, 0): S.ERROR})
    states = {ref(0, 0): StepState(failures=1, due=5.0)}
    assert decide(plan, entry, Intent.RUN, states, 4.0) == Decision(look_again=1.0)
    assert decide(plan, entry, Intent.RUN, states, 5.0) == Decision(start=(ref(0, 0),))


def test_a_step_that_looks_again_is_attempted_by_an_event_or_when_it_is_time() -> None:
    plan = plan_of("serial", ("serial", 1))
    entry = begun(plan, {ref(0, 0): S.IN_PROGRESS})
    state = with_look(
        after_attempt(StepState(), S.IN_PROGRESS, 10.0, polled=False, jitter=0), 10.0, 4
    )
    assert state == StepState(look_at=14.0)
    states = {ref(0, 0): state}
    just = {ref(0, 0)}
    assert decide(plan, entry, Intent.RUN, states, 11.0) == Decision(start=(ref(0, 0),))
    assert decide(plan, entry, Intent.RUN, states, 11.0, attempted=just) == Decision(look_again=3.0)
    assert decide(plan, entry, Intent.RUN, states, 15.0, attempted=just) == Decision(look_again=0.0)
    # An attempt that waits for nothing of that kind has no such time any more.
    assert with_look(state, 15.0, None) == StepState()
    assert after_attempt(state, S.ERROR, 15.0, polled=False, jitter=0).look_at is None


def test_what_was_just_attempted_is_not_attempted_again_in_the_same_reconcile() -> None:
    plan = plan_of("serial", ("serial", 1))
    entry = begun(plan, {ref(0, 0): S.IN_PROGRESS})
    assert decide(
        plan, entry, Intent.RUN, {ref(0, 0): StepState()}, 0.0, attempted={ref(0, 0)}
    ) == (Decision())


def test_an_attempt_in_flight_is_not_started_twice() -> None:
    states = {at: StepState(in_flight=True) for at in (ref(0, 0), ref(0, 1), ref(1, 0))}
    assert decide(PARALLEL, begun(PARALLEL), Intent.RUN, states, 0.0) == Decision()


def test_cancel_and_deletion_end_what_is_in_flight_and_start_nothing(
    subtests: pytest.Subtests,
) -> None:
    for intent in [Intent.CANCEL, Intent.DELETE]:
        with subtests.test(intent=intent):
            states = {ref(0, 1): StepState(in_flight=True), ref(0, 0): StepState()}
            assert decide(PARALLEL, begun(PARALLEL), intent, states, 0.0) == Decision(
                end=(ref(0, 1),)
            )


def test_a_plan_that_has_ended_ends_what_is_in_flight() -> None:
    entry = fail(begun(PARALLEL), "why", NOW)
    states = {ref(0, 1): StepState(in_flight=True)}
    assert decide(PARALLEL, entry, Intent.RUN, states, 0.0) == Decision(end=(ref(0, 1),))


def test_a_step_that_was_taken_out_of_the_plan_is_ended() -> None:
    plan = plan_of("serial", ("serial", 1))
    states = {ref(0, 1): StepState(in_flight=True)}
    assert decide(plan, begun(plan), Intent.RUN, states, 0.0).end == (ref(0, 1),)


def test_a_process_that_ends_starts_nothing_and_ends_nothing() -> None:
    states = {ref(0, 1): StepState(in_flight=True)}
    assert decide(PARALLEL, begun(PARALLEL), Intent.STOP, states, 0.0) == Decision()


def test_a_paused_run_goes_on_with_what_was_begun_alone() -> None:
    states = {ref(0, 1): StepState()}
    assert decide(PARALLEL, begun(PARALLEL), Intent.PAUSE, states, 0.0) == Decision(
        start=(ref(0, 1),)
    )


def test_failures_back_off_from_a_quarter_of_a_second_to_a_minute() -> None:
    state, waits = StepState(), []
    for _ in range(12):
        state = after_attempt(state, S.ERROR, 100.0, polled=False, jitter=1.0)
        waits.append((state.due or 0.0) - 100.0)
    assert waits[:4] == [0.25, 0.5, 1.0, 2.0]
    assert waits[-1] == 60.0
    least = after_attempt(StepState(failures=3), S.ERROR, 0.0, polled=False, jitter=0.0)
    assert least.due == 1.0


def test_polls_back_off_from_one_second_to_thirty() -> None:
    state, waits = StepState(), []
    for _ in range(8):
        state = after_attempt(state, S.IN_PROGRESS, 0.0, polled=True, jitter=0.5)
        waits.append(state.due)
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]


def test_what_is_watched_has_no_appointment_and_forgets_its_failures() -> None:
    state = after_attempt(
        StepState(failures=4, polls=2), S.IN_PROGRESS, 0.0, polled=False, jitter=0
    )
    assert state == StepState()


def test_a_fault_of_ours_backs_off_as_a_failure_does() -> None:
    assert after_interruption(StepState(failures=2), 0.0, jitter=1.0) == StepState(
        failures=3, due=1.0
    )


STATES = st.builds(
    StepState,
    in_flight=st.booleans(),
    failures=st.integers(0, 40),
    polls=st.integers(0, 40),
    due=st.none() | st.floats(0, 100),
)
STATUSES = st.sampled_from([S.PENDING, S.IN_PROGRESS, S.ERROR, S.COMPLETE])


@given(st.data())
def test_nothing_is_started_that_may_not_run_or_is_in_flight(data: st.DataObject) -> None:
    sizes = data.draw(
        st.lists(st.tuples(st.sampled_from(["serial", "parallel"]), st.integers(0, 4)), max_size=4)
    )
    plan = plan_of(data.draw(st.sampled_from(["serial", "parallel"])), *sizes)
    refs = [ref(index, step) for index, (_, steps) in enumerate(sizes) for step in range(steps)]
    entry = begun(plan, {at: data.draw(STATUSES) for at in refs})
    states = {at: data.draw(STATES) for at in refs if data.draw(st.booleans())}
    intent, now = data.draw(st.sampled_from(Intent)), data.draw(st.floats(0, 100))
    found = decide(plan, entry, intent, states, now)
    in_flight = {at for at, state in states.items() if state.in_flight}
    assert set(found.start) <= set(runnable(plan, entry)) - in_flight
    assert set(found.end) <= in_flight
    assert found.start == () or intent in {Intent.RUN, Intent.PAUSE}
    assert found.look_again is None or found.look_again > 0
    if intent is Intent.RUN and status_not_ended(entry):
        # Whatever may run is started, in flight, or has an appointment.
        left = set(runnable(plan, entry)) - in_flight - set(found.start)
        assert (found.look_again is not None) == bool(left)


def status_not_ended(entry: PlanStatus) -> bool:
    return not S(entry.status).terminal
