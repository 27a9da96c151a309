"""Stored Instances held against their last run: what they need, and what they may not do."""

import pytest

from kudo.admission.revalidation import (
    NOTHING,
    Revalidation,
    revalidate_idle,
    revalidate_scheduled,
)
from kudo.api import Instance, JsonObject, OperatorVersion
from kudo.api.fingerprints import fingerprints
from kudo.plans.runs.last_run import run_in_progress
from tests.unit.kudo.builders import (
    PARAMETERS,
    V1,
    VALUES,
    declared,
    instance,
    version,
    without,
)

V2 = version("first-2")


def last_run(
    parameters: dict[str, str] | None = None,
    *,
    of: str = "first-1",
    plan: str = "deploy",
    uid: str = "A",
) -> JsonObject:
    """Return the record of a run of VALUES with other values beside; "-" leaves one out."""
    values = {n: v for n, v in {**VALUES, **(parameters or {})}.items() if v != "-"}
    return {
        "plan": plan,
        "uid": uid,
        "operatorVersion": {"namespace": "ns", "name": of},
        "parameters": fingerprints(values),
    }


def idle(
    parameters: dict[str, str] | None = None, *, of: str = "first-1", last: JsonObject | None = None
) -> Instance:
    """Return an Instance that ran deploy as uid A with VALUES, unless `last` says otherwise."""
    last = last_run() if last is None else last
    ended = {last["plan"]: last["uid"]}
    return Instance.from_wire(instance(parameters, of=of, ended=ended, last_run=last))


def reasons(revalidation: Revalidation) -> list[str]:
    return [problem.reason for problem in revalidation.problems]


# Nothing is scheduled


def test_an_instance_that_never_ran_is_deployed() -> None:
    assert revalidate_idle(Instance.from_wire(instance()), V1) == Revalidation("deploy")


def test_entries_of_plans_that_never_ran_are_no_record_of_a_run(subtests: pytest.Subtests) -> None:
    for status in ["", "NEVER_RUN", "nonsense"]:
        with subtests.test(status=status):
            wire = instance()
            wire["status"]["planStatus"] = {"deploy": {"name": "deploy", "status": status}}
            assert revalidate_idle(Instance.from_wire(wire), V1) == Revalidation("deploy")


def test_runs_that_the_original_recorded_are_taken_as_they_stand(subtests: pytest.Subtests) -> None:
    for parameters in [{}, {"COUNT": "many"}, {"TOKEN": "-"}]:
        for status in ["PENDING", "IN_PROGRESS", "ERROR", "COMPLETE", "FATAL_ERROR"]:
            with subtests.test(status=status, parameters=parameters):
                wire = instance(parameters)
                wire["status"]["planStatus"] = {
                    "deploy": {"name": "deploy", "status": status, "uid": "A"}
                }
                assert revalidate_idle(Instance.from_wire(wire), V1) == NOTHING


def test_an_instance_as_its_last_run_left_it_needs_nothing() -> None:
    assert revalidate_idle(idle(), V1) == NOTHING
    assert revalidate_idle(Instance.from_wire(instance(last_run=last_run())), V1) == NOTHING


def test_a_changed_parameter_runs_what_admission_would_have_run() -> None:
    table: list[tuple[dict[str, str], str | None]] = [
        ({"SIZE": "2"}, "deploy"),
        ({"SIZE": "-"}, "deploy"),
        ({"PORT": "81"}, "custom"),
        ({"PORT": "-"}, "custom"),
        ({"NOTE": "x"}, "update"),
        ({"NOTE": "x", "PORT": "81"}, "custom"),
        ({"COUNT": "4"}, "deploy"),
        ({"ZZ": "1"}, None),
        ({"ZZ": "1", "SIZE": "2"}, "deploy"),
    ]
    for parameters, plan in table:
        assert revalidate_idle(idle(parameters), V1) == Revalidation(plan)


def test_a_parameter_without_a_trigger_runs_update_or_deploy() -> None:
    for plans, plan in [(("deploy", "update"), "update"), (("deploy",), "deploy")]:
        assert revalidate_idle(idle({"NOTE": "x"}), version(plans=plans)) == Revalidation(plan)


def test_a_change_that_nothing_would_apply_is_refused() -> None:
    revalidation = revalidate_idle(idle({"NOTE": "x"}), version(plans=("custom",)))
    assert (revalidation.plan, reasons(revalidation)) == (None, ["NoPlanTriggered"])


