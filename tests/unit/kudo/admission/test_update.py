"""Admission of changes within one version, of an Instance that is not being deleted."""

import pytest

from kudo.api import JsonObject
from kudo.api.fingerprints import fingerprints
from tests.unit.kudo.builders import (
    VALUES,
    instance,
    mutated,
    patched,
    trigger,
    version,
)

IDLE = instance()
NO_UPDATE = version(plans=("deploy", "custom", "cleanup"))


def stored(new: JsonObject, old: JsonObject = IDLE) -> JsonObject:
    """Return the planExecution that mutation stores; the change must be allowed."""
    decision = mutated(new, old)
    assert decision.allowed, decision.problems
    found: JsonObject = patched(new, decision)["spec"].get("planExecution") or {}
    return found


# What runs


def test_a_parameter_change_runs_the_plan_of_its_trigger_or_update() -> None:
    table: list[tuple[dict[str, str], str]] = [
        ({"SIZE": "2"}, "deploy"),
        ({"PORT": "81"}, "custom"),
        ({"SIZE": "2", "COUNT": "5"}, "deploy"),
        ({"NOTE": "hello"}, "update"),
        ({"NOTE": "hello", "PORT": "81"}, "custom"),
        ({"PORT": "-"}, "custom"),
        ({"SIZE": "-", "COUNT": "5"}, "deploy"),
        ({"NOTE": "none"}, "update"),
    ]
    for change, plan in table:
        assert stored(instance(change)) == trigger(plan)


def test_deploy_runs_where_there_is_no_update_plan() -> None:
    assert mutated(instance({"NOTE": "hello"}), IDLE, NO_UPDATE).plan == "deploy"


def test_a_parameter_that_gets_its_own_plan_afterwards_is_warned_about() -> None:
    decision = mutated(instance({"NOTE": "hello", "PORT": "81"}), IDLE)
    (text,) = decision.warnings
    assert text == (
        "plan 'custom' runs, triggered by PORT; when it is COMPLETE, plan 'update' runs and brings "
        "the change of NOTE into force, which has no trigger"
    )


def test_a_change_that_one_plan_brings_into_force_is_not_warned_about() -> None:
    for change in [{"NOTE": "hello"}, {"PORT": "81"}, {"NOTE": "hello", "SIZE": "2"}]:
        assert mutated(instance(change), IDLE).warnings == ()


def test_a_parameter_that_no_plan_would_ever_bring_into_force_is_denied() -> None:
    bare = version(plans=("custom",))
    both = {"NOTE": "hello", "PORT": "81"}
    assert mutated(instance(both), IDLE, bare).reason == "NoPlanTriggered"
    assert mutated(instance({"PORT": "81"}), IDLE, bare).plan == "custom"


def test_a_plan_triggered_by_hand_gets_a_fresh_uid_whatever_was_submitted(
    subtests: pytest.Subtests,
) -> None:
    table: list[JsonObject] = [
        {"planName": "custom"},
        {"planName": "custom", "uid": "mine"},
        {"planName": "custom", "uid": "mine", "status": "COMPLETE"},
        {"planName": "custom", "uid": "mine", "status": "IN_PROGRESS"},
    ]
    for submitted in table:
        with subtests.test(submitted=submitted):
            new = instance()
            new["spec"]["planExecution"] = submitted
            assert stored(new) == trigger("custom")


def test_leftovers_without_a_plan_are_cleared(subtests: pytest.Subtests) -> None:
    for submitted in [{"status": "COMPLETE"}, {"uid": "stray"}]:
        with subtests.test(submitted=submitted):
            new = instance()
            new["spec"]["planExecution"] = submitted
            assert stored(new) == {}


def test_removing_an_undeclared_parameter_runs_nothing() -> None:
    assert stored(instance(), instance({"UNKNOWN": "1"})) == {}


def test_removals_are_judged_one_by_one() -> None:
    assert stored(instance({"SIZE": "-"}), instance({"UNKNOWN": "1"})) == trigger("deploy")


def test_an_unchanged_spec_passes_although_the_operator_version_is_gone() -> None:
    labelled = instance()
    labelled["metadata"]["labels"] = {"a": "b"}
    decision = mutated(labelled, IDLE, version("another"))
    assert decision.allowed
    assert decision.patch == ()


