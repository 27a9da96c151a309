"""Pauses of Instances: `spec.suspend`, and what a status says of it.

`status.suspendedAt` is since when the reconciler knows of the pause. When the pause ends, its
length is added to what it held up, so that time limits can leave it out.
"""

from datetime import timedelta
from typing import Final, TypeVar

from kudo.api import (
    ExecutionStatus,
    Instance,
    InstanceStatus,
    PhaseStatus,
    PlanStatus,
    StepStatus,
    TaskStatus,
)
from kudo.api.times import moment, rfc3339
from kudo.plans.execution import status_of

RESUMED: Final = "Resumed"
"""Reason of the event of the end of a pause; that of its beginning is `conditions.SUSPENDED`."""

_ENDED: Final = frozenset({ExecutionStatus.COMPLETE.value, ExecutionStatus.FATAL_ERROR.value})
_Timed = TypeVar("_Timed", PhaseStatus, StepStatus, TaskStatus)


def is_recorded(instance: Instance, status: InstanceStatus) -> bool:
    """Whether a status says of the pause what its Instance asks for."""
    return instance.suspended == (status.suspended_at is not None)


def with_suspension(instance: Instance, status: InstanceStatus, now: str) -> InstanceStatus:
    """Return the status with the pause that its Instance asks for, or with its end."""
    if is_recorded(instance, status):
        return status
    if instance.suspended:
        return status.model_copy(update={"suspended_at": now})
    began, ended = moment(status.suspended_at), moment(now)
    seconds = 0
    if began is not None and ended is not None:
        # Rounded up: both times were cut to a second, and a limit must not pass early.
        seconds = max(0, int((ended - began).total_seconds())) + 1
    entries = {
        name: resumed(entry, seconds) if status_of(entry).running else entry
        for name, entry in (status.plan_status or {}).items()
    }
    return status.model_copy(update={"suspended_at": None, "plan_status": entries or None})


def resumed(entry: PlanStatus, seconds: int) -> PlanStatus:
    """Return the entry of a run after a pause of so many seconds."""
    phases = []
    for phase in entry.phases or ():
        steps = tuple(_resumed_step(step, seconds) for step in phase.steps or ())
        phases.append(_later(phase.model_copy(update={"steps": steps}), seconds))
    suspended = (entry.suspended_seconds or 0) + seconds
    return entry.model_copy(update={"phases": tuple(phases), "suspended_seconds": suspended})


def _resumed_step(step: StepStatus, seconds: int) -> StepStatus:
    if not step.tasks:
        return _later(step, seconds)
    tasks = []
    for task in step.tasks:
        progressed_at = moment(task.progressed_at)
        if progressed_at is not None and task.status not in _ENDED:
            # A progressDeadline counts from this time and has no seconds to leave out, so the time
            # itself moves.
            later = rfc3339(progressed_at + timedelta(seconds=seconds))
            task = task.model_copy(update={"progressed_at": later})
        tasks.append(_later(task, seconds))
    return _later(step.model_copy(update={"tasks": tuple(tasks)}), seconds)


def _later(part: _Timed, seconds: int) -> _Timed:
    """Add a pause to what had begun and not ended."""
    if part.started_at is None or part.status in _ENDED:
        return part
    return part.model_copy(update={"suspended_seconds": (part.suspended_seconds or 0) + seconds})
