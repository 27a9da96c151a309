"""What holds at every write in the life of an Instance, whoever makes it.

Each promise is a function over one write and what was seen before it; it raises AssertionError if
the write breaks it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from kudo.api import ExecutionStatus, Instance, OperatorVersion, PlanStatus
from kudo.execution import status_of
from kudo.names import PLAN_CLEANUP
from kudo.runs.plan_choice import active_run, has_uid_of_another_plan
from kudo.runs.revalidation import ended_cleanup
from kudo.runs.status import running

S = ExecutionStatus
_RANK = {S.NEVER_RUN: 0, S.PENDING: 1, S.IN_PROGRESS: 2, S.ERROR: 2}
_TERMINAL = 3
Step = tuple[str, int, str, int]
"""A phase and a step by name and occurrence."""


@dataclass
class Record:
    """What has been seen of the runs of an Instance, to hold later states against it.

    Attributes:
        admitted: uids of the runs that admission let pass.
        replaced: Those of them that a later request of a user took the place of.
        begun: uids that have had a status.
        statuses: The last status by uid.
        steps: The finished steps by uid.
    """

    admitted: set[str] = field(default_factory=set)
    replaced: set[str] = field(default_factory=set)
    begun: set[str] = field(default_factory=set)
    statuses: dict[str, ExecutionStatus] = field(default_factory=dict)
    steps: dict[str, frozenset[Step]] = field(default_factory=dict)

    @property
    def lost(self) -> set[str]:
        """Runs that were admitted, but neither begun nor replaced."""
        return self.admitted - self.begun - self.replaced

    def note(self, instance: Instance) -> None:
        """Take up a state."""
        for entry in instance.plan_status.values():
            if entry.uid:
                self.begun.add(entry.uid)
                self.statuses[entry.uid] = status_of(entry)
                self.steps[entry.uid] = _steps(entry)[1]


@dataclass(frozen=True)
class Write:
    """One write of an Instance that exists.

    Attributes:
        before: What was stored.
        after: What is stored now.
        by: "reconciler"; "user" for a change that was admitted; "nobody" for what came past
            admission.
        record: What was seen before.
        versions: The OperatorVersions of `before` and `after`; None where there is none.
        refusing: Whether the reconciler puts a refused run back.
        lawful: Whether every change came through admission.
    """

    before: Instance
    after: Instance
    by: str
    record: Record
    versions: tuple[OperatorVersion | None, OperatorVersion | None]
    refusing: bool = False
    lawful: bool = True

    @property
    def of_status(self) -> bool:
        """Whether the reconciler has written a status, and knew the version."""
        written = self.before.status != self.after.status
        return self.by == "reconciler" and written and self.versions[1] is not None


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
        assert not status_of(entry).running, "cleanup runs although nothing is deleted"
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
    assert new.model_copy(update={"status": old.status}) == old, f"the record of {old.uid} moved"


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
        layout, complete = _steps(entry)
        known = write.record.steps.get(entry.uid or "", frozenset())
        forgotten = (known & layout) - complete
        assert not forgotten, f"finished steps of {entry.uid} are forgotten: {sorted(forgotten)}"


def _rank(status: ExecutionStatus) -> int:
    return _RANK.get(status, _TERMINAL)


def _steps(
    entry: PlanStatus,
) -> tuple[frozenset[Step], frozenset[Step]]:
    """Return the steps by name and occurrence, and those of them that are COMPLETE."""
    known: dict[Step, bool] = {}
    phases: dict[str, int] = {}
    for phase in entry.phases or ():
        phases[phase.name] = phases.get(phase.name, 0) + 1
        steps: dict[str, int] = {}
        for step in phase.steps or ():
            steps[step.name] = steps.get(step.name, 0) + 1
            key = (phase.name, phases[phase.name], step.name, steps[step.name])
            known[key] = step.status == S.COMPLETE
    return frozenset(known), frozenset(key for key, complete in known.items() if complete)


PROMISES: tuple[Callable[[Write], None], ...] = (
    one_plan_runs_at_a_time,
    no_run_is_taken_over_by_another_plan,
    nothing_but_cleanup_is_asked_for_while_deleting,
    cleanup_runs_only_while_deleting,
    cleanup_that_has_ended_is_not_scheduled_again,
    immutable_parameters_stay,
    runs_use_the_immutable_parameters_of_the_runs_before,
    the_record_of_a_run_stays_what_it_began_with,
    no_admitted_trigger_is_lost,
    an_admitted_run_has_a_uid_of_its_own,
    runs_only_go_forward,
    finished_steps_stay_finished,
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
