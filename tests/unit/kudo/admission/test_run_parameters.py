"""Parameters of a run through both moments of admission: what is stored, and what is denied."""

from typing import Any

import pytest

from kudo.admission.revalidation import revalidate_idle, revalidate_scheduled
from kudo.admission.version_rules import version_problems
from kudo.api import Instance, JsonObject, OperatorVersion
from tests.unit.kudo.builders import (
    failed,
    instance,
    mutated,
    stored,
    trigger,
    validated,
    version,
    with_run,
)

DECLARED: list[JsonObject] = [
    {"name": "name", "required": True, "enum": ["mon", "tue"]},
    {"name": "keep", "value-type": "integer", "default": "7", "maximum": 9},
]


def declaring(**plans: list[JsonObject]) -> OperatorVersion:
    """Return the operator of these tests, whose plans declare parameters of their runs."""
    wire = version().to_wire()
    wire["metadata"] = {"name": "first-1", "namespace": "ns"}
    wire["spec"]["plans"] = {
        name: {"parameters": plans[name]} if name in plans else {} for name in wire["spec"]["plans"]
    }
    return OperatorVersion.from_wire(wire)


V = declaring(custom=DECLARED)


def asking(old: JsonObject, **run: Any) -> JsonObject:
    return with_run(old, **{"planName": "custom", **run})


def running(**given: str) -> JsonObject:
    found = instance(runs="custom")
    found["spec"]["planExecution"]["parameters"] = given
    return found


def failed_with(**given: str) -> JsonObject:
    found = failed(of=V, plan="custom")
    found["status"]["planStatus"]["custom"]["runParameters"] = given
    return found


def test_what_is_given_is_stored_with_the_run_and_defaults_are_not() -> None:
    old = instance()
    for given in ({"name": "mon"}, {"name": "mon", "keep": "9"}):
        found = stored(asking(old, parameters=given), old, V)["planExecution"]
        assert found == {**trigger("custom"), "parameters": given}


@pytest.mark.parametrize(
    ("given", "reason", "field"),
    [
        ({}, "ParameterRequired", ""),
        ({"name": ""}, "ParameterRequired", ""),
        ({"keep": "9"}, "ParameterRequired", ""),
        ({"name": "wed"}, "ParameterInvalid", "[name]"),
        ({"name": "mon", "keep": "10"}, "ParameterInvalid", "[keep]"),
        ({"name": "mon", "keep": "many"}, "ParameterInvalid", "[keep]"),
        ({"name": "mon", "SIZE": "2"}, "ParameterUnknown", "[SIZE]"),
        ({"name": "x" * (1 << 14)}, "ParameterTooLarge", ""),
        ({"name": "é" * (1 << 13)}, "ParameterTooLarge", ""),
    ],
)
def test_what_is_wrong_is_denied_at_both_moments(
    given: dict[str, str], reason: str, field: str
) -> None:
    old = instance()
    new = asking(old, parameters=given)
    final = with_run(old, **trigger("custom", "new"), parameters=given)
    for decision in (mutated(new, old, V), validated(final, old, V)):
        problem = decision.problems[0]
        assert (problem.reason, problem.field) == (reason, f"spec.planExecution.parameters{field}")


def test_all_that_is_wrong_is_told_at_once() -> None:
    old = instance()
    decision = mutated(asking(old, parameters={"keep": "0x", "other": "1"}), old, V)
    reasons = [problem.reason for problem in decision.problems]
    assert reasons == ["ParameterInvalid", "ParameterUnknown", "ParameterRequired"]
    assert decision.problems[-1].message.endswith(
        "kubectl kudo plan trigger --name custom --instance i -n ns -p name=VALUE"
    )


def test_parameters_need_a_plan() -> None:
    old = instance()
    new = with_run(old, parameters={"name": "mon"})
    assert mutated(new, old, V).reason == validated(new, old, V).reason == "PlanUnknown"
    # What is stored already, past the webhook, keeps nothing else from being changed.
    other = {
        **new,
        "spec": {**new["spec"], "parameters": {**new["spec"]["parameters"], "SIZE": "2"}},
    }
    assert mutated(other, new, V).problems == ()


def test_an_edit_while_the_run_is_active_is_discarded_with_a_warning() -> None:
    old = running(name="mon")
    for given in ({"name": "tue"}, {"name": "mon", "keep": "1"}, {}):
        new = asking(old, uid="A", status="IN_PROGRESS", parameters=given)
        assert stored(new, old, V)["planExecution"] == old["spec"]["planExecution"]
        warned = [text for text in mutated(new, old, V).warnings if "keeps the parameters" in text]
        assert len(warned) == bool(given)
        assert validated(new, old, V).reason == "MutatingWebhookMissing"


@pytest.mark.parametrize("given", [{}, {"name": "mon"}, {"name": "tue"}, {"nonsense": "1"}])
def test_a_restart_keeps_what_the_run_was_given(given: dict[str, str]) -> None:
    old = running(name="mon")
    for uid in ("B", None):
        new = asking(old, **({"uid": uid} if uid else {}), parameters=given)
        found = stored(new, old, V)["planExecution"]
        assert found == {**trigger("custom"), "parameters": {"name": "mon"}}


def test_a_plan_that_a_change_starts_again_keeps_them_and_another_one_has_none() -> None:
    old, optional = running(name="mon"), declaring(custom=DECLARED, deploy=DECLARED[1:])
    new = instance({"PORT": "81"}, runs="custom")
    new["spec"]["planExecution"] = old["spec"]["planExecution"]
    assert stored(new, old, optional)["planExecution"]["parameters"] == {"name": "mon"}
    size = instance({"SIZE": "2"})
    assert stored(size, instance(), optional)["planExecution"] == trigger("deploy")
    with_given = with_run(size, **trigger("deploy", "B"), parameters={"keep": "8"})
    assert mutated(with_given, instance(), optional).reason == "PlanBesideChange"
    assert validated(with_given, instance(), optional).reason == "MutatingWebhookMissing"


