"""The fields and the times of a Lease, and the term of its holder; no requests.

The fields are those of client-go. People may have edited a Lease: a field that cannot be read
counts as missing. Unknown fields, labels and annotations are kept.

A term holds for ``renew_deadline`` seconds after the last renewal, which a thread makes, and after
the last heartbeat of the event loop that writes, whichever is older.
"""

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from kubeio.types import JsonObject

_RELEASED_SECONDS = 1


@dataclass(frozen=True, slots=True)
class Record:
    """One state of a Lease (None without a Lease), and the clock time of the first read of it."""

    lease: JsonObject | None
    since: float

    @property
    def spec(self) -> JsonObject:
        spec = (self.lease or {}).get("spec")
        return spec if isinstance(spec, dict) else {}

    @property
    def version(self) -> object:
        """Return the resourceVersion, which differs between any two states."""
        return None if self.lease is None else self.lease["metadata"].get("resourceVersion")

    @property
    def holder(self) -> str | None:
        """Return the holder, "" if it is free, None if there is no Lease."""
        if self.lease is None:
            return None
        holder = self.spec.get("holderIdentity")
        return holder if isinstance(holder, str) else ""

    @property
    def seconds(self) -> int:
        """Return its duration, 0 if it has none."""
        return _number(self.spec.get("leaseDurationSeconds"))

    @property
    def transitions(self) -> int:
        """Return how often the holder has changed."""
        return _number(self.spec.get("leaseTransitions"))

    @property
    def released(self) -> bool:
        """Whether its leader released it; an empty holder alone may have been set by hand."""
        return self.holder == "" and self.seconds == _RELEASED_SECONDS


def claimed(record: Record, identity: str, duration: float, moment: datetime) -> JsonObject:
    """Return the spec with which `identity` takes or renews a lease for `duration` seconds."""
    renewed = _after(moment, record)
    taken: JsonObject = {}
    if record.holder != identity:
        transitions = 0 if record.lease is None else record.transitions + 1
        taken = {"acquireTime": renewed, "leaseTransitions": transitions}
    held = {"holderIdentity": identity, "leaseDurationSeconds": math.ceil(duration)}
    return record.spec | taken | held | {"renewTime": renewed}


def released(record: Record, moment: datetime) -> JsonObject:
    """Return the spec with which the holder releases a lease."""
    freed = {"holderIdentity": "", "leaseDurationSeconds": _RELEASED_SECONDS}
    return record.spec | freed | {"renewTime": _after(moment, record)}


def _after(moment: datetime, record: Record) -> str:
    # Never the same time twice in a row: a write without a change keeps the resourceVersion, and
    # other candidates would not see the renewal.
    text = _micro_time(moment)
    if text != record.spec.get("renewTime"):
        return text
    return _micro_time(moment + timedelta(microseconds=1))


def _micro_time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _number(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


JITTER = 0.2  # of `retry`, so that candidates that started together spread
_BEATS = 4  # in each `retry`
# time.monotonic of Linux does not count the time for which the machine was suspended.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def elapsed() -> float:
    """Return monotonic seconds, including suspension of the machine where the system counts it."""
    return time.clock_gettime(_CLOCK)


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """All in seconds; the same for all candidates, except during an upgrade that changes them.

    Attributes:
        duration: without a renewal for this long, another candidate takes the lease.
        renew_deadline: without a renewal, or with a blocked event loop, for this long, a leader
            stops.
        retry: between two reads of the Lease, and between two renewals.

    Raises:
        ValueError: a leader would stop after another has taken the lease, or could renew only once.
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
        """Return the timeout of one request, which leaves time for a second one."""
        return self.renew_deadline / 2

    @property
    def heartbeat(self) -> float:
        """Return the time between two heartbeats of the event loop that works."""
        return self.retry / _BEATS


class Term:
    """One term of a leader, shared by the loop that writes and the thread that renews.

    Args:
        clock: monotonic seconds.
        limit: seconds for which a renewal, and a heartbeat, are valid.
        sent: clock time at which the claim was sent that began the term.
    """

    def __init__(self, clock: Callable[[], float], limit: float, sent: float) -> None:
        self._clock = clock
        self._limit = limit
        # Guards both times and `_over`, and the clock is read under it; `_over` is final. So once
        # one thread has seen the term over, no other sees it hold: a renewal that is answered at
        # the moment of the deadline cannot revive the term. The lock is never held across a wait.
        self._lock = threading.Lock()
        self._renewed = sent
        self._beaten = clock()
        self._over = False

    @property
    def holds(self) -> bool:
        """Whether writes may be sent now, by the clock."""
        return self.remaining > 0.0

    @property
    def remaining(self) -> float:
        """Return the seconds until the deadline, 0 once the term is over."""
        with self._lock:
            return self._remaining()

    @property
    def loop_blocked(self) -> bool:
        """Whether the last heartbeat is too old, regardless of the last renewal."""
        with self._lock:
            return self._clock() >= self._beaten + self._limit

    def renewed(self, sent: float) -> bool:
        """Record a renewal sent at ``sent``; return whether the term holds."""
        with self._lock:
            if self._remaining() <= 0.0:
                return False
            self._renewed = sent
            return True

    def beat(self) -> bool:
        """Record a heartbeat of the loop; return whether the term holds."""
        with self._lock:
            if self._remaining() <= 0.0:
                return False
            self._beaten = self._clock()
            return True

    def end(self) -> None:
        """End the term; it cannot be renewed again."""
        with self._lock:
            self._over = True

    def _remaining(self) -> float:
        # The older of the two counts: a renewal proves nothing about a blocked loop.
        left = min(self._renewed, self._beaten) + self._limit - self._clock()
        self._over = self._over or left <= 0.0
        return 0.0 if self._over else left
