"""Retries through both moments of admission: what schedules one, and what counts as none."""

import pytest

from kudo.api import JsonObject
from tests.unit.kudo.builders import (
    V1,
    failed,
    instance,
    mutated,
    stored,
    trigger,
    validated,
    version,
    with_run,
)
from tests.unit.kudo.plans.runs.test_retries import STEPS, entry, followed, recorded

FAILED = failed()
ASKED: dict[str, str | None] = {"plan_name": "deploy", "retry_of": "A"}
RETRIED = {**trigger("deploy", "R"), "retryOf": "A"}


def run(**fields: str | None) -> dict[str, str]:
    """Return fields of a planExecution by their names on the wire; None leaves one out."""
    names = {"planName": "deploy", "retryOf": "A"} | fields
    return {name: value for name, value in names.items() if value is not None}


def asking(old: JsonObject, **fields: str | None) -> JsonObject:
    """Return a stored Instance as a client submits it that replaces the planExecution."""
    return {**old, "spec": {**old["spec"], "planExecution": run(**fields)}}


def retrying(begun: bool = True, /, **fields: str) -> JsonObject:
    """Return an Instance whose failed deploy A is being retried as R."""
    found = failed()
    found["spec"]["planExecution"] = RETRIED | fields
    if begun:
        found["status"]["planStatus"] = entry(
            "deploy", "R", "IN_PROGRESS", retryOf="A", retried="A"
        )
    return found


def other_runs(plan: str = "custom") -> JsonObject:
    """Return an Instance that retried A before, and now runs another plan as C."""
    found = instance(runs=plan, uid="C", status="NEVER_RUN")
    found["status"]["planStatus"] |= entry("deploy", "R", "COMPLETE", retryOf="A", retried="A")
    if plan == "deploy":
        found["status"]["planStatus"] = entry("deploy", "C", "IN_PROGRESS", retried="A")
    return found


def ended(**fields: str) -> JsonObject:
    """Return an idle Instance whose last deploy, as C, was none or another retry than of A."""
    found = failed(uid="C")
    found["status"]["planStatus"] = entry("deploy", "C", "FATAL_ERROR", **fields)
    return found


def in_history() -> JsonObject:
    found = ended(retried="B")
    found["status"]["history"] = [recorded("R", cause={"retryOf": "A"})]
    return found


# A new retry


def test_a_retry_gets_a_fresh_uid_and_the_user_who_asked(subtests: pytest.Subtests) -> None:
    for status in ["NEVER_RUN", "FATAL_ERROR", None]:
        for uid in ["B", "A", None]:
            with subtests.test(uid=uid, status=status):
                new = asking(FAILED, uid=uid, status=status, requestedBy="bob", cancelledBy="bob")
                expected = {**trigger("deploy"), "retryOf": "A", "requestedBy": "ann"}
                assert stored(new, FAILED, user="ann")["planExecution"] == expected


def test_a_retry_keeps_the_step_where_it_begins() -> None:
    old = failed(of=STEPS)
    new = asking(old, **{"from": "one.b"})
    assert stored(new, old, STEPS)["planExecution"]["from"] == "one.b"


def test_a_failed_run_that_is_not_cleared_yet_can_be_retried_by_a_merge_patch() -> None:
    old = with_run(FAILED, planName="deploy", uid="A", status="NEVER_RUN", requestedBy="bob")
    new = asking(old, uid="A", status="NEVER_RUN", requestedBy="bob")
    expected = {**trigger("deploy"), "retryOf": "A", "requestedBy": "ann"}
    assert stored(new, old, user="ann")["planExecution"] == expected


def test_a_run_that_waits_to_begin_can_give_way_to_a_retry() -> None:
    old = with_run(FAILED, planName="deploy", uid="C", status="NEVER_RUN")
    for uid in ("C", "D", None):
        assert stored(asking(old, uid=uid), old)["planExecution"]["retryOf"] == "A"


def test_a_failed_run_of_any_plan_can_be_retried_after_others_ran() -> None:
    old = followed()
    assert stored(asking(old), old)["planExecution"] == {**trigger("deploy"), "retryOf": "A"}


def test_a_suspended_instance_can_be_retried() -> None:
    old = {**FAILED, "spec": {**FAILED["spec"], "suspend": True}}
    found = stored(asking(old), old)
    assert (found["suspend"], found["planExecution"]["retryOf"]) == (True, "A")


def test_a_failed_upgrade_can_be_retried() -> None:
    after = version("first-2")
    old = failed(of=after, plan="upgrade")
    new = asking(old, planName="upgrade")
    assert stored(new, old, V1, after)["planExecution"] == {**trigger("upgrade"), "retryOf": "A"}


def test_a_cancelled_run_can_be_retried() -> None:
    old = with_run(retrying(), **RETRIED, cancelledBy="ann") | {"status": failed()["status"]}
    old["spec"]["planExecution"]["status"] = "FATAL_ERROR"
    old["status"]["planStatus"] = entry("deploy", "R", "FATAL_ERROR", retryOf="A", retried="A")
    old["status"]["lastRun"]["uid"] = "R"
    found = stored(asking(old, retryOf="R"), old)["planExecution"]
    assert found == {**trigger("deploy"), "retryOf": "R"}


