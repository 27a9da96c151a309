"""Which time limit of a run passes next, and how a run ends whose limit has passed.

Times are those of the status, which has whole seconds: something that began at 06:40:00 may have
begun almost a second later. So a limit passes one second after its time is over, and never early.
Paused time is left out. Nothing is kept in memory, so a restart changes no limit.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from kudo.api import ExecutionStatus, Plan, PlanStatus, StepStatus, TaskStatus
from kudo.api.problems import shown, shown_name
from kudo.api.times import moment
from kudo.plans.execution.entries import StepRef, fail, phases_of, record, status_of, step_of
from kudo.plans.execution.limits import DEFAULT_FIELD, Limit, LimitKey, LimitKind, Limits

S = ExecutionStatus
_ENDED: Final = frozenset({S.COMPLETE.value, S.FATAL_ERROR.value})
_ROUNDING_SECONDS: Final = 1.0
_WAITS: Final = 3
_WAIT: Final = 300
"""Characters of what one task waits for. With those of names, a message has less than 2000."""


@dataclass(frozen=True, slots=True)
class Passing:
    """A limit that passes if nothing is done before.

    Attributes:
        kind: What it is a limit of.
        limit: The limit.
        seconds_left: Until it passes; it has passed if this is zero or negative.
        path: Plan, phase and step by name, as far as it is of one: `deploy.main.db`.
        position: Indexes of the phase, step and task in the entry, as far as it is of one.
        task: Name of the task; empty if it is of none.
    """

    kind: LimitKind
    limit: Limit
    seconds_left: float
    path: str
    position: tuple[int, ...] = ()
    task: str = ""

    @property
    def passed(self) -> bool:
        return self.seconds_left <= 0


@dataclass(frozen=True, slots=True)
class _Begun:
    """Something that has begun, as far as the entry says so, and has not ended."""

    key: LimitKey
    since: str | None
    paused: int | None
    path: str
    position: tuple[int, ...] = ()
    task: str = ""


def next_limit(
    plan: Plan, entry: PlanStatus, limits: Limits, now: datetime, *, suspended_at: str | None
) -> Passing | None:
    """Return the limit that passes first; None if none counts, or the Instance is suspended.

    If several pass at the same time, the outer one decides: plan, phase, step, task, progress.

    Args:
        plan: The plan.
        entry: Its status entry. A time in it that is unreadable counts as absent.
        limits: The limits of the plan.
        now: The time of the API server, with a time zone.
        suspended_at: `status.suspendedAt`.
    """
    if not limits or suspended_at or status_of(entry).terminal:
        return None
    counting: list[Passing] = []
    for begun in _begun(plan, entry):
        limit, since = limits.get(begun.key), moment(begun.since)
        if limit is not None and since is not None:
            elapsed = (now - since).total_seconds() - max(0, begun.paused or 0)
            left = limit.seconds + _ROUNDING_SECONDS - elapsed
            kind = begun.key[0]
            counting.append(Passing(kind, limit, left, begun.path, begun.position, begun.task))
    # Of equals, `min` takes the first, and outer things come first.
    return min(counting, key=lambda passing: passing.seconds_left, default=None)


def _begun(plan: Plan, entry: PlanStatus) -> Iterator[_Begun]:
    """Yield what a limit may be of, outer things before those in them."""
    name = shown_name(entry.name)
    yield _Begun((LimitKind.PLAN,), entry.started_at, entry.suspended_seconds, name)
    # An entry may have more phases than the plan, if its version was edited: they do not count.
    for index, (_, phase) in enumerate(zip(phases_of(plan), entry.phases or (), strict=False)):
        if phase.status in _ENDED:
            continue
        path = f"{name}.{shown_name(phase.name)}"
        key: LimitKey = (LimitKind.PHASE, index)
        yield _Begun(key, phase.started_at, phase.suspended_seconds, path, (index,))
    for ref, step in _open_steps(plan, entry):
        at = ref.phase_index, ref.step_index
        key = LimitKind.STEP, *at
        yield _Begun(key, step.started_at, step.suspended_seconds, _path(entry, ref), at)
    for ref, step in _open_steps(plan, entry):
        path = _path(entry, ref)
        for index, task in _open_tasks(plan, ref, step):
            position = ref.phase_index, ref.step_index, index
            key = LimitKind.TASK, task.name
            yield _Begun(key, task.started_at, task.suspended_seconds, path, position, task.name)
            key = LimitKind.PROGRESS, task.name
            # The end of a pause moves progressedAt; it does not move startedAt.
            since, paused = task.progressed_at, 0
            if moment(since) is None:
                since, paused = task.started_at, task.suspended_seconds or 0
            yield _Begun(key, since, paused, path, position, task.name)


def _open_steps(plan: Plan, entry: PlanStatus) -> Iterator[tuple[StepRef, StepStatus]]:
    phases = zip(phases_of(plan), entry.phases or (), strict=False)
    for phase_index, (phase, phase_status) in enumerate(phases):
        steps = zip(phase.steps, phase_status.steps or (), strict=False)
        for step_index, (step, status) in enumerate(steps):
            if status.status not in _ENDED:
                yield StepRef(phase_index, step_index, phase.name, step.name), status


def _open_tasks(plan: Plan, ref: StepRef, step: StepStatus) -> Iterator[tuple[int, TaskStatus]]:
    """Yield the tasks that have begun, by their index in the entry.

    A task that the step does not name any more, since its version was edited, does not count.
    """
    named = step_of(plan, ref).tasks
    for index, task in enumerate(step.tasks or ()):
        if task.started_at and task.status not in _ENDED and task.name in named:
            yield index, task


def _path(entry: PlanStatus, ref: StepRef) -> str:
    return ".".join(map(shown_name, (entry.name, ref.phase, ref.step)))


# The end of a run


def time_out(plan: Plan, entry: PlanStatus, passing: Passing, now: str) -> tuple[PlanStatus, str]:
    """End a run because a limit has passed.

    The task or step whose limit it was gets FATAL_ERROR and the message. For a phase or the plan,
    the message stands at the plan, and steps stay as they are.

    Args:
        plan: The plan.
        entry: The entry in which the limit was found.
        passing: The limit.
        now: The time of the end (RFC 3339).

    Returns:
        The entry of the ended run, and the message: which limit, and what it waited for.
    """
    message = _message(plan, entry, passing)
    if passing.kind is LimitKind.PLAN:
        return fail(entry, message, now), message
    phases = list(entry.phases or ())
    phase_index, *inner = passing.position
    if passing.kind is LimitKind.PHASE:
        phases[phase_index] = phases[phase_index].model_copy(update={"status": S.FATAL_ERROR})
        return fail(entry.model_copy(update={"phases": tuple(phases)}), message, now), message
    step_index, *of_task = inner
    steps = list(phases[phase_index].steps or ())
    failed: dict[str, object] = {"status": S.FATAL_ERROR, "message": message}
    step_update = dict(failed)
    if of_task:
        tasks = list(steps[step_index].tasks or ())
        # No further attempt comes.
        ended = {"finished_at": now, "failures": None, "next_attempt_at": None}
        tasks[of_task[0]] = tasks[of_task[0]].model_copy(update=failed | ended)
        step_update["tasks"] = tuple(tasks)
    steps[step_index] = steps[step_index].model_copy(update=step_update)
    phases[phase_index] = phases[phase_index].model_copy(update={"steps": tuple(steps)})
    # What follows for the phase and the plan is rolled up as after an attempt.
    return record(entry.model_copy(update={"phases": tuple(phases)}), {}, now), message


def _message(plan: Plan, entry: PlanStatus, passing: Passing) -> str:
    passed = _what_passed(passing)
    if passing.task:
        phase, step, index = passing.position
        task = ((entry.phases or ())[phase].steps or ())[step].tasks or ()
        message = shown(task[index].message or "", _WAIT)
        return f"{passed}: {message}" if message else passed
    waits = [*_waits(plan, entry, passing)]
    more = [f"and {len(waits) - _WAITS} more"] if len(waits) > _WAITS else []
    return f"{passed}: waiting for {'; '.join(waits[:_WAITS] + more)}" if waits else passed


def _what_passed(passing: Passing) -> str:
    path, text, task = passing.path, passing.limit.text, shown_name(passing.task)
    match passing.kind:
        case LimitKind.TASK:
            return f"{path}: task {task} was not done within its timeout of {text}"
        case LimitKind.PROGRESS:
            changed = f"nothing that task {task} waits for has changed for {text}"
            return f"{path}: {changed} (progressDeadline)"
    default = f" ({DEFAULT_FIELD})" if passing.limit.field == DEFAULT_FIELD else ""
    return f"{passing.kind} {path} took longer than its timeout of {text}{default}"


def _waits(plan: Plan, entry: PlanStatus, passing: Passing) -> Iterator[str]:
    """Yield what the tasks that had begun waited for, within what the limit is of."""
    within = passing.position
    for ref, step in _open_steps(plan, entry):
        if (ref.phase_index, ref.step_index)[: len(within)] != within:
            continue
        begun = [(task.name, task.message) for _, task in _open_tasks(plan, ref, step)]
        if not begun and step.message:
            begun = [("", step.message)]  # no task has begun yet: the step itself tells
        for task_name, message in begun:
            # Named by what the limit does not say already: its own plan, phase or step.
            name = f"step {shown_name(ref.step)}"
            if passing.kind is LimitKind.PLAN:
                name = f"step {shown_name(ref.phase)}.{shown_name(ref.step)}"
            elif passing.kind is LimitKind.STEP and task_name:
                name = f"task {shown_name(task_name)}"
            text = shown(message or "", _WAIT)
            yield f"{name}: {text}" if text else name
