"""The clocks of the reconciler: of the API server, of this machine, and of the event loop.

Times in statuses and events are those of the API server, as its `Date` headers tell them when a
term begins, and the seconds of the event loop's monotonic clock since. During a term nothing else
counts: neither a step of this machine's clock nor one of the API server's.

Assumed: the API servers of a cluster agree to within seconds, also from one term to the next; and
the monotonic clock runs. It stands still while the machine sleeps, so the time asleep is missing
until the next term.
"""

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

from kubeio.connection.round_tripper import ServerDate

log = logging.getLogger(__name__)

_NOTICED: Final = timedelta(seconds=5)


class Clock(Protocol):
    def now(self) -> datetime:
        """Return the time in UTC."""


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


class ApiServerClock:
    """The time of the API server; it never goes back from one `anchor` to the next.

    It is up to a second behind, and by as long as the answer took: a `Date` has whole seconds.

    Args:
        last_date: Returns the `Date` of the last answer; None before the first.
        seconds: Returns the seconds of the event loop's clock; also called in other threads.
        system: The clock of this machine; used before the first anchor, and for one if no `Date`
            can be read.
    """

    def __init__(
        self,
        last_date: Callable[[], ServerDate | None],
        seconds: Callable[[], float],
        system: Clock,
    ) -> None:
        self._last_date = last_date
        self._seconds = seconds
        self._system = system
        self._zero: datetime | None = None

    def now(self) -> datetime:
        zero = self._zero
        return self._system.now() if zero is None else zero + timedelta(seconds=self._seconds())

    def anchor(self) -> None:
        """Take the time from the last answer of the API server; called when a term begins."""
        date, system = self._last_date(), self._system.now()
        zero = _zero_of(date)
        if zero is None:
            log.warning(
                "the API server sends no Date that can be read: times are those of this machine",
                extra={"date": "" if date is None else date.text[:40]},
            )
            zero = system - timedelta(seconds=self._seconds())
        self._zero = zero
        difference = system - self.now()
        if abs(difference) > _NOTICED:
            log.info(
                "the clock of this machine differs from the API server's, whose time is used",
                extra={"seconds_ahead": round(difference.total_seconds())},
            )


def _zero_of(date: ServerDate | None) -> datetime | None:
    """Return the server's time when the event loop's clock was at 0."""
    try:
        return None if date is None else date.parse() - timedelta(seconds=date.received_at)
    except (ValueError, OverflowError):
        return None


def loop_seconds() -> float:
    """Return the seconds of the running event loop, which only grow; timers count in them."""
    return asyncio.get_running_loop().time()
