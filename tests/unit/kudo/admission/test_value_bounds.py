"""Values outside of their bounds: both routes of the webhook, and what the reconciler refuses."""

from typing import Any

import pytest

from kudo.admission.revalidation import revalidate_idle, revalidate_scheduled
from kudo.admission.version_rules import version_problems
from kudo.api import Instance, JsonObject, OperatorVersion
from kudo.parameters.values import Checker, CheckResults
from kudo.plans.runs.last_run import record_of
from tests.unit.kudo.builders import (
    declared,
    instance,
    mutated,
    patched,
    trigger,
    validated,
    version,
    with_run,
)

COUNT: JsonObject = {"trigger": "deploy", "value-type": "integer", "default": "3"}
BOUNDED = version(parameters=declared("COUNT", **COUNT, minimum=1, maximum=9))
TEXT = 'parameter "COUNT" has an invalid value "10": it is above the maximum 9; set 9 or less'


def with_count(count: str, **fields: Any) -> JsonObject:
    return instance({"COUNT": count}, **fields)


def test_both_routes_deny_a_value_outside_of_its_bounds() -> None:
    for old in (None, with_count("3")):
        for decide in (mutated, validated):
            new = with_count("10")
            if decide is validated:
                new = with_run(new, **trigger("deploy"))
            decision = decide(new, old, BOUNDED)
            assert not decision.allowed
            (problem,) = decision.problems
            assert (problem.reason, problem.field) == (
                "ParameterInvalid",
                "spec.parameters[COUNT]",
            )
            assert TEXT in problem.message


def test_both_routes_allow_one_within_them() -> None:
    new = with_count("9")
    decision = mutated(new, with_count("3"), BOUNDED)
    assert decision.plan == "deploy"
    assert validated(patched(new, decision), with_count("3"), BOUNDED).allowed


def test_one_answer_names_all_of_them() -> None:
    parameters: list[JsonObject] = [
        {"name": "SIZE", "format": "quantity"},
        {"name": "PORTS", "value-type": "array", "items": {"type": "integer", "maximum": 65535}},
    ]
    of = version(parameters=parameters)
    decision = mutated(instance({"SIZE": "1GB", "PORTS": "[1, 65536]"}), None, of)
    assert [problem.message.rpartition('": ')[2] for problem in decision.problems] == [
        "it is not a quantity of Kubernetes, such as 500m or 10Gi (format quantity)",
        "[1] is above the maximum 65535; set 65535 or less",
    ]


def test_a_value_that_does_not_change_stays_as_it_is() -> None:
    """As for types: what was stored before the bounds came keeps running."""
    old = with_count("10")
    assert mutated(instance({"COUNT": "10", "SIZE": "2"}), old, BOUNDED).plan == "deploy"


def test_an_upgrade_to_a_version_with_bounds_checks_what_they_are_about() -> None:
    before = version("first-0", parameters=declared("COUNT", **COUNT))
    old = with_count("10", of="first-0")
    decision = mutated(with_count("10"), old, before, BOUNDED)
    assert TEXT in decision.problems[0].message
    assert mutated(with_count("9"), old, before, BOUNDED).allowed
    # The same bounds are no change of the definition.
    same = version("first-0", parameters=declared("COUNT", **COUNT, minimum=1, maximum=9))
    assert mutated(with_count("10"), old, same, BOUNDED).allowed


def test_the_reconciler_refuses_what_no_webhook_saw() -> None:
    good = Instance.from_wire(with_count("3"))
    record = record_of(good, BOUNDED).to_wire() | {"status": "COMPLETE"}
    changed = Instance.from_wire(with_count("10", last_run=record))
    (problem,) = revalidate_idle(changed, BOUNDED).problems
    assert problem.message == TEXT
    scheduled = with_run(with_count("10", last_run=record), **trigger("deploy"))
    (problem,) = revalidate_scheduled(Instance.from_wire(scheduled), BOUNDED).problems
    assert problem.message == TEXT
    within = Instance.from_wire(with_count("9", last_run=record))
    assert revalidate_idle(within, BOUNDED).plan == "deploy"


def test_the_reconciler_leaves_patterns_to_a_worker() -> None:
    of = version(parameters=declared("NOTE", default="none", pattern="^n"))
    found = Instance.from_wire(instance({"NOTE": "any"}))
    check = Checker(CheckResults())
    revalidate_idle(found, of, check)
    assert [text for _, text, _ in check.pending] == ["any"]


def spec(**fields: Any) -> JsonObject:
    step = {"name": "s", "tasks": []}
    return {
        "operator": {"name": "first"},
        "plans": {"deploy": {"phases": [{"name": "p", "steps": [step]}]}},
        "parameters": [{"name": "A", **fields}],
    }


@pytest.mark.parametrize(
    ("fields", "field", "text"),
    [
        ({"minimum": 2, "value-type": "integer", "maximum": 1}, ".minimum", "no value is within"),
        ({"pattern": "a{0,999}" * 32}, ".pattern", "pattern too large"),
        ({"pattern": "[a"}, ".pattern", "missing closing ]"),
        ({"value-type": "map", "properties": {"a": {"pattern": "["}}}, ".properties.a.pattern", ""),
        ({"minLength": 3, "default": "ab"}, "", "default: parameter"),
        ({"pattern": "^b", "default": "ab"}, "", "it does not match the pattern ^b"),
    ],
)
def test_a_version_whose_bounds_cannot_hold_is_refused(
    fields: JsonObject, field: str, text: str
) -> None:
    problems = version_problems(OperatorVersion.from_wire({"spec": spec(**fields)}))
    assert {problem.reason for problem in problems} == {"InvalidOperatorVersion"}
    assert problems[0].field == f"spec.parameters[A]{field}"
    assert text in problems[0].message


def test_a_version_whose_bounds_can_hold_is_taken() -> None:
    fields: list[JsonObject] = [
        {"value-type": "integer", "minimum": 2, "maximum": 2, "default": "2"},
        {"pattern": "^a+$", "default": "aa"},
        {"value-type": "map", "properties": {"a": {"type": "integer", "required": True}}},
    ]
    for each in fields:
        assert version_problems(OperatorVersion.from_wire({"spec": spec(**each)})) == ()
