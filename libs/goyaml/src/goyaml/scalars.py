"""Resolves plain (unquoted) scalars by the rules of go-yaml v2.3.0.

They are those of YAML 1.1 with Go's number syntax: `y` and `n` are booleans, `0o7` and `0b1` are
integers, `1e3` is a float, base-60 numbers do not exist. Dates count as timestamps only when
writing, where they are quoted; when reading they stay strings.

One deliberate difference: a decimal integer beyond 64 bits, which Go turns into a float, stays an
exact `int`.
"""

import calendar
import math
import re
from typing import Final

from goyaml.numbers import parse_float

Scalar = None | bool | int | float | str

_WORDS: Final[dict[str, Scalar]] = (
    dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True)
    | dict.fromkeys(
        ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False
    )
    | dict.fromkeys(("", "~", "null", "Null", "NULL"))
    | dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan)
    | dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf)
    | dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf)
)

_NUMBER_START: Final = frozenset("+-.0123456789")
_DECIMAL: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_RADIX: Final = (
    (re.compile(r"[-+]?0[0-7]+"), 8),
    (re.compile(r"[-+]?0[xX][0-9a-fA-F]+"), 16),
    (re.compile(r"[-+]?0[oO][0-7]+"), 8),
    (re.compile(r"[-+]?0[bB][01]+"), 2),
)
_BINARY_WITH_INNER_SIGN: Final = re.compile(r"0b[-+][01]+")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_BASE_60: Final = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_DATE: Final = re.compile(r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})")
_CLOCK: Final = re.compile(
    r"([Tt ])([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,][0-9]+)?"
    r"(Z|[-+]([0-9]{2}):([0-9]{2}))?"
)


def resolve(text: str) -> Scalar:
    """Return what the plain scalar `text` stands for; `text` itself where it is a string.

    Infinities and NaN are returned as floats; the caller decides whether they are allowed.
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_START:
        return text
    if text[0] == ".":
        # Only here does go-yaml leave underscores to Go's own, stricter rules.
        number = parse_float(text)
        return text if number is None else number
    plain = text.replace("_", "")
    if _DECIMAL.fullmatch(plain):
        return text if math.isinf(float(plain)) else int(plain)
    integer = _radix_integer(plain)
    if integer is not None:
        return integer
    return _float_or(plain, text) if _FLOAT.fullmatch(plain) else text


def is_plain_string(text: str) -> bool:
    """Return whether `text`, written without quotes, reads back as that string.

    Dates and base-60 numbers do not qualify: other YAML readers take them for something else.
    """
    if not isinstance(resolve(text), str):
        return False
    return not (text[0] in _NUMBER_START and (is_timestamp(text) or _BASE_60.fullmatch(text)))


def is_timestamp(text: str) -> bool:
    """Return whether go-yaml takes `text` for a date or a point in time that exists."""
    date = _DATE.match(text)
    if date is None or not _is_day(*map(int, date.groups())):
        return False
    rest = text[date.end() :]
    return not rest or _is_clock(rest)


def _radix_integer(plain: str) -> int | None:
    for pattern, base in _RADIX:
        if pattern.fullmatch(plain):
            value = int(plain, base)
            return value if _fits_64_bits(value, signed=plain[0] in "+-") else None
    if _BINARY_WITH_INNER_SIGN.fullmatch(plain):
        value = int(plain.removeprefix("0b"), base=2)
        return value if _fits_64_bits(value, signed=True) else None
    return None


def _fits_64_bits(value: int, *, signed: bool) -> bool:
    return -(2**63) <= value < (2**63 if signed else 2**64)


def _float_or(plain: str, text: str) -> float | str:
    value = float(plain)
    return text if math.isinf(value) else value


def _is_day(year: int, month: int, day: int) -> bool:
    if not 1 <= month <= 12:
        return False
    # Year 0 exists in Go; the calendar repeats every 400 years.
    return 1 <= day <= calendar.monthrange(year % 400 + 400, month)[1]


def _is_clock(text: str) -> bool:
    match = _CLOCK.fullmatch(text)
    if match is None:
        return False
    separator, hour, minute, second, zone, zone_hour, zone_minute = match.groups()
    if (separator == " ") == bool(zone):
        return False
    in_day = int(hour) < 24 and int(minute) < 60 and int(second) < 60
    return in_day and int(zone_hour or 0) <= 24 and int(zone_minute or 0) <= 60
