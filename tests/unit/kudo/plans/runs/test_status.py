"""The status of an Instance over the life of a run."""

import json

import pytest

from kudo.api import ExecutionStatus, Instance, InstanceStatus, JsonObject, OperatorVersion
from kudo.api.fingerprints import fingerprints
from kudo.plans.execution import StepOutcome, TaskOutcome, fail, record, runnable
from kudo.plans.runs.conditions import Situation, find
from kudo.plans.runs.status import (
    begun,
    failed_last_run,
    failure_text,
    leaving,
    running,
    settled,
    with_conditions,
    with_entries,
    with_entry,
)
from tests.unit.kudo.builders import VALUES, instance

S = ExecutionStatus
NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"


def version(plans: dict[str, tuple[str, ...]], name: str = "first-1") -> OperatorVersion:
    """Return a version with plans of one phase with these steps."""
    phases: JsonObject = {
        plan: {"phases": [{"name": "main", "steps": [{"name": s, "tasks": [s]} for s in steps]}]}
        for plan, steps in plans.items()
    }
    wire = {"metadata": {"name": name, "namespace": "ns"}, "spec": {"plans": phases}}
    return OperatorVersion.from_wire(wire)


V1 = version({"deploy": ("a", "b"), "update": ("a",), "custom": ("c",), "cleanup": ("d",)})


def scheduled(plan: str, uid: str, status: InstanceStatus | None = None, **more: str) -> Instance:
    """Return an Instance with a scheduled run and the given status."""
    found = Instance.from_wire(instance(more, runs=plan, uid=uid))
    metadata = found.metadata.model_copy(update={"generation": 7})
    return found.model_copy(update={"metadata": metadata, "status": status or InstanceStatus()})


def uids(status: InstanceStatus) -> dict[str, tuple[str | None, str]]:
    entries = status.plan_status or {}
    return {name: (entry.uid, entry.status) for name, entry in entries.items()}


# The beginning


def test_a_first_run_begins_with_everything_pending_beside_plans_that_never_ran() -> None:
    status = begun(scheduled("deploy", "A"), V1, NOW)
    assert uids(status) == {
        "deploy": ("A", "PENDING"),
        "update": (None, "NEVER_RUN"),
        "custom": (None, "NEVER_RUN"),
        "cleanup": (None, "NEVER_RUN"),
    }
    entry = (status.plan_status or {})["deploy"]
    assert (entry.started_at, entry.finished_at) == (NOW, None)


def test_a_run_records_what_it_was_started_with() -> None:
    last = begun(scheduled("deploy", "A", ZZ="1"), V1, NOW).last_run
    assert last is not None
    assert (last.plan, last.uid) == ("deploy", "A")
    assert last.operator_version is not None
    assert (last.operator_version.namespace, last.operator_version.name) == ("ns", "first-1")
    assert last.parameters == fingerprints({**VALUES, "ZZ": "1"})


def test_no_value_of_a_parameter_can_be_read_in_the_status() -> None:
    text = json.dumps(begun(scheduled("deploy", "A"), V1, NOW).to_wire())
    assert VALUES["TOKEN"] not in text


def progressed(status: InstanceStatus, plan: str, *outcomes: ExecutionStatus) -> InstanceStatus:
    """Return the status after a pass per outcome over what may run then."""
    entry = (status.plan_status or {})[plan]
    for outcome in outcomes:
        ready = runnable(V1.plans[plan], entry)
        entry = record(entry, {ref: StepOutcome(outcome, "because") for ref in ready}, LATER)
    return with_entry(status, entry)


def test_a_run_that_was_begun_goes_on_where_it_was() -> None:
    first = begun(scheduled("deploy", "A"), V1, NOW)
    midway = progressed(first, "deploy", S.COMPLETE, S.ERROR)
    assert begun(scheduled("deploy", "A", midway), V1, LATER) == midway


def test_a_run_that_goes_on_keeps_the_record_of_its_start() -> None:
    midway = progressed(begun(scheduled("deploy", "A"), V1, NOW), "deploy", S.COMPLETE)
    again = begun(scheduled("deploy", "A", midway, SIZE="9"), V1, LATER)
    assert again.last_run == midway.last_run


