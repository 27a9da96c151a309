"""How long a leader may write: the times of a lease, and the deadline of one term.

A term goes on while two things are young: the last renewal, which a thread makes, and the last
heartbeat of the event loop whose writes the term permits. Each counts for ``renew_deadline``
seconds.
"""

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

JITTER = 0.2  # of `retry`: candidates that started together do not stay together
_BEATS = 4  # in each `retry`
# Stands still for nobody: time.monotonic leaves out what a machine slept through.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def elapsed() -> float:
    """Return seconds that pass also while the machine is suspended, where the system has them."""
    return time.clock_gettime(_CLOCK)


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """All in seconds; the same for all candidates, but while they are being replaced.

    Attributes:
        duration: without a renewal for so long, a leader is followed by another candidate.
        renew_deadline: without a renewal for so long, a leader stops; so does one whose event
            loop stands still for so long.
        retry: between two looks at the Lease, and between two renewals.

    Raises:
        ValueError: a leader would not stop before it is followed, or could renew only once.
    """

    duration: float = 15.0
    renew_deadline: float = 10.0
    retry: float = 2.0

    def __post_init__(self) -> None:
        longest_retry = self.retry * (1 + JITTER)
        if not 0 < self.retry < math.inf:
            raise ValueError(f"the retry period ({self.retry:g} s) must be more than 0 s")
        if not self.renew_deadline > longest_retry:
            raise ValueError(
                f"the renew deadline ({self.renew_deadline:g} s) must be more than "
                f"{1 + JITTER:g} times the retry period ({longest_retry:g} s)"
            )
        if not self.renew_deadline < self.duration < math.inf:
            raise ValueError(
                f"the lease duration ({self.duration:g} s) must be more than "
                f"the renew deadline ({self.renew_deadline:g} s)"
            )

    @property
    def call(self) -> float:
        """Return how long one request may take, so that a second one has a chance."""
        return self.renew_deadline / 2

    @property
    def heartbeat(self) -> float:
        """Return the time between two heartbeats of the event loop that leads."""
        return self.retry / _BEATS


class Term:
    """One term of a leader, shared by the loop that writes and the thread that renews.

    Args:
        clock: seconds that only grow.
        limit: seconds for which a renewal, and a heartbeat, count.
        sent: when the claim that began the term was sent, by the same clock.
    """

    def __init__(self, clock: Callable[[], float], limit: float, sent: float) -> None:
        self._clock = clock
        self._limit = limit
        # Both times and whether it is over are read and written under this lock alone, the clock
        # is read under it, too, and an end is final. So of two threads that ask at about the same
        # time, none gets a yes after the other has got a no: a renewal that is answered in the
        # moment in which the term runs out cannot revive it. Nobody waits while holding it.
        self._lock = threading.Lock()
        self._renewed = sent
        self._beaten = clock()
        self._over = False

    @property
    def holds(self) -> bool:
        """Whether writes may be sent now."""
        return self.remaining > 0.0

    @property
    def remaining(self) -> float:
        """Return for how many seconds it holds if nothing happens, 0 once it is over."""
        with self._lock:
            return self._remaining()

    @property
    def loop_stood_still(self) -> bool:
        """Whether the last heartbeat is too old, whatever the last renewal is."""
        with self._lock:
            return self._clock() >= self._beaten + self._limit

    def renewed(self, sent: float) -> bool:
        """Prolong it by a renewal that was sent at a time; returns whether it holds."""
        with self._lock:
            if self._remaining() <= 0.0:
                return False
            self._renewed = sent
            return True

    def beat(self) -> bool:
        """Note that the loop runs; returns whether the term holds."""
        with self._lock:
            if self._remaining() <= 0.0:
                return False
            self._beaten = self._clock()
            return True

    def end(self) -> None:
        """End it for good."""
        with self._lock:
            self._over = True

    def _remaining(self) -> float:
        # The older of the two decides: a renewal proves nothing about a loop that stands still.
        left = min(self._renewed, self._beaten) + self._limit - self._clock()
        self._over = self._over or left <= 0.0
        return 0.0 if self._over else left
