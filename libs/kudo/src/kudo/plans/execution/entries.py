"""Status entries of plans: which steps may run, and how their outcomes change the entry.

Pure functions: each takes a plan of the OperatorVersion and a status entry, and
returns a new entry. Statuses are those of KUDO 0.19:

    NEVER_RUN -> PENDING -> IN_PROGRESS <-> ERROR -> COMPLETE | FATAL_ERROR

A missing strategy is `serial`. A strategy that is neither `serial` nor `parallel` is an error of
the plan, it is never guessed.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

from kudo.api import (
    ExecutionStatus,
    Phase,
    PhaseStatus,
    Plan,
    PlanStatus,
    Step,
    StepStatus,
    TaskStatus,
)
from kudo.api.problems import abridged
from kudo.plans.execution.limits import NO_LIMITS, Limits

S = ExecutionStatus
_MAX_MESSAGE = 2000
_MAX_APPLIED = 16 << 10
"""Characters of the digests of all tasks of a plan: hundreds of tasks may wait at a time."""


@dataclass(frozen=True, slots=True, order=True)
class StepRef:
    """A step of a plan by its position, since names need not be unique in old packages."""

    phase_index: int
    step_index: int
    phase: str
    step: str

    def __str__(self) -> str:
        return f"{self.phase}.{self.step}"


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """Outcome of one attempt at a task.

    Attributes:
        began: When the attempt began (RFC 3339).
        failures: Attempts that failed in a row, while the task is retried.
        next_attempt_at: When it is tried again after that.
        awaits: Digest of what it waits for; empty if that is not known.
        applied: Digests of the objects that it has applied; empty if they are not known.
        outputs: What it hands on to later steps, if this attempt has read that.
        job_uid: uid of the Job that it has created; empty if there is none.
    """

    name: str
    status: ExecutionStatus
    message: str | None = None
    began: str | None = None
    failures: int | None = None
    next_attempt_at: str | None = None
    awaits: str = ""
    applied: str = ""
    outputs: Mapping[str, str] | None = None
    job_uid: str = ""


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """Outcome of one attempt at a step: its new status, why, and its tasks.

    Attributes:
        skipped: Whose `when` was false, if one was; the message is the expression.
    """

    status: ExecutionStatus
    message: str | None = None
    tasks: tuple[TaskOutcome, ...] = ()
    skipped: Literal["", "step", "phase"] = ""


def phases_of(plan: Plan) -> tuple[Phase, ...]:
    return plan.phases or ()


def step_named(plan: Plan, name: str) -> StepRef | None:
    """Return the first step of a plan that is called so, as `phase.step`."""
    return next((ref for ref in steps_of(plan) if str(ref) == name), None)


def steps_of(plan: Plan) -> Iterator[StepRef]:
    """Yield the steps of a plan, in its order."""
    for phase_index, phase in enumerate(phases_of(plan)):
        for step_index, step in enumerate(phase.steps):
            yield StepRef(phase_index, step_index, phase.name, step.name)


# Entries


def never_run(name: str, plan: Plan) -> PlanStatus:
    """Return the entry of a plan that has not run."""
    return _entry(name, plan, S.NEVER_RUN, uid=None)


def begin(name: str, plan: Plan, uid: str, now: str) -> PlanStatus:
    """Return the entry of a run that starts: everything is PENDING under the new uid."""
    entry = _entry(name, plan, S.PENDING, uid=uid)
    return entry.model_copy(update={"last_updated_timestamp": now, "started_at": now})


def _entry(name: str, plan: Plan, status: ExecutionStatus, uid: str | None) -> PlanStatus:
    return PlanStatus(
        name=name,
        status=status,
        uid=uid,
        phases=tuple(
            PhaseStatus(
                name=phase.name,
                status=status,
                steps=tuple(StepStatus(name=step.name, status=status) for step in phase.steps),
            )
            for phase in phases_of(plan)
        ),
    )


def ensure_entries(
    plans: Mapping[str, Plan], entries: Mapping[str, PlanStatus]
) -> dict[str, PlanStatus]:
    """Return an entry for each plan, with the phases and steps that the version has.

    What is known under the same name is kept, new phases and steps are NEVER_RUN, vanished ones
    are dropped. Entries of plans that the version no longer has stay as the record of their run.
    """
    kept = {name: entry for name, entry in entries.items() if name not in plans}
    ensured = {name: adapt(name, plan, entries.get(name)) for name, plan in plans.items()}
    return {**kept, **ensured}


def adapt(name: str, plan: Plan, entry: PlanStatus | None) -> PlanStatus:
    """Return the entry with the phases and steps of the plan, in its order."""
    if entry is not None and _is_of(plan, entry):
        # Nearly always, and each reconcile asks for every plan.
        return entry
    fresh = never_run(name, plan)
    if entry is None:
        return fresh
    old_phases = _by_occurrence(entry.phases or ())
    phases = []
    for key, phase in _by_occurrence(fresh.phases or ()).items():
        old_phase = old_phases.get(key)
        if old_phase is not None:
            old_steps = _by_occurrence(old_phase.steps or ())
            fresh_steps = _by_occurrence(phase.steps or ())
            steps = tuple(old_steps.get(name, step) for name, step in fresh_steps.items())
            phase = old_phase.model_copy(update={"steps": steps})
        phases.append(phase)
    return entry.model_copy(update={"phases": tuple(phases)})


def _is_of(plan: Plan, entry: PlanStatus) -> bool:
    """Return whether an entry has the phases and steps of a plan, in its order."""
    phases, statuses = phases_of(plan), entry.phases
    if statuses is None or len(phases) != len(statuses):
        return False
    return all(
        phase.name == status.name
        and status.steps is not None
        and [step.name for step in phase.steps] == [step.name for step in status.steps]
        for phase, status in zip(phases, statuses, strict=True)
    )


_Named = TypeVar("_Named", PhaseStatus, StepStatus)


def _by_occurrence(entries: tuple[_Named, ...]) -> dict[tuple[str, int], _Named]:
    """Key entries by name and by how many of that name came before."""
    seen: Counter[str] = Counter()
    keyed: dict[tuple[str, int], _Named] = {}
    for entry in entries:
        keyed[entry.name, seen[entry.name]] = entry
        seen[entry.name] += 1
    return keyed


# Progress


def runnable(plan: Plan, entry: PlanStatus) -> tuple[StepRef, ...]:
    """Return the steps that may run now, in order; empty when nothing is left to do.

    Serial phases and steps wait for the ones before them to be COMPLETE. A run that has ended stays
    ended.
    """
    if status_of(entry).terminal:
        return ()
    ready: list[StepRef] = []
    for phase_index, phase in enumerate(phases_of(plan)):
        statuses = (entry.phases or ())[phase_index].steps or ()
        unfinished = [
            StepRef(phase_index, step_index, phase.name, step.name)
            for step_index, (step, status) in enumerate(zip(phase.steps, statuses, strict=True))
            if status.status != S.COMPLETE
        ]
        ready += unfinished if phase.strategy == "parallel" else unfinished[:1]
        if unfinished and plan.strategy != "parallel":
            break
    return tuple(ready)


def is_single_step(plan: Plan) -> bool:
    """Return whether the plan consists of one step at most."""
    return sum(len(phase.steps) for phase in phases_of(plan)) <= 1


def step_of(plan: Plan, ref: StepRef) -> Step:
    return phases_of(plan)[ref.phase_index].steps[ref.step_index]


def record(
    entry: PlanStatus,
    outcomes: Mapping[StepRef, StepOutcome],
    now: str,
    limits: Limits = NO_LIMITS,
) -> PlanStatus:
    """Return the entry with the outcomes of steps, and what follows for phases and plan.

    The timestamp moves only if something else did. A run that has ended stays as it is.

    Args:
        entry: The entry.
        outcomes: Outcomes of attempts, by step.
        now: RFC 3339.
        limits: The time limits of the run; the times that they count from are recorded for them.
    """
    if status_of(entry).terminal:
        return entry
    tasks = (task for _, step in steps_of_entry(entry) for task in step.tasks or ())
    recorder = _Recorder(
        {(ref.phase_index, ref.step_index): outcome for ref, outcome in outcomes.items()},
        now,
        limits,
        room=_MAX_APPLIED - sum(len(task.applied or "") for task in tasks),
    )
    phases = tuple(recorder.phase(index, phase) for index, phase in enumerate(entry.phases or ()))
    status = _roll_up([phase.status for phase in phases], entry.status, visited=True)
    updated = entry.model_copy(update={"phases": phases, "status": status})
    # With a new timestamp alone, each attempt of a waiting step would be a write of the status.
    return entry if updated == entry else _stamped(updated, now)


def attempted_still(entry: PlanStatus, ref: StepRef, doing: str) -> StepOutcome:
    """Return the outcome, so far, of a step whose attempt goes on.

    Args:
        entry: The status entry.
        ref: The step.
        doing: What it is at; if empty, what is known of it stays.
    """
    step = step_status(entry, ref)
    tasks = known_outcomes(step)
    if doing or step.status not in {S.ERROR, S.IN_PROGRESS}:
        return StepOutcome(S.IN_PROGRESS, doing or None, tasks)
    return StepOutcome(S(step.status), step.message, tasks)


def known_outcomes(step: StepStatus) -> tuple[TaskOutcome, ...]:
    """Return what is known of the tasks of a step, as outcomes that change nothing."""
    return tuple(
        TaskOutcome(
            task.name,
            S(task.status),
            task.message,
            task.started_at,
            task.failures,
            task.next_attempt_at,
            applied=task.applied or "",
            job_uid=task.job_uid or "",
        )
        for task in step.tasks or ()
    )


def step_status(entry: PlanStatus, ref: StepRef) -> StepStatus:
    return ((entry.phases or ())[ref.phase_index].steps or ())[ref.step_index]


def steps_of_entry(entry: PlanStatus) -> Iterator[tuple[StepRef, StepStatus]]:
    """Yield the steps that an entry has, in the order of their plan."""
    for phase_index, phase in enumerate(entry.phases or ()):
        for step_index, step in enumerate(phase.steps or ()):
            yield StepRef(phase_index, step_index, phase.name, step.name), step


def _stamped(entry: PlanStatus, now: str) -> PlanStatus:
    times = {"last_updated_timestamp": now}
    if status_of(entry).terminal:
        times["finished_at"] = now
    return entry.model_copy(update=times)


@dataclass(slots=True)
class _Recorder:
    """Records the outcomes of steps, by their positions.

    Attributes:
        room: Characters that further digests of applied objects may take.
    """

    outcomes: Mapping[tuple[int, int], StepOutcome]
    now: str
    limits: Limits
    room: int

    def phase(self, index: int, phase: PhaseStatus) -> PhaseStatus:
        outcomes = [outcome for (at, _), outcome in self.outcomes.items() if at == index]
        for outcome in outcomes:
            if outcome.skipped == "phase":
                return _skipped_phase(phase, outcome.message)
        visited = bool(outcomes)
        steps = tuple(self._step((index, at), step) for at, step in enumerate(phase.steps or ()))
        started = phase.started_at
        if started is None and visited and self.limits.times_phase(index):
            started = self.now
        return PhaseStatus(
            name=phase.name,
            status=_roll_up([step.status for step in steps], phase.status, visited=visited),
            steps=steps,
            started_at=started,
            suspended_seconds=phase.suspended_seconds,
            message=phase.message if phase.skipped else None,
            skipped=phase.skipped,
        )

    def _step(self, position: tuple[int, int], step: StepStatus) -> StepStatus:
        outcome = self.outcomes.get(position)
        if outcome is None:
            return step
        before = {task.name: task for task in step.tasks or ()}
        tasks = tuple(
            self._task(before.get(task.name) or TaskStatus(name=task.name), task)
            for task in outcome.tasks
        )
        started = step.started_at
        if started is None and self.limits.times_step(*position):
            started = self.now
        return StepStatus(
            name=step.name,
            status=outcome.status,
            message=_shortened(outcome.message),
            tasks=tasks or None,
            started_at=started,
            suspended_seconds=step.suspended_seconds,
            skipped=True if outcome.skipped else None,
            outputs=_with_outputs(step.outputs, outcome.tasks),
        )

    def _task(self, before: TaskStatus, outcome: TaskOutcome) -> TaskStatus:
        status, now = outcome.status, self.now
        progressed_at, progress = before.progressed_at, before.progress
        watched = self.limits.watches_progress(outcome.name)
        if watched and outcome.awaits and outcome.awaits != progress:
            progressed_at, progress = now, outcome.awaits
        updated = TaskStatus(
            name=outcome.name,
            status=status,
            message=_shortened(outcome.message),
            started_at=before.started_at or outcome.began or now,
            finished_at=(before.finished_at or now) if status.terminal else None,
            suspended_seconds=before.suspended_seconds,
            failures=outcome.failures if status is S.ERROR else None,
            next_attempt_at=outcome.next_attempt_at if status is S.ERROR else None,
            progressed_at=None if status.terminal else progressed_at,
            progress=None if status.terminal else progress,
            applied=before.applied,
            job_uid=(outcome.job_uid or None) if not status.terminal else None,
        )
        if updated == before:
            return updated  # the digests alone are not worth a write
        # Digests that do not fit are left out, as if it were not known what the task has applied.
        room = self.room + len(before.applied or "")
        fits = not status.terminal and len(outcome.applied) <= room
        applied = outcome.applied if fits else ""
        self.room = room - len(applied)
        return updated.model_copy(update={"applied": applied or None})


def _with_outputs(
    before: Mapping[str, Mapping[str, str]] | None, tasks: Iterable[TaskOutcome]
) -> Mapping[str, Mapping[str, str]] | None:
    """Return the outputs of a step; those of a task that is done already stay."""
    read = {
        task.name: dict(task.outputs)
        for task in tasks
        if task.outputs is not None and task.status is S.COMPLETE
    }
    return {**(before or {}), **read} if read else before


def _skipped_phase(phase: PhaseStatus, expression: str | None) -> PhaseStatus:
    """Return the entry of a phase of which nothing runs: its steps are skipped with it.

    They are COMPLETE: an older replica, and the asserts of published suites, know no other status
    of what a plan has behind it.
    """
    message = _shortened(expression)
    steps = tuple(
        StepStatus(name=step.name, status=S.COMPLETE, message=message, skipped=True)
        for step in phase.steps or ()
    )
    return PhaseStatus(
        name=phase.name, status=S.COMPLETE, message=message, steps=steps, skipped=True
    )


def _shortened(message: str | None) -> str | None:
    # Servers and templates may produce messages of any length.
    return None if message is None else abridged(message, _MAX_MESSAGE)


def _roll_up(children: list[str], before: str, *, visited: bool) -> str:
    if S.FATAL_ERROR in children:
        return S.FATAL_ERROR
    if all(child == S.COMPLETE for child in children):
        return S.COMPLETE
    # A phase that was complete has a new step, if its version was edited meanwhile.
    return S.IN_PROGRESS if visited or before == S.COMPLETE else before


def fail(entry: PlanStatus, message: str, now: str) -> PlanStatus:
    """End the run with FATAL_ERROR and a message at the plan; its steps stay as they are."""
    ended = entry.model_copy(update={"status": S.FATAL_ERROR, "message": _shortened(message)})
    return _stamped(ended, now)


def finished_tasks(entry: PlanStatus) -> Iterator[tuple[StepRef, str]]:
    """Yield the tasks that the entry records as done: they are not run again under its uid."""
    for ref, step in steps_of_entry(entry):
        for task in step.tasks or ():
            if task.status == S.COMPLETE:
                yield ref, task.name


def status_of(entry: PlanStatus | None) -> ExecutionStatus:
    """Return the status of an entry; one that is missing or unreadable has never run."""
    try:
        return S(entry.status) if entry is not None else S.NEVER_RUN
    except ValueError:
        return S.NEVER_RUN
