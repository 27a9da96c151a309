"""Admission of changes of the OperatorVersion."""

import pytest

from kudo.admission import Decision
from kudo.api import JsonObject, OperatorVersion
from tests.unit.kudo.builders import (
    PARAMETERS,
    PLANS,
    V1,
    declared,
    instance,
    mutated,
    patched,
    trigger,
    validated,
    version,
    without,
)
from tests.unit.kudo.plans.runs.test_revalidation import last_run

V2 = version("first-2")
IDLE = instance()
NEW = instance(of="first-2")


def test_a_new_version_runs_upgrade_else_update_else_deploy(subtests: pytest.Subtests) -> None:
    table: list[tuple[tuple[str, ...], str]] = [
        (PLANS, "upgrade"),
        (("deploy", "update"), "update"),
        (("deploy", "custom"), "deploy"),
    ]
    for plans, plan in table:
        with subtests.test(plans=plans, plan=plan):
            decision = mutated(NEW, IDLE, V1, version("first-2", plans=plans))
            assert patched(NEW, decision)["spec"]["planExecution"] == trigger(plan)


def test_a_version_without_any_of_these_plans_is_denied() -> None:
    decision = mutated(NEW, IDLE, V1, version("first-2", plans=("custom",)))
    assert (decision.reason, decision.problems[0].field) == (
        "NoPlanTriggered",
        "spec.operatorVersion",
    )


@pytest.mark.parametrize(
    ("before", "after", "warned"),
    [
        (("1.10.0", None), ("1.9.0", None), True),
        (("1.0.0", "2.10"), ("1.0.0", "2.9"), True),
        (("1.0.0", None), ("1.0.0-rc1", None), True),
        (("1.0.0", "2.0"), ("1.0.1", "1.0"), False),
        (("1.9.0", None), ("1.10.0", None), False),
        (("1.0.0", None), ("1.0.0", None), False),
        (("1.0.0", None), ("nightly", None), False),
    ],
)
def test_an_older_version_is_admitted_with_a_warning(
    before: tuple[str, str | None], after: tuple[str, str | None], *, warned: bool
) -> None:
    old = version(number=before[0], app=before[1])
    decision = mutated(NEW, IDLE, old, version("first-2", number=after[0], app=after[1]))
    text = "first-2 is older than first-1, which the Instance had: this is a downgrade"
    assert decision.allowed
    assert decision.warnings == ((text,) if warned else ())


def test_naming_the_own_namespace_is_no_upgrade() -> None:
    new = instance()
    new["spec"]["operatorVersion"] = {"name": "first-1", "namespace": "ns", "kind": "X"}
    decision = mutated(new, IDLE, V1)
    assert decision.allowed
    assert decision.plan is None


def test_parameters_that_only_the_old_version_declares_are_dropped() -> None:
    decision = mutated(NEW, IDLE, V1, version("first-2", parameters=without("PORT")))
    assert "PORT" not in patched(NEW, decision)["spec"]["parameters"]


def test_removing_what_the_new_version_no_longer_declares_triggers_nothing_else() -> None:
    new = instance({"PORT": "-"}, of="first-2")
    decision = mutated(new, IDLE, V1, version("first-2", parameters=without("PORT")))
    assert decision.plan == "upgrade"


def test_changing_what_the_new_version_no_longer_declares_is_denied() -> None:
    new = instance({"PORT": "81"}, of="first-2")
    decision = mutated(new, IDLE, V1, version("first-2", parameters=without("PORT")))
    assert decision.reason == "ParameterUnknown"


def test_a_parameter_that_arrives_with_the_version_may_be_set_with_it() -> None:
    arrived = (*PARAMETERS, {"name": "ADDED", "trigger": "custom", "default": "0"})
    new = instance({"ADDED": "2"}, of="first-2")
    assert mutated(new, IDLE, V1, version("first-2", parameters=arrived)).plan == "upgrade"


def test_a_change_that_triggers_deploy_may_come_with_the_upgrade() -> None:
    assert mutated(instance({"SIZE": "2"}, of="first-2"), IDLE, V1, V2).plan == "upgrade"


def test_a_change_that_triggers_another_plan_may_not(subtests: pytest.Subtests) -> None:
    for change in [{"PORT": "81"}, {"NOTE": "x"}]:
        with subtests.test(change=change):
            decision = mutated(instance(change, of="first-2"), IDLE, V1, V2)
            assert (decision.reason, decision.problems[0].field) == (
                "PlanBesideChange",
                "spec.parameters",
            )


