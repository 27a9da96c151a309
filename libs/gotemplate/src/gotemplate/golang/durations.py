"""Durations as Go's time package reads and writes them: nanoseconds in an int64."""

import re
from fractions import Fraction
from typing import Final

from gotemplate.golang.literals import INT_MAX, INT_MIN
from gotemplate.golang.values import to_bytes

MICROSECOND: Final = 1000
MILLISECOND: Final = 1000 * MICROSECOND
SECOND: Final = 1000 * MILLISECOND
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE

_UNITS: Final = {
    "ns": 1,
    "us": MICROSECOND,
    "µs": MICROSECOND,
    "μs": MICROSECOND,
    "ms": MILLISECOND,
    "s": SECOND,
    "m": MINUTE,
    "h": HOUR,
}
_PART: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)", re.ASCII)
_LIMIT: Final = 1 << 63
_FRACTION_DIGITS: Final = 18  # Go does not read more of a fraction


class DurationError(ValueError):
    """The text is not a duration; the error's text is Go's."""


def saturated(nanoseconds: int) -> int:
    """Keep a difference of times within what a duration can hold."""
    return max(INT_MIN, min(INT_MAX, nanoseconds))


def parse(text: str) -> int:
    """Read a duration such as `1h15m30.5s`; return nanoseconds.

    Raises:
        DurationError: the text is not a duration, or it is longer than 292 years.
    """
    position = 1 if text[:1] in ("-", "+") else 0
    if text[position:] == "0":
        return 0
    if position == len(text):
        raise DurationError(f"time: invalid duration {quote(text)}")
    total = 0
    while position < len(text):
        match = _PART.match(text, position)
        assert match is not None
        whole, fraction, unit = match.groups()
        if whole or fraction:
            total += _nanoseconds(text, whole, fraction or "", unit)
        if total > _LIMIT or not (whole or fraction):
            raise DurationError(f"time: invalid duration {quote(text)}")
        position = match.end()
    total = -total if text.startswith("-") else total
    if total > INT_MAX:
        raise DurationError(f"time: invalid duration {quote(text)}")
    return total


def _nanoseconds(text: str, whole: str, fraction: str, unit: str) -> int:
    if len(whole.lstrip("0")) > _FRACTION_DIGITS + 1 or int(whole or 0) > _LIMIT:
        raise DurationError(f"time: invalid duration {quote(text)}")
    if not unit:
        raise DurationError(f"time: missing unit in duration {quote(text)}")
    if unit not in _UNITS:
        raise DurationError(f"time: unknown unit {quote(unit)} in duration {quote(text)}")
    size = _UNITS[unit]
    digits = fraction[:_FRACTION_DIGITS]
    part = float(int(digits or 0)) * (float(size) / 10.0 ** len(digits))
    return int(whole or 0) * size + int(part)


def quote(text: str) -> str:
    """Quote as Go's time package does: characters beyond ASCII as their bytes."""
    shown = "".join(
        f"\\{rune}"
        if rune in '"\\'
        else rune
        if " " <= rune < "\x80"
        else "".join(f"\\x{byte:02x}" for byte in to_bytes(rune))
        for rune in text
    )
    return f'"{shown}"'


def text(nanoseconds: int) -> str:
    """Write a duration: hours, minutes and seconds, or one smaller unit."""
    size = abs(nanoseconds)
    sign = "-" if nanoseconds < 0 else ""
    if size < SECOND:
        return sign + _small(size)
    minutes, rest = divmod(size, MINUTE)
    seconds = f"{_decimal(rest, SECOND)}s"
    if not minutes:
        return sign + seconds
    hours, minutes = divmod(minutes, 60)
    return f"{sign}{f'{hours}h' if hours else ''}{minutes}m{seconds}"


def _small(size: int) -> str:
    if size == 0:
        return "0s"
    for unit, name in ((MILLISECOND, "ms"), (MICROSECOND, "µs")):
        if size >= unit:
            return _decimal(size, unit) + name
    return f"{size}ns"


def _decimal(size: int, unit: int) -> str:
    whole, rest = divmod(size, unit)
    digits = str(unit + rest)[1:].rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)


def rounded(nanoseconds: int, unit: int) -> int:
    """Round to a multiple of a unit, halves away from zero; what does not fit saturates."""
    if unit <= 0:
        return nanoseconds
    size = (2 * abs(nanoseconds) + unit) // (2 * unit) * unit
    return saturated(size if nanoseconds >= 0 else -size)


def truncated(nanoseconds: int, unit: int) -> int:
    """Round towards zero to a multiple of a unit."""
    if unit <= 0:
        return nanoseconds
    size = abs(nanoseconds) // unit * unit
    return size if nanoseconds >= 0 else -size


def in_units(nanoseconds: int, unit: int) -> float:
    """Return a duration as a number of units."""
    whole, rest = divmod(abs(nanoseconds), unit)
    total = float(whole) + float(Fraction(rest, unit))
    return total if nanoseconds >= 0 else -total


def coarse(nanoseconds: int) -> str:
    """Write a duration in the largest unit of which there is more than one."""
    size = abs(nanoseconds) // 1
    day = 24 * HOUR
    units = (
        (365 * day, "y"),
        (30 * day, "mo"),
        (day, "d"),
        (HOUR, "h"),
        (MINUTE, "m"),
        (SECOND, "s"),
    )
    return next((f"{size // unit}{name}" for unit, name in units if size > unit), "0s")