def test_two_triggers_at_once_are_refused_with_both_plans() -> None:
    revalidation = revalidate_idle(idle({"SIZE": "2", "PORT": "81"}), V1)
    assert (revalidation.plan, reasons(revalidation)) == (None, ["SeveralPlansTriggered"])
    assert "[custom deploy]" in revalidation.problems[0].message


def test_a_trigger_that_is_no_plan_is_refused() -> None:
    assert reasons(revalidate_idle(idle({"GHOST": "1"}), V1)) == ["TriggerUnknown"]


def test_a_parameter_that_no_version_declares_leaves_no_trace_when_it_goes() -> None:
    assert revalidate_idle(idle(last=last_run({"ZZ": "1"})), V1) == NOTHING


def test_another_version_runs_upgrade_or_what_stands_for_it(subtests: pytest.Subtests) -> None:
    table: list[tuple[tuple[str, ...], str]] = [
        (("deploy", "update", "upgrade"), "upgrade"),
        (("deploy", "update"), "update"),
        (("deploy",), "deploy"),
    ]
    for parameters in [{}, {"PORT": "81"}, {"SIZE": "2", "PORT": "81"}]:
        for plans, plan in table:
            with subtests.test(plans=plans, plan=plan, parameters=parameters):
                target = version("first-2", plans=plans)
                assert revalidate_idle(idle(parameters, of="first-2"), target) == Revalidation(plan)


def test_another_version_that_has_no_plan_for_it_is_refused() -> None:
    target = version("first-2", plans=("custom",))
    assert reasons(revalidate_idle(idle(of="first-2"), target)) == ["NoPlanTriggered"]


def test_the_same_version_named_with_its_namespace_is_no_other() -> None:
    wire = instance(last_run=last_run())
    wire["spec"]["operatorVersion"] = {"name": "first-1", "namespace": "ns"}
    assert revalidate_idle(Instance.from_wire(wire), V1) == NOTHING


def test_an_instance_that_only_ran_a_plan_named_by_hand_is_deployed(
    subtests: pytest.Subtests,
) -> None:
    for parameters in [{}, {"CLASS": "slow"}, {"SIZE": "2", "PORT": "81"}]:
        with subtests.test(parameters=parameters):
            last = {"plan": "custom", "uid": "A", "parameters": {}}
            assert revalidate_idle(idle(parameters, last=last), V1) == Revalidation("deploy")


def test_a_first_run_is_judged_by_all_its_values_also_after_a_plan_named_by_hand() -> None:
    last = {"plan": "custom", "uid": "A", "parameters": {}}
    found = idle({"COUNT": "many", "TOKEN": "-"}, last=last)
    assert reasons(revalidate_idle(found, V1)) == ["ParameterInvalid", "ParameterRequired"]


def test_a_version_without_a_deploy_plan_cannot_be_deployed() -> None:
    revalidation = revalidate_idle(Instance.from_wire(instance()), version(plans=("custom",)))
    assert reasons(revalidation) == ["DeployPlanMissing"]
    assert "first-1" in revalidation.problems[0].message


# Violations


def test_an_immutable_parameter_that_was_changed_or_removed_runs_nothing(
    subtests: pytest.Subtests,
) -> None:
    for value in ["slow", "", "-"]:
        with subtests.test(value=value):
            revalidation = revalidate_idle(idle({"CLASS": value}), V1)
            assert (revalidation.plan, reasons(revalidation)) == (None, ["ParameterImmutable"])
            assert revalidation.problems[0].field == "spec.parameters[CLASS]"
            assert "set it back" in revalidation.problems[0].message


def test_an_immutable_parameter_that_the_last_run_did_not_have_cannot_be_set() -> None:
    assert reasons(revalidate_idle(idle(last=last_run({"CLASS": "-"})), V1)) == [
        "ParameterImmutable"
    ]


def test_setting_an_immutable_parameter_back_heals(subtests: pytest.Subtests) -> None:
    for parameters, plan in [({}, None), ({"SIZE": "2"}, "deploy"), ({"ZZ": "1"}, None)]:
        with subtests.test(parameters=parameters, plan=plan):
            assert reasons(revalidate_idle(idle({**parameters, "CLASS": "slow"}), V1)) == [
                "ParameterImmutable"
            ]
            assert revalidate_idle(idle({**parameters, "CLASS": "fast"}), V1) == Revalidation(plan)


