"""When waiting ends: the decisions over sequences of what an Instance looks like."""

from typing import Any

import pytest

from kubectl_kudo.reading.outcome import (
    Outcome,
    State,
    Target,
    advance,
    outcome_of,
    outcome_of_present,
    outcome_of_removal,
    present_run,
    triggered,
)
from tests.unit.cli.fake_api import status

JsonObject = dict[str, Any]


def instance(plan: str = "", uid: str = "", **entries: JsonObject) -> JsonObject:
    obj: JsonObject = {
        "metadata": {"name": "tea", "namespace": "kitchen", "uid": "I"},
        "spec": {"planExecution": {"planName": plan, "uid": uid} if plan else {}},
    }
    if entries:
        obj["status"] = {"planStatus": entries}
    return obj


def entry(state: str, uid: str = "1", **more: Any) -> JsonObject:
    return {"status": state, "uid": uid, **more}


RUN = Target("I", "kitchen/tea", "deploy", "1")


def states_of(target: Target, *states: JsonObject | None) -> list[State]:
    found = []
    for state in states:
        target = advance(target, state)
        found.append(outcome_of(target, state).state)
    return found


def test_a_run_is_done_when_it_is_complete_and_no_longer_scheduled() -> None:
    assert states_of(
        RUN,
        instance("deploy", "1"),
        instance("deploy", "1", deploy=entry("IN_PROGRESS")),
        instance("deploy", "1", deploy=entry("ERROR")),
        instance("deploy", "1", deploy=entry("COMPLETE")),
        instance(deploy=entry("COMPLETE")),
    ) == [State.WAITING] * 4 + [State.DONE]


def test_a_complete_run_is_done_when_the_next_one_is_scheduled_already() -> None:
    assert states_of(RUN, instance("deploy", "2", deploy=entry("COMPLETE"))) == [State.DONE]


def test_the_outcome_of_the_run_before_does_not_count() -> None:
    before = entry("FATAL_ERROR", "0")
    assert states_of(RUN, instance("deploy", "1", deploy=before)) == [State.WAITING]


def test_a_fatal_error_ends_the_waiting_at_once_and_names_step_and_message() -> None:
    """KUDO 0.19 waited for COMPLETE alone (BTO-33)."""
    failed = status("FATAL_ERROR", message="no such kind")(instance("deploy", "1"))
    assert outcome_of(RUN, failed) == Outcome(
        State.FAILED,
        "instance kitchen/tea: plan deploy ended with FATAL_ERROR at deploy.main.app: no such kind",
    )


def test_an_instance_that_is_gone_cannot_become_ready() -> None:
    """KUDO 0.19 crashed (BTO-34)."""
    gone = Outcome(State.FAILED, "instance kitchen/tea was deleted while waiting for it")
    assert outcome_of(RUN, None) == gone


def test_another_instance_of_the_same_name_is_a_stranger() -> None:
    other = instance(deploy=entry("COMPLETE"))
    other["metadata"]["uid"] = "II"
    assert outcome_of(advance(RUN, other), other).state is State.FAILED


@pytest.mark.parametrize(
    "obj",
    [
        instance("deploy", "2", deploy=entry("IN_PROGRESS")),
        instance("deploy", "2", deploy=entry("IN_PROGRESS", "2")),
    ],
)
def test_a_run_that_a_newer_one_replaced_has_failed(obj: JsonObject) -> None:
    outcome = outcome_of(RUN, obj)
    assert outcome.state is State.FAILED
    assert "the run of plan deploy was replaced by a newer run of plan deploy" in outcome.text


def test_a_run_that_vanished_has_failed_and_the_reason_is_told_where_there_is_one() -> None:
    obj = instance(deploy=entry("COMPLETE", "2"))
    outcome = outcome_of(RUN, obj)
    assert outcome.state is State.FAILED
    assert outcome.text.endswith("a newer one replaced it, or it was denied")
    condition = {"type": "Ready", "status": "False", "reason": "CleanupNotManual", "message": "no"}
    obj["status"]["conditions"] = [condition]
    assert outcome_of(RUN, obj).text.endswith("or it was denied (CleanupNotManual: no)")


def test_an_entry_that_nothing_names_is_waited_for_until_it_is_ended() -> None:
    assert outcome_of(RUN, instance(deploy=entry("IN_PROGRESS"))).state is State.WAITING


@pytest.mark.parametrize(
    ("obj", "text"),
    [
        (
            instance("deploy", "1"),
            "plan deploy is scheduled and was not started yet; is the reconciler of KUDO running?",
        ),
        (
            instance("deploy", "1", deploy=entry("COMPLETE")),
            "plan deploy is COMPLETE and about to be closed",
        ),
        (
            status("IN_PROGRESS", message="1 of 2 ready")(instance("deploy", "1")),
            "deploy.main.app is IN_PROGRESS (1 of 2 ready)",
        ),
    ],
)
def test_while_waiting_it_is_known_what_for(obj: JsonObject, text: str) -> None:
    assert outcome_of(RUN, obj) == Outcome(State.WAITING, text)


