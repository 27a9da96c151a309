"""Changes of `spec.serviceAccountName`: alone, beside others, and while a plan runs."""

from collections.abc import Callable

import pytest

from kudo.admission import AdmissionRequest, Decision, Review, mutate, validate
from kudo.api import JsonObject
from tests.unit.kudo.builders import V1, instance

VERSIONS = {("ns", "first-1"): V1}
ROUTES: tuple[Callable[[Review], Decision], ...] = (
    lambda review: mutate(review, VERSIONS, fresh_uid=lambda: "fresh"),
    lambda review: validate(review, VERSIONS),
)


def with_account(wire: JsonObject, account: str | None, **spec: object) -> JsonObject:
    named = {} if account is None else {"serviceAccountName": account}
    return {**wire, "spec": {**wire["spec"], **named, **spec}}


def reviewed(old: JsonObject, new: JsonObject) -> Review:
    return Review.of(AdmissionRequest("UPDATE", "ns", "i", new, old))


def test_it_may_change_while_no_plan_runs_and_runs_none(subtests: pytest.Subtests) -> None:
    for before, after in [(None, "team"), ("team", None), ("team", "other")]:
        for decide in ROUTES:
            with subtests.test(decide=decide, before=before, after=after):
                idle = instance(ended={"deploy": "A"})
                review = reviewed(with_account(idle, before), with_account(idle, after))
                assert decide(review) == Decision()
                assert review.references() == ()


def test_it_stays_while_a_plan_runs(subtests: pytest.Subtests) -> None:
    for before, after in [(None, "team"), ("team", None), ("team", "other")]:
        for decide in ROUTES:
            with subtests.test(decide=decide, before=before, after=after):
                running = instance(runs="deploy")
                decision = decide(
                    reviewed(with_account(running, before), with_account(running, after))
                )
                assert decision.reason == "PlanRunning"
                (problem,) = decision.problems
                assert problem.field == "spec.serviceAccountName"
                assert (
                    f"from '{before or ''}' to '{after or ''}' while a plan 'deploy'"
                    in problem.message
                )
                assert "kubectl kudo plan cancel --instance i -n ns" in problem.message


def test_nothing_is_no_other_account_than_the_empty_one(subtests: pytest.Subtests) -> None:
    for decide in ROUTES:
        with subtests.test(decide=decide):
            running = instance(runs="deploy")
            assert decide(reviewed(running, with_account(running, ""))) == Decision()


def test_it_stays_beside_a_restart_and_a_cancel_of_the_running_plan() -> None:
    running = instance(runs="deploy")
    for run in (
        {"planName": "deploy", "uid": "B"},
        {"planName": "deploy", "uid": "A", "status": "FATAL_ERROR"},
    ):
        review = reviewed(running, with_account(running, "team", planExecution=run))
        assert mutate(review, VERSIONS, fresh_uid=lambda: "fresh").reason == "PlanRunning"


def test_it_may_change_while_the_instance_is_being_deleted(subtests: pytest.Subtests) -> None:
    """So a cleanup whose account is gone gets one that exists."""
    for runs in [None, "deploy", "cleanup"]:
        with subtests.test(runs=runs):
            leaving = instance(runs=runs, deleting=True)
            for decide in ROUTES:
                assert decide(reviewed(leaving, with_account(leaving, "team"))) == Decision()


def test_a_stuck_cleanup_is_started_again_with_another_account() -> None:
    leaving = with_account(instance(runs="cleanup", deleting=True), "gone")
    again = {"planName": "cleanup", "uid": "B"}
    review = reviewed(leaving, with_account(leaving, "team", planExecution=again))
    decision = mutate(review, VERSIONS, fresh_uid=lambda: "fresh")
    assert decision.allowed
    assert decision.plan == "cleanup"


def test_it_may_change_with_parameters_and_runs_their_plan() -> None:
    idle = instance(ended={"deploy": "A"})
    parameters = {**idle["spec"]["parameters"], "SIZE": "2"}
    decision = mutate(
        reviewed(idle, with_account(idle, "team", parameters=parameters)),
        VERSIONS,
        fresh_uid=lambda: "fresh",
    )
    assert decision.allowed
    assert decision.plan == "deploy"
