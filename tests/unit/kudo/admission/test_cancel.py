"""Cancelling a run: who is recorded, what is no cancel, and what comes before one."""

import pytest

from kudo.admission import AdmissionRequest, Decision, Review, mutate, validate
from kudo.api import JsonObject
from tests.unit.kudo.builders import V1, instance, patched, trigger

STORED = instance(runs="deploy", status="NEVER_RUN")
CLEANING = instance(runs="cleanup", status="NEVER_RUN", deleting=True)
CANCELLED = {"planName": "deploy", "uid": "A", "status": "FATAL_ERROR", "cancelledBy": "ann"}


def by_ann(plan: str) -> JsonObject:
    """Return the run that mutation schedules for a request of ann."""
    return {**trigger(plan), "requestedBy": "ann"}


def asked(new: JsonObject, old: JsonObject | None, user: str) -> Review:
    return Review.of(
        AdmissionRequest("CREATE" if old is None else "UPDATE", "ns", "i", new, old, user)
    )


def mutated(new: JsonObject, old: JsonObject | None, user: str = "ann") -> Decision:
    return mutate(asked(new, old, user), {("ns", "first-1"): V1}, fresh_uid=lambda: "fresh")


def validated(new: JsonObject, old: JsonObject | None, user: str = "ann") -> Decision:
    return validate(asked(new, old, user), {("ns", "first-1"): V1})


def cancelling(old: JsonObject, **fields: str | None) -> JsonObject:
    """Return the stored object with FATAL_ERROR for its run, and fields beside; None leaves out."""
    run = {**old["spec"]["planExecution"], "status": "FATAL_ERROR", **fields}
    run = {name: value for name, value in run.items() if value is not None}
    return {**old, "spec": {**old["spec"], "planExecution": run}}


def stored(new: JsonObject, old: JsonObject, user: str = "ann") -> JsonObject:
    """Return the run that is stored once both moments of admission have passed."""
    decision = mutated(new, old, user)
    assert decision.problems == ()
    final = patched(new, decision)
    assert validated(final, old, user).problems == ()
    found: JsonObject = final["spec"]["planExecution"]
    return found


def with_run(old: JsonObject, run: JsonObject) -> JsonObject:
    return {**old, "spec": {**old["spec"], "planExecution": run}}


# Who


def test_a_cancel_records_who_asked_for_it() -> None:
    assert stored(cancelling(STORED), STORED) == CANCELLED


def test_a_cancel_schedules_no_plan() -> None:
    assert mutated(cancelling(STORED), STORED).plan is None


def test_a_name_that_was_submitted_is_replaced_by_the_real_one() -> None:
    for submitted in ["bob", "", "system:admin"]:
        assert stored(cancelling(STORED, cancelledBy=submitted), STORED) == CANCELLED


def test_without_a_user_name_nobody_is_recorded() -> None:
    new = cancelling(STORED, cancelledBy="bob")
    expected = {name: value for name, value in CANCELLED.items() if name != "cancelledBy"}
    assert stored(new, STORED, user="") == expected


def test_a_second_cancel_keeps_the_first_name() -> None:
    old = with_run(STORED, CANCELLED)
    for again in (cancelling(old), cancelling(old, cancelledBy=None)):
        assert stored(again, old, user="bob") == CANCELLED


def test_a_second_cancel_cannot_put_another_name_in_the_place_of_the_first() -> None:
    old = with_run(STORED, CANCELLED)
    assert stored(cancelling(old, cancelledBy="bob"), old, user="bob") == CANCELLED


def test_validation_accepts_the_real_name_and_none() -> None:
    for name in ("ann", "", None):
        assert validated(cancelling(STORED, cancelledBy=name), STORED).allowed


def test_validation_denies_the_name_of_another() -> None:
    decision = validated(cancelling(STORED, cancelledBy="bob"), STORED)
    assert decision.reason == "MutatingWebhookMissing"
    assert decision.problems[0].field == "spec.planExecution.cancelledBy"
    assert "'bob'" in decision.problems[0].message
    assert "leave it out" in decision.problems[0].message


def test_validation_accepts_the_name_that_was_recorded_first() -> None:
    old = with_run(instance({"ZZ": "1"}, runs="deploy"), CANCELLED)
    new = with_run(instance(runs="deploy"), CANCELLED)
    assert validated(new, old, user="bob").allowed


# What is a cancel