# Which run a write caused


def test_the_run_of_a_new_instance_is_the_one_that_the_response_names() -> None:
    """KUDO 0.19 waited in vain after an update of an Instance without a status (BTO-34)."""
    assert triggered(None, instance("deploy", "1")) == RUN


def test_the_run_of_an_update_is_new_also_while_one_is_running() -> None:
    before = instance("deploy", "0", deploy=entry("IN_PROGRESS", "0"))
    after = instance("deploy", "1", deploy=entry("IN_PROGRESS", "0"))
    target = triggered(before, after)
    assert target is not None
    assert (target.plan, target.uid) == ("deploy", "1")


@pytest.mark.parametrize("execution", [("", ""), ("deploy", "0")])
def test_an_update_that_changed_nothing_triggered_nothing(execution: tuple[str, str]) -> None:
    """KUDO 0.19 waited for a run that nobody had scheduled, until its time was over (BTO-34)."""
    obj = instance(*execution, deploy=entry("IN_PROGRESS", "0"))
    assert triggered(obj, obj) is None


def test_without_a_webhook_the_run_is_the_first_one_that_was_not_there_before() -> None:
    before = instance(deploy=entry("COMPLETE", "0"))
    after = instance(deploy=entry("COMPLETE", "0"))
    after["spec"]["parameters"] = {"CUPS": "3"}
    target = triggered(before, after)
    assert target is not None
    assert not target.uid
    assert "no run was scheduled yet" in outcome_of(advance(target, after), after).text
    scheduled = instance("update", "1", deploy=entry("COMPLETE", "0"))
    over = instance(deploy=entry("COMPLETE", "0"), update=entry("COMPLETE", "1"))
    assert states_of(target, after, scheduled, over) == [State.WAITING] * 2 + [State.DONE]
    assert states_of(target, after, over) == [State.WAITING, State.DONE]


# plan status --wait


def test_the_present_run_is_the_active_one_before_the_last_one() -> None:
    obj = instance("rinse", "2", deploy=entry("COMPLETE"))
    target = present_run(obj)
    assert target is not None
    assert (target.plan, target.uid) == ("rinse", "2")


def test_the_present_run_of_an_idle_instance_is_its_last_one_and_over_at_once() -> None:
    obj = instance(deploy=entry("COMPLETE"))
    target = present_run(obj)
    assert target is not None
    assert outcome_of_present(target, obj).state is State.DONE


def test_an_instance_without_runs_has_no_present_one() -> None:
    assert present_run(instance()) is None


def test_the_present_run_moves_on_to_the_one_that_replaces_it() -> None:
    first = instance("deploy", "1", deploy=entry("IN_PROGRESS"))
    target = present_run(first)
    assert target is not None
    states = (
        (instance("deploy", "2", deploy=entry("IN_PROGRESS")), State.WAITING),
        (instance("deploy", "2", deploy=entry("COMPLETE", "2")), State.WAITING),
        (instance(deploy=entry("COMPLETE", "2")), State.DONE),
    )
    for obj, expected in states:
        target = advance(target, obj)
        assert outcome_of_present(target, obj).state is expected
    missed = instance(deploy=entry("FATAL_ERROR", "3"))
    assert outcome_of_present(advance(target, missed), missed).state is State.FAILED


def test_runs_that_the_original_left_without_a_uid_end_too() -> None:
    running = instance("deploy", deploy={"status": "IN_PROGRESS"})
    target = present_run(running)
    assert target is not None
    assert outcome_of_present(advance(target, running), running).state is State.WAITING
    complete = instance(deploy={"status": "COMPLETE"})
    assert outcome_of_present(advance(target, complete), complete).state is State.DONE
    failed = instance(deploy={"status": "FATAL_ERROR", "message": "lost"})
    assert "at deploy: lost" in outcome_of_present(advance(target, failed), failed).text


# uninstall --wait


def test_a_removal_is_over_when_the_instance_is_gone_or_another_one() -> None:
    other = instance()
    other["metadata"]["uid"] = "II"
    assert outcome_of_removal(RUN, None).state is State.DONE
    assert outcome_of_removal(RUN, other).state is State.DONE


def test_a_removal_waits_for_the_cleanup_plan_and_for_finalizers() -> None:
    cleaning = status("IN_PROGRESS", plan="cleanup")(instance("cleanup", "9"))
    assert outcome_of_removal(RUN, cleaning).text == "cleanup.main.app is IN_PROGRESS"
    held = instance()
    held["metadata"]["finalizers"] = ["example.com/keep"]
    assert "example.com/keep" in outcome_of_removal(RUN, held).text
