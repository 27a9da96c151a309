"""The validating moment: the final state is one that mutation could have produced."""

import pytest

from kudo.api import JsonObject
from tests.unit.kudo.builders import (
    V1,
    instance,
    mutated,
    patched,
    validated,
    version,
    without,
)

V2 = version("first-2", parameters=without("PORT"))
IDLE = instance()
RUNNING = instance(runs="deploy")
ENDED = instance(runs="deploy", ended={"deploy": "A", "custom": "C"})

NEEDS_A_RUN = [
    pytest.param(instance(), None, id="create"),
    pytest.param(instance({"SIZE": "2"}), IDLE, id="parameter"),
    pytest.param(instance({"NOTE": "x"}), IDLE, id="parameter without trigger"),
    pytest.param(instance(of="first-2"), IDLE, id="upgrade"),
    pytest.param(instance({"SIZE": "2"}, of="first-2"), IDLE, id="upgrade with parameters"),
    pytest.param(instance({"SIZE": "2"}, runs="deploy"), RUNNING, id="parameter while it runs"),
    pytest.param(instance({"SIZE": "2"}, runs="deploy"), ENDED, id="parameter before the clear"),
]
BY_HAND = [
    pytest.param(instance(runs="custom", uid=None), IDLE, id="trigger by hand"),
    pytest.param(instance(runs="deploy", uid=None), RUNNING, id="restart"),
    pytest.param(instance(runs="custom", uid=None), ENDED, id="trigger before the clear"),
]


@pytest.mark.parametrize(("new", "old"), NEEDS_A_RUN + BY_HAND)
def test_what_mutation_produced_is_accepted(new: JsonObject, old: JsonObject | None) -> None:
    decision = mutated(new, old, V1, V2)
    assert decision.allowed
    assert validated(patched(new, decision), old, V1, V2).allowed


@pytest.mark.parametrize(("new", "old"), NEEDS_A_RUN + BY_HAND)
def test_what_bypassed_mutation_is_denied_with_what_to_restore(
    new: JsonObject, old: JsonObject | None
) -> None:
    decision = validated(new, old, V1, V2)
    assert decision.reason == "MutatingWebhookMissing"
    assert "mutating webhook configuration of KUDO" in decision.problems[0].message


def test_a_uid_that_was_used_before_is_no_fresh_one(subtests: pytest.Subtests) -> None:
    for uid in ["A", "C", None]:
        with subtests.test(uid=uid):
            new = instance({"SIZE": "2"}, runs="deploy", uid=uid, status="NEVER_RUN")
            assert validated(new, ENDED).reason == "MutatingWebhookMissing"


def test_the_plan_that_the_change_needs_is_the_only_one_accepted() -> None:
    new = instance({"SIZE": "2"}, runs="custom", uid="B", status="NEVER_RUN")
    assert validated(new, IDLE).reason == "MutatingWebhookMissing"


def test_the_rules_hold_where_mutation_was_bypassed() -> None:
    table: list[tuple[JsonObject, JsonObject | None, str]] = [
        (instance({"CLASS": "slow"}), IDLE, "ParameterImmutable"),
        (instance({"PORT": "81"}, runs="custom", uid="B"), RUNNING, "PlanRunning"),
        (instance(runs="custom", uid="B"), RUNNING, "PlanRunning"),
        (instance(), RUNNING, "PlanRunning"),
        (instance(runs="cleanup", uid="B"), IDLE, "CleanupNotManual"),
        (instance({"TOKEN": "-"}), None, "ParameterRequired"),
        (instance(of="first-9"), None, "OperatorVersionNotFound"),
    ]
    for new, old, reason in table:
        assert validated(new, old, V1).reason == reason


def test_clearing_an_ended_run_is_accepted() -> None:
    assert validated(IDLE, ENDED).allowed


def test_a_status_by_hand_is_accepted_since_nobody_reads_it() -> None:
    assert validated(instance(runs="deploy", status="COMPLETE"), RUNNING).allowed


def test_an_unchanged_spec_is_accepted_although_the_operator_version_is_gone() -> None:
    assert validated(IDLE, IDLE, version("another")).allowed


def test_a_parameter_that_the_new_version_lacks_may_be_gone() -> None:
    new = instance(of="first-2")
    final = patched(new, mutated(new, IDLE, V1, V2))
    assert "PORT" not in final["spec"]["parameters"]
    assert validated(final, IDLE, V1, V2).allowed


@pytest.mark.parametrize(("new", "old"), NEEDS_A_RUN)
def test_a_second_mutation_changes_nothing_but_the_uid(
    new: JsonObject, old: JsonObject | None
) -> None:
    once = patched(new, mutated(new, old, V1, V2, uid="one"))
    decision = mutated(once, old, V1, V2, uid="two")
    assert decision.allowed
    twice = patched(once, decision)
    assert twice["spec"]["planExecution"].pop("uid") == "two"
    assert once["spec"]["planExecution"].pop("uid") == "one"
    assert twice == once
