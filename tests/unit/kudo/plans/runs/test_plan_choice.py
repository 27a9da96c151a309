"""Which plan a change runs, and which run is active."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo.api import ExecutionStatus, Instance, OperatorVersion
from kudo.plans.runs.plan_choice import (
    PlanChoice,
    active_run,
    first_plan,
    has_uid_of_another_plan,
    plan_for_parameters,
    plan_for_upgrade,
    used_uids,
)
from tests.unit.kudo.builders import instance, version

V = version()
NO_UPDATE = version(plans=("deploy", "custom"))
NOTHING = version(plans=("custom",))


def test_the_first_plan_that_exists_is_taken() -> None:
    assert first_plan(V, "nosuch", "update", "deploy") == "update"
    assert first_plan(V, "nosuch") is None
    assert first_plan(OperatorVersion(), "deploy") is None


def test_a_new_version_runs_upgrade_else_update_else_deploy() -> None:
    table: list[tuple[tuple[str, ...], str]] = [
        (("deploy", "update", "upgrade"), "upgrade"),
        (("deploy", "update"), "update"),
        (("deploy", "custom"), "deploy"),
    ]
    for plans, plan in table:
        assert plan_for_upgrade(version(plans=plans)) == PlanChoice(plan)


def test_a_new_version_without_a_plan_for_it_is_a_problem() -> None:
    choice = plan_for_upgrade(NOTHING)
    (problem,) = choice.problems
    assert choice.plan is None
    assert (problem.reason, problem.field) == ("NoPlanTriggered", "spec.operatorVersion")
    assert problem.message.startswith("couldn't find any suitable plan that would be triggered")


def test_a_trigger_goes_before_update_and_update_before_deploy() -> None:
    table: list[tuple[OperatorVersion, tuple[str, ...], str]] = [
        (V, ("SIZE",), "deploy"),
        (V, ("SIZE", "COUNT"), "deploy"),
        (V, ("PORT",), "custom"),
        (V, ("NOTE",), "update"),
        (V, ("NOTE", "CLASS"), "update"),
        (NO_UPDATE, ("NOTE",), "deploy"),
        (V, ("NOTE", "PORT"), "custom"),
        (V, ("undeclared", "PORT"), "custom"),
    ]
    for of, names, plan in table:
        assert plan_for_parameters(of, names).plan == plan


def test_the_choice_tells_who_asked_for_the_plan_and_who_goes_along() -> None:
    choice = plan_for_parameters(V, ("PORT", "NOTE", "CLASS"))
    assert choice == PlanChoice("custom", ("PORT",), ("CLASS", "NOTE"))


def test_nothing_that_is_declared_runs_nothing() -> None:
    for names in [(), ("undeclared",)]:
        assert plan_for_parameters(V, names) == PlanChoice()


def test_two_triggers_at_once_are_a_problem_that_names_plans_and_parameters() -> None:
    choice = plan_for_parameters(V, ("SIZE", "PORT", "NOTE"))
    (problem,) = choice.problems
    assert choice.plan is None
    assert (problem.reason, problem.field) == ("SeveralPlansTriggered", "spec.parameters")
    assert problem.message.startswith("triggering multiple plans: [custom deploy] at once")
    assert "PORT runs custom, SIZE runs deploy" in problem.message


def test_a_trigger_cannot_be_the_cleanup_plan() -> None:
    of = OperatorVersion.from_wire(
        {
            "metadata": {"name": "v", "namespace": "ns"},
            "spec": {
                "parameters": [{"name": "P", "trigger": "cleanup"}],
                "plans": {"deploy": {}, "cleanup": {}},
            },
        }
    )
    choice = plan_for_parameters(of, ("P",))
    (problem,) = choice.problems
    assert choice.plan is None
    assert (problem.reason, problem.field) == ("CleanupNotManual", "spec.parameters[P]")


def test_a_trigger_that_is_no_plan_is_named_before_anything_else() -> None:
    choice = plan_for_parameters(V, ("GHOST", "SIZE", "PORT"))
    (problem,) = choice.problems
    assert (problem.reason, problem.field) == ("TriggerUnknown", "spec.parameters[GHOST]")
    assert "defined trigger plan nowhere" in problem.message


def test_a_change_that_no_plan_applies_is_a_problem() -> None:
    choice = plan_for_parameters(NOTHING, ("NOTE", "CLASS"))
    (problem,) = choice.problems
    assert (choice.plan, choice.fallback) == (None, ("CLASS", "NOTE"))
    assert problem.reason == "NoPlanTriggered"
    assert "CLASS, NOTE has no trigger" in problem.message


@given(st.permutations(["SIZE", "PORT", "NOTE", "GHOST", "CLASS", "COUNT", "zz"]), st.integers(0))
def test_the_order_of_the_parameters_does_not_matter(names: list[str], size: int) -> None:
    chosen = names[: size % 8]
    assert plan_for_parameters(V, chosen) == plan_for_parameters(V, sorted(chosen))


@given(st.sets(st.sampled_from(["SIZE", "PORT", "NOTE", "GHOST", "CLASS", "COUNT", "zz"])))
def test_a_choice_is_either_a_plan_of_the_version_or_a_problem(names: set[str]) -> None:
    choice = plan_for_parameters(NO_UPDATE, names)
    assert choice.plan is None or not choice.problems
    assert choice.plan is None or choice.plan in NO_UPDATE.plans
    if choice.explicit or choice.fallback:
        assert choice.plan is not None or choice.problems


# The active run


def stored(status: str, *, plan: str | None = "deploy", uid: str | None = "A") -> Instance:
    """Return an Instance that schedules deploy under uid A; the entry is the argument's."""
    raw = instance(runs="deploy", uid="A")
    raw["status"]["planStatus"] = {plan: {"name": plan, "uid": uid, "status": status}}
    return Instance.from_wire(raw)