def test_another_uid_restarts_the_plan_from_its_beginning() -> None:
    midway = progressed(begun(scheduled("deploy", "A"), V1, NOW), "deploy", S.COMPLETE)
    again = begun(scheduled("deploy", "B", midway, SIZE="9"), V1, LATER)
    entry = (again.plan_status or {})["deploy"]
    assert (entry.uid, entry.status, entry.started_at) == ("B", "PENDING", LATER)
    assert {s.status for phase in entry.phases or () for s in phase.steps or ()} == {"PENDING"}
    assert again.last_run is not None
    assert again.last_run.uid == "B"
    assert again.last_run.parameters == fingerprints({**VALUES, "SIZE": "9"})


def test_another_plan_supersedes_the_one_in_progress() -> None:
    midway = progressed(begun(scheduled("deploy", "A"), V1, NOW), "deploy", S.COMPLETE)
    status = begun(scheduled("cleanup", "B", midway), V1, LATER)
    old = (status.plan_status or {})["deploy"]
    assert (old.uid, old.status, old.message) == ("A", "FATAL_ERROR", "superseded by plan cleanup")
    assert (old.phases or ())[0].steps[0].status == "COMPLETE"  # type: ignore[index]
    assert list(running(status.plan_status or {})) == ["cleanup"]


def test_a_run_that_has_ended_is_left_alone_by_the_next(subtests: pytest.Subtests) -> None:
    for ended in [S.COMPLETE, S.FATAL_ERROR]:
        with subtests.test(ended=ended):
            done = progressed(begun(scheduled("deploy", "A"), V1, NOW), "deploy", ended, ended)
            status = begun(scheduled("custom", "B", done), V1, LATER)
            assert (status.plan_status or {})["deploy"] == (done.plan_status or {})["deploy"]


def test_all_runs_that_the_original_left_running_are_superseded() -> None:
    left: JsonObject = {
        name: {"name": name, "uid": uid, "status": status}
        for name, uid, status in [("deploy", "A", "IN_PROGRESS"), ("custom", "B", "ERROR")]
    }
    old = InstanceStatus.from_wire({"planStatus": left})
    status = begun(scheduled("update", "C", old), V1, NOW)
    assert list(running(status.plan_status or {})) == ["update"]


def test_a_plan_that_the_version_lacks_still_has_an_entry_and_a_record(
    subtests: pytest.Subtests,
) -> None:
    for before in [None, "deploy"]:
        with subtests.test(before=before):
            old = begun(scheduled("deploy", "A"), V1, NOW) if before else None
            status = begun(scheduled("nosuch", "B", old), V1, LATER)
            entry = (status.plan_status or {})["nosuch"]
            assert (entry.name, entry.uid, entry.started_at, entry.phases) == (
                "nosuch",
                "B",
                LATER,
                None,
            )
            assert status.last_run is not None
            assert status.last_run.plan == "nosuch"
            ended = fail(entry, "could not find required plan: 'nosuch'", LATER)
            assert failed_last_run(with_entry(status, ended)) == ended


def test_a_run_goes_on_with_the_steps_of_an_edited_version() -> None:
    edited = version({"deploy": ("new", "a", "b")})
    midway = progressed(begun(scheduled("deploy", "A"), V1, NOW), "deploy", S.COMPLETE)
    entry = (begun(scheduled("deploy", "A", midway), edited, LATER).plan_status or {})["deploy"]
    steps = (entry.phases or ())[0].steps or ()
    assert [(step.name, step.status) for step in steps] == [
        ("new", "NEVER_RUN"),
        ("a", "COMPLETE"),
        ("b", "PENDING"),
    ]


# The state of the last run


def last_status(status: InstanceStatus) -> tuple[str | None, str | None]:
    assert status.last_run is not None
    return status.last_run.plan, status.last_run.status


def test_the_last_run_has_the_state_of_its_plan_from_its_first_status_to_its_last() -> None:
    first = begun(scheduled("deploy", "A"), V1, NOW)
    midway = progressed(first, "deploy", S.COMPLETE)
    assert last_status(first) == ("deploy", "PENDING")
    assert last_status(midway) == ("deploy", "IN_PROGRESS")
    assert last_status(progressed(midway, "deploy", S.FATAL_ERROR)) == ("deploy", "FATAL_ERROR")
    done = progressed(midway, "deploy", S.COMPLETE)
    assert last_status(done) == ("deploy", "COMPLETE")
    assert last_status(begun(scheduled("custom", "B", done), V1, LATER)) == ("custom", "PENDING")