def test_a_plan_by_hand_beside_an_upgrade_is_denied() -> None:
    decision = mutated(instance(of="first-2", runs="custom", uid="B"), IDLE, V1, V2)
    assert decision.reason == "PlanBesideChange"


# Definitions that change with the version


def test_a_changed_definition_is_judged_with_the_values_at_hand(subtests: pytest.Subtests) -> None:
    table: list[tuple[JsonObject, str, str]] = [
        # mutable before, immutable now
        ({"immutable": True}, "-", "ImmutableWithoutValue"),
        ({"immutable": True}, "1", ""),
        ({"immutable": True, "trigger": "deploy"}, "2", ""),
        # still mutable
        ({"required": True}, "-", "ParameterRequired"),
        ({"required": True}, "1", ""),
        ({"value-type": "boolean"}, "1", ""),
        ({"enum": ["a", "b"]}, "1", "ParameterInvalid"),
    ]
    for definition, value, reason in table:
        with subtests.test(definition=definition, value=value, reason=reason):
            after = version("first-2", parameters=declared("SIZE", **definition))
            # An upgrade may come with changes that run deploy only, so the old trigger stays.
            old = instance({"SIZE": value if value == "-" else "1"})
            decision = mutated(instance({"SIZE": value}, of="first-2"), old, V1, after)
            assert decision.reason == reason


def test_an_immutable_parameter_that_arrives_needs_a_value(subtests: pytest.Subtests) -> None:
    for default in [None, "x"]:
        with subtests.test(default=default):
            definition: JsonObject = {"name": "ADDED", "immutable": True, "trigger": "deploy"}
            if default:
                definition["default"] = default
            after = version("first-2", parameters=(*PARAMETERS, definition))
            decision = mutated(NEW, IDLE, V1, after)
            assert decision.reason == "ImmutableWithoutValue"
            assert ("default would be x" in decision.problems[0].message) is bool(default)
            assert (
                mutated(instance({"ADDED": "1"}, of="first-2"), IDLE, V1, after).plan == "upgrade"
            )


def test_an_immutable_secret_that_arrives_needs_a_value_if_it_is_required() -> None:
    for required, reason in [(False, ""), (True, "ImmutableWithoutValue")]:
        definition: JsonObject = {"name": "ADDED", "immutable": True, "secret": True}
        after = version("first-2", parameters=(*PARAMETERS, {**definition, "required": required}))
        assert mutated(NEW, IDLE, V1, after).reason == reason


def test_an_upgrade_cannot_change_what_is_immutable_in_both_versions(
    subtests: pytest.Subtests,
) -> None:
    for value in ["slow", "-"]:
        with subtests.test(value=value):
            decision = mutated(instance({"CLASS": value}, of="first-2"), IDLE, V1, V2)
            assert decision.reason == "ParameterImmutable"


def test_an_upgrade_may_change_what_is_no_longer_immutable() -> None:
    after = version("first-2", parameters=declared("CLASS", trigger="deploy"))
    assert mutated(instance({"CLASS": "slow"}, of="first-2"), IDLE, V1, after).plan == "upgrade"


# Which versions


def test_another_operator_is_never_an_upgrade() -> None:
    decision = mutated(NEW, IDLE, V1, version("first-2", operator="second"))
    assert decision.reason == "OperatorChanged"


def test_upgradable_from_is_honoured_where_it_is_set() -> None:
    assert mutated(NEW, IDLE, V1, version("first-2", upgradable_from=["first-1"])).allowed
    decision = mutated(NEW, IDLE, V1, version("first-2", upgradable_from=["first-0"]))
    assert decision.reason == "NotUpgradable"
    assert "from first-0 only, and first-1 is in force" in decision.problems[0].message


def test_a_version_that_is_gone_can_be_left() -> None:
    assert mutated(NEW, IDLE, V2).plan == "upgrade"


# The version in force is gone


DEPLOYED = instance(ended={"deploy": "A"}, last_run=last_run())


def judged(new: JsonObject, old: JsonObject, *versions: OperatorVersion) -> Decision:
    """Return what both routes decide, which is the same."""
    decision = mutated(new, old, *versions)
    if decision.allowed:
        assert validated(patched(new, decision), old, *versions).allowed
    else:
        beside = {**new, "spec": {**new["spec"], "planExecution": trigger("upgrade")}}
        assert validated(beside, old, *versions).reason == decision.reason
    return decision


