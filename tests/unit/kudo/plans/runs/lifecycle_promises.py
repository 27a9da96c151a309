"""What holds at every write in the life of an Instance, whoever makes it.

Each promise is a function over one write and what was seen before it; it raises AssertionError if
the write breaks it.
"""

from collections.abc import Callable

from kudo.api import ExecutionStatus, PlanStatus
from kudo.api.names import PLAN_CLEANUP, PLAN_DEPLOY, PLAN_UPDATE
from kudo.plans.execution import status_of
from kudo.plans.runs.last_run import ended_cleanup
from kudo.plans.runs.plan_choice import active_run, has_uid_of_another_plan
from kudo.plans.runs.status import running
from tests.unit.kudo.plans.runs import control_promises
from tests.unit.kudo.plans.runs.writes import Write, steps_of

S = ExecutionStatus
_RANK = {S.NEVER_RUN: 0, S.PENDING: 1, S.IN_PROGRESS: 2, S.ERROR: 2}
_TERMINAL = 3


def one_plan_runs_at_a_time(write: Write) -> None:
    entries = running(write.after.plan_status)
    if write.of_status:
        assert len(entries) <= 1, f"several plans run: {sorted(entries)}"


def no_run_is_taken_over_by_another_plan(write: Write) -> None:
    """A running plan stays in force until it ends; only the same plan can begin anew."""
    if write.after.metadata.deleting:
        return
    for plan, entry in running(write.before.plan_status).items():
        last, uid = write.before.status.last_run, entry.uid or ""
        if write.by == "user" and uid and uid == write.before.scheduled.uid:
            named = write.after.scheduled.plan_name
            assert named == plan, f"{named} takes the place of the running {plan}"
        if write.of_status and last is not None and uid == last.uid:
            assert write.after.status.last_run is not None
            named = write.after.status.last_run.plan
            assert named == plan, f"{named} begins while {plan} is running"


def nothing_but_cleanup_is_asked_for_while_deleting(write: Write) -> None:
    """While the Instance is being deleted, users schedule cleanup or clear what is none at work."""
    if write.by != "user" or not write.before.metadata.deleting:
        return
    before, after = (one.scheduled.plan_name or "" for one in (write.before, write.after))
    cleaning = before == PLAN_CLEANUP and active_run(write.before) is not None
    allowed = {before, PLAN_CLEANUP} | (set() if cleaning else {""})
    assert after in allowed, f"{after or 'nothing'} is asked for while deleting"
    version = write.versions[1]
    for name in () if version is None else (p.name for p in version.parameters):
        values = write.before.parameters.get(name), write.after.parameters.get(name)
        assert values[0] == values[1], f"parameter {name} is changed while deleting"


def cleanup_that_has_ended_is_not_scheduled_again(write: Write) -> None:
    """Only a user who names it runs a cleanup a second time.

    Named past admission it may have no uid of its own, and gets one from the reconciler.
    """
    before, after = write.before.scheduled, write.after.scheduled
    if before.plan_name == PLAN_CLEANUP and not before.uid:
        return
    if before.plan_name == PLAN_CLEANUP and has_uid_of_another_plan(write.before):
        return
    if write.by == "reconciler" and ended_cleanup(write.before) is not None and before != after:
        assert after.plan_name != PLAN_CLEANUP, "a cleanup that has ended is scheduled again"


def cleanup_runs_only_while_deleting(write: Write) -> None:
    if write.after.metadata.deleting:
        return
    if write.of_status:
        entry = write.after.plan_status.get(PLAN_CLEANUP) or PlanStatus(name=PLAN_CLEANUP)
        begun = entry.uid and entry.uid not in write.record.begun
        assert not begun, "cleanup begins although nothing is deleted"
        # What the original left behind is ended once the Instance is resumed.
        runs = status_of(entry).running and not write.before.suspended
        assert not runs, "cleanup runs although nothing is deleted"
    before, after = (one.scheduled.plan_name for one in (write.before, write.after))
    if write.by != "nobody" and before != PLAN_CLEANUP:
        assert after != PLAN_CLEANUP, "cleanup is scheduled although nothing is deleted"


def immutable_parameters_stay(write: Write) -> None:
    if write.by == "user" and write.lawful:
        for name in _immutable_in_both(write):
            values = write.before.parameters.get(name), write.after.parameters.get(name)
            assert values[0] == values[1], f"immutable parameter {name} was changed"


def _immutable_in_both(write: Write) -> set[str]:
    sets = [
        {p.name for p in version.parameters if p.immutable} if version else set()
        for version in write.versions
    ]
    return sets[0] & sets[1]


