"""How long runs and steps took, from what their status says."""

from datetime import UTC, datetime, timedelta

import pytest

from kudo.api import PhaseStatus, PlanStatus, StepStatus, TaskStatus
from kudo.plans.execution import StepRef
from kudo_reconciler.metrics.instances import StepTimes, moment, run_seconds

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
FIRST = StepRef(0, 0, "phase", "step")


def entry(*started: str | None) -> PlanStatus:
    """Return an entry of one step whose tasks began at these times."""
    tasks = tuple(TaskStatus(name=f"t{n}", started_at=at) for n, at in enumerate(started))
    step = StepStatus(name="step", tasks=tasks or None)
    return PlanStatus(name="deploy", phases=(PhaseStatus(name="phase", steps=(step,)),))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-01T12:00:00Z", NOON),
        ("2026-01-01T13:00:00+01:00", NOON),
        ("2026-01-01T12:00:00", NOON),
        ("noon", None),
        ("", None),
        (None, None),
    ],
)
def test_a_time_is_read_or_there_is_none(text: str | None, expected: datetime | None) -> None:
    assert moment(text) == expected


@pytest.mark.parametrize(
    ("started", "finished", "seconds"),
    [
        ("2026-01-01T12:00:00Z", "2026-01-01T12:01:30Z", 90.0),
        ("2026-01-01T12:00:00Z", "2026-01-01T12:00:00Z", 0.0),
        ("2026-01-01T12:00:01Z", "2026-01-01T12:00:00Z", 0.0),
        (None, "2026-01-01T12:00:00Z", None),
        ("2026-01-01T12:00:00Z", None, None),
        ("once upon a time", "2026-01-01T12:00:00Z", None),
    ],
)
def test_a_run_took_what_its_entry_says(
    started: str | None, finished: str | None, seconds: float | None
) -> None:
    assert run_seconds(PlanStatus(started_at=started, finished_at=finished)) == seconds


def test_a_step_takes_from_its_first_pass_to_its_end() -> None:
    times = StepTimes()
    times.begin(FIRST, entry(), NOON)
    times.begin(FIRST, entry(), NOON + timedelta(seconds=5))
    assert times.end(FIRST, NOON + timedelta(seconds=7.5)) == 7.5


def test_a_step_that_another_process_began_takes_from_then() -> None:
    times = StepTimes()
    known = entry("2026-01-01T11:00:30Z", "2026-01-01T11:00:00Z", None, "never")
    times.begin(FIRST, known, NOON)
    assert times.end(FIRST, NOON) == 3600


def test_a_step_ends_once_although_its_end_had_to_be_stored_again() -> None:
    times = StepTimes()
    times.begin(FIRST, entry(), NOON)
    assert times.end(FIRST, NOON) == 0
    times.begin(FIRST, entry(), NOON)
    assert times.end(FIRST, NOON) is None


def test_a_clock_that_was_set_back_makes_no_negative_duration() -> None:
    times = StepTimes()
    times.begin(FIRST, entry(), NOON)
    assert times.end(FIRST, NOON - timedelta(seconds=1)) == 0