def test_the_finalizer_follows_the_version_in_force() -> None:
    new = instance({"SIZE": "2"}, finalizers=["kudo.dev.instance.cleanup", "x"])
    found = patched(new, mutated(new, IDLE, version(plans=("deploy",))))
    assert found["metadata"]["finalizers"] == ["x"]


# A run that has ended


def test_a_change_after_the_terminal_status_but_before_the_clear_runs() -> None:
    ended = instance(runs="deploy", ended={"deploy": "A"})
    assert stored(instance({"SIZE": "2"}, runs="deploy"), ended) == trigger("deploy")


def test_repeating_an_ended_run_is_no_request() -> None:
    ended = instance(runs="deploy", ended={"deploy": "A"})
    new = instance({"PORT": "81"}, runs="deploy")
    assert stored(new, ended) == trigger("custom")


def test_an_ended_run_may_be_cleared_by_anyone() -> None:
    assert stored(instance(), instance(runs="deploy", ended={"deploy": "A"})) == {}


def test_another_plan_may_follow_an_ended_run() -> None:
    ended = instance(runs="deploy", ended={"deploy": "A"})
    assert stored(instance(runs="custom", uid=None), ended) == trigger("custom")


# While a plan runs


def test_another_uid_or_none_restarts_the_running_plan(subtests: pytest.Subtests) -> None:
    for uid in ["B", None]:
        with subtests.test(uid=uid):
            new = instance(runs="deploy", uid=uid, status=None)
            assert stored(new, instance(runs="deploy")) == trigger("deploy")


def test_a_change_with_the_same_trigger_restarts_the_running_plan() -> None:
    old = instance(runs="deploy")
    assert stored(instance({"SIZE": "2"}, runs="deploy"), old) == trigger("deploy")


def test_a_change_wins_over_a_status_that_is_submitted_with_it() -> None:
    new = instance({"SIZE": "2"}, runs="deploy", status="FATAL_ERROR")
    assert stored(new, instance(runs="deploy")) == trigger("deploy")


def test_a_status_by_hand_does_not_end_the_running_plan(subtests: pytest.Subtests) -> None:
    for status in ["COMPLETE", "ERROR", "PENDING"]:
        with subtests.test(status=status):
            old = instance(runs="deploy")
            new = instance({"NEW": "-"}, runs="deploy", status=status)
            assert stored(new, old) == old["spec"]["planExecution"]


def test_nothing_else_may_be_asked_for_while_a_plan_runs(subtests: pytest.Subtests) -> None:
    table: list[tuple[JsonObject, str]] = [
        (instance({"PORT": "81"}, runs="deploy"), "would trigger a different plan 'custom'"),
        (instance({"NOTE": "x"}, runs="deploy"), "would trigger a different plan 'update'"),
        (instance(of="first-2", runs="deploy"), "upgrade to new OperatorVersion first-2"),
        (instance(runs="custom", uid="B"), "overriding currently scheduled"),
        (instance(runs="cleanup", uid="B"), "overriding currently scheduled"),
        (instance(runs="custom"), "overriding currently scheduled"),
        (instance(), "cancelling currently scheduled"),
        (instance({"PORT": "81"}), "would trigger a different plan 'custom'"),
    ]
    for new, text in table:
        with subtests.test(new=new, text=text):
            decision = mutated(new, instance(runs="deploy"), version(), version("first-2"))
            assert decision.reason == "PlanRunning"
            assert text in decision.problems[0].message
            assert "plan status --wait --instance i -n ns" in decision.problems[0].message
            assert "or cancel it (kubectl kudo plan cancel --instance i -n ns)" in (
                decision.problems[0].message
            )


def test_a_scheduled_plan_counts_as_running_before_its_first_status() -> None:
    old = instance(runs="deploy")
    old["status"] = {}
    assert mutated(instance(runs="custom"), old).reason == "PlanRunning"


# What is never allowed


