"""Go's time.Time and what belongs to it, as values with methods.

A time is seconds since 1970, nanoseconds and a zone; the calendar is Gregorian without end in both
directions. Local time is UTC.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from types import MappingProxyType
from typing import Final

from gotemplate.golang import durations, layouts
from gotemplate.golang.layouts import MONTHS, UTC, WEEKDAYS, Clock, Zone
from gotemplate.golang.literals import INT_MAX
from gotemplate.golang.values import Int64
from gotemplate.parse import nodes
from gotemplate.types.signature import INT, STRING, Function, Param, Refused, refused, wrap

_DAY: Final = 86_400
# The Gregorian calendar repeats itself after 400 years; `date` has the years 1 to 9999 alone.
_CYCLE_DAYS: Final = 146_097
_CYCLE_YEARS: Final = 400
_BEFORE_1970: Final = 719_162  # days from the year 1 to 1970
_JSON: Final = "2006-01-02T15:04:05.999999999Z07:00"
_TEXT: Final = "2006-01-02 15:04:05.999999999 -0700 MST"
_LAST_YEAR: Final = 9999
_NANOS: Final = 10**9

# Templates call methods with one result, or with an error as the second one.
_BAD: Final = "invalid function signature for"
_SECOND: Final = "second return value should be error; is"
_REFUSED: Final = {
    "Date": "function Date has 3 return values; should be 1 or 2",
    "Clock": "function Clock has 3 return values; should be 1 or 2",
    "Zone": f"{_BAD} Zone: {_SECOND} int",
    "ISOWeek": f"{_BAD} ISOWeek: {_SECOND} int",
    "ZoneBounds": f"{_BAD} ZoneBounds: {_SECOND} time.Time",
}

_Methods = Mapping[str, tuple[Callable[..., object], tuple[Param, ...]]]


class _NamedInt(int):
    """An integer with a name of its own: a month, a weekday, a duration."""

    __slots__ = ()
    TYPE: str = ""
    METHODS: _Methods = MappingProxyType({})

    def go_type(self) -> str:
        return self.TYPE

    def go_text(self) -> str:
        raise NotImplementedError

    def go_method(self, name: str) -> Function | None:
        return _bound(self, name, self.METHODS)


def _bound(value: object, name: str, methods: _Methods) -> Function | None:
    if problem := _REFUSED.get(name) if isinstance(value, Time) else None:
        return Refused(name, refused, problem=problem)
    if name not in methods:
        return None
    call, params = methods[name]
    return Function(name, lambda *args: call(value, *args), params)


class Month(_NamedInt):
    """A month; January is 1."""

    __slots__ = ()
    TYPE = "time.Month"

    def go_text(self) -> str:
        return MONTHS[self - 1]


class Weekday(_NamedInt):
    """A day of the week; Sunday is 0."""

    __slots__ = ()
    TYPE = "time.Weekday"

    def go_text(self) -> str:
        return WEEKDAYS[self]


class Duration(_NamedInt):
    """Nanoseconds between two times."""

    __slots__ = ()
    TYPE = "time.Duration"

    def go_text(self) -> str:
        return durations.text(self)


class _DurationParam(Param):
    """A parameter for durations; a whole number written in the template is nanoseconds."""

    __slots__ = ()

    def constant(self, node: nodes.Number | nodes.String | nodes.Bool) -> object:
        if isinstance(node, nodes.Number) and node.integer is not None:
            return Duration(node.integer)
        return Param.constant(self, node)


DURATION: Final = _DurationParam("time.Duration", types=(Duration,), literal="integer")


@dataclass(frozen=True, slots=True)
class Time:
    """A point in time, and a time zone to show it in.

    Attributes:
        seconds: since 1970 in UTC.
        nanos: nanoseconds of the second.
        zone: where.
    """

    seconds: int
    nanos: int = 0
    zone: Zone = UTC

    @classmethod
    def of_nanoseconds(cls, nanoseconds: int) -> "Time":
        """Make a time in UTC from nanoseconds since 1970."""
        return cls(nanoseconds // _NANOS, nanoseconds % _NANOS)

    @classmethod
    def of_clock(cls, clock: Clock, zone: Zone) -> "Time":
        """Return the time of a date and clock time in a zone; overflowing parts carry."""
        seconds = _seconds(clock) + clock.nanos // _NANOS
        _, offset = zone.at(seconds)
        # The zone is asked at a time that is off by the offset, so the answer is asked again there.
        if offset:
            seconds -= zone.at(seconds - offset)[1]
        return cls(seconds, clock.nanos % _NANOS, zone)

    @property
    def nanoseconds(self) -> int:
        """Nanoseconds since 1970."""
        return self.seconds * _NANOS + self.nanos

    def clock(self) -> Clock:
        """Return date and clock time in the zone."""
        name, offset = self.zone.at(self.seconds)
        days, second = divmod(self.seconds + offset, _DAY)
        cycle, day = divmod(days + _BEFORE_1970, _CYCLE_DAYS)
        day_date = date.fromordinal(day + 1)
        return Clock(
            year=day_date.year + cycle * _CYCLE_YEARS,
            month=day_date.month,
            day=day_date.day,
            hour=second // 3600,
            minute=second // 60 % 60,
            second=second % 60,
            nanos=self.nanos,
            weekday=(days + 4) % 7,
            yearday=day_date.timetuple().tm_yday,
            zone=name,
            offset=offset,
        )

    def format(self, layout: str) -> str:
        """Format the time by a layout; its reference time is Mon Jan 2 15:04:05 MST 2006."""
        return layouts.write(layout, self.clock())

    def add(self, nanoseconds: int) -> "Time":
        """Return the time plus a duration, which may be negative."""
        return replace(Time.of_nanoseconds(self.nanoseconds + nanoseconds), zone=self.zone)

    def since(self, other: "Time") -> Duration:
        """Return the duration since another time, saturated if it does not fit."""
        return Duration(durations.saturated(self.nanoseconds - other.nanoseconds))

    def go_type(self) -> str:
        return "time.Time"

    def go_text(self) -> str:
        return self.format(_TEXT)

    def go_json(self) -> object:
        clock = self.clock()
        # RFC 3339 has four digits for a year, so Go refuses the others.
        if not 0 <= clock.year <= _LAST_YEAR:
            raise ValueError(
                "json: error calling MarshalJSON for type time.Time: "
                "Time.MarshalJSON: year outside of range [0,9999]"
            )
        return layouts.write(_JSON, clock)

    def go_method(self, name: str) -> Function | None:
        return _bound(self, name, _TIME_METHODS)


TIME: Final = Param("time.Time", types=(Time,))
ZERO: Final = Time(-_BEFORE_1970 * _DAY)


def _seconds(clock: Clock) -> int:
    """Return the seconds since 1970 at which a clock in UTC shows something."""
    months = clock.year * 12 + clock.month - 1
    year, month = divmod(months, 12)
    cycle, year = divmod(year - 1, _CYCLE_YEARS)
    days = date(year + 1, month + 1, 1).toordinal() - 1 + cycle * _CYCLE_DAYS + clock.day - 1
    return (days - _BEFORE_1970) * _DAY + clock.hour * 3600 + clock.minute * 60 + clock.second


def _add_date(time: Time, years: int, months: int, days: int) -> Time:
    clock = time.clock()
    # The parts may overflow, as in Go: one month after January 31 is March 2 or 3.
    moved = replace(
        clock, year=clock.year + years, month=clock.month + months, day=clock.day + days
    )
    return Time.of_clock(moved, time.zone)


def _unix(unit: int) -> Callable[[Time], int]:
    return lambda time: Int64(wrap(time.nanoseconds // unit))


def _compare(time: Time, other: Time) -> int:
    return (time.nanoseconds > other.nanoseconds) - (time.nanoseconds < other.nanoseconds)


def _rounded_time(time: Time, unit: int) -> Time:
    if unit <= 0:
        return time
    # Since the year 1, as in Go, and not since 1970.
    rest = (time.nanoseconds - ZERO.nanoseconds) % unit
    return time.add(-rest if 2 * rest < unit else unit - rest)


def _truncated_time(time: Time, unit: int) -> Time:
    if unit <= 0:
        return time
    return time.add(-((time.nanoseconds - ZERO.nanoseconds) % unit))


_TIME_METHODS: Final[_Methods] = MappingProxyType(
    {
        "Year": (lambda time: time.clock().year, ()),
        "Month": (lambda time: Month(time.clock().month), ()),
        "Day": (lambda time: time.clock().day, ()),
        "Hour": (lambda time: time.clock().hour, ()),
        "Minute": (lambda time: time.clock().minute, ()),
        "Second": (lambda time: time.clock().second, ()),
        "Nanosecond": (lambda time: time.nanos, ()),
        "Weekday": (lambda time: Weekday(time.clock().weekday), ()),
        "YearDay": (lambda time: time.clock().yearday, ()),
        "Unix": (_unix(_NANOS), ()),
        "UnixMilli": (_unix(durations.MILLISECOND), ()),
        "UnixMicro": (_unix(durations.MICROSECOND), ()),
        "UnixNano": (_unix(1), ()),
        "Format": (Time.format, (STRING,)),
        "String": (Time.go_text, ()),
        "UTC": (lambda time: replace(time, zone=UTC), ()),
        "Local": (lambda time: replace(time, zone=UTC), ()),
        "IsZero": (lambda time: time.nanoseconds == ZERO.nanoseconds, ()),
        "IsDST": (lambda _: False, ()),
        "Equal": (lambda time, other: _compare(time, other) == 0, (TIME,)),
        "Before": (lambda time, other: _compare(time, other) < 0, (TIME,)),
        "After": (lambda time, other: _compare(time, other) > 0, (TIME,)),
        "Compare": (_compare, (TIME,)),
        "Sub": (Time.since, (TIME,)),
        "Add": (Time.add, (DURATION,)),
        "AddDate": (_add_date, (INT, INT, INT)),
        "Round": (_rounded_time, (DURATION,)),
        "Truncate": (_truncated_time, (DURATION,)),
    }
)
_NAMED: Final[_Methods] = MappingProxyType({"String": (lambda value: value.go_text(), ())})
Month.METHODS = _NAMED
Weekday.METHODS = _NAMED
Duration.METHODS = MappingProxyType(
    {
        "String": (Duration.go_text, ()),
        "Nanoseconds": (lambda value: Int64(value), ()),
        "Microseconds": (lambda value: Int64(durations.truncated(value, 1000) // 1000), ()),
        "Milliseconds": (
            lambda value: Int64(
                durations.truncated(value, durations.MILLISECOND) // durations.MILLISECOND
            ),
            (),
        ),
        "Seconds": (lambda value: durations.in_units(value, durations.SECOND), ()),
        "Minutes": (lambda value: durations.in_units(value, durations.MINUTE), ()),
        "Hours": (lambda value: durations.in_units(value, durations.HOUR), ()),
        "Abs": (lambda value: Duration(min(abs(value), INT_MAX)), ()),
        "Round": (lambda value, unit: Duration(durations.rounded(value, unit)), (DURATION,)),
        "Truncate": (lambda value, unit: Duration(durations.truncated(value, unit)), (DURATION,)),
    }
)
