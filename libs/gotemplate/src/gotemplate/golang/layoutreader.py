"""Reading dates by Go's layouts."""

import calendar
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gotemplate.golang.durations import quote
from gotemplate.golang.layouts import MONTHS, SHORT_MONTHS, SHORT_WEEKDAYS, TOKEN, WEEKDAYS, Clock

_TWO: Final = re.compile("[0-9]{2}", re.ASCII)
_ONE_OR_TWO: Final = re.compile("[0-9]{1,2}", re.ASCII)
_THREE: Final = re.compile("[0-9]{3}", re.ASCII)
_ONE_TO_THREE: Final = re.compile("[0-9]{1,3}", re.ASCII)
_FOUR: Final = re.compile("[0-9]{4}", re.ASCII)
_FRACTION: Final = re.compile("[.,]([0-9]+)", re.ASCII)
_ZONE: Final = re.compile(
    r"ChST|MeST|GMT[-+][0-9]+|GMT|[-+][0-9]+|[A-Z]{4}T(?![A-Z])|[A-Z]{3}T(?![A-Z])|WITA(?![A-Z])"
    r"|[A-Z]{3}(?![A-Z])",
    re.ASCII,
)
_OFFSETS: Final = {
    len("07"): re.compile("([-+])([0-9]{2})", re.ASCII),
    len("0700"): re.compile("([-+])([0-9]{2})([0-9]{2})", re.ASCII),
    len("07:00"): re.compile("([-+])([0-9]{2}):([0-9]{2})", re.ASCII),
    len("070000"): re.compile("([-+])([0-9]{2})([0-9]{2})([0-9]{2})", re.ASCII),
    len("07:00:00"): re.compile("([-+])([0-9]{2}):([0-9]{2}):([0-9]{2})", re.ASCII),
}
_NANO_DIGITS: Final = 9
# Go reads more digits and drops them: a fraction has no more than nanoseconds.
_MOST_ZONE_HOURS: Final = 23
# Go: Unix time began in 1969 in zones west of Greenwich, so 69 is 1969 and 68 is 2068.
_TWENTIETH_CENTURY_FROM: Final = 69


class DateError(ValueError):
    """The text does not match a date layout; the error's text is Go's."""


class _Mismatch(Exception):
    """The value does not continue as the layout says."""


class _Range(Exception):
    """A part of the value is too large."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a date says: the clock, and whose clock it is.

    Attributes:
        offset: seconds east of UTC; None when the date does not say.
        zone: short name of the zone, "" when the date does not say.
        utc: whether it says UTC.
    """

    clock: Clock
    offset: int | None
    zone: str
    utc: bool


def read(layout: str, value: str) -> Reading:
    """Read a date.

    Raises:
        DateError: it is not written as the layout shows, or there is no such date.
    """
    return _Reader(layout, value).read()


