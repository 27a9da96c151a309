"""Sprig's functions on dates. Local time is UTC."""

from dataclasses import replace
from typing import Final

from gotemplate.errors import FunctionError, LimitError
from gotemplate.functions.numbers import atoi
from gotemplate.golang import durations, layoutreader
from gotemplate.golang.layouts import UTC, FixedZone, ZoneError, load_zone
from gotemplate.golang.values import Int64
from gotemplate.rendering import Rendering
from gotemplate.types.signature import ANY, STRING, Function, wrap
from gotemplate.types.times import TIME, ZERO, Time

_HTML: Final = "2006-01-02"
_INTEGERS: Final = (int, Int64)


def now(run: Rendering) -> Time:
    """Return the current time in UTC."""
    return Time.of_nanoseconds(run.sources.now())


def _time(run: Rendering, value: object) -> Time:
    """Take a time as it is and an integer as seconds since 1970; anything else is now."""
    if isinstance(value, Time):
        return value
    if type(value) in _INTEGERS:
        assert isinstance(value, int)
        return Time(int(value))
    return now(run)


def date(run: Rendering, layout: str, value: object) -> str:
    """Format a date in UTC."""
    return date_in_zone(run, layout, value, "UTC")


def date_in_zone(run: Rendering, layout: str, value: object, zone: str) -> str:
    """Format a date in a time zone; in UTC if there is no such zone."""
    run.charge(len(layout) >> 1)
    try:
        loaded = load_zone(zone)
    except ZoneError:
        loaded = UTC
    time = _time(run, value)
    return Time(time.seconds, time.nanos, loaded).format(layout)


def html_date(run: Rendering, value: object) -> str:
    """Format a date for an HTML date field, in UTC."""
    return date(run, _HTML, value)


def html_date_in_zone(run: Rendering, value: object, zone: str) -> str:
    """Format a date for an HTML date field, in a time zone."""
    return date_in_zone(run, _HTML, value, zone)


def must_date_modify(run: Rendering, duration: str, time: Time) -> Time:
    """Add a duration, which may be negative, to a time.

    Raises:
        FunctionError: the text is not a duration.
    """
    run.charge(len(duration) >> 1)
    try:
        return time.add(durations.parse(duration))
    except durations.DurationError as error:
        raise FunctionError(str(error)) from error


def date_modify(run: Rendering, duration: str, time: Time) -> Time:
    """Add a duration to a time; returns the time itself if the text is not a duration."""
    try:
        return must_date_modify(run, duration, time)
    except LimitError:
        raise
    except FunctionError:
        return time


def ago(run: Rendering, value: object) -> str:
    """Return the time elapsed since a date, in whole seconds."""
    return durations.text(durations.rounded(now(run).since(_time(run, value)), durations.SECOND))


def duration(value: object) -> str:
    """Write seconds as hours, minutes and seconds: of a text or an int64, else none."""
    seconds = 0
    if isinstance(value, str):
        seconds = atoi(value)
    elif type(value) is Int64:
        seconds = int(value)
    return durations.text(wrap(seconds * durations.SECOND))


def duration_round(run: Rendering, value: object) -> str:
    """Write a duration in its largest unit: of a text, nanoseconds as int64, or since a time."""
    nanoseconds = 0
    if isinstance(value, str):
        run.charge(len(value) >> 1)
        try:
            nanoseconds = durations.parse(value)
        except durations.DurationError:
            nanoseconds = 0
    elif isinstance(value, Time):
        nanoseconds = now(run).since(value)
    elif type(value) is Int64:
        nanoseconds = int(value)
    return durations.coarse(nanoseconds)


def must_to_date(run: Rendering, layout: str, text: str) -> Time:
    """Read a date.

    Raises:
        FunctionError: the date does not match the layout.
    """
    run.check("pattern", max(len(layout), len(text)))
    run.charge(2 * (len(layout) + len(text)))
    try:
        reading = layoutreader.read(layout, text)
    except layoutreader.DateError as error:
        raise FunctionError(str(error)) from error
    if reading.utc or (reading.offset is None and not reading.zone):
        return Time.of_clock(reading.clock, UTC)
    if reading.offset is not None:
        return _at_offset(reading, reading.offset)
    hours = reading.zone.removeprefix("GMT") if reading.zone.startswith("GMT") else ""
    # Go takes the clock for UTC here, and then shows it in the zone.
    time = Time.of_clock(reading.clock, UTC)
    return replace(time, zone=FixedZone(reading.zone, int(hours or 0) * 3600))


def _at_offset(reading: layoutreader.Reading, offset: int) -> Time:
    local = offset == 0 and reading.zone in ("", "UTC")
    return Time.of_clock(reading.clock, UTC if local else FixedZone(reading.zone, offset))


def to_date(run: Rendering, layout: str, text: str) -> Time:
    """Parse a date; if it does not match the layout, return the first day of the year 1."""
    try:
        return must_to_date(run, layout, text)
    except LimitError:
        raise
    except FunctionError:
        return ZERO


def unix_epoch(time: Time) -> str:
    """Return the seconds since 1970."""
    return str(time.seconds)


FUNCTIONS: Final = (
    Function("now", now, uses_rendering=True),
    Function("date", date, (STRING, ANY), uses_rendering=True),
    Function("dateInZone", date_in_zone, (STRING, ANY, STRING), uses_rendering=True),
    Function("date_in_zone", date_in_zone, (STRING, ANY, STRING), uses_rendering=True),
    Function("htmlDate", html_date, (ANY,), uses_rendering=True),
    Function("htmlDateInZone", html_date_in_zone, (ANY, STRING), uses_rendering=True),
    Function("dateModify", date_modify, (STRING, TIME), uses_rendering=True),
    Function("date_modify", date_modify, (STRING, TIME), uses_rendering=True),
    Function("mustDateModify", must_date_modify, (STRING, TIME), uses_rendering=True),
    Function("must_date_modify", must_date_modify, (STRING, TIME), uses_rendering=True),
    Function("ago", ago, (ANY,), uses_rendering=True),
    Function("duration", duration, (ANY,)),
    Function("durationRound", duration_round, (ANY,), uses_rendering=True),
    Function("toDate", to_date, (STRING, STRING), uses_rendering=True),
    Function("mustToDate", must_to_date, (STRING, STRING), uses_rendering=True),
    Function("unixEpoch", unix_epoch, (TIME,)),
)
