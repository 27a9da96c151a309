"""What pauses, time limits, retries and the history promise at every write of an Instance.

See `lifecycle_promises`, which holds writes against these as well.
"""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Final

from kudo.api import (
    ExecutionStatus,
    Instance,
    OperatorVersion,
    Phase,
    PhaseStatus,
    Plan,
    PlanStatus,
    RunRecord,
    StepStatus,
    TaskStatus,
)
from kudo.api.times import moment, seconds_of
from kudo.plans.execution import phases_of, status_of, steps_of_entry
from kudo.plans.runs.history import DEFAULT_LIMIT
from tests.unit.kudo.plans.runs.writes import Write, steps_of

S = ExecutionStatus
SENT: Final = timedelta(seconds=4)
"""After which everything has arrived that was sent before a pause was known."""
IN_FLIGHT: Final = timedelta(seconds=10)
"""After which its answers have arrived as well, and what they tell is recorded."""
_ROUNDING: Final = timedelta(seconds=1)
HIDDEN: Final = "not-to-be-told"
"""Part of the values of parameters that may stand in no record."""
Part = PlanStatus | PhaseStatus | StepStatus | TaskStatus
"""What a time limit may be of."""

# Pauses


def no_step_starts_during_a_pause(write: Write) -> None:
    """What was sent before may still be recorded, for as long as it takes to arrive."""
    since, now = write.held_up_since, write.now
    if write.by != "reconciler" or since is None or now is None or now - since <= IN_FLIGHT:
        return
    for before, after in _same_runs(write):
        waiting = {ref for ref, step in steps_of_entry(before) if step.status == S.PENDING}
        begun = {ref for ref, step in steps_of_entry(after) if step.status != S.PENDING}
        started = sorted(map(str, waiting & begun))
        assert not started, f"{started} of {after.uid} began during a pause"


def no_run_begins_during_a_pause(write: Write) -> None:
    """Excepted are runs that are ended before they begin, and those that begin by a deletion."""
    if write.by != "reconciler" or not write.before.suspended or not _knew_of_pause(write):
        return
    for before, after in _entries(write):
        if after.uid and after.uid != before.uid:
            assert status_of(after).terminal, f"{after.uid} begins during a pause"


def _knew_of_pause(write: Write) -> bool:
    return write.before.status.suspended_at is not None


def a_status_says_whether_it_is_suspended(write: Write) -> None:
    """Since when is written while the Instance is suspended, and removed while it is not."""
    old, new = write.before.status.suspended_at, write.after.status.suspended_at
    if write.by != "reconciler" or old == new:
        return
    assert old is None or new is None, f"the pause since {old} is one since {new}"
    assert write.before.suspended == (new is not None), f"suspendedAt {new} although it is not so"


def paused_time_is_never_forgotten(write: Write) -> None:
    """The seconds of a pause stay as long as what they belong to has not begun anew."""
    if write.by != "reconciler":
        return
    for before, after in _same_runs(write):
        known = dict(_parts(before))
        for name, part in _parts(after):
            old = known.get(name)
            if old is not None and old.started_at == part.started_at:
                seconds = old.suspended_seconds or 0, part.suspended_seconds or 0
                assert seconds[0] <= seconds[1], f"{name} forgets a pause: {seconds}"


def an_ended_pause_is_counted(write: Write) -> None:
    """The write that ends a pause adds its length to the run that it held up, and no more."""
    since, now = moment(write.before.status.suspended_at), write.now
    ended = write.after.status.suspended_at is None
    if write.by != "reconciler" or not ended or since is None or now is None:
        return
    passed = now - since
    for before, after in _same_runs(write):
        if status_of(before).running:
            counted = (after.suspended_seconds or 0) - (before.suspended_seconds or 0)
            length = timedelta(seconds=counted)
            assert passed - IN_FLIGHT <= length, f"{length} of a pause of {passed} count"
            assert length <= passed + _ROUNDING, f"{length} of a pause of {passed} count"


# Time limits


def no_run_times_out_early(write: Write) -> None:
    """A limit passes when the time since a start has passed, without that of pauses."""
    if write.by != "reconciler":
        return
    for before, after in _same_runs(write):
        ended, now = moment(after.finished_at), write.now
        if status_of(before).terminal or not timed_out(after) or ended is None or now is None:
            continue
        # Its Jobs are deleted between the end and its record, and the pause may begin then.
        paused = moment(write.after.status.suspended_at)
        assert paused is None or ended <= paused, f"{after.uid} timed out in a pause"
        assert ended <= now, f"{after.uid} timed out at {ended}, which is to come"
        default = write.before.spec.plan_timeout
        failed = _failed(after)
        passed = [
            name
            for version in write.known_versions
            for name in passed_limits(after, version, default, ended)
        ]
        assert set(passed) & failed, f"{after.uid} timed out early: {failed} {after}"


