"""The list of admission rules: every rule is in it, and applies wherever it excepts nothing."""

import inspect
from collections.abc import Iterable, Iterator
from typing import get_type_hints

import pytest

from kudo.admission import field_rules, plan_rules, rules, source_rules
from kudo.admission.change import Change
from kudo.admission.revalidation import revalidate_idle
from kudo.admission.rules import RULES, Moment, Rule
from kudo.api import Instance
from kudo.api.problems import Problem
from tests.unit.kudo.builders import V1, instance, mutated, validated, version


def size_is_small(change: Change) -> Iterator[Problem]:
    if int(change.new.parameters.get("SIZE", "0")) > 9:
        yield Problem("SizeTooLarge", "SIZE is more than 9", "spec.parameters[SIZE]")


@pytest.fixture
def with_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have one more rule, which says nothing of when it applies but that the reconciler has it."""
    rule = Rule(size_is_small, at=Moment.ADMISSION | Moment.STORED)
    monkeypatch.setattr(rules, "RULES", (rule, *RULES))
    monkeypatch.setattr(rules, "_applying", rules._applying.__wrapped__)


@pytest.mark.usefixtures("with_rule")
def test_a_new_rule_on_a_field_applies_to_every_kind_of_change_and_what_is_stored() -> None:
    later = version("first-2")
    for new, old in (
        (instance({"SIZE": "10"}), None),
        (instance({"SIZE": "10"}), instance()),
        (instance({"SIZE": "10"}, of="first-2"), instance()),
        (instance({"SIZE": "10"}, deleting=True), instance(deleting=True)),
    ):
        for decide in (mutated, validated):
            assert decide(new, old, V1, later).reason == "SizeTooLarge"
    (problem,) = revalidate_idle(Instance.from_wire(instance({"SIZE": "10"})), V1).problems
    assert problem.reason == "SizeTooLarge"
    assert mutated(instance({"SIZE": "9"}), None).plan == "deploy"


def test_every_rule_that_is_written_is_in_the_list() -> None:
    written = {
        function
        for module in (field_rules, plan_rules, source_rules)
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_")
        if get_type_hints(function)["return"] in {Iterator[Problem], Iterable[Problem]}
    }
    assert {rule.problems for rule in RULES} == written
