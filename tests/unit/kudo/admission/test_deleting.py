"""Admission of changes to an Instance that is being deleted."""

import pytest

from kudo.api import JsonObject
from tests.unit.kudo.builders import (
    V1,
    instance,
    mutated,
    patched,
    trigger,
    validated,
    version,
)

CLEANING = instance(runs="cleanup", deleting=True)
DEPLOYING = instance(runs="deploy", deleting=True)
IDLE = instance(deleting=True)


def test_a_running_cleanup_cannot_be_cancelled_or_overridden() -> None:
    table: list[JsonObject] = [
        instance(deleting=True),
        instance(runs="deploy", uid="B", deleting=True),
        instance({"SIZE": "2"}, deleting=True),
        instance({"SIZE": "2"}, runs="custom", deleting=True),
    ]
    for new in table:
        assert mutated(new, CLEANING).reason == "CleanupRunning"


def test_parameters_stay_as_they_are(subtests: pytest.Subtests) -> None:
    for change in [{"SIZE": "2"}, {"PORT": "-"}]:
        for old in [IDLE, DEPLOYING, CLEANING]:
            with subtests.test(old=old, change=change):
                plan = old["spec"].get("planExecution", {}).get("planName")
                assert (
                    mutated(instance(change, runs=plan, deleting=True), old).reason
                    == "InstanceDeleting"
                )


def test_the_version_stays_as_it_is() -> None:
    new = instance(of="first-2", deleting=True)
    assert mutated(new, IDLE, V1, version("first-2")).reason == "InstanceDeleting"


def test_no_plan_but_cleanup_can_be_scheduled(subtests: pytest.Subtests) -> None:
    for plan in ["deploy", "custom"]:
        for old in [IDLE, DEPLOYING]:
            with subtests.test(old=old, plan=plan):
                new = instance(runs=plan, uid="B", deleting=True)
                decision = mutated(new, old)
                assert decision.reason == "InstanceDeleting"
                assert decision.problems[0].field == "spec.planExecution.planName"


def test_cleanup_is_scheduled_without_being_touched(subtests: pytest.Subtests) -> None:
    for uid in ["B", None]:
        for old in [IDLE, DEPLOYING]:
            with subtests.test(old=old, uid=uid):
                new = instance(runs="cleanup", uid=uid, deleting=True)
                decision = mutated(new, old)
                assert decision.allowed
                assert decision.patch == ()
                assert validated(new, old).allowed


def test_cleanup_named_with_the_uid_of_another_run_gets_a_fresh_one(
    subtests: pytest.Subtests,
) -> None:
    table: list[JsonObject] = [
        instance(ended={"deploy": "used", "cleanup": "C"}, deleting=True),
        DEPLOYING,
    ]
    for status in ["NEVER_RUN", "FATAL_ERROR", None]:
        for old in table:
            with subtests.test(old=old, status=status):
                uid = "used" if old is not DEPLOYING else "A"
                new = instance(runs="cleanup", uid=uid, status=status, deleting=True)
                assert validated(new, old).reason == "MutatingWebhookMissing"
                decision = mutated(new, old)
                run = patched(new, decision)["spec"]["planExecution"]
                assert (run["planName"], run["uid"]) == ("cleanup", "fresh")
                assert validated(patched(new, decision), old).allowed


def test_a_running_plan_other_than_cleanup_may_be_cleared() -> None:
    assert mutated(IDLE, DEPLOYING).allowed
    assert validated(IDLE, DEPLOYING).allowed


def test_a_new_uid_restarts_a_stuck_cleanup_under_a_fresh_one() -> None:
    new = instance(runs="cleanup", uid="B", status=None, deleting=True)
    decision = mutated(new, CLEANING)
    assert patched(new, decision)["spec"]["planExecution"] == trigger("cleanup")
    assert validated(patched(new, decision), CLEANING).allowed


def test_no_finalizer_is_added_any_more() -> None:
    old = instance(runs="deploy", deleting=True, finalizers=["x"])
    new = instance(deleting=True, finalizers=["x"])
    assert mutated(new, old).patch == ()


def test_finalizers_can_be_removed_although_the_operator_version_is_gone() -> None:
    freed = instance(deleting=True, finalizers=[])
    assert mutated(freed, IDLE, version("another")).allowed
    assert validated(freed, IDLE, version("another")).allowed