# What forbids one


def beside(parameters: dict[str, str], **fields: str | None) -> JsonObject:
    """Return the failed Instance with other parameters and a retry."""
    spec = instance(parameters)["spec"]
    return {**FAILED, "spec": {**spec, "planExecution": run(**fields)}}


COMPLETED = instance(ended={"deploy": "A"}, last_run=failed()["status"]["lastRun"])
DENIED = [
    pytest.param(asking(FAILED, retryOf="X"), FAILED, "RetryNotLast", id="unknown run"),
    pytest.param(asking(ended()), ended(), "RetryNotLast", id="older run"),
    pytest.param(asking(ended(retried="B")), ended(retried="B"), "RetryNotLast", id="older retry"),
    pytest.param(asking(COMPLETED), COMPLETED, "RetryNotFailed", id="complete run"),
    pytest.param(
        asking(retrying(), retryOf="R"), retrying(), "RetryNotLast", id="itself while it runs"
    ),
    pytest.param(
        asking(retrying(), retryOf="R", uid="R"), retrying(), "RetryNotLast", id="merged, running"
    ),
    pytest.param(
        asking(other_runs(), retryOf="R"), other_runs(), "PlanRunning", id="another plan runs"
    ),
    pytest.param(
        asking(FAILED, **{"from": "no.step"}), FAILED, "RetryUnknownStep", id="unknown step"
    ),
    pytest.param(asking(FAILED, planName="nosuch"), FAILED, "PlanUnknown", id="unknown plan"),
    pytest.param(asking(FAILED, planName=None), FAILED, "PlanUnknown", id="no plan"),
    pytest.param(
        asking(FAILED, retryOf=None, **{"from": "one.a"}),
        FAILED,
        "RetryUnknownStep",
        id="step of no retry",
    ),
    pytest.param(
        asking(failed(plan="cleanup"), planName="cleanup"),
        failed(plan="cleanup"),
        "CleanupNotManual",
        id="cleanup",
    ),
    pytest.param(beside({"NOTE": "x"}), FAILED, "PlanBesideChange", id="change of another plan"),
    pytest.param(beside({"SIZE": "2"}), FAILED, "PlanBesideChange", id="change of the same plan"),
    pytest.param(
        beside({"SIZE": "2"}, uid="B", status="NEVER_RUN"),
        FAILED,
        "PlanBesideChange",
        id="change, as mutation writes it",
    ),
]


@pytest.mark.parametrize(("new", "old", "reason"), DENIED)
def test_a_retry_that_the_rules_forbid_is_denied_in_both_moments(
    new: JsonObject, old: JsonObject, reason: str
) -> None:
    decision = mutated(new, old)
    assert decision.reason == reason
    assert decision.problems[0].field.startswith("spec.planExecution")
    assert not validated(new, old).allowed


def test_a_retry_beside_an_upgrade_is_denied() -> None:
    new = asking(failed(of=version("first-2")))
    assert mutated(new, FAILED, V1, version("first-2")).reason == "PlanBesideChange"


def test_a_change_of_a_parameter_since_the_failed_run_forbids_the_retry() -> None:
    old = {**FAILED, "spec": instance({"NOTE": "x"})["spec"]}
    for decision in (mutated(asking(old), old), validated(asking(old, uid="B"), old)):
        assert decision.reason == "RetryChanged"
        assert "values of parameters: NOTE; start over with" in decision.problems[0].message


def test_a_parameter_that_is_set_back_while_a_run_waits_comes_before_the_retry() -> None:
    waiting = with_run({**FAILED, "spec": instance({"SIZE": "2"})["spec"]}, planName="deploy")
    waiting["spec"]["planExecution"] |= {"uid": "C", "status": "NEVER_RUN"}
    decision = mutated(asking(FAILED), waiting)
    assert decision.reason == "PlanBesideChange"
    assert "send one after the other" in decision.problems[0].message