def test_what_becomes_immutable_with_another_version_may_come_with_another_value() -> None:
    before = version(parameters=declared("CLASS"))
    found = idle({"CLASS": "slow"}, of="first-2")
    assert revalidate_idle(found, V2, before=before) == Revalidation("upgrade")


def test_what_was_immutable_before_another_version_or_is_not_known_stays(
    subtests: pytest.Subtests,
) -> None:
    for value in ["slow", "-"]:
        for before in [V1, None]:
            with subtests.test(before=before, value=value):
                revalidation = revalidate_idle(
                    idle({"CLASS": value}, of="first-2"), V2, before=before
                )
                assert reasons(revalidation) == ["ParameterImmutable"]
                unknown = (
                    "first-1 is in force but does not exist" in revalidation.problems[0].message
                )
                assert unknown is (before is None)


def test_an_immutable_parameter_that_never_had_a_value_may_come_with_another_version() -> None:
    found = idle({"CLASS": "slow"}, of="first-2", last=last_run({"CLASS": "-"}))
    assert revalidate_idle(found, V2) == Revalidation("upgrade")


def test_a_version_that_may_not_follow_the_one_in_force_runs_nothing(
    subtests: pytest.Subtests,
) -> None:
    table: list[tuple[OperatorVersion | None, OperatorVersion, str]] = [
        (version(operator="second"), V2, "OperatorChanged"),
        (None, version("first-2", operator="second"), "OperatorVersionNotFound"),
        (V1, version("first-2", upgradable_from=["first-0"]), "NotUpgradable"),
        (None, version("first-2", upgradable_from=["first-0"]), "NotUpgradable"),
    ]
    for before, now, reason in table:
        with subtests.test(before=before, now=now, reason=reason):
            assert reasons(revalidate_idle(idle(of="first-2"), now, before=before)) == [reason]
            named = scheduled("upgrade")
            spec = idle(of="first-2").spec.model_copy(update={"plan_execution": named.scheduled})
            named = named.model_copy(update={"spec": spec})
            assert reasons(revalidate_scheduled(named, now, before=before)) == [reason]


def test_values_that_admission_would_have_denied_run_nothing(subtests: pytest.Subtests) -> None:
    table: list[tuple[dict[str, str], str, str]] = [
        ({"COUNT": "many"}, "ParameterInvalid", "COUNT"),
        ({"TOKEN": "-"}, "ParameterRequired", "TOKEN"),
        ({"TOKEN": ""}, "ParameterRequired", "TOKEN"),
    ]
    for of in ["first-1", "first-2"]:
        for parameters, reason, field in table:
            with subtests.test(parameters=parameters, reason=reason, field=field, of=of):
                revalidation = revalidate_idle(idle(parameters, of=of), version(of))
                assert (revalidation.plan, reasons(revalidation)) == (None, [reason])
                assert revalidation.problems[0].field == f"spec.parameters[{field}]"


def test_a_first_run_is_judged_by_all_its_values() -> None:
    found = Instance.from_wire(instance({"COUNT": "many", "TOKEN": "-", "CLASS": "slow"}))
    assert reasons(revalidate_idle(found, V1)) == ["ParameterInvalid", "ParameterRequired"]


def test_a_value_that_stays_is_not_judged_again() -> None:
    stricter = version(parameters=declared("SIZE", trigger="deploy", **{"value-type": "boolean"}))
    assert revalidate_idle(idle({"PORT": "81"}), stricter) == Revalidation("custom")
    assert reasons(revalidate_idle(idle({"SIZE": "2"}), stricter)) == ["ParameterInvalid"]


def test_each_violation_is_named() -> None:
    found = idle({"CLASS": "slow", "COUNT": "many", "TOKEN": "-"})
    assert reasons(revalidate_idle(found, V1)) == [
        "ParameterImmutable",
        "ParameterInvalid",
        "ParameterRequired",
    ]


def test_a_parameter_that_the_version_no_longer_declares_violates_nothing() -> None:
    found = idle({"CLASS": "slow"})
    assert revalidate_idle(found, version(parameters=without("CLASS"))) == NOTHING


def test_no_message_shows_a_fingerprint(subtests: pytest.Subtests) -> None:
    for name in [definition["name"] for definition in PARAMETERS]:
        with subtests.test(name=name):
            found = idle({name: "-"}, last=last_run({name: "old"}))
            recorded = set((last_run({name: "old"})["parameters"]).values())
            for problem in revalidate_idle(found, V1).problems:
                assert not any(value in problem.message for value in recorded)