def test_a_superseded_run_leaves_the_state_to_the_one_that_replaces_it() -> None:
    midway = progressed(begun(scheduled("deploy", "A"), V1, NOW), "deploy", S.COMPLETE)
    assert last_status(begun(scheduled("cleanup", "B", midway), V1, LATER)) == (
        "cleanup",
        "PENDING",
    )


def test_the_state_is_added_to_a_last_run_that_was_stored_without_one() -> None:
    done = progressed(begun(scheduled("deploy", "A"), V1, NOW), "deploy", S.COMPLETE, S.COMPLETE)
    assert done.last_run is not None
    older = done.model_copy(update={"last_run": done.last_run.model_copy(update={"status": None})})
    assert with_entries(older, done.plan_status or {}) == done


def test_an_entry_of_another_uid_is_not_the_state_of_the_last_run() -> None:
    status = begun(scheduled("deploy", "A"), V1, NOW)
    other = (status.plan_status or {})["deploy"].model_copy(update={"uid": "B", "status": "ERROR"})
    assert last_status(with_entry(status, other)) == ("deploy", "PENDING")
    empty = InstanceStatus()
    assert with_entries(empty, {}).last_run is None


# Conditions


def conditions(status: InstanceStatus) -> dict[str, tuple[str, str, int | None]]:
    found = status.conditions or ()
    return {c.type: (c.status, c.reason, c.observed_generation) for c in found}


def test_readiness_is_unknown_while_a_plan_that_changes_it_runs(subtests: pytest.Subtests) -> None:
    for plan in ["deploy", "update", "upgrade", "cleanup"]:
        with subtests.test(plan=plan):
            status = begun(scheduled(plan, "A"), V1, NOW)
            assert conditions(status) == {
                "Ready": ("Unknown", "PlanInProgress", 7),
                "Reconciling": ("True", "PlanInProgress", 7),
            }
            assert status.observed_generation == 7


def test_any_other_plan_says_nothing_of_readiness() -> None:
    ready = with_conditions(
        scheduled("custom", "A"), InstanceStatus(), Situation(("ResourcesReady", "")), NOW
    )
    status = begun(scheduled("custom", "A", ready), V1, LATER)
    assert conditions(status)["Ready"] == ("True", "ResourcesReady", 7)
    assert conditions(status)["Reconciling"] == ("True", "PlanInProgress", 7)


def test_all_conditions_speak_of_the_generation_that_was_judged() -> None:
    found = scheduled("deploy", "A")
    older = with_conditions(found, InstanceStatus(), Situation(("ResourcesReady", "")), NOW)
    newer = found.model_copy(
        update={"metadata": found.metadata.model_copy(update={"generation": 8})}
    )
    status = with_conditions(newer, older, Situation(("ResourcesReady", "")), LATER)
    assert {c.observed_generation for c in status.conditions or ()} == {8}
    assert {c.last_transition_time for c in status.conditions or ()} == {NOW}
    assert status.observed_generation == 8


# The end


def ended(plan: str = "deploy", uid: str = "A", *outcomes: ExecutionStatus) -> InstanceStatus:
    return progressed(begun(scheduled(plan, uid), V1, NOW), plan, *outcomes)


def test_an_instance_whose_last_run_succeeded_is_as_its_resources_are() -> None:
    status = ended("deploy", "A", S.COMPLETE, S.COMPLETE)
    assert settled(status, ()).ready == ("ResourcesReady", "")
    found = settled(status, ("Deployment a: 0 of 1", "Job b"))
    assert found.ready == ("ResourceNotReady", "Deployment a: 0 of 1, Job b")
    assert found.running is None


def test_an_instance_that_never_ran_is_as_its_resources_are() -> None:
    assert settled(InstanceStatus(), ()).ready == ("ResourcesReady", "")