def test_a_cleanup_is_not_retried_while_the_instance_goes() -> None:
    old = failed(plan="cleanup")
    old["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    decision = mutated(asking(old, planName="cleanup"), old)
    assert decision.reason == "CleanupNotManual"
    assert "a new uid without retryOf" in decision.problems[0].message


# What counts as no request

NO_REQUESTS = [
    pytest.param(retrying(), run(), id="put while it runs"),
    pytest.param(retrying(False), run(), id="put before it has begun"),
    pytest.param(retrying(), run(uid="R"), id="put with its uid"),
    pytest.param(retrying(False), run(uid="R", status="NEVER_RUN"), id="with its uid"),
    pytest.param(retrying(), run(uid="Z"), id="another uid, once it has begun"),
    pytest.param(retrying(), run(uid="R", retryOf=None), id="without retryOf"),
    pytest.param(retrying(), run(uid="R", **{"from": "x.y"}), id="with another step"),
    pytest.param(retrying(), run(uid="R", requestedBy="bob"), id="with another user"),
    pytest.param(retrying(requestedBy="ann"), run(uid="R"), id="without its user"),
    pytest.param(retrying(**{"from": "x.y"}), run(uid="R"), id="without its step"),
    pytest.param(other_runs(), run(), id="put while another plan runs"),
    pytest.param(other_runs(), run(uid="C", status="NEVER_RUN"), id="merged, another plan runs"),
    pytest.param(other_runs("deploy"), run(), id="put while the same plan runs"),
    pytest.param(other_runs("deploy"), run(uid="C"), id="merged, the same plan runs"),
    pytest.param(ended(retried="A"), run(), id="idle, entry"),
    pytest.param(ended(retryOf="A", retried="A"), run(uid="Z"), id="idle, entry, own uid"),
    pytest.param(in_history(), run(), id="idle, history"),
]


@pytest.mark.parametrize(("old", "submitted"), NO_REQUESTS)
@pytest.mark.parametrize("deleting", [False, True])
def test_a_retry_that_is_honoured_or_runs_leaves_what_is_stored(
    old: JsonObject, submitted: JsonObject, deleting: bool
) -> None:
    if deleting:
        metadata = {**old["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
        old = {**old, "metadata": metadata}
    new = {**old, "spec": {**old["spec"], "planExecution": submitted}}
    found = stored(new, old, user="eve").get("planExecution", {})
    kept = {name: value for name, value in found.items() if name != "status"}
    before = old["spec"].get("planExecution", {})
    assert kept == {name: value for name, value in before.items() if name != "status"}
    assert mutated(new, old, user="eve").plan is None


def test_a_manifest_that_keeps_its_retry_may_change_parameters() -> None:
    old = ended(retried="A")
    new = {**old, "spec": {**instance({"SIZE": "2"})["spec"], "planExecution": run()}}
    assert stored(new, old)["planExecution"] == trigger("deploy")


def test_a_change_restarts_a_retry_of_the_same_plan_from_its_beginning() -> None:
    old = retrying()
    new = {**old, "spec": {**instance({"SIZE": "2"})["spec"], "planExecution": run(uid="R")}}
    assert stored(new, old)["planExecution"] == trigger("deploy")


def test_a_retry_can_be_cancelled(subtests: pytest.Subtests) -> None:
    for begun in [True, False]:
        with subtests.test(begun=begun):
            old = retrying(begun, requestedBy="bob")
            for retry_of in ("A", None):
                new = asking(old, uid="R", status="FATAL_ERROR", retryOf=retry_of)
                expected = RETRIED | {
                    "status": "FATAL_ERROR",
                    "cancelledBy": "ann",
                    "requestedBy": "bob",
                }
                assert stored(new, old, user="ann")["planExecution"] == expected


def test_a_retry_starts_over_without_retry_of() -> None:
    old = retrying()
    new = asking(old, uid="Z", retryOf=None)
    assert stored(new, old)["planExecution"] == trigger("deploy")


def test_a_retry_that_waits_gets_the_uid_of_whoever_asks_again() -> None:
    old = retrying(False)
    found = stored(asking(old, uid="Z"), old, user="ann")["planExecution"]
    assert found == {**trigger("deploy"), "retryOf": "A", "requestedBy": "ann"}


def test_the_history_is_read_for_retries_alone() -> None:
    old = in_history()
    old["status"]["history"] = 7
    assert mutated(instance({"SIZE": "2"}), old).plan == "deploy"


def test_a_new_instance_deploys_whatever_its_manifest_retries() -> None:
    new = asking(instance(), planName="custom", uid="B", **{"from": "x.y"})
    assert stored(new, None, user="ann")["planExecution"] == {
        **trigger("deploy"),
        "requestedBy": "ann",
    }


# The mutating webhook is missing


def test_validation_alone_denies_what_mutation_would_have_written_otherwise() -> None:
    table: list[tuple[JsonObject, JsonObject | None]] = [
        (asking(FAILED), FAILED),
        (asking(FAILED, uid="A"), with_run(FAILED, planName="deploy", uid="A")),
        (asking(other_runs()), other_runs()),
        (asking(ended(retried="A")), ended(retried="A")),
        (asking(ended(retried="A"), uid="Z"), ended(retried="A")),
        (asking(retrying()), retrying()),
        (asking(retrying(), uid="R", retryOf=None), retrying()),
        (asking(retrying(), uid="R", **{"from": "x.y"}), retrying()),
        (asking(instance(), uid="B"), None),
    ]
    for new, old in table:
        assert validated(new, old).reason == "MutatingWebhookMissing"


def test_validation_alone_admits_a_retry_under_a_uid_of_its_own() -> None:
    assert validated(asking(FAILED, uid="Z"), FAILED).allowed


def test_validation_alone_admits_that_the_reconciler_clears_a_retry_that_ended() -> None:
    old = with_run(ended(retryOf="A", retried="A"), **RETRIED | {"uid": "C"})
    assert validated(with_run(old), old).allowed
