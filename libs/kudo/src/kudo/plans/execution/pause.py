"""Pauses of runs: the time that a time limit does not count."""

from datetime import timedelta
from typing import TypeVar

from kudo.api import ExecutionStatus, PhaseStatus, PlanStatus, StepStatus, TaskStatus
from kudo.api.moments import moment, rfc3339

S = ExecutionStatus
_Timed = TypeVar("_Timed", PhaseStatus, StepStatus, TaskStatus)


def resumed(entry: PlanStatus, seconds: int) -> PlanStatus:
    """Return the entry of a run after a pause of so many seconds."""
    phases = tuple(_resumed_phase(phase, seconds) for phase in entry.phases or ())
    return entry.model_copy(
        update={
            "phases": phases,
            "suspended_seconds": (entry.suspended_seconds or 0) + seconds,
        }
    )


def _resumed_phase(phase: PhaseStatus, seconds: int) -> PhaseStatus:
    steps = tuple(_resumed_step(step, seconds) for step in phase.steps or ())
    return _later(phase.model_copy(update={"steps": steps}), seconds)


def _resumed_step(step: StepStatus, seconds: int) -> StepStatus:
    if not step.tasks:
        return _later(step, seconds)
    tasks = tuple(_later(_progressed_later(task, seconds), seconds) for task in step.tasks)
    return _later(step.model_copy(update={"tasks": tasks}), seconds)


def _progressed_later(task: TaskStatus, seconds: int) -> TaskStatus:
    at = moment(task.progressed_at)
    if at is None or _has_ended(task.status):
        return task
    return task.model_copy(update={"progressed_at": rfc3339(at + timedelta(seconds=seconds))})


def _later(part: _Timed, seconds: int) -> _Timed:
    """Add a pause to what had begun and not ended."""
    if part.started_at is None or _has_ended(part.status):
        return part
    return part.model_copy(update={"suspended_seconds": (part.suspended_seconds or 0) + seconds})


def _has_ended(status: str) -> bool:
    return status in {S.COMPLETE, S.FATAL_ERROR}