def test_a_scheduled_run_is_active_until_its_own_entry_is_terminal(
    subtests: pytest.Subtests,
) -> None:
    for status in [s.value for s in ExecutionStatus]:
        with subtests.test(status=status):
            found = active_run(stored(status))
            assert (found is None) == (status in {"COMPLETE", "FATAL_ERROR"})
            if found is not None:
                assert (found.plan_name, found.uid) == ("deploy", "A")


def test_the_end_of_another_run_of_the_plan_does_not_count() -> None:
    for uid in ["B", "", None]:
        assert active_run(stored("COMPLETE", uid=uid)) is not None


def test_a_run_without_an_entry_is_active() -> None:
    assert active_run(stored("COMPLETE", plan="other")) is not None


def test_nothing_is_active_without_a_plan_name(subtests: pytest.Subtests) -> None:
    for execution in [None, {}, {"uid": "A"}, {"planName": ""}]:
        with subtests.test(execution=execution):
            raw = instance()
            raw["spec"]["planExecution"] = execution
            raw["status"]["planStatus"] = {
                "deploy": {"name": "deploy", "uid": "A", "status": "PENDING"}
            }
            assert active_run(Instance.from_wire(raw)) is None


def test_every_uid_that_was_seen_counts_as_used() -> None:
    raw = instance(runs="deploy", uid="A", ended={"custom": "C", "update": ""})
    assert used_uids(Instance.from_wire(raw)) == {"A", "C"}
    assert used_uids(Instance()) == frozenset()


def test_a_uid_belongs_to_the_plan_that_ran_under_it(subtests: pytest.Subtests) -> None:
    table: list[tuple[str, str | None, bool]] = [
        ("custom", "A", True),
        ("cleanup", "A", True),
        ("deploy", "A", False),
        ("custom", "B", False),
        ("custom", None, False),
    ]
    for plan, uid, taken in table:
        with subtests.test(plan=plan, uid=uid, taken=taken):
            found = Instance.from_wire(instance(runs=plan, uid=uid, ended={"deploy": "A"}))
            assert has_uid_of_another_plan(found) is taken