# Something is scheduled


def scheduled(
    plan: str,
    parameters: dict[str, str] | None = None,
    *,
    uid: str = "B",
    in_progress: str | None = None,
    deleting: bool = False,
    last: JsonObject | None = None,
) -> Instance:
    """Return an Instance about to begin a run as uid B; `in_progress` runs as uid A."""
    last = last_run(plan=in_progress or "deploy") if last is None else last
    wire = instance(parameters, runs=plan, uid=uid, deleting=deleting, last_run=last)
    status = "COMPLETE" if in_progress is None else "IN_PROGRESS"
    name = last["plan"]
    wire["status"]["planStatus"] = {name: {"name": name, "uid": last["uid"], "status": status}}
    return Instance.from_wire(wire)


def test_a_run_that_violates_nothing_may_begin() -> None:
    for parameters in [{}, {"SIZE": "2"}, {"SIZE": "2", "PORT": "81"}]:
        for plan in ["deploy", "update", "custom", "nosuch"]:
            assert revalidate_scheduled(scheduled(plan, parameters), V1) == NOTHING


@pytest.mark.parametrize("last", [None, {}])
def test_cleanup_by_hand_is_refused(last: JsonObject | None) -> None:
    found = Instance.from_wire(instance(runs="cleanup", uid="B", last_run=last))
    assert reasons(revalidate_scheduled(found, V1)) == ["CleanupNotManual"]


def test_cleanup_of_what_is_being_deleted_may_begin_whatever_runs_or_is_violated() -> None:
    for parameters in ({}, {"CLASS": "slow", "TOKEN": "-"}):
        found = scheduled("cleanup", parameters, in_progress="deploy", deleting=True)
        assert revalidate_scheduled(found, V1) == NOTHING


def test_a_second_plan_beside_one_in_progress_is_refused() -> None:
    revalidation = revalidate_scheduled(scheduled("custom", in_progress="deploy"), V1)
    assert reasons(revalidation) == ["PlanRunning"]
    assert "'deploy' with 'custom'" in revalidation.problems[0].message


def test_the_plan_in_progress_may_be_restarted() -> None:
    assert revalidate_scheduled(scheduled("deploy", in_progress="deploy"), V1) == NOTHING


def test_a_run_with_a_violation_is_refused(subtests: pytest.Subtests) -> None:
    table: list[tuple[dict[str, str], str]] = [
        ({"CLASS": "slow"}, "ParameterImmutable"),
        ({"COUNT": "many"}, "ParameterInvalid"),
        ({"TOKEN": "-"}, "ParameterRequired"),
    ]
    for in_progress in [None, "deploy"]:
        for parameters, reason in table:
            with subtests.test(parameters=parameters, reason=reason, in_progress=in_progress):
                found = scheduled("deploy", parameters, in_progress=in_progress)
                assert reasons(revalidate_scheduled(found, V1)) == [reason]


# What is in progress


def test_the_last_run_is_in_progress_until_it_has_ended() -> None:
    for status in ["PENDING", "IN_PROGRESS", "ERROR"]:
        assert run_in_progress(_with_entry("deploy", "A", status)) == "deploy"


def test_nothing_else_is_in_progress() -> None:
    table = [
        ("deploy", "A", "COMPLETE"),
        ("deploy", "A", "FATAL_ERROR"),
        ("deploy", "A", "NEVER_RUN"),
        ("deploy", "A", "nonsense"),
        ("deploy", "Z", "IN_PROGRESS"),
        ("custom", "A", "IN_PROGRESS"),
    ]
    for plan, uid, status in table:
        assert run_in_progress(_with_entry(plan, uid, status)) is None


def test_nothing_is_in_progress_without_a_last_run() -> None:
    wire = instance(runs="deploy")
    assert run_in_progress(Instance.from_wire(wire)) is None


def _with_entry(plan: str, uid: str, status: str) -> Instance:
    wire = instance(last_run=last_run())
    wire["status"]["planStatus"] = {plan: {"name": plan, "uid": uid, "status": status}}
    return Instance.from_wire(wire)


def test_the_version_decides_and_not_its_copy() -> None:
    twin = OperatorVersion.from_wire(V1.to_wire())
    assert revalidate_idle(idle({"SIZE": "2"}), twin) == revalidate_idle(idle({"SIZE": "2"}), V1)