def test_what_is_immutable_stays_when_nobody_knows_whether_it_was_before(
    subtests: pytest.Subtests,
) -> None:
    for old in [DEPLOYED, instance(ended={"deploy": "A"})]:
        for value in ["slow", "-"]:
            with subtests.test(value=value, old=old):
                decision = judged(instance({"CLASS": value}, of="first-2"), old, V2)
                assert decision.reason == "ParameterImmutable"
                assert "first-1 is in force but does not exist" in decision.problems[0].message
                assert "create that OperatorVersion again" in decision.problems[0].message


def test_what_arrives_as_immutable_needs_a_value_also_where_nothing_is_known() -> None:
    after = version("first-2", parameters=(*PARAMETERS, {"name": "ADDED", "immutable": True}))
    assert judged(NEW, DEPLOYED, after).reason == "ImmutableWithoutValue"
    assert judged(instance({"ADDED": "1"}, of="first-2"), DEPLOYED, after).plan == "upgrade"


def test_an_upgrade_from_what_is_gone_comes_without_changes_of_parameters_it_had() -> None:
    new = instance({"PORT": "81"}, of="first-2")
    assert mutated(new, DEPLOYED, V2).reason == "PlanBesideChange"


def test_the_name_of_what_is_gone_tells_of_which_operator_it_was(subtests: pytest.Subtests) -> None:
    table = [
        ("first-1", "first", True),
        ("first-2.5.1-1.0.0", "first", True),
        ("first-v2-1.0.0", "first", True),
        ("first-1", "second", False),
        ("first-class-1", "first", False),
        ("first", "first", False),
        ("any", "first", False),
    ]
    for recorded in [True, False]:
        for name, operator, allowed in table:
            with subtests.test(name=name, operator=operator, allowed=allowed, recorded=recorded):
                last = last_run(of=name) if recorded else None
                old = instance(of=name, ended={"deploy": "A"}, last_run=last)
                decision = judged(NEW, old, version("first-2", operator=operator))
                assert (decision.reason == "OperatorVersionNotFound") is not allowed
                if not allowed:
                    assert (
                        "create it again in namespace ns, then upgrade"
                        in decision.problems[0].message
                    )


def test_the_last_run_tells_of_which_operator_it_was_whatever_the_name_of_what_is_gone(
    subtests: pytest.Subtests,
) -> None:
    for name in ["first-1", "second-1", "any"]:
        for operator, reason in [("first", ""), ("second", "OperatorChanged")]:
            with subtests.test(operator=operator, reason=reason, name=name):
                last = last_run(of=name) | {"operator": "first"}
                old = instance(of=name, ended={"deploy": "A"}, last_run=last)
                assert judged(NEW, old, version("first-2", operator=operator)).reason == reason


def test_upgradable_from_is_honoured_by_the_name_of_what_is_gone() -> None:
    assert judged(NEW, DEPLOYED, version("first-2", upgradable_from=["first-1"])).allowed
    after = version("first-2", upgradable_from=["first-0"])
    assert judged(NEW, DEPLOYED, after).reason == "NotUpgradable"


def test_what_never_existed_can_be_left_for_the_version_in_force() -> None:
    old = instance(of="nosuch", ended={"deploy": "A"}, last_run=last_run())
    unset: JsonObject = {"name": "ADDED", "immutable": True}
    assert judged(instance(), old, version(parameters=(*PARAMETERS, unset))).allowed


def test_what_never_existed_is_not_what_an_upgrade_is_judged_by() -> None:
    old = instance(of="second-1", ended={"deploy": "A"}, last_run=last_run())
    after = version("second-2", operator="second")
    assert judged(instance(of="second-2"), old, after).reason == "OperatorVersionNotFound"


def test_an_instance_that_never_ran_may_leave_what_does_not_exist_for_anything() -> None:
    old = instance(of="nosuch")
    after = version("second-2", operator="second", parameters=declared("CLASS", immutable=True))
    assert judged(instance({"CLASS": "slow"}, of="second-2"), old, after).allowed


def test_a_version_that_does_not_exist_cannot_be_entered() -> None:
    decision = mutated(instance(of="first-9"), IDLE, V1)
    assert decision.reason == "OperatorVersionNotFound"


def test_an_empty_reference_is_told_apart_from_a_missing_version() -> None:
    new = instance()
    new["spec"]["operatorVersion"] = {}
    assert "name is empty" in mutated(new, IDLE, V1).problems[0].message


def test_leaving_the_last_version_with_a_cleanup_plan_removes_the_finalizer() -> None:
    decision = mutated(NEW, IDLE, V1, version("first-2", plans=("deploy",)))
    assert patched(NEW, decision)["metadata"]["finalizers"] == []