def runs_use_the_immutable_parameters_of_the_runs_before(write: Write) -> None:
    old, new = write.before.status.last_run, write.after.status.last_run
    if not write.of_status or old is None or write.after.metadata.deleting:
        return
    assert new is not None
    if old.operator_version == new.operator_version:
        assert (old.parameters or {}).get("FIXED") == (new.parameters or {}).get("FIXED")


def the_record_of_a_run_stays_what_it_began_with(write: Write) -> None:
    old, new = write.before.status.last_run, write.after.status.last_run
    if write.by != "reconciler" or old is None or new is None or old.uid != new.uid:
        return
    # An account comes to a run that began as the reconciler, once, when the mode is changed.
    may = {"status": old.status}
    if old.service_account_name is None:
        may["service_account_name"] = None
    assert new.model_copy(update=may) == old, f"the record of {old.uid} moved"


def a_value_comes_into_force_with_its_own_plan(write: Write) -> None:
    """Its trigger, else `update`, else `deploy`; besides `deploy`, and the run of an upgrade."""
    old, new, version = write.before.status.last_run, write.after.status.last_run, write.versions[1]
    if not write.lawful or write.by != "reconciler":
        return
    if version is None or old is None or new is None or old.uid == new.uid:
        return
    if old.operator_version != new.operator_version or new.plan == PLAN_DEPLOY:
        return
    fallback = PLAN_UPDATE if PLAN_UPDATE in version.plans else PLAN_DEPLOY
    for one in version.parameters:
        moved = (old.parameters or {}).get(one.name) != (new.parameters or {}).get(one.name)
        own = one.trigger or fallback
        assert not moved or own == new.plan, f"{one.name}, of plan {own}, moves with {new.plan}"


def no_admitted_trigger_is_lost(write: Write) -> None:
    """A run that was admitted begins, unless a user replaces it by the same plan or deletes."""
    uid = write.before.scheduled.uid or ""
    waiting = uid in write.record.admitted - write.record.begun
    if not waiting or write.after.scheduled.uid == uid or write.after.metadata.deleting:
        return
    if write.by == "reconciler":
        assert write.refusing, f"run {uid} is lost"
    elif write.by == "user":
        again = write.after.scheduled.uid in write.record.admitted
        same = write.after.scheduled.plan_name == write.before.scheduled.plan_name
        assert again, f"run {uid} is lost"
        assert same, f"run {uid} is lost"


def an_admitted_run_has_a_uid_of_its_own(write: Write) -> None:
    """Under a uid that is on record, the run would count as ended and never begin."""
    uid = write.after.scheduled.uid
    if write.by != "user" or uid == write.before.scheduled.uid:
        return
    recorded = {entry.uid for entry in write.before.plan_status.values() if entry.uid}
    assert uid not in recorded, f"uid {uid} was used before"


def runs_only_go_forward(write: Write) -> None:
    for entry in write.after.plan_status.values():
        uid, after = entry.uid or "", status_of(entry)
        before = write.record.statuses.get(uid, S.NEVER_RUN)
        if before.terminal:
            assert after is before, f"{uid} was {before} and became {after}"
        assert _rank(after) >= _rank(before), f"{uid} went from {before} back to {after}"


def finished_steps_stay_finished(write: Write) -> None:
    for entry in write.after.plan_status.values():
        layout, complete = steps_of(entry)
        known = write.record.steps.get(entry.uid or "", frozenset())
        forgotten = (known & layout) - complete
        assert not forgotten, f"finished steps of {entry.uid} are forgotten: {sorted(forgotten)}"


def _rank(status: ExecutionStatus) -> int:
    return _RANK.get(status, _TERMINAL)


PROMISES: tuple[Callable[[Write], None], ...] = (
    one_plan_runs_at_a_time,
    no_run_is_taken_over_by_another_plan,
    nothing_but_cleanup_is_asked_for_while_deleting,
    cleanup_runs_only_while_deleting,
    cleanup_that_has_ended_is_not_scheduled_again,
    immutable_parameters_stay,
    runs_use_the_immutable_parameters_of_the_runs_before,
    the_record_of_a_run_stays_what_it_began_with,
    a_value_comes_into_force_with_its_own_plan,
    no_admitted_trigger_is_lost,
    an_admitted_run_has_a_uid_of_its_own,
    runs_only_go_forward,
    finished_steps_stay_finished,
    *control_promises.PROMISES,
)


def assert_kept(write: Write) -> None:
    """Hold a write against every promise, and remember it."""
    for promise in PROMISES:
        promise(write)
    _note_replaced(write)
    write.record.note(write.after)


def _note_replaced(write: Write) -> None:
    uid = write.before.scheduled.uid or ""
    if write.by != "reconciler" and write.after.scheduled.uid != uid:
        write.record.replaced.add(uid)