def test_a_run_can_be_cancelled_before_it_has_begun() -> None:
    old = {**STORED, "status": {}}
    assert stored(cancelling(old), old) == CANCELLED


def test_a_run_can_be_cancelled_whatever_its_stored_status(subtests: pytest.Subtests) -> None:
    for status in ["NEVER_RUN", "IN_PROGRESS", None]:
        with subtests.test(status=status):
            old = instance(runs="deploy", status=status)
            assert stored(cancelling(old), old) == CANCELLED


def test_a_cancel_of_another_uid_is_a_restart(subtests: pytest.Subtests) -> None:
    for uid in ["B", None]:
        with subtests.test(uid=uid):
            new = cancelling(STORED, uid=uid)
            assert stored(new, STORED) == by_ann("deploy")
            assert validated(new, STORED).allowed == (uid is not None)


def test_a_cancel_of_a_plan_that_does_not_run_is_denied() -> None:
    new = cancelling(STORED, planName="custom")
    assert mutated(new, STORED).reason == "PlanRunning"
    assert validated(new, STORED).reason == "PlanRunning"


def test_any_other_status_by_hand_is_ignored(subtests: pytest.Subtests) -> None:
    for status in ["COMPLETE", "ERROR", "PENDING", "IN_PROGRESS", "nonsense"]:
        with subtests.test(status=status):
            new = with_run(STORED, {"planName": "deploy", "uid": "A", "status": status})
            assert stored(new, STORED) == STORED["spec"]["planExecution"]


def test_a_cancel_cannot_be_taken_back(subtests: pytest.Subtests) -> None:
    for status in ["NEVER_RUN", "COMPLETE", None]:
        with subtests.test(status=status):
            old = with_run(STORED, CANCELLED)
            run = {"planName": "deploy", "uid": "A"} | ({"status": status} if status else {})
            assert stored(with_run(old, run), old, user="bob") == CANCELLED


def test_a_name_without_a_cancel_is_discarded(subtests: pytest.Subtests) -> None:
    for by in ["bob", "ann"]:
        with subtests.test(by=by):
            new = with_run(STORED, {**STORED["spec"]["planExecution"], "cancelledBy": by})
            assert stored(new, STORED) == STORED["spec"]["planExecution"]


def test_a_cancel_of_an_ended_run_asks_for_nothing() -> None:
    old = instance(runs="deploy", ended={"deploy": "A"})
    assert stored(cancelling(old), old) == old["spec"]["planExecution"]


def test_a_cancel_of_an_idle_instance_without_a_plan_is_ignored() -> None:
    old = instance()
    assert stored(with_run(old, {"status": "FATAL_ERROR", "cancelledBy": "bob"}), old) == {}


def test_a_plan_named_with_a_cancel_on_an_idle_instance_is_run() -> None:
    old = instance()
    new = with_run(old, {"planName": "custom", "status": "FATAL_ERROR"})
    assert stored(new, old) == by_ann("custom")


def test_a_new_instance_cannot_be_born_cancelled() -> None:
    new = with_run(instance(), CANCELLED)
    decision = mutated(new, None)
    assert decision.plan == "deploy"
    assert patched(new, decision)["spec"]["planExecution"] == by_ann("deploy")


# What comes before a cancel


def test_a_changed_parameter_restarts_the_plan_and_the_cancel_is_gone() -> None:
    new = cancelling(instance({"SIZE": "2"}, runs="deploy"))
    assert stored(new, STORED) == by_ann("deploy")


def test_a_changed_parameter_of_another_plan_is_denied_with_or_without_a_cancel() -> None:
    new = cancelling(instance({"PORT": "81"}, runs="deploy"))
    assert mutated(new, STORED).reason == "PlanRunning"


def test_a_cancelled_run_can_be_restarted_and_nothing_is_left_of_the_cancel(
    subtests: pytest.Subtests,
) -> None:
    for uid in ["B", None]:
        with subtests.test(uid=uid):
            old = with_run(STORED, CANCELLED)
            new = with_run(old, {"planName": "deploy"} | ({"uid": uid} if uid else {}))
            assert stored(new, old) == by_ann("deploy")


def test_a_cancelled_run_still_counts_as_running_until_it_has_ended() -> None:
    old = with_run(STORED, CANCELLED)
    assert mutated(instance({"PORT": "81"}, runs="deploy"), old).reason == "PlanRunning"
    assert mutated(with_run(old, {}), old).reason == "PlanRunning"


