"""What stands in a Lease, and what a candidate writes there; no requests, no clock.

The fields are those of client-go. A Lease may also have been written by hand, so nothing is
taken for granted: a field that cannot be read counts as missing. Fields, labels and annotations
that we do not know are kept.
"""

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from kubeio.types import JsonObject

_RELEASED_SECONDS = 1


@dataclass(frozen=True, slots=True)
class Record:
    """One state of a Lease (None: there is none), and the clock time when it was first seen."""

    lease: JsonObject | None
    since: float

    @property
    def spec(self) -> JsonObject:
        found = (self.lease or {}).get("spec")
        return found if isinstance(found, dict) else {}

    @property
    def version(self) -> object:
        """Return what differs between any two states."""
        return None if self.lease is None else self.lease["metadata"].get("resourceVersion")

    @property
    def holder(self) -> str | None:
        """Return who holds it, "" for nobody, None if there is no Lease."""
        if self.lease is None:
            return None
        found = self.spec.get("holderIdentity")
        return found if isinstance(found, str) else ""

    @property
    def seconds(self) -> int:
        """Return how long it lasts, 0 if that is not said."""
        return _number(self.spec.get("leaseDurationSeconds"))

    @property
    def transitions(self) -> int:
        """Return how often it has changed hands."""
        return _number(self.spec.get("leaseTransitions"))

    @property
    def released(self) -> bool:
        """Whether a leader gave it up in order; an empty holder alone may be by hand."""
        return self.holder == "" and self.seconds == _RELEASED_SECONDS


def claimed(record: Record, identity: str, duration: float, moment: datetime) -> JsonObject:
    """Return the spec by which `identity` takes or renews a lease for `duration` seconds."""
    renewed = _after(moment, record)
    taken: JsonObject = {}
    if record.holder != identity:
        transitions = 0 if record.lease is None else record.transitions + 1
        taken = {"acquireTime": renewed, "leaseTransitions": transitions}
    held = {"holderIdentity": identity, "leaseDurationSeconds": math.ceil(duration)}
    return record.spec | taken | held | {"renewTime": renewed}


def released(record: Record, moment: datetime) -> JsonObject:
    """Return the spec by which the holder gives a lease up."""
    freed = {"holderIdentity": "", "leaseDurationSeconds": _RELEASED_SECONDS}
    return record.spec | freed | {"renewTime": _after(moment, record)}


def _after(moment: datetime, record: Record) -> str:
    # Never the same twice in a row: a write that changes nothing keeps the resourceVersion, and
    # others would not see it.
    text = _micro_time(moment)
    if text != record.spec.get("renewTime"):
        return text
    return _micro_time(moment + timedelta(microseconds=1))


def _micro_time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _number(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0
