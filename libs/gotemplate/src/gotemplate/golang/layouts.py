"""Go's layouts of dates: a layout shows how Mon Jan 2 15:04:05 MST 2006 would be written."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)
WEEKDAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
SHORT_MONTHS: Final = tuple(name[:3] for name in MONTHS)
SHORT_WEEKDAYS: Final = tuple(name[:3] for name in WEEKDAYS)

TOKEN: Final = re.compile(
    r"January|Jan(?![a-z])|Monday|Mon(?![a-z])|MST|0[1-6]|002|15|1|2006|2|_2(?!006)|__2|3|4|5|PM|pm"
    r"|[-Z]07(?:0000|:00:00|00|:00)?|[.,](?:0+|9+)(?![0-9])"
)


@dataclass(frozen=True, slots=True)
class Clock:
    """What a clock and a calendar show.

    Attributes:
        month: from 1.
        weekday: from Sunday, 0.
        yearday: day of the year, from 1.
        zone: short name of the zone, "" when it has none.
        offset: seconds east of UTC.
    """

    year: int
    month: int = 1
    day: int = 1
    hour: int = 0
    minute: int = 0
    second: int = 0
    nanos: int = 0
    weekday: int = 0
    yearday: int = 1
    zone: str = ""
    offset: int = 0


def write(layout: str, clock: Clock) -> str:
    """Write what a clock shows as a layout says."""
    return TOKEN.sub(lambda match: _written(match[0], clock), layout)


def _written(token: str, clock: Clock) -> str:
    if token in _WRITERS:
        return _WRITERS[token](clock)
    if token[0] in "-Z":
        return _offset(token, clock.offset)
    digits = f"{clock.nanos:09d}"[: len(token) - 1]
    if token[1] == "9":
        digits = digits.rstrip("0")
    return token[0] + digits if digits else ""


def _offset(token: str, offset: int) -> str:
    if token[0] == "Z" and offset == 0:
        return "Z"
    # Go decides on the sign of whole minutes.
    minutes = int(offset / 60)
    sign, size = ("-" if minutes < 0 else "+"), abs(minutes)
    colon = ":" if ":" in token else ""
    text = f"{sign}{size // 60:02d}"
    if len(token) > len("-07"):
        text += f"{colon}{size % 60:02d}"
    if len(token) > len("-07:00"):
        text += f"{colon}{abs(offset) % 60:02d}"
    return text


def _zone(clock: Clock) -> str:
    if clock.zone:
        return clock.zone
    return _offset("-0700", clock.offset)


def _year(clock: Clock) -> str:
    return f"{'-' if clock.year < 0 else ''}{abs(clock.year):04d}"


def _hour12(clock: Clock) -> int:
    return clock.hour % 12 or 12


_WRITERS: Final[dict[str, Callable[[Clock], str]]] = {
    "January": lambda clock: MONTHS[clock.month - 1],
    "Jan": lambda clock: SHORT_MONTHS[clock.month - 1],
    "1": lambda clock: f"{clock.month}",
    "01": lambda clock: f"{clock.month:02d}",
    "Monday": lambda clock: WEEKDAYS[clock.weekday],
    "Mon": lambda clock: SHORT_WEEKDAYS[clock.weekday],
    "2": lambda clock: f"{clock.day}",
    "_2": lambda clock: f"{clock.day:2d}",
    "02": lambda clock: f"{clock.day:02d}",
    "__2": lambda clock: f"{clock.yearday:3d}",
    "002": lambda clock: f"{clock.yearday:03d}",
    "15": lambda clock: f"{clock.hour:02d}",
    "3": lambda clock: f"{_hour12(clock)}",
    "03": lambda clock: f"{_hour12(clock):02d}",
    "4": lambda clock: f"{clock.minute}",
    "04": lambda clock: f"{clock.minute:02d}",
    "5": lambda clock: f"{clock.second}",
    "05": lambda clock: f"{clock.second:02d}",
    "2006": _year,
    "06": lambda clock: f"{abs(clock.year) % 100:02d}",
    "PM": lambda clock: "PM" if clock.hour >= 12 else "AM",
    "pm": lambda clock: "pm" if clock.hour >= 12 else "am",
    "MST": _zone,
}