def test_a_failed_last_run_comes_before_the_resources(subtests: pytest.Subtests) -> None:
    for unready in [(), ("Deployment a",)]:
        with subtests.test(unready=unready):
            status = ended("deploy", "A", S.COMPLETE, S.FATAL_ERROR)
            assert settled(status, unready).ready == ("PlanInFatalError", "because")
            stalled = find(
                with_conditions(scheduled("", ""), status, settled(status, unready), NOW).conditions
                or (),
                "Stalled",
            )
            assert stalled is not None
            assert (stalled.status, stalled.message) == ("True", "because")


def test_a_failed_run_before_the_last_one_is_past() -> None:
    status = begun(scheduled("custom", "B", ended("deploy", "A", S.FATAL_ERROR)), V1, LATER)
    done = progressed(status, "custom", S.COMPLETE)
    assert failed_last_run(done) is None
    assert settled(done, ()).ready == ("ResourcesReady", "")


def test_a_failed_entry_of_another_uid_than_the_last_is_past() -> None:
    status = ended("deploy", "A", S.FATAL_ERROR)
    assert status.last_run is not None
    other = status.model_copy(update={"last_run": status.last_run.model_copy(update={"uid": "B"})})
    assert failed_last_run(status) is not None
    assert failed_last_run(other) is None
    assert failed_last_run(status.model_copy(update={"last_run": None})) is None


def test_an_instance_that_is_deleted_is_not_ready_and_a_failed_cleanup_says_why() -> None:
    deployed = ended("deploy", "A", S.COMPLETE, S.FATAL_ERROR)
    cleaned = ended("cleanup", "A", S.COMPLETE)
    gone = ("InstanceDeleting", "the Instance is being deleted")
    for status in (InstanceStatus(), deployed, cleaned):
        assert leaving(status).ready == gone
        assert leaving(status).stalled is None
    failed = ended("cleanup", "A", S.FATAL_ERROR)
    assert leaving(failed).ready == ("PlanInFatalError", "because")


def test_the_message_of_a_plan_comes_before_those_of_its_steps() -> None:
    entry = (ended("deploy", "A", S.FATAL_ERROR).plan_status or {})["deploy"]
    assert failure_text(entry) == "because"
    assert failure_text(fail(entry, "cancelled by ann", NOW)) == "plan deploy: cancelled by ann"


def test_a_failure_without_any_message_still_names_the_plan() -> None:
    entry = (begun(scheduled("deploy", "A"), V1, NOW).plan_status or {})["deploy"]
    bare = entry.model_copy(update={"status": "FATAL_ERROR"})
    assert failure_text(bare) == "plan deploy ended with FATAL_ERROR"


def test_the_first_failed_step_that_says_why_explains_the_failure() -> None:
    plan = V1.plans["deploy"]
    entry = (begun(scheduled("deploy", "A"), V1, NOW).plan_status or {})["deploy"]
    refs = [runnable(plan, entry)[0]]
    entry = record(entry, {refs[0]: StepOutcome(S.FATAL_ERROR)}, NOW)
    assert failure_text(entry) == "plan deploy ended with FATAL_ERROR"


# Size


@pytest.mark.parametrize("outcome", [S.COMPLETE, S.IN_PROGRESS, S.ERROR])
def test_the_status_of_a_plan_with_twenty_steps_is_small(outcome: ExecutionStatus) -> None:
    names = tuple(f"step-{number:02}-of-the-plan" for number in range(20))
    parallel = version({"deploy": names, "update": names[:2], "cleanup": names[:2]})
    found = {**V1.to_wire(), **parallel.to_wire()}
    found["spec"]["plans"]["deploy"]["phases"][0]["strategy"] = "parallel"
    big = OperatorVersion.from_wire(found)
    status = begun(scheduled("deploy", "0d5b5f5e-2c3c-4d3a-9b43-b9b1d7a4b1f7"), big, NOW)
    entry = (status.plan_status or {})["deploy"]
    steps = runnable(big.plans["deploy"], entry)
    assert len(steps) == 20
    text = "Deployment ns/web: 1 of 3 replicas are available, waiting for 2 more of them to start"
    message = None if outcome is S.COMPLETE else text
    outcomes = {
        ref: StepOutcome(outcome, message, (TaskOutcome(ref.step, outcome, message),))
        for ref in steps
    }
    status = with_entry(status, record(entry, outcomes, LATER))
    assert len(json.dumps(status.to_wire(), separators=(",", ":"))) < 10_000