# While the Instance is being deleted


def test_a_cleanup_can_be_cancelled() -> None:
    expected = {**CANCELLED, "planName": "cleanup"}
    assert stored(cancelling(CLEANING), CLEANING) == expected
    assert stored(cancelling(CLEANING, cancelledBy="bob"), CLEANING) == expected


def test_nothing_but_the_run_is_touched_when_a_cleanup_is_cancelled() -> None:
    (operation,) = mutated(cancelling(CLEANING), CLEANING).patch
    assert operation["path"] == "/spec/planExecution"


def test_a_second_cancel_of_a_cleanup_keeps_the_first_name() -> None:
    old = with_run(CLEANING, {**CANCELLED, "planName": "cleanup"})
    new = cancelling(old, cancelledBy="bob")
    assert stored(new, old, user="bob") == {**CANCELLED, "planName": "cleanup"}


def test_a_cancelled_cleanup_can_be_restarted() -> None:
    old = with_run(CLEANING, {**CANCELLED, "planName": "cleanup"})
    new = with_run(old, {"planName": "cleanup", "uid": "B"})
    assert stored(new, old) == by_ann("cleanup")


# Both moments together

CANCELS = [
    pytest.param(cancelling(STORED), STORED, id="running"),
    pytest.param(cancelling(STORED, cancelledBy="bob"), STORED, id="spoofed"),
    pytest.param(cancelling(STORED, uid=None), STORED, id="restart"),
    pytest.param(cancelling(CLEANING), CLEANING, id="cleanup"),
    pytest.param(cancelling(with_run(STORED, CANCELLED)), with_run(STORED, CANCELLED), id="again"),
]


@pytest.mark.parametrize(("new", "old"), CANCELS)
@pytest.mark.parametrize("user", ["ann", "bob", ""])
def test_a_second_mutation_changes_nothing(new: JsonObject, old: JsonObject, user: str) -> None:
    once = patched(new, mutated(new, old, user))
    again = mutated(once, old, user)
    assert again.problems == ()
    assert patched(once, again) == once


@pytest.mark.parametrize(("new", "old"), CANCELS)
def test_the_patch_changes_the_run_and_nothing_else(new: JsonObject, old: JsonObject) -> None:
    final = patched(new, mutated(new, old))
    assert {**final["spec"], "planExecution": None} == {**new["spec"], "planExecution": None}
    assert final["metadata"] == new["metadata"]


# A cleanup that is named by hand while the Instance goes

GOING = instance(deleting=True)
BORN_CANCELLED = {"planName": "cleanup", "uid": "B", "status": "FATAL_ERROR", "cancelledBy": "bob"}


def test_a_cleanup_cannot_be_born_cancelled() -> None:
    expected = {"planName": "cleanup", "uid": "B", "requestedBy": "ann"}
    assert stored(with_run(GOING, BORN_CANCELLED), GOING) == expected


def test_a_cleanup_as_it_is_usually_named_stays_as_submitted() -> None:
    run = {"planName": "cleanup", "uid": "B", "status": "NEVER_RUN"}
    assert stored(with_run(GOING, run), GOING) == {**run, "requestedBy": "ann"}
    assert stored(with_run(GOING, run), GOING, user="") == run


def test_a_cleanup_does_not_inherit_the_canceller_of_the_run_before_it() -> None:
    run = {"planName": "cleanup", "uid": "B"}
    old = with_run(GOING, CANCELLED)
    final = patched(with_run(old, run), mutated(with_run(old, run), old))
    assert final["spec"]["planExecution"] == {**run, "requestedBy": "ann"}
    assert mutated(final, old).patch == ()


def test_validation_alone_refuses_a_cleanup_cancelled_in_another_name() -> None:
    decision = validated(with_run(GOING, BORN_CANCELLED), GOING)
    assert [problem.reason for problem in decision.problems] == ["MutatingWebhookMissing"]


def test_nobody_is_named_as_canceller_beside_a_cancel() -> None:
    table: list[tuple[JsonObject, JsonObject, JsonObject | None]] = [
        (GOING, {"planName": "", "cancelledBy": "bob"}, {"planName": ""}),
        (CLEANING, {**CLEANING["spec"]["planExecution"], "cancelledBy": "bob"}, None),
    ]
    for old, run, expected in table:
        assert stored(with_run(old, run), old) == (expected or old["spec"]["planExecution"])