class _Reader:
    """Reads one value; what it has found so far is in its attributes."""

    def __init__(self, layout: str, value: str) -> None:
        self._layout = layout
        self._value = value
        self._rest = value
        self._found: dict[str, int] = {}
        self._afternoon: bool | None = None
        self._offset: int | None = None
        self._zone = ""
        self._utc = False

    def read(self) -> Reading:
        position = 0
        for match in TOKEN.finditer(self._layout):
            self._pass(self._layout[position : match.start()])
            position = match.end()
            self._element(match[0], self._layout[position:])
        self._pass(self._layout[position:])
        if self._rest:
            raise self._error(f": extra text: {quote(self._rest)}")
        month, day = self._date()
        clock = Clock(
            self._found.get("year", 0),
            month,
            day,
            self._hour(),
            self._found.get("minute", 0),
            self._found.get("second", 0),
            self._found.get("nanos", 0),
        )
        return Reading(clock, self._offset, self._zone, self._utc)

    def _error(self, message: str) -> DateError:
        return DateError(f"parsing time {quote(self._value)}{message}")

    def _mismatch(self, rest: str, element: str) -> DateError:
        return self._error(
            f" as {quote(self._layout)}: cannot parse {quote(rest)} as {quote(element)}"
        )

    def _pass(self, text: str) -> None:
        """Skip the text between the parts; any run of spaces matches any other."""
        left = text
        while left:
            if left[0] == " ":
                if self._rest and self._rest[0] != " ":
                    raise self._mismatch(self._rest, text)
                left, self._rest = left.lstrip(" "), self._rest.lstrip(" ")
                continue
            if not self._rest or self._rest[0] != left[0]:
                raise self._mismatch(self._rest, text)
            left, self._rest = left[1:], self._rest[1:]

    def _element(self, element: str, following: str) -> None:
        hold = self._rest
        try:
            self._part(element, following)
        except _Mismatch:
            raise self._mismatch(hold, element) from None
        except _Range as error:
            raise self._error(f": {error} out of range") from None

    def _part(self, element: str, following: str) -> None:
        if element in _NUMBERS:
            name, pattern, low, high = _NUMBERS[element]
            self._number(element, name, pattern, low, high)
            # Go takes a fraction behind the seconds also where the layout has none.
            if name == "second" and not _is_fraction(following):
                self._fraction(1)
        elif element in _NAMES:
            self._name(*_NAMES[element])
        elif element == "MST":
            self._zone_name()
        elif element[0] in ".,":
            self._digits(element)
        elif element[0] == "Z" and self._rest.startswith("Z"):
            self._rest, self._utc = self._rest[1:], True
        else:
            self._zone_offset(element)

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str]:
        match = pattern.match(self._rest)
        if match is None:
            raise _Mismatch
        self._rest = self._rest[match.end() :]
        return match

    def _number(
        self, element: str, name: str, pattern: re.Pattern[str], low: int, high: int
    ) -> None:
        for _ in range(element.count("_")):
            self._rest = self._rest.removeprefix(" ")
        number = int(self._take(pattern)[0])
        if not low <= number <= high:
            raise _Range(name)
        if element == "06":
            number += 1900 if number >= _TWENTIETH_CENTURY_FROM else 2000
        self._found[name] = number

    def _name(self, kind: str, names: Sequence[str]) -> None:
        for number, name in enumerate(names):
            start = self._rest[: len(name)]
            # As in Go a weekday is not compared with the date, and only AM and PM have a case.
            if start == name if kind == "half" else start.lower() == name.lower():
                self._rest = self._rest[len(name) :]
                if kind == "month":
                    self._found["month"] = number + 1
                elif kind == "half":
                    self._afternoon = number == 1
                return
        raise _Mismatch

    def _digits(self, element: str) -> None:
        if element[1] == "9":
            self._fraction(1)
            return
        size = len(element)
        match = _FRACTION.match(self._rest[:size])
        if match is None or match.end() != size:
            raise _Mismatch
        self._rest = self._rest[size:]
        self._nanos(match[1])

    def _fraction(self, least: int) -> None:
        """Read a fraction of a second if there is one."""
        match = _FRACTION.match(self._rest)
        if match is not None and len(match[1]) >= least:
            self._rest = self._rest[match.end() :]
            self._nanos(match[1])

    def _nanos(self, digits: str) -> None:
        self._found["nanos"] = int(digits[:_NANO_DIGITS].ljust(_NANO_DIGITS, "0"))

    def _zone_offset(self, element: str) -> None:
        match = self._take(_OFFSETS[len(element) - 1])
        hours, minutes, seconds = (int(part) for part in (*match.groups()[1:], "0", "0")[:3])
        # Go allows 24 hours, 60 minutes and 60 seconds, since people write them.
        for number, most, name in (
            (hours, 24, "hour"),
            (minutes, 60, "minute"),
            (seconds, 60, "second"),
        ):
            if number > most:
                raise _Range(f"time zone offset {name}")
        size = (hours * 60 + minutes) * 60 + seconds
        self._offset = -size if match[1] == "-" else size

    def _zone_name(self) -> None:
        if self._rest.startswith("UTC"):
            self._rest, self._utc = self._rest[3:], True
            return
        match = _ZONE.match(self._rest)
        if match is None:
            raise _Mismatch
        name = match[0]
        digits = name.removeprefix("GMT")[1:]
        # GMT+24 is the zone GMT with `+24` behind it: Go knows offsets up to 23 hours.
        if digits.isdigit() and int(digits[:9]) > _MOST_ZONE_HOURS:
            if not name.startswith("GMT"):
                raise _Mismatch
            name = "GMT"
        self._rest, self._zone = self._rest[len(name) :], name

    def _hour(self) -> int:
        hour = self._found.get("hour", 0)
        if self._afternoon and hour < 12:
            return hour + 12
        return 0 if self._afternoon is False and hour == 12 else hour

    def _date(self) -> tuple[int, int]:
        """Return month and day.

        Raises:
            DateError: there is no such day, or the day of the year is another one.
        """
        year = self._found.get("year", 0)
        yearday = self._found.get("yearday")
        if yearday is None:
            month, day = self._found.get("month", 1), self._found.get("day", 1)
        else:
            month, day = self._of_yearday(yearday, year)
        if not 1 <= day <= _days_in(month, year):
            raise self._error(": day out of range")
        return month, day

    def _of_yearday(self, yearday: int, year: int) -> tuple[int, int]:
        if not 1 <= yearday <= 365 + _is_leap(year):
            raise self._error(": day-of-year out of range")
        month, day = 1, yearday
        while day > _days_in(month, year):
            day -= _days_in(month, year)
            month += 1
        for name, number in (("month", month), ("day", day)):
            if self._found.get(name, number) != number:
                raise self._error(f": day-of-year does not match {name}")
        return month, day


