"""Texts of table cells: one line, no control characters, times and ages as kubectl shows them."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from kubectl_kudo.session.terminal import visible

NONE = "<none>"
UNKNOWN = "<unknown>"

_SPACE = re.compile(r"\s+")
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_YEAR = 365 * _DAY


def printable(text: str, longest: int = 0) -> str:
    """Return a text on one line; characters that cannot be printed are shown as escapes.

    Args:
        text: A text that anybody may have written.
        longest: Characters after which it is cut; 0 for any number.
    """
    line = _SPACE.sub(" ", text).strip()
    shown = (
        line if line.isprintable() else "".join(c if c.isprintable() else visible(c) for c in line)
    )
    return f"{shown[: longest - 1]}…" if 0 < longest < len(shown) else shown


def cell(value: object) -> str:
    """Return a value as the text of a cell."""
    return (printable(str(value)) if value not in (None, "") else "") or NONE


def age(metadata: Mapping[str, object], now: datetime) -> str:
    """Return how long ago an object was created."""
    return since(str(metadata.get("creationTimestamp") or ""), now)


def since(timestamp: str, now: datetime) -> str:
    """Return the time since a timestamp of the API, in the units of `kubectl get`."""
    seconds = seconds_since(timestamp, now)
    return UNKNOWN if seconds is None else duration(seconds)


def ago(timestamp: str | None) -> str:
    """Return how long ago a time of the API was, such as `2m ago`; empty if there is none."""
    return f"{since(timestamp, datetime.now(UTC))} ago" if timestamp else ""


def seconds_since(timestamp: str, now: datetime) -> float | None:
    """Return the seconds since a timestamp of the API; None if it is unreadable."""
    try:
        then = datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    # A timestamp without a zone is none of the API server's.
    return (now - (then if then.tzinfo else then.replace(tzinfo=UTC))).total_seconds()


def local_time(timestamp: str | None, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    """Return a time of the API in the local zone, as KUDO 0.19 prints it."""
    if not timestamp:
        return ""
    try:
        moment = datetime.fromisoformat(timestamp)
    except ValueError:
        return timestamp
    return moment.astimezone().strftime(form)


def duration(seconds: float) -> str:
    """Return a duration in at most two units, such as `5m10s`, `3h` or `2y30d`."""
    whole = max(0, int(seconds))
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    if whole < 10 * _MINUTE:
        return _two(whole, _MINUTE, "m", 1, "s")
    if whole < 3 * _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < 8 * _HOUR:
        return _two(whole, _HOUR, "h", _MINUTE, "m")
    if whole < 2 * _DAY:
        return f"{whole // _HOUR}h"
    if whole < 8 * _DAY:
        return _two(whole, _DAY, "d", _HOUR, "h")
    if whole < 2 * _YEAR:
        return f"{whole // _DAY}d"
    if whole < 8 * _YEAR:
        return _two(whole, _YEAR, "y", _DAY, "d")
    return f"{whole // _YEAR}y"


def _two(seconds: int, unit: int, name: str, smaller: int, its_name: str) -> str:
    rest = seconds % unit // smaller
    return f"{seconds // unit}{name}" + (f"{rest}{its_name}" if rest else "")