def timed_out(entry: PlanStatus) -> bool:
    """Return whether an entry says that a time limit of its run has passed."""
    failed = (step.message for _, step in steps_of_entry(entry) if step.status == S.FATAL_ERROR)
    texts = [entry.message or "", *(text or "" for text in failed)]
    says = ("longer than its timeout of", "within its timeout of", "(progressDeadline)")
    return status_of(entry) is S.FATAL_ERROR and any(one in text for one in says for text in texts)


def _failed(entry: PlanStatus) -> set[str]:
    """Return the innermost parts that failed."""
    names = [name for name, part in _parts(entry) if part.status == S.FATAL_ERROR]
    return {name for name in names if not any(other.startswith(f"{name}/") for other in names)}


def passed_limits(
    entry: PlanStatus, version: OperatorVersion, default: str | None, at: datetime
) -> list[str]:
    """Return the parts of a run, as paths, that are not complete and had passed a limit."""
    limits = dict(_limits(version, entry, default))
    found = []
    for name, part in _parts(entry):
        if part.status != S.COMPLETE:
            paused, since = part.suspended_seconds or 0, moment(part.started_at)
            if name in limits and since is not None:
                lasted = (at - since).total_seconds() - paused
                found += [name] if lasted >= limits[name] else []
            if isinstance(part, TaskStatus):
                found += _without_progress(name, part, limits, at)
    return found


def _without_progress(
    name: str, task: TaskStatus, limits: dict[str, float], at: datetime
) -> list[str]:
    limit, since = limits.get(f"{name}/progress"), moment(task.progressed_at)
    paused = 0
    if since is None:
        # The end of a pause moves the one time, and is counted beside the other.
        since, paused = moment(task.started_at), task.suspended_seconds or 0
    if limit is None or since is None:
        return []
    return [name] if (at - since).total_seconds() - paused >= limit else []


def _limits(
    version: OperatorVersion, entry: PlanStatus, default: str | None
) -> Iterator[tuple[str, float]]:
    """Yield the limits of a plan in seconds, by the path of what they are of."""
    plan, root = version.plans.get(entry.name, Plan()), entry.name
    tasks = {task.name: task for task in reversed(version.spec.tasks or ())}
    yield from _limit(root, plan.timeout or default)
    for at, phase in enumerate(phases_of(plan)):
        path = f"{root}/{at}"
        yield from _limit(path, phase.timeout)
        for step, name in _steps_of_plan(phase):
            yield from _limit(f"{path}/{step}", phase.steps[step].timeout)
            for task in (tasks[one] for one in name if one in tasks):
                yield from _limit(f"{path}/{step}/{task.name}", task.timeout)
                yield from _limit(f"{path}/{step}/{task.name}/progress", task.progress_deadline)


def _steps_of_plan(phase: Phase) -> Iterator[tuple[int, tuple[str, ...]]]:
    return ((at, tuple(step.tasks)) for at, step in enumerate(phase.steps))


def _limit(name: str, text: str | None) -> Iterator[tuple[str, float]]:
    if text:
        yield name, seconds_of(text)


def _parts(entry: PlanStatus) -> Iterator[tuple[str, Part]]:
    """Yield everything that has a status in an entry, by a path that tells it apart."""
    yield entry.name, entry
    for at, phase in enumerate(entry.phases or ()):
        yield f"{entry.name}/{at}", phase
        for number, step in enumerate(phase.steps or ()):
            yield f"{entry.name}/{at}/{number}", step
            for task in step.tasks or ():
                yield f"{entry.name}/{at}/{number}/{task.name}", task


# Retries


def a_retry_keeps_what_was_finished(write: Write) -> None:
    """Its first entry names the failed run, whose finished steps stay finished, and no others.

    With `from`, it has all steps before that one finished, and none of those that follow.
    """
    for before, after in _begun_retries(write):
        assert status_of(before) is S.FATAL_ERROR, f"{after.uid} retries a run that did not fail"
        assert after.retry_of == before.uid, f"{after.uid} is no retry of {before.uid}"
        steps = [(str(ref), step.status == S.COMPLETE) for ref, step in steps_of_entry(after)]
        if len(steps) <= 1:
            # The end of such a plan may be the first that is stored of it.
            continue
        begins_at = write.before.scheduled.from_step
        if begins_at:
            cut = [name for name, _ in steps].index(begins_at)
            expected = [at < cut for at in range(len(steps))]
            assert [done for _, done in steps] == expected, f"it begins at {begins_at}: {steps}"
        else:
            layout, complete = steps_of(after)
            known = steps_of(before)[1] & layout
            assert complete == known, f"{sorted(complete)} are finished instead of {sorted(known)}"


