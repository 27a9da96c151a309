"""Plain (unquoted) scalars by the rules of go-yaml v2.3.0, and floats as Go's `strconv` has them.

The rules are those of YAML 1.1 with Go's number syntax: `y` and `n` are booleans, `0o7` and `0b1`
are integers, `1e3` is a float, base-60 numbers do not exist. Dates count as timestamps only when
writing, where they are quoted; when reading they stay strings.

One deliberate difference: a decimal integer beyond 64 bits, which Go turns into a float, stays an
exact `int`.
"""

import calendar
import math
import re
import struct
from typing import Final

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
    if not _FLOAT.fullmatch(plain):
        return text
    value = float(plain)
    # Go reports a number beyond a double as an error, and go-yaml then takes it for a text.
    return text if math.isinf(value) else value


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
    if date is None:
        return False
    year, month, day = map(int, date.groups())
    # Year 0 exists in Go; the calendar repeats every 400 years.
    in_year = 1 <= month <= 12
    if not (in_year and 1 <= day <= calendar.monthrange(year % 400 + 400, month)[1]):
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


def _is_clock(text: str) -> bool:
    match = _CLOCK.fullmatch(text)
    if match is None:
        return False
    separator, hour, minute, second, zone, zone_hour, zone_minute = match.groups()
    if (separator == " ") == bool(zone):
        return False
    in_day = int(hour) < 24 and int(minute) < 60 and int(second) < 60
    return in_day and int(zone_hour or 0) <= 24 and int(zone_minute or 0) <= 60


_PLAIN_FROM: Final = 1e-4
_PLAIN_BELOW: Final = 1e6
_EXPONENT_FROM: Final = 6
_EXPONENT_BELOW: Final = -4
_DIGITS_OF_32_BITS: Final = 9

_WORD: Final = re.compile(r"[-+]?(?:inf|infinity|nan)", re.IGNORECASE | re.ASCII)
_DIGITS: Final = "[0-9]+(?:_[0-9]+)*"
_HEX_DIGITS: Final = "[0-9a-f]+(?:_[0-9a-f]+)*"
_DECIMAL_FLOAT: Final = re.compile(
    rf"[-+]?(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:e[-+]?{_DIGITS})?",
    re.IGNORECASE | re.ASCII,
)
_WITHOUT_UNDERSCORES: Final = re.compile(
    r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?", re.ASCII
)
_HEX: Final = re.compile(
    rf"[-+]?0x(?:_?{_HEX_DIGITS}(?:\.(?:{_HEX_DIGITS})?)?|\.{_HEX_DIGITS})p[-+]?{_DIGITS}",
    re.IGNORECASE | re.ASCII,
)


class SpelledFloat(float):
    """A float that is written as it was spelled, such as `0.10` or `1e3`.

    Attributes:
        text: The spelling: a decimal number.
    """

    __slots__ = ("text",)
    text: str

    def __new__(cls, value: float, text: str) -> "SpelledFloat":
        number = super().__new__(cls, value)
        number.text = text
        return number


def spelled(value: float, text: str) -> float:
    """Return a float with its spelling; without one that only YAML reads (`1_000.5`, `+.5`)."""
    return SpelledFloat(value, text) if _WITHOUT_UNDERSCORES.fullmatch(text) else value


def parse_float(text: str) -> float | None:
    """Return the number that `strconv.ParseFloat(text, 64)` reads; None where it reports an error.

    Go takes underscores between digits, hexadecimal numbers with a binary exponent (`0x1p-2`) and
    the words `inf`, `infinity` and `nan` in any case (`nan` without a sign). Blanks around the
    number, and numbers too large for a double, are errors.
    """
    if _WORD.fullmatch(text):
        return None if text[0] in "+-" and text[1] in "nN" else float(text)
    if not (_DECIMAL_FLOAT.fullmatch(text) or _HEX.fullmatch(text)):
        return None
    digits = text.replace("_", "")
    try:
        value = float.fromhex(digits) if "x" in digits.lower() else float(digits)
    except OverflowError:  # `fromhex` raises where `float` returns an infinity
        return None
    return None if math.isinf(value) else value


def format_float(value: float, *, bits: int = 64) -> str:
    """Return the shortest text that reads back as `value`, as Go's `%v` and `%g` have it.

    Exponents appear from a magnitude of 1e6 on and below 1e-4, with at least two digits; there is
    no point without a fraction; infinities and NaN are `+Inf`, `-Inf` and `NaN`. With `bits=32` the
    value is rounded to single precision first. A `SpelledFloat` is returned as it was spelled.
    """
    if isinstance(value, SpelledFloat):
        return value.text
    if bits == 32:
        value = _single(value)
    size = abs(value)
    if size == 0 or (bits == 64 and _PLAIN_FROM <= size < _PLAIN_BELOW):
        return repr(value).removesuffix(".0")
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    shortest = repr(size)
    if bits == 32:
        # Python has no shortest text of single precision: the fewest digits that read back.
        texts = (f"{size:.{digits}e}" for digits in range(_DIGITS_OF_32_BITS))
        shortest = next(text for text in texts if _single(float(text)) == size)
    digits, exponent = _significant(shortest)
    sign = "-" if value < 0 else ""
    if _EXPONENT_BELOW <= exponent < _EXPONENT_FROM:
        if exponent < 0:
            return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
        whole, fraction = digits[: exponent + 1], digits[exponent + 1 :]
        return f"{sign}{whole:0<{exponent + 1}}" + (f".{fraction}" if fraction else "")
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{exponent:+03d}"


def _single(value: float) -> float:
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded


def _significant(text: str) -> tuple[str, int]:
    """Return the significant digits of a positive number and the exponent of the first of them."""
    mantissa, _, power = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    zeros = len(whole + fraction) - len(digits)
    return digits.rstrip("0"), int(power or 0) + len(whole) - 1 - zeros
