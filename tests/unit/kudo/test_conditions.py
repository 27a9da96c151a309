"""Conditions: what a situation makes of them, and when the transition time moves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo.api import Condition
from kudo.conditions import Situation, find, put, update

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


@pytest.mark.parametrize(
    ("situation", "ready", "reconciling", "stalled"),
    [
        (idle("ResourcesReady"), "True", "False", "False"),
        (idle("ResourceNotReady"), "False", "False", "False"),
        (idle("PlanInFatalError"), "Unknown", "False", "True"),
        (idle("InvalidOperatorVersion"), "False", "False", "True"),
        (idle("ParameterImmutable"), "False", "False", "True"),
        (running(), "Unknown", "True", "False"),
    ],
)
def test_a_situation_has_its_conditions(
    situation: Situation, ready: str, reconciling: str, stalled: str
) -> None:
    found = statuses(made(situation))
    assert {kind: status for kind, (status, _) in found.items()} == {
        "Ready": ready,
        "Reconciling": reconciling,
        "Stalled": stalled,
    }
    assert situation.ready is not None
    assert found["Ready"][1] == situation.ready[0]


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
    assert statuses(made(Situation(None, "backup"))).keys() == {"Reconciling", "Stalled"}


def test_a_running_plan_is_not_stalled_whatever_ready_says() -> None:
    situation = Situation(("PlanInFatalError", "the last one"), "backup")
    assert statuses(made(situation))["Stalled"][0] == "False"


def test_all_conditions_speak_of_one_generation() -> None:
    assert {c.observed_generation for c in made(idle("ResourcesReady"), generation=7)} == {7}


@pytest.mark.parametrize("reason", ["ResourceNotReady", "PlanInFatalError"])
def test_a_message_is_never_longer_than_the_api_takes(reason: str) -> None:
    found = made(idle(reason, "x" * 40_000))
    assert max(len(condition.message) for condition in found) == 32768


def test_the_transition_time_moves_only_with_the_status() -> None:
    first = made(running())
    failed = made(idle("PlanInFatalError", "why"), before=first, now=LATER, generation=2)
    times = {c.type: c.last_transition_time for c in failed}
    assert times == {"Ready": NOW, "Reconciling": LATER, "Stalled": LATER}
    ready = find(failed, "Ready")
    assert ready is not None
    assert (ready.reason, ready.message, ready.observed_generation) == (
        "PlanInFatalError",
        "why",
        2,
    )


def test_other_conditions_keep_their_place() -> None:
    other, last = (
        Condition(type=kind, status="True", reason="R", message="", last_transition_time=NOW)
        for kind in ("Other", "Last")
    )
    before = (other, *made(running()), last)
    after = made(idle("ResourcesReady"), before=before, now=LATER)
    assert [c.type for c in after] == ["Other", "Ready", "Reconciling", "Stalled", "Last"]
    assert (after[0], after[-1]) == (other, last)


def test_a_condition_is_found_by_its_type_and_put_in_its_place() -> None:
    condition = Condition(type="A", status="True", reason="R", message="", last_transition_time=NOW)
    changed = condition.model_copy(update={"status": "False", "last_transition_time": LATER})
    assert find((condition,), "A") is condition
    assert find((condition,), "B") is None
    assert put((), condition) == (condition,)
    assert put((condition,), changed) == (changed,)


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
