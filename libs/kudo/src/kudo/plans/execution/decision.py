"""Decides which steps of a run to start, which attempts to end, and when to requeue.

A step runs in *attempts*: each goes through the tasks in order, sends what was not sent, and checks
the health of the objects. Every step has its own attempts and its own backoff, so that a failing or
slow step does not delay others.

    start ──> in flight ──> COMPLETE | FATAL_ERROR        never attempted again
                  ├──> ERROR, crash ── backoff ──> start
                  ├──> IN_PROGRESS, watched ── next reconcile ──> start
                  ├──> IN_PROGRESS, polled ── 1 s to 30 s ──> start
                  └──> IN_PROGRESS, looks again ── next reconcile, or when it says ──> start

`when` of a phase is decided on when its first step could start, `when` of a step when its own turn
comes. What has begun is decided: a process that takes over must not leave it out.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from itertools import chain
from typing import Any, Final, Literal, NamedTuple

from kudo.api import ExecutionStatus, Instance, Plan, PlanStatus, Task
from kudo.api.task_kinds import kind_of
from kudo.plans.execution.entries import (
    StepRef,
    phases_of,
    runnable,
    status_of,
    step_of,
    step_status,
    steps_of,
)

S = ExecutionStatus
# The backoff doubles with each failure in a row. The cap bounds how long a step stays in ERROR once
# its cause has gone.
_RETRY_SECONDS: Final = 0.25
_RETRY_CAP: Final = 60.0
# Each poll reads what is not watched from the API server, for each waiting step of each Instance.
_POLL_SECONDS: Final = 1.0
_POLL_CAP: Final = 30.0
_MAX_DOUBLINGS: Final = 16
"""Bounds the exponent alone: both caps are reached before."""


class Intent(Enum):
    """What a run is to do.

    Attributes:
        RUN: It goes on.
        PAUSE: Its Instance is suspended: steps that were begun are looked at, no other one is
            started.
        STOP: This process ends: attempts in flight end by themselves, none is started.
        CANCEL: It ends by request.
        DELETE: It ends since its Instance is being deleted, or is gone.
    """

    RUN = "run"
    PAUSE = "pause"
    STOP = "stop"
    CANCEL = "cancel"
    DELETE = "delete"

    @property
    def ends(self) -> bool:
        """Whether attempts in flight are to be ended."""
        return self in {Intent.CANCEL, Intent.DELETE}


@dataclass(frozen=True, slots=True)
class StepState:
    """State of the attempts of a step, besides its status.

    Kept in memory alone: after a restart the step is attempted at once, which changes no object
    that is in its desired state.

    Attributes:
        in_flight: Whether an attempt is going on.
        failures: Attempts that failed, in a row.
        polls: Attempts that found the step waiting for something that is not watched, in a row.
        due: Monotonic seconds before which it is not attempted; None for any time.
        look_at: Monotonic seconds at which it is attempted even if no event has come; None if it
            waits for one. An event may come before.
    """

    in_flight: bool = False
    failures: int = 0
    polls: int = 0
    due: float | None = None
    look_at: float | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do now.

    Attributes:
        start: Steps to attempt, in the order of the plan.
        end: Steps whose attempt is to be ended.
        look_again: Seconds until the next attempt is due; None if none is scheduled.
    """

    start: tuple[StepRef, ...] = ()
    end: tuple[StepRef, ...] = ()
    look_again: float | None = None


def decide(
    plan: Plan | None,
    entry: PlanStatus | None,
    intent: Intent,
    states: Mapping[StepRef, StepState],
    now: float,
    *,
    attempted: Collection[StepRef] = (),
) -> Decision:
    """Decide what happens next in a run.

    Args:
        plan: The plan; its strategies are known ones. None if there is none to go on with.
        entry: Its status entry, with the phases and steps of the plan.
        intent: What is wanted of the run.
        states: What is known of the steps that were attempted.
        now: Monotonic seconds.
        attempted: Steps that this reconcile has attempted: what they wait for is known.
    """
    in_flight = tuple(sorted(ref for ref, state in states.items() if state.in_flight))
    if intent.ends or plan is None or entry is None or status_of(entry).terminal:
        return Decision(end=in_flight)
    # A step may no longer run if it was removed from the plan, or a new step precedes it.
    ready = runnable(plan, entry)
    may_run = frozenset(ready)
    end = tuple(ref for ref in in_flight if ref not in may_run)
    if intent is Intent.STOP:
        # Attempts in flight are not cut off: a request that was sent may be applied, and its answer
        # has to be recorded. The process that takes over attempts the step again.
        return Decision(end=end)
    start: list[StepRef] = []
    waits: list[float] = []
    for ref in ready:
        state = states.get(ref)
        if intent is Intent.PAUSE and state is None and not step_status(entry, ref).tasks:
            # Not begun, neither by this process nor, as the entry says, by one before it.
            continue
        if state is not None and state.in_flight:
            continue
        if state is not None and state.due is not None and state.due > now:
            waits.append(state.due - now)
        elif ref not in attempted:
            # The attempt of this reconcile has told what it waits for.
            start.append(ref)
        elif state is not None and state.look_at is not None:
            waits.append(max(0.0, state.look_at - now))
    return Decision(tuple(start), end, min(waits, default=None))


