"""Each promise that every write of every life is held against: a breach is noticed."""

from collections.abc import Callable
from typing import Any

import pytest

from kudo.api import Instance, JsonObject, OperatorVersion
from tests.unit.kudo.plans.runs import control_promises
from tests.unit.kudo.plans.runs import lifecycle_promises as promises
from tests.unit.kudo.plans.runs.lifecycle_promises import PROMISES, assert_kept
from tests.unit.kudo.plans.runs.writes import Record, Write

VERSION = OperatorVersion.from_wire(
    {
        "metadata": {"name": "v1", "namespace": "ns"},
        "spec": {"parameters": [{"name": "FIXED", "immutable": True}, {"name": "SIZE"}]},
    }
)


def entry(plan: str, uid: str, status: str, **steps: str) -> JsonObject:
    found = [{"name": name, "status": state} for name, state in steps.items()]
    phases = [{"name": "p", "status": "", "steps": found}]
    return {"name": plan, "uid": uid, "status": status, "phases": phases}


def instance(
    run: str = "",
    *entries: JsonObject,
    deleting: bool = False,
    last: str = "",
    ran: str = "deploy",
    recorded: str = "",
    **values: str,
) -> Instance:
    """Return an Instance.

    Args:
        run: Plan and uid of spec.planExecution, as in "deploy/A"; empty if idle.
        entries: The entries of status.planStatus.
        deleting: Whether deletionTimestamp is set.
        last: What lastRun holds of FIXED; empty if there is no lastRun.
        ran: The plan of lastRun, and its uid as in "deploy/B" if that is not A.
        recorded: uid of the failed run of deploy that the history has; empty if it has none.
        values: The parameters.
    """
    plan, _, uid = run.partition("/")
    status: JsonObject = {"planStatus": {found["name"]: found for found in entries}}
    if last:
        by, _, of = ran.partition("/")
        status["lastRun"] = {"plan": by, "uid": of or "A", "parameters": {"FIXED": last}}
    if recorded:
        status["history"] = [{"plan": "deploy", "uid": recorded, "status": "FATAL_ERROR"}]
    return Instance.from_wire(
        {
            "metadata": {
                "name": "i",
                "namespace": "ns",
                **({"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleting else {}),
            },
            "spec": {"parameters": values, "planExecution": {"planName": plan, "uid": uid}},
            "status": status,
        }
    )


def write(before: Instance, after: Instance, by: str, **fields: Any) -> Write:
    """Return a write after runs A and B were admitted; what `before` shows has been seen."""
    record = Record(admitted={"A", "B"})
    record.note(before)
    return Write(before, after, by, record, (VERSION, VERSION), **fields)


IDLE = instance()
WAITING = instance("deploy/A")
RUNNING = instance("deploy/A", entry("deploy", "A", "IN_PROGRESS"))
FINISHED = entry("deploy", "A", "IN_PROGRESS", a="COMPLETE", b="IN_PROGRESS")
CLEANED_ENTRY = [entry("cleanup", "A", "COMPLETE")]
CLEANED_BEFORE: dict[str, Any] = {"deleting": True, "last": "x", "ran": "cleanup"}
CLEANED = instance("", *CLEANED_ENTRY, **CLEANED_BEFORE)
Promise = Callable[[Write], None]
BROKEN: list[tuple[Promise, Write]] = [
    (
        promises.one_plan_runs_at_a_time,
        write(
            RUNNING,
            instance(
                "deploy/A", entry("deploy", "A", "PENDING"), entry("custom", "C", "IN_PROGRESS")
            ),
            "reconciler",
        ),
    ),
    (
        promises.no_run_is_taken_over_by_another_plan,
        write(RUNNING, instance("custom/B", entry("deploy", "A", "IN_PROGRESS")), "user"),
    ),
    (
        promises.no_run_is_taken_over_by_another_plan,
        write(
            instance("custom/B", entry("deploy", "A", "IN_PROGRESS"), last="a"),
            instance("custom/B", entry("deploy", "A", "FATAL_ERROR"), last="a", ran="custom"),
            "reconciler",
        ),
    ),
    (
        promises.nothing_but_cleanup_is_asked_for_while_deleting,
        write(instance(deleting=True), instance("custom/B", deleting=True), "user"),
    ),
    (
        promises.nothing_but_cleanup_is_asked_for_while_deleting,
        write(instance("cleanup/C", deleting=True), instance(deleting=True), "user"),
    ),
    (
        promises.nothing_but_cleanup_is_asked_for_while_deleting,
        write(instance(deleting=True), instance(deleting=True, SIZE="2"), "user"),
    ),
    (
        promises.cleanup_runs_only_while_deleting,
        write(
            instance("cleanup/A"),
            instance("cleanup/A", entry("cleanup", "A", "PENDING")),
            "reconciler",
            lawful=False,
        ),
    ),
    (
        promises.cleanup_runs_only_while_deleting,
        write(IDLE, instance("", entry("cleanup", "C", "COMPLETE")), "reconciler"),
    ),
    (
        promises.cleanup_that_has_ended_is_not_scheduled_again,
        write(CLEANED, instance("cleanup/B", *CLEANED_ENTRY, **CLEANED_BEFORE), "reconciler"),
    ),
    (promises.cleanup_runs_only_while_deleting, write(IDLE, instance("cleanup/A"), "user")),
    (promises.cleanup_runs_only_while_deleting, write(IDLE, instance("cleanup/A"), "reconciler")),
    (promises.immutable_parameters_stay, write(instance(FIXED="a"), instance(FIXED="b"), "user")),
    (promises.immutable_parameters_stay, write(instance(FIXED="a"), instance(), "user")),
    (promises.immutable_parameters_stay, write(instance(), instance(FIXED="a"), "user")),
    (
        promises.runs_use_the_immutable_parameters_of_the_runs_before,
        write(instance(last="a"), instance(last="b"), "reconciler"),
    ),
    (
        promises.the_record_of_a_run_stays_what_it_began_with,
        write(instance(last="a"), instance(last="b"), "reconciler"),
    ),
    (
        promises.a_value_comes_into_force_with_its_own_plan,
        write(instance(last="a"), instance(last="b", ran="custom/B"), "reconciler"),
    ),
    (promises.no_admitted_trigger_is_lost, write(WAITING, IDLE, "reconciler")),
    (
        promises.no_admitted_trigger_is_lost,
        write(WAITING, instance("deploy/B"), "reconciler"),
    ),
    (promises.no_admitted_trigger_is_lost, write(WAITING, IDLE, "user")),
    (
        promises.no_admitted_trigger_is_lost,
        write(WAITING, instance("custom/B"), "user"),
    ),
    (
        promises.an_admitted_run_has_a_uid_of_its_own,
        write(instance("", entry("deploy", "A", "COMPLETE")), instance("custom/A"), "user"),
    ),
    (
        promises.runs_only_go_forward,
        write(RUNNING, instance("deploy/A", entry("deploy", "A", "PENDING")), "reconciler"),
    ),
    (
        promises.runs_only_go_forward,
        write(
            instance("deploy/A", entry("deploy", "A", "COMPLETE")),
            instance("deploy/A", entry("deploy", "A", "FATAL_ERROR")),
            "reconciler",
        ),
    ),
    (
        promises.finished_steps_stay_finished,
        write(
            instance("deploy/A", FINISHED),
            instance("deploy/A", entry("deploy", "A", "IN_PROGRESS", a="PENDING", b="COMPLETE")),
            "reconciler",
        ),
    ),
]
KEPT = [
    write(IDLE, instance("deploy/B"), "user"),
    write(WAITING, RUNNING, "reconciler"),
    write(WAITING, instance("deploy/B"), "user"),
    write(WAITING, instance("deploy/A", deleting=True), "user"),
    write(
        RUNNING,
        instance("", entry("deploy", "A", "FATAL_ERROR"), deleting=True, recorded="A"),
        "reconciler",
    ),
    write(instance(FIXED="a"), instance(FIXED="b"), "nobody", lawful=False),
    write(instance("deploy/A", FINISHED), instance("deploy/B", FINISHED), "user"),
]


def test_a_write_that_breaks_a_promise_is_noticed(subtests: pytest.Subtests) -> None:
    for promise, breach in BROKEN:
        with subtests.test(promise=promise, breach=breach):
            with pytest.raises(AssertionError):
                promise(breach)
            with pytest.raises(AssertionError):
                assert_kept(breach)


def test_a_write_that_keeps_them_all_is_remembered(subtests: pytest.Subtests) -> None:
    for kept in KEPT:
        with subtests.test(kept=kept):
            assert_kept(kept)
            assert kept.record.begun == {found.uid for found in kept.after.plan_status.values()}


def test_every_promise_is_broken_by_one_of_these_writes() -> None:
    assert {promise for promise, _ in BROKEN} == {*PROMISES} - {*control_promises.PROMISES}


def test_a_run_that_was_neither_begun_nor_replaced_is_lost() -> None:
    record = Record(admitted={"A", "B", "C"}, begun={"A"}, replaced={"B"})
    assert record.lost == {"C"}
