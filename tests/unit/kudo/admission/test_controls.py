"""The controls of an Instance are admitted at any time, and trigger nothing."""

import pytest

from kudo.api import JsonObject
from tests.unit.kudo.builders import instance, mutated, stored, trigger, validated, version

CONTROLS: list[JsonObject] = [
    {"suspend": True},
    {"suspend": False},
    {"planTimeout": "1h30m"},
    {"planTimeout": ""},
    {"historyLimit": 0},
    {"prune": True},
    {"suspend": True, "planTimeout": "90s", "historyLimit": 50},
]
MOMENTS = [
    pytest.param(instance(), id="idle"),
    pytest.param(instance(runs="deploy"), id="running"),
    pytest.param(instance(runs="deploy", ended={"deploy": "A"}), id="ended"),
    pytest.param(instance(runs="deploy", deleting=True), id="deleting"),
    pytest.param(instance(runs="cleanup", deleting=True), id="cleaning"),
    pytest.param(instance({"COUNT": "many", "TOKEN": "-"}), id="invalid since before"),
]


def with_spec(found: JsonObject, **spec: object) -> JsonObject:
    return {**found, "spec": {**found["spec"], **spec}}


@pytest.mark.parametrize("old", MOMENTS)
@pytest.mark.parametrize("controls", CONTROLS)
def test_they_are_admitted_alone_whatever_happens_to_the_instance(
    old: JsonObject, controls: JsonObject
) -> None:
    new = with_spec(old, **controls)
    assert mutated(new, old).patch == ()
    assert stored(new, old) == new["spec"]
    assert stored(old, new) == old["spec"]


def test_they_are_admitted_although_the_operator_version_is_gone(subtests: pytest.Subtests) -> None:
    for controls in CONTROLS:
        with subtests.test(controls=controls):
            new, gone = with_spec(instance(), **controls), version("another")
            assert mutated(new, instance(), gone).allowed
            assert validated(new, instance(), gone).allowed


def test_beside_a_change_the_plan_of_that_runs(subtests: pytest.Subtests) -> None:
    for controls in CONTROLS:
        with subtests.test(controls=controls):
            new = with_spec(instance({"SIZE": "2"}), **controls)
            found = stored(new, instance())
            assert found["planExecution"] == trigger("deploy")
            assert {name: found[name] for name in controls} == controls
            assert mutated(with_spec(new, planExecution={"planName": "custom"}), instance()).reason


def test_an_instance_may_be_created_suspended() -> None:
    found = stored(with_spec(instance(), suspend=True, planTimeout="10m"), None)
    assert (found["suspend"], found["planExecution"]) == (True, trigger("deploy"))


UNREADABLE = ["0s", "-1s", "5", "1d", "x", " 1s", "1s ", "9" * 4000 + "s", "9" * 5000, "1s\n"]


@pytest.mark.parametrize("limit", UNREADABLE)
@pytest.mark.parametrize("old", [None, instance(), instance(runs="deploy")])
@pytest.mark.parametrize("parameters", [{}, {"SIZE": "2"}])
def test_a_new_time_limit_that_is_none_is_denied(
    limit: str, old: JsonObject | None, parameters: dict[str, str]
) -> None:
    plan = None if old is None else old["spec"].get("planExecution", {}).get("planName")
    new = with_spec(instance(parameters, runs=plan), planTimeout=limit)
    for decision in (mutated(new, old), validated(new, old)):
        assert [p.reason for p in decision.problems] == ["TimeLimitInvalid"]
        assert decision.problems[0].field == "spec.planTimeout"
        assert "set one such as 90s, 10m or 1h30m, or remove it" in decision.problems[0].message
        assert len(decision.problems[0].message) < 250


def test_a_time_limit_that_is_stored_already_stops_no_change(subtests: pytest.Subtests) -> None:
    for limit in UNREADABLE:
        with subtests.test(limit=limit):
            old = with_spec(instance(), planTimeout=limit)
            new = with_spec(instance({"SIZE": "2"}), planTimeout=limit)
            assert stored(new, old)["planExecution"] == trigger("deploy")
            assert stored(with_spec(old, suspend=True), old)["suspend"] is True
            assert mutated(instance(), old).allowed
