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


@pytest.mark.parametrize(
    "new",
    [
        instance(deleting=True),
        instance(runs="deploy", uid="B", deleting=True),
        instance({"SIZE": "2"}, deleting=True),
        instance({"SIZE": "2"}, runs="custom", deleting=True),
    ],
)
def test_a_running_cleanup_cannot_be_cancelled_or_overridden(new: JsonObject) -> None:
    assert mutated(new, CLEANING).reason == "CleanupRunning"


@pytest.mark.parametrize("old", [IDLE, DEPLOYING, CLEANING])
@pytest.mark.parametrize("change", [{"SIZE": "2"}, {"PORT": "-"}])
def test_parameters_stay_as_they_are(old: JsonObject, change: dict[str, str]) -> None:
    plan = old["spec"].get("planExecution", {}).get("planName")
    assert mutated(instance(change, runs=plan, deleting=True), old).reason == "InstanceDeleting"


def test_the_version_stays_as_it_is() -> None:
    new = instance(of="first-2", deleting=True)
    assert mutated(new, IDLE, V1, version("first-2")).reason == "InstanceDeleting"


@pytest.mark.parametrize("old", [IDLE, DEPLOYING])
@pytest.mark.parametrize("plan", ["deploy", "custom"])
def test_no_plan_but_cleanup_can_be_scheduled(old: JsonObject, plan: str) -> None:
    new = instance(runs=plan, uid="B", deleting=True)
    decision = mutated(new, old)
    assert decision.reason == "InstanceDeleting"
    assert decision.problems[0].field == "spec.planExecution.planName"


@pytest.mark.parametrize("old", [IDLE, DEPLOYING])
@pytest.mark.parametrize("uid", ["B", None])
def test_cleanup_is_scheduled_without_being_touched(old: JsonObject, uid: str | None) -> None:
    new = instance(runs="cleanup", uid=uid, deleting=True)
    decision = mutated(new, old)
    assert decision.allowed
    assert decision.patch == ()
    assert validated(new, old).allowed


@pytest.mark.parametrize(
    "old", [instance(ended={"deploy": "used", "cleanup": "C"}, deleting=True), DEPLOYING]
)
@pytest.mark.parametrize("status", ["NEVER_RUN", "FATAL_ERROR", None])
def test_cleanup_named_with_the_uid_of_another_run_gets_a_fresh_one(
    old: JsonObject, status: str | None
) -> None:
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
