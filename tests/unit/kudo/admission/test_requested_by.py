"""Who asked for a run: mutation writes it for each run that it schedules, whatever is submitted."""

import pytest

from kudo.api import JsonObject
from tests.unit.kudo.builders import (
    V1,
    instance,
    mutated,
    patched,
    stored,
    trigger,
    validated,
    version,
    with_run,
)

IDLE = instance()
RUNNING = with_run(instance(runs="deploy"), **trigger("deploy", "A"), requestedBy="bob")
CLEANING = with_run(
    instance(runs="cleanup", deleting=True), **trigger("cleanup", "A"), requestedBy="bob"
)
GOING = instance(deleting=True)
BY_ANN = {"requestedBy": "ann"}

SCHEDULED = [
    pytest.param(instance(), None, "deploy", id="create"),
    pytest.param(instance({"SIZE": "2"}), IDLE, "deploy", id="parameter"),
    pytest.param(instance(of="first-2"), IDLE, "upgrade", id="upgrade"),
    pytest.param(with_run(IDLE, planName="custom"), IDLE, "custom", id="trigger"),
    pytest.param(with_run(RUNNING, planName="deploy"), RUNNING, "deploy", id="restart"),
    pytest.param(
        with_run(CLEANING, planName="cleanup", uid="B"), CLEANING, "cleanup", id="cleanup restart"
    ),
]


@pytest.mark.parametrize(("new", "old", "plan"), SCHEDULED)
@pytest.mark.parametrize("submitted", [None, "bob", "ann", ""])
def test_the_user_of_the_request_is_named_in_the_run(
    new: JsonObject, old: JsonObject | None, plan: str, submitted: str | None
) -> None:
    if submitted is not None:
        run = {**new["spec"].get("planExecution", {}), "requestedBy": submitted}
        new = {**new, "spec": {**new["spec"], "planExecution": run}}
    found = stored(new, old, V1, version("first-2"), user="ann")["planExecution"]
    assert found == trigger(plan) | BY_ANN


@pytest.mark.parametrize(("new", "old", "plan"), SCHEDULED)
def test_without_a_user_name_nobody_is_named(
    new: JsonObject, old: JsonObject | None, plan: str
) -> None:
    found = stored(new, old, V1, version("first-2"))["planExecution"]
    assert found == trigger(plan)


def test_a_cleanup_that_is_named_while_the_instance_goes_names_the_user(
    subtests: pytest.Subtests,
) -> None:
    for uid in ["B", None]:
        with subtests.test(uid=uid):
            new = with_run(GOING, planName="cleanup", uid=uid, requestedBy="bob", retryOf=None)
            run = {"planName": "cleanup"} | ({"uid": uid} if uid else {})
            assert stored(new, GOING, user="ann")["planExecution"] == run | BY_ANN
            assert stored(new, GOING)["planExecution"] == run


def test_a_run_in_progress_keeps_who_asked_for_it(subtests: pytest.Subtests) -> None:
    for submitted in ["ann", "eve", "", None]:
        for old in [RUNNING, CLEANING]:
            with subtests.test(old=old, submitted=submitted):
                run = old["spec"]["planExecution"] | {"requestedBy": submitted}
                assert stored(with_run(old, **run), old, user="ann")["planExecution"] == {
                    **run,
                    "requestedBy": "bob",
                }


def test_a_cancel_keeps_who_asked_for_the_run(subtests: pytest.Subtests) -> None:
    for old in [RUNNING, CLEANING]:
        with subtests.test(old=old):
            run = old["spec"]["planExecution"] | {"status": "FATAL_ERROR"}
            expected = {**run, "cancelledBy": "ann"}
            for requester in ("bob", "eve", None):
                new = with_run(old, **run | {"requestedBy": requester})
                assert stored(new, old, user="ann")["planExecution"] == expected


def test_a_run_that_is_cleared_while_the_instance_goes_leaves_nobody() -> None:
    old = with_run(
        instance(runs="deploy", deleting=True), **trigger("deploy", "A"), requestedBy="bob"
    )
    for left in ({}, {"requestedBy": "bob"}, {"planName": "", "cancelledBy": "eve"}):
        found = stored(with_run(old, **left), old, user="ann")["planExecution"]
        assert {name for name, value in found.items() if value} == set()


# The mutating webhook is missing


def test_validation_denies_the_name_of_another(subtests: pytest.Subtests) -> None:
    table: list[tuple[JsonObject, JsonObject | None]] = [
        (with_run(instance(), **trigger("deploy"), requestedBy="bob"), None),
        (with_run(IDLE, **trigger("custom"), requestedBy="bob"), IDLE),
        (with_run(RUNNING, **trigger("deploy"), requestedBy="bob"), RUNNING),
        (with_run(RUNNING, **trigger("deploy", "A"), requestedBy="eve"), RUNNING),
        (with_run(CLEANING, **trigger("cleanup", "A"), requestedBy="eve"), CLEANING),
        (with_run(GOING, planName="cleanup", requestedBy="bob"), GOING),
    ]
    for new, old in table:
        with subtests.test(new=new, old=old):
            (problem,) = validated(new, old, user="ann").problems
            assert problem.reason == "MutatingWebhookMissing"
            assert problem.field == "spec.planExecution.requestedBy"
            assert "who did not send this request; leave it out" in problem.message


WITHOUT_UID = with_run(IDLE, planName="custom", requestedBy="bob")


def test_validation_accepts_the_own_name_none_and_that_of_the_stored_run() -> None:
    table: list[tuple[JsonObject, JsonObject | None]] = [
        (with_run(instance(), **trigger("deploy"), requestedBy="ann"), None),
        (with_run(IDLE, **trigger("custom"), requestedBy="ann"), IDLE),
        (with_run(IDLE, **trigger("custom")), IDLE),
        (with_run(RUNNING, **trigger("deploy", "A")), RUNNING),
        (with_run({**RUNNING, "spec": instance()["spec"]}), instance(ended={"deploy": "A"})),
        (with_run(WITHOUT_UID, **trigger("custom"), requestedBy="bob"), WITHOUT_UID),
    ]
    for new, old in table:
        assert validated(new, old, user="ann").allowed


@pytest.mark.parametrize(("new", "old", "plan"), SCHEDULED)
def test_a_second_mutation_names_the_same_user(
    new: JsonObject, old: JsonObject | None, plan: str
) -> None:
    versions = (V1, version("first-2"))
    once = patched(new, mutated(new, old, *versions, user="ann"))
    again = mutated(once, old, *versions, user="ann")
    assert patched(once, again) == once
    assert again.plan == plan