def _begun_retries(write: Write) -> Iterator[tuple[PlanStatus, PlanStatus]]:
    """Yield the entry of the failed run and that of a retry whose first status this is."""
    run = write.before.scheduled
    for before, after in _entries(write):
        asked = run.retry_of and after.uid == run.uid
        if write.of_status and after.uid != before.uid and (asked or after.retry_of):
            yield before, after


def a_run_is_retried_once(write: Write) -> None:
    for _, after in _begun_retries(write):
        known = write.record.retried
        assert after.retry_of not in known, f"{after.retry_of} is retried again by {after.uid}"


# History


def each_run_that_ends_is_recorded_once(write: Write) -> None:
    """Records are made by the write that ends their runs, newest first; none changes after that."""
    if write.by != "reconciler" or write.before.status == write.after.status:
        return
    old, new = (list(one.status.history or ()) for one in (write.before, write.after))
    ended = _ended(write)
    if not ended:
        assert new == old, "the history changes although no run ends"
        return
    limit = write.before.spec.history_limit
    most = DEFAULT_LIMIT if limit is None else limit
    made = [record for record in new if record.uid in ended]
    assert len(new) == min(most, len(old) + len(ended)), (
        f"{ended} ended, and there are {len(new)} records: {new}"
    )
    assert new == [*made, *old[: len(new) - len(made)]], f"records change: {new} {old}"
    assert len(made) == min(most, len(ended)), f"{made} of {ended}"
    _assert_records(write, made)
    times = [record.finished_at or "" for record in new]
    assert times == sorted(times, reverse=True), f"records are not in order: {times}"


def _assert_records(write: Write, made: list[RunRecord]) -> None:
    ended = _ended(write)
    for record in made:
        assert record.uid not in write.record.recorded, f"{record.uid} is recorded again"
        expected = ended[record.uid]
        assert (record.plan, record.status) == expected, f"{record} instead of {expected}"
    uids = [record.uid for record in made]
    assert len({*uids}) == len(uids), f"recorded twice: {uids}"


def _ended(write: Write) -> dict[str, tuple[str, str]]:
    """Return plan and status of the runs that a write ends, by uid."""
    found = {}
    for before, after in _entries(write):
        if before.uid and before.uid != after.uid and status_of(before).running:
            found[before.uid] = before.name, S.FATAL_ERROR.value
        known = before.uid == after.uid and status_of(before).terminal
        if after.uid and status_of(after).terminal and not known:
            found[after.uid] = after.name, after.status
    return found


def no_record_has_a_value(write: Write) -> None:
    """Parameters stand in records by name alone."""
    for record in write.after.status.history or ():
        assert HIDDEN not in str(record.to_wire()), f"a value is told: {record}"


# Entries


def _same_runs(write: Write) -> Iterator[tuple[PlanStatus, PlanStatus]]:
    return ((old, new) for old, new in _entries(write) if old.uid and old.uid == new.uid)


def _entries(write: Write) -> Iterator[tuple[PlanStatus, PlanStatus]]:
    """Yield the entries of each plan before and after a write; one that is missing is empty."""
    both = (write.before.plan_status, write.after.plan_status)
    for name in sorted({*both[0], *both[1]}):
        old, new = (entries.get(name) or PlanStatus(name=name) for entries in both)
        yield old, new


def held_up_instance_says_so(instance: Instance) -> None:
    """Hold the conditions of a suspended Instance against what it waits for, at rest."""
    said = {one.type: (one.status, one.reason) for one in instance.status.conditions or ()}
    if instance.scheduled.plan_name:
        expected = {"Ready": ("False", "Suspended"), "Reconciling": ("True", "Suspended")}
        assert said == expected, f"held up: {said}"
    else:
        assert "Reconciling" not in said, f"suspended and idle: {said}"
        assert said["Ready"][1] != "Suspended", f"suspended and idle: {said}"


PROMISES: tuple[Callable[[Write], None], ...] = (
    no_step_starts_during_a_pause,
    no_run_begins_during_a_pause,
    a_status_says_whether_it_is_suspended,
    paused_time_is_never_forgotten,
    an_ended_pause_is_counted,
    no_run_times_out_early,
    a_retry_keeps_what_was_finished,
    a_run_is_retried_once,
    each_run_that_ends_is_recorded_once,
    no_record_has_a_value,
)
