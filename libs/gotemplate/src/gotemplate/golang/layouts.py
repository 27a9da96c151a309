"""Go's layouts of dates, and its time zones.

A layout shows how Mon Jan 2 15:04:05 MST 2006 would be written. Zones are UTC, fixed offsets, and
those of the database that comes with Python (tzdata).
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC as PYTHON_UTC
from datetime import datetime, timedelta
from functools import lru_cache
from pkgutil import get_data
from typing import TYPE_CHECKING, Final, Protocol

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


if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

_KEPT: Final = 128
_CYCLE: Final = 146_097 * 86_400  # seconds of 400 years, after which the calendar repeats
_EARLIEST: Final = -62_135_510_400  # the second day of the year 1
_LATEST: Final = 253_402_214_400  # the last day of the year 9999
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=PYTHON_UTC)


_preloaded: Final[dict[str, bytes]] = {}


class ZoneError(LookupError):
    """There is no time zone of that name."""


class Zone(Protocol):
    """A time zone."""

    def at(self, seconds: int) -> tuple[str, int]:
        """Return the zone's short name and its seconds east of UTC at a time since 1970."""
        ...


@dataclass(frozen=True, slots=True)
class FixedZone:
    """A time zone with a fixed offset."""

    name: str
    offset: int

    def at(self, _seconds: int) -> tuple[str, int]:
        return self.name, self.offset


UTC: Final = FixedZone("UTC", 0)


@dataclass(frozen=True, slots=True)
class DatabaseZone:
    """A time zone of the database."""

    info: "ZoneInfo"

    def at(self, seconds: int) -> tuple[str, int]:
        moment = _EPOCH + timedelta(seconds=_in_range(seconds))
        local = moment.astimezone(self.info)
        offset = local.utcoffset() or timedelta()
        return local.tzname() or "", offset.days * 86_400 + offset.seconds


def _in_range(seconds: int) -> int:
    """Shift a time by whole cycles of the calendar into the range of Python's dates."""
    if seconds > _LATEST:
        return seconds - ((seconds - _LATEST) // _CYCLE + 1) * _CYCLE
    if seconds < _EARLIEST:
        return seconds + ((_EARLIEST - seconds) // _CYCLE + 1) * _CYCLE
    return seconds


@lru_cache(1)
def _names() -> frozenset[str]:
    return frozenset(_file("zones").decode().split())


@lru_cache(_KEPT)
def load_zone(name: str) -> Zone:
    """Find a zone: "" and "UTC" are UTC, "Local" is too, others have the database's names.

    Raises:
        ZoneError: the database has none of that name.
    """
    if name in ("", "UTC", "Local"):
        return UTC
    if name not in _names():
        raise ZoneError(f"unknown time zone {name}")
    from io import BytesIO
    from zoneinfo import ZoneInfo

    data = _preloaded.get(name) or _read(name)
    return DatabaseZone(ZoneInfo.from_file(BytesIO(data), key=name))


def preload_zones() -> None:
    """Read the whole database, some 400 KiB, for a process that can open no files later."""
    for name in _names():
        _preloaded[name] = _read(name)


def _read(name: str) -> bytes:
    return _file(f"zoneinfo/{name}")


def _file(path: str) -> bytes:
    # Not by importlib.resources: its imports and its paths would make up a tenth of a worker's
    # start, which reads 600 files.
    data = get_data("tzdata", path)
    assert data is not None, "the loader of tzdata reads no data"
    return data
