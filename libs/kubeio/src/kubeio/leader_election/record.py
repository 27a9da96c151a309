"""The fields of a Lease: how a candidate reads and writes them; no requests, no clock.

The fields are those of client-go. People may have edited a Lease: a field that cannot be read
counts as missing. Unknown fields, labels and annotations are kept.
"""

import math
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
        found = (self.lease or {}).get("spec")
        return found if isinstance(found, dict) else {}

    @property
    def version(self) -> object:
        """Return the resourceVersion, which differs between any two states."""
        return None if self.lease is None else self.lease["metadata"].get("resourceVersion")

    @property
    def holder(self) -> str | None:
        """Return the holder, "" if it is free, None if there is no Lease."""
        if self.lease is None:
            return None
        found = self.spec.get("holderIdentity")
        return found if isinstance(found, str) else ""

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