def test_a_change_of_parameters_that_breaks_a_rule_is_denied_idle_or_running(
    subtests: pytest.Subtests,
) -> None:
    table: list[tuple[dict[str, str], str, str]] = [
        ({"ZZ": "1"}, "ParameterUnknown", "spec.parameters[ZZ]"),
        ({"CLASS": "slow"}, "ParameterImmutable", "spec.parameters[CLASS]"),
        ({"CLASS": "-"}, "ParameterImmutable", "spec.parameters[CLASS]"),
        ({"TOKEN": "-"}, "ParameterRequired", "spec.parameters[TOKEN]"),
        ({"TOKEN": ""}, "ParameterRequired", "spec.parameters[TOKEN]"),
        ({"COUNT": "many"}, "ParameterInvalid", "spec.parameters[COUNT]"),
        ({"GHOST": "1"}, "TriggerUnknown", "spec.parameters[GHOST]"),
        ({"SIZE": "2", "PORT": "81"}, "SeveralPlansTriggered", "spec.parameters"),
        ({"SIZE": "-", "PORT": "-"}, "SeveralPlansTriggered", "spec.parameters"),
    ]
    for runs in [None, "deploy"]:
        for change, reason, field in table:
            with subtests.test(change=change, reason=reason, field=field, runs=runs):
                decision = mutated(instance(change, runs=runs), instance(runs=runs))
                assert [(p.reason, p.field) for p in decision.problems] == [(reason, field)]


def test_a_change_that_nothing_would_apply_is_denied() -> None:
    bare = version(plans=("custom",))
    assert mutated(instance({"NOTE": "x"}), IDLE, bare).reason == "NoPlanTriggered"


def test_setting_an_immutable_parameter_for_the_first_time_is_a_change() -> None:
    decision = mutated(instance(), instance({"CLASS": "-"}))
    assert decision.reason == "ParameterImmutable"


def test_where_nothing_is_in_force_nothing_can_be_set_back() -> None:
    last_run: JsonObject = {"plan": "custom", "uid": "A", "parameters": {}}
    decision = mutated(instance({"CLASS": "-"}), instance(last_run=last_run))
    assert decision.reason == "ParameterImmutable"


def test_the_way_back_from_a_stored_violation_is_open() -> None:
    in_force = {"operatorVersion": {"namespace": "ns", "name": "first-1"}}
    last_run = {"plan": "deploy", "uid": "A", "parameters": fingerprints(VALUES), **in_force}
    violated = instance({"CLASS": "slow"}, last_run=last_run)
    assert mutated(instance(), violated).allowed
    assert mutated(instance({"CLASS": "third"}), violated).reason == "ParameterImmutable"


def test_a_value_that_the_version_no_longer_takes_blocks_no_other_change() -> None:
    stored_before = {"COUNT": "many"}
    old, new = instance(stored_before), instance({**stored_before, "PORT": "81"})
    assert stored(new, old) == trigger("custom")


def test_a_plan_that_does_not_exist_is_denied_with_those_that_do(subtests: pytest.Subtests) -> None:
    for runs in [None, "deploy"]:
        with subtests.test(runs=runs):
            decision = mutated(instance(runs="nosuch", uid="B"), instance(runs=runs))
            assert decision.reason == "PlanUnknown"
            assert "cleanup, custom, deploy, update, upgrade" in decision.problems[0].message


def test_a_plan_beside_a_change_that_triggers_one_is_denied(subtests: pytest.Subtests) -> None:
    for change in [{"SIZE": "2"}, {"PORT": "81"}, {"NOTE": "x"}]:
        with subtests.test(change=change):
            decision = mutated(instance(change, runs="custom", uid="B"), IDLE)
            assert decision.reason == "PlanBesideChange"


def test_cleanup_cannot_be_started_by_hand() -> None:
    decision = mutated(instance(runs="cleanup", uid="B"), IDLE)
    assert decision.reason == "CleanupNotManual"
    assert "kubectl kudo uninstall --instance i -n ns" in decision.problems[0].message


def test_every_wrong_field_is_named_and_the_first_one_says_what_was_attempted() -> None:
    decision = mutated(instance({"ZZ": "1", "CLASS": "slow"}), IDLE)
    assert [p.reason for p in decision.problems] == ["ParameterUnknown", "ParameterImmutable"]
    assert decision.problems[0].message.startswith("failed to update Instance ns/i: ")
