"""Durations of runs and steps, from the times in their status, so that a restart loses nothing."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from kudo.api import PlanStatus
from kudo.plans.execution import StepRef


def moment(timestamp: str | None) -> datetime | None:
    """Parse an RFC 3339 time; None if there is none, or the value is not a time."""
    try:
        read = datetime.fromisoformat(timestamp or "")
    except ValueError:
        return None
    return read if read.tzinfo is not None else read.replace(tzinfo=UTC)


def run_seconds(entry: PlanStatus) -> float | None:
    """Return the duration of a run in whole seconds; None if its status lacks a time.

    KUDO 0.19 did not record when a run began.
    """
    began, ended = moment(entry.started_at), moment(entry.finished_at)
    if began is None or ended is None:
        return None
    return max(0.0, (ended - began).total_seconds())


@dataclass(slots=True)
class StepTimes:
    """Start times of the steps of one run. Each step ends once, however often it is reconciled."""

    _began: dict[StepRef, datetime] = field(default_factory=dict)
    _ended: set[StepRef] = field(default_factory=set)

    def begin(self, ref: StepRef, entry: PlanStatus, now: datetime) -> None:
        """Record that a step is reconciled; it began now, or at the time in its status."""
        if ref not in self._began:
            self._began[ref] = min(_recorded(entry, ref), default=now)

    def end(self, ref: StepRef, now: datetime) -> float | None:
        """Return the seconds since a step began; None if its end was recorded before."""
        if ref in self._ended:
            return None
        self._ended.add(ref)
        return max(0.0, (now - self._began[ref]).total_seconds())


def _recorded(entry: PlanStatus, ref: StepRef) -> Iterable[datetime]:
    steps = (entry.phases or ())[ref.phase_index].steps or ()
    times = (moment(task.started_at) for task in steps[ref.step_index].tasks or ())
    return (time for time in times if time is not None)