def after_attempt(
    state: StepState, status: ExecutionStatus, now: float, *, polled: bool, jitter: float
) -> StepState:
    """Return the state of a step after an attempt that ended.

    Args:
        state: The state before.
        status: Result of the attempt; ERROR backs off, up to a minute.
        now: Monotonic seconds.
        polled: Whether something that it waits for is not watched: it is looked at after 1 s, then
            after twice as long each time, up to 30 s.
        jitter: From 0 to 1; spreads the upper half of the backoff.
    """
    if status is S.ERROR:
        return _backed_off(state, now, jitter)
    if status is S.IN_PROGRESS and polled:
        seconds = min(_POLL_CAP, _POLL_SECONDS * (1 << min(state.polls, _MAX_DOUBLINGS)))
        return StepState(polls=state.polls + 1, due=now + seconds)
    return StepState()


def with_look(state: StepState, now: float, seconds: float | None) -> StepState:
    """Return a state whose step is attempted after some seconds at the latest; None for any time.

    What the state had of that before is of an attempt that was due then.
    """
    return replace(state, look_at=None if seconds is None else now + seconds)


def after_interruption(state: StepState, now: float, *, jitter: float) -> StepState:
    """Return the state of a step whose attempt ended because of an internal error: it backs off."""
    return _backed_off(state, now, jitter)


def _backed_off(state: StepState, now: float, jitter: float) -> StepState:
    # At least half the ceiling: below the cap, no backoff is shorter than the one before.
    ceiling = min(_RETRY_CAP, _RETRY_SECONDS * (1 << min(state.failures, _MAX_DOUBLINGS)))
    return StepState(failures=state.failures + 1, due=now + ceiling * (1 + jitter) / 2)


_LABELS: Final = re.compile(r"\blabels\b")


class Condition(NamedTuple):
    """A condition.

    Attributes:
        part: What it decides about.
        expression: In CEL.
    """

    part: Literal["step", "phase"]
    expression: str


def conditions(plan: Plan, ref: StepRef) -> Iterator[Condition]:
    """Yield the conditions of a step: that of its phase first."""
    phase, step = phases_of(plan)[ref.phase_index], step_of(plan, ref)
    if phase.when:
        yield Condition("phase", phase.when)
    if step.when:
        yield Condition("step", step.when)


def has_conditions(plan: Plan, ref: StepRef) -> bool:
    """Return whether it is not known before its turn whether a step runs."""
    return any(True for _ in conditions(plan, ref))


def undecided(plan: Plan, entry: PlanStatus, ref: StepRef) -> tuple[Condition, ...]:
    """Return the conditions that decide whether a step runs; none if it has begun.

    Args:
        plan: The plan.
        entry: The status entry of the run.
        ref: The step.
    """
    # A status alone does not tell: a step of which no condition could be evaluated has one.
    if step_status(entry, ref).tasks:
        return ()
    steps = (entry.phases or ())[ref.phase_index].steps or ()
    phase_began = any(step.tasks for step in steps)
    return tuple(
        condition
        for condition in conditions(plan, ref)
        if condition.part == "step" or not phase_began
    )


def uses_labels(plan: Plan, tasks: Mapping[str, Task]) -> bool:
    """Return whether an expression of a plan, or of its tasks, may use labels of the Instance."""
    of_plan = (
        condition.expression for ref in steps_of(plan) for condition in conditions(plan, ref)
    )
    names = {name for ref in steps_of(plan) for name in step_of(plan, ref).tasks}
    of_tasks = (
        expression.text
        for name in names & tasks.keys()
        for expression in kind_of(tasks[name]).expressions(tasks[name])
    )
    return any(map(_LABELS.search, chain(of_plan, of_tasks)))


def instance_value(instance: Instance) -> dict[str, Any]:
    """Return what conditions see of an Instance; its labels are those that its run began with."""
    last, metadata = instance.status.last_run, instance.metadata
    as_begun = last is not None and last.uid == instance.scheduled.uid and last.labels is not None
    labels = last.labels if last is not None and as_begun else metadata.labels
    return {
        "name": metadata.name,
        "namespace": metadata.namespace,
        "labels": dict(labels or {}),
    }