def _is_leap(year: int) -> bool:
    return calendar.isleap(year)


def _days_in(month: int, year: int) -> int:
    return calendar.monthrange(year, month)[1]


def _is_fraction(layout: str) -> bool:
    """Return whether the next part of a layout is a fraction of a second."""
    match = TOKEN.search(layout)
    return match is not None and match[0][0] in ".,"


_Number = tuple[str, re.Pattern[str], int, int]
_NUMBERS: Final[dict[str, _Number]] = {
    "2006": ("year", _FOUR, 0, 9999),
    "06": ("year", _TWO, 0, 99),
    "1": ("month", _ONE_OR_TWO, 1, 12),
    "01": ("month", _TWO, 1, 12),
    # Which days there are depends on month and year, which may follow: `_date` checks it.
    "2": ("day", _ONE_OR_TWO, 0, 99),
    "_2": ("day", _ONE_OR_TWO, 0, 99),
    "02": ("day", _TWO, 0, 99),
    "__2": ("yearday", _ONE_TO_THREE, 0, 999),
    "002": ("yearday", _THREE, 0, 999),
    "15": ("hour", _ONE_OR_TWO, 0, 23),
    "3": ("hour", _ONE_OR_TWO, 0, 12),
    "03": ("hour", _TWO, 0, 12),
    "4": ("minute", _ONE_OR_TWO, 0, 59),
    "04": ("minute", _TWO, 0, 59),
    "5": ("second", _ONE_OR_TWO, 0, 59),
    "05": ("second", _TWO, 0, 59),
}
_NAMES: Final[dict[str, tuple[str, Sequence[str]]]] = {
    "January": ("month", MONTHS),
    "Jan": ("month", SHORT_MONTHS),
    "Monday": ("weekday", WEEKDAYS),
    "Mon": ("weekday", SHORT_WEEKDAYS),
    "PM": ("half", ("AM", "PM")),
    "pm": ("half", ("am", "pm")),
}
