"""Conditions: what a situation makes of them, and when the transition time moves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo.api import Condition
from kudo.plans.runs.conditions import Situation, find, update

NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"


def made(
    *situations: Situation, before: tuple[Condition, ...] = (), now: str = NOW, generation: int = 1
) -> tuple[Condition, ...]:
    for situation in situations:
        before = update(before, situation, generation=generation, now=now)
    return before


def idle(reason: str, message: str = "") -> Situation:
    return Situation((reason, message))


def running(plan: str = "deploy") -> Situation:
    return Situation(("PlanInProgress", ""), plan)


def statuses(conditions: tuple[Condition, ...]) -> dict[str, tuple[str, str]]:
    return {condition.type: (condition.status, condition.reason) for condition in conditions}


def test_a_situation_has_ready_first_and_the_others_only_while_they_are_true(
    subtests: pytest.Subtests,
) -> None:
    table: list[tuple[Situation, str, list[str]]] = [
        (idle("ResourcesReady"), "True", []),
        (idle("ResourceNotReady"), "False", []),
        (idle("ResourcesUnknown"), "Unknown", []),
        (idle("InstanceDeleting"), "False", []),
        (idle("PlanInFatalError"), "Unknown", ["Stalled"]),
        (idle("InvalidOperatorVersion"), "False", ["Stalled"]),
        (idle("ParameterImmutable"), "False", ["Stalled"]),
        (running(), "Unknown", ["Reconciling"]),
    ]
    for situation, ready, besides in table:
        with subtests.test(situation=situation, ready=ready, besides=besides):
            found = made(situation)
            assert [condition.type for condition in found] == ["Ready", *besides]
            assert [condition.status for condition in found] == [ready, *("True" for _ in besides)]
            assert situation.ready is not None
            assert found[0].reason == situation.ready[0]


def test_what_is_stalled_says_why_and_what_runs_is_named() -> None:
    stalled = find(made(idle("PlanInFatalError", "it broke")), "Stalled")
    assert stalled is not None
    assert (stalled.reason, stalled.message) == ("PlanInFatalError", "it broke")
    reconciling = find(made(running("backup")), "Reconciling")
    assert reconciling is not None
    assert (reconciling.reason, reconciling.message) == (
        "PlanInProgress",
        "plan backup is running",
    )


def test_a_plan_that_says_nothing_of_ready_leaves_it_alone() -> None:
    before = made(idle("ResourceNotReady", "pods"))
    after = made(Situation(None, "backup"), before=before, now=LATER, generation=2)
    assert find(after, "Ready") == find(before, "Ready")
    assert statuses(after)["Reconciling"] == ("True", "PlanInProgress")


def test_ready_is_unknown_where_nobody_has_decided_on_it() -> None:
    first = made(Situation(None, "backup"))
    assert statuses(first)["Ready"] == ("Unknown", "PlanInProgress")
    second = made(Situation(None, "restore"), before=first)
    assert [c.message for c in second] == ["plan restore is running", "plan restore is running"]


def test_a_running_plan_is_not_stalled_whatever_ready_says() -> None:
    situation = Situation(("PlanInFatalError", "the last one"), "backup")
    assert "Stalled" not in statuses(made(situation))


def test_all_conditions_speak_of_one_generation() -> None:
    assert {c.observed_generation for c in made(idle("ResourcesReady"), generation=7)} == {7}


def test_a_message_is_never_longer_than_the_api_takes(subtests: pytest.Subtests) -> None:
    for reason in ["ResourceNotReady", "PlanInFatalError"]:
        with subtests.test(reason=reason):
            found = made(idle(reason, "x" * 40_000))
            assert max(len(condition.message) for condition in found) == 32768


def test_the_transition_time_moves_only_with_the_status() -> None:
    first = made(running())
    failed = made(idle("PlanInFatalError", "why"), before=first, now=LATER, generation=2)
    times = {c.type: c.last_transition_time for c in failed}
    assert times == {"Ready": NOW, "Stalled": LATER}
    ready = find(failed, "Ready")
    assert ready is not None
    assert (ready.reason, ready.message, ready.observed_generation) == (
        "PlanInFatalError",
        "why",
        2,
    )


def test_a_condition_that_was_false_is_new_once_it_is_true() -> None:
    false = Condition(
        type="Stalled", status="False", reason="NotStalled", message="", last_transition_time=NOW
    )
    failed = made(idle("PlanInFatalError", "why"), before=(false,), now=LATER)
    assert {c.type: c.last_transition_time for c in failed} == {"Ready": LATER, "Stalled": LATER}
    assert made(idle("ResourcesReady"), before=(false,)) == made(idle("ResourcesReady"))


def test_conditions_of_others_stay_as_they_are_behind_ours() -> None:
    other, last = (
        Condition(type=kind, status="True", reason="R", message="", last_transition_time=NOW)
        for kind in ("Other", "Last")
    )
    before = (other, *made(running()), last)
    after = made(idle("ResourcesReady"), before=before, now=LATER)
    assert [c.type for c in after] == ["Ready", "Other", "Last"]
    assert after[1:] == (other, last)


def test_a_condition_is_found_by_its_type() -> None:
    condition = Condition(type="A", status="True", reason="R", message="", last_transition_time=NOW)
    assert find((condition,), "A") is condition
    assert find((condition,), "B") is None


_situations = st.builds(
    Situation,
    st.none()
    | st.tuples(
        st.sampled_from(["ResourcesReady", "ResourceNotReady", "PlanInFatalError", "Other"]),
        st.text(max_size=3),
    ),
    st.none() | st.sampled_from(["deploy", "backup"]),
)


@given(st.lists(_situations, min_size=1, max_size=5))
def test_the_same_situation_again_changes_nothing(situations: list[Situation]) -> None:
    once = made(*situations)
    assert made(situations[-1], before=once, now=LATER) == once
    assert len({condition.type for condition in once}) == len(once)
