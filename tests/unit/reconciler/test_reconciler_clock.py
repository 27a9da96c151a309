"""The clock of statuses: the API server's, whatever is done to any clock during a term."""

import logging
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeio.connection.round_tripper import ServerDate
from kudo_reconciler.common.clock import ApiServerClock

START = datetime(2026, 11, 23, 6, 40, tzinfo=UTC)
HOUR = timedelta(hours=1)
LOGGER = "kudo_reconciler.common.clock"


@dataclass
class Machines:
    """A reconciler's machine and that of the API server, whose clocks tests set.

    Attributes:
        passed: Seconds of the event loop's clock, which nobody sets.
        local: By how much the reconciler's clock is ahead of the time.
        server: By how much the API server's is.
        date: The header of the last answer; None before the first.
    """

    passed: float = 500.0
    local: timedelta = timedelta()
    server: timedelta = timedelta()
    date: ServerDate | None = None

    def __post_init__(self) -> None:
        self.clock = ApiServerClock(lambda: self.date, lambda: self.passed, self)

    @property
    def time(self) -> datetime:
        return START + timedelta(seconds=self.passed - 500.0)

    def now(self) -> datetime:
        """Return the time of day of the reconciler's machine."""
        return self.time + self.local

    def answer(self, text: str | None = None) -> None:
        """Have the API server answer something now."""
        date = format_datetime(self.time + self.server, usegmt=True) if text is None else text
        self.date = ServerDate(date, self.passed)


def begun(local: timedelta = timedelta()) -> Machines:
    """Return machines of a term that begins ten seconds after the last answer."""
    machines = Machines(local=local)
    machines.answer()
    machines.passed += 10
    machines.clock.anchor()
    return machines


@pytest.mark.parametrize("ahead", [timedelta(), HOUR, -HOUR])
def test_a_term_has_the_time_of_the_api_server(ahead: timedelta) -> None:
    machines = begun(local=ahead)
    assert machines.clock.now() == machines.time == START + timedelta(seconds=10)


@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_a_step_of_the_local_clock_changes_nothing(step: timedelta) -> None:
    machines = begun()
    machines.local += step
    machines.passed += 60
    machines.answer()
    assert machines.clock.now() == machines.time


@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_a_step_of_the_servers_clock_changes_nothing_during_a_term(step: timedelta) -> None:
    machines = begun()
    machines.server += step
    machines.passed += 60
    machines.answer()
    assert machines.clock.now() == machines.time


@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_the_next_term_has_the_servers_time_of_then(step: timedelta) -> None:
    machines = begun()
    machines.server += step
    machines.answer()
    machines.clock.anchor()
    assert machines.clock.now() == machines.time + step


def test_before_the_first_term_the_time_is_the_machines() -> None:
    machines = Machines(local=HOUR)
    machines.answer()
    assert machines.clock.now() == machines.now()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(None, id="no answer had a Date"),
        pytest.param("soon", id="the Date cannot be read"),
        pytest.param("Mon, 01 Jan 0001 00:00:00 GMT", id="the Date is before all times"),
    ],
)
def test_without_a_date_a_term_has_the_machines_time_at_its_beginning(
    text: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    machines = Machines(local=HOUR)
    if text is not None:
        machines.answer(text)
    with caplog.at_level(logging.INFO, LOGGER):
        machines.clock.anchor()
    assert [one.levelname for one in caplog.records] == ["WARNING"]
    machines.local = -HOUR
    machines.passed += 60
    assert machines.clock.now() == machines.time + HOUR


@pytest.mark.parametrize(
    ("ahead", "told"),
    [(0, []), (5, []), (-5, []), (6, [6]), (-6, [-6]), (3600, [3600])],
)
def test_a_difference_of_more_than_five_seconds_is_logged(
    ahead: float, told: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, LOGGER):
        begun(local=timedelta(seconds=ahead))
    assert [vars(one)["seconds_ahead"] for one in caplog.records] == told


@given(
    st.lists(
        st.tuples(
            st.floats(0, 100_000),
            st.timedeltas(-HOUR, HOUR),
            st.timedeltas(-HOUR, HOUR),
        )
    )
)
def test_a_term_counts_the_seconds_that_pass_and_nothing_else(
    steps: list[tuple[float, timedelta, timedelta]],
) -> None:
    machines = begun()
    began, before = machines.clock.now(), machines.passed
    last = began
    for seconds, local, server in steps:
        machines.passed += seconds
        machines.local, machines.server = local, server
        machines.answer()
        now = machines.clock.now()
        assert now >= last
        assert abs((now - began).total_seconds() - (machines.passed - before)) < 1e-3
        last = now