def test_a_cancel_and_a_repeated_request_leave_them() -> None:
    old = running(name="mon")
    new = asking(old, uid="A", status="FATAL_ERROR", parameters={"name": "tue"})
    found = stored(new, old, V)["planExecution"]
    assert (found["status"], found["parameters"]) == ("FATAL_ERROR", {"name": "mon"})
    ended = instance(runs="custom", ended={"custom": "A"})
    ended["spec"]["planExecution"]["parameters"] = {"name": "mon"}
    same = asking(ended, uid="A", parameters={"name": "tue"})
    assert stored(same, ended, V)["planExecution"] == ended["spec"]["planExecution"]


def test_a_retry_has_those_of_the_failed_run_and_takes_no_others() -> None:
    old = failed_with(name="mon")
    table: list[JsonObject] = [{}, {"parameters": {}}, {"parameters": {"name": "mon"}}]
    for given in table:
        found = stored(asking(old, retryOf="A", **given), old, V)["planExecution"]
        assert found == {**trigger("custom"), "retryOf": "A", "parameters": {"name": "mon"}}
    new = asking(old, retryOf="A", parameters={"name": "tue"})
    denied = mutated(new, old, V)
    assert denied.reason == "RetryChanged"
    assert "a retry has the parameters of the run that it continues" in denied.problems[0].message
    final = with_run(old, **trigger("custom", "R"), retryOf="A")
    assert validated(final, old, V).reason == "MutatingWebhookMissing"


def test_a_retry_of_a_run_whose_parameters_are_no_longer_kept_is_denied() -> None:
    old = failed_with()
    denied = mutated(asking(old, retryOf="A"), old, V)
    assert (denied.reason, "no longer kept" in denied.problems[0].message) == ("RetryChanged", True)


def test_a_new_instance_has_none() -> None:
    new = with_run(instance(), planName="custom", parameters={"name": "mon"})
    assert stored(new, None, V)["planExecution"] == trigger("deploy")


def test_a_plan_that_starts_by_itself_and_requires_some_is_denied() -> None:
    required = declaring(deploy=DECLARED, custom=DECLARED)
    assert mutated(instance(), None, required).reason == "ParameterRequired"
    for change in ({"SIZE": "2"}, {"PORT": "81"}):
        assert mutated(instance(change), instance(), required).reason == "ParameterRequired"


def test_cleanup_waits_for_nothing() -> None:
    required = declaring(cleanup=DECLARED)
    old = instance(runs="cleanup", deleting=True)
    table: list[JsonObject] = [{}, {"parameters": {"keep": "8"}}]
    for given in table:
        new = with_run(old, planName="cleanup", uid="B", **given)
        assert mutated(new, old, required).problems == ()
    idle = instance(deleting=True)
    named: JsonObject = {"planName": "cleanup", "parameters": {"keep": "8"}}
    assert stored(with_run(idle, **named), idle, required)["planExecution"] == named


def scheduled(run: JsonObject, of: OperatorVersion = V) -> tuple[str, ...]:
    """Return the reasons for which the reconciler would not begin a run."""
    record = {"operatorVersion": {"name": "first-1", "namespace": "ns"}, "operator": "first"}
    found = with_run(instance(last_run=record), **run)
    read = Instance.from_wire(found)
    problems = revalidate_scheduled(read, of).problems
    return tuple(problem.reason for problem in problems if "planExecution" in problem.field)


def test_the_reconciler_refuses_what_the_webhook_would_have_denied() -> None:
    run = {"planName": "custom", "uid": "B"}
    assert scheduled(run) == ("ParameterRequired",)
    assert scheduled({**run, "parameters": {"name": "wed"}}) == ("ParameterInvalid",)
    assert scheduled({**run, "parameters": {"name": "mon"}}) == ()


def test_the_reconciler_schedules_no_plan_that_requires_some() -> None:
    fresh = Instance.from_wire(instance())
    found = revalidate_idle(fresh, declaring(deploy=DECLARED))
    assert (found.plan, found.problems[0].reason) == (None, "ParameterRequired")
    assert revalidate_idle(fresh, declaring(deploy=DECLARED[1:])).plan == "deploy"


def test_strict_mode_refuses_versions_that_nobody_could_trigger(subtests: pytest.Subtests) -> None:
    of_runs: list[tuple[str, JsonObject, str]] = [
        ("deploy", DECLARED[0], "plan 'deploy' requires run parameters"),
        ("custom", DECLARED[0], "plan 'custom' requires run parameters"),
        ("cleanup", DECLARED[0], "plan 'cleanup' requires run parameters"),
        ("custom", {"name": "SIZE"}, "has the name of a parameter of the operator"),
        ("custom", {"name": "x", "trigger": "deploy"}, "has trigger"),
        ("custom", {"name": "x", "immutable": True}, "has immutable"),
        ("custom", {"name": "x", "secret": True}, "has secret"),
        ("custom", {"name": "x", "value-type": "integer", "default": "y"}, "default: "),
        ("custom", {"name": "x", "value-type": "integer", "pattern": "a"}, "pattern is for values"),
    ]
    assert version_problems(declaring(custom=DECLARED[1:])) == ()
    for plan, parameter, text in of_runs:
        with subtests.test(plan=plan, parameter=parameter):
            found = [p.message for p in version_problems(declaring(**{plan: [parameter]}))]
            assert any(text in message for message in found), found
