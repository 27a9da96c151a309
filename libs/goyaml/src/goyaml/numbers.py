"""Floating-point numbers as Go's `strconv` reads and prints them."""

import math
import re
import struct
from typing import Final

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
    value = _finite(text.replace("_", ""))
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
    digits, exponent = _significant(_shortest_single(size) if bits == 32 else repr(size))
    sign = "-" if value < 0 else ""
    if _EXPONENT_BELOW <= exponent < _EXPONENT_FROM:
        return sign + _positional(digits, exponent)
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{exponent:+03d}"


def _finite(text: str) -> float:
    try:
        return float.fromhex(text) if "x" in text or "X" in text else float(text)
    except OverflowError:
        return math.inf


def _single(value: float) -> float:
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded


def _shortest_single(value: float) -> str:
    texts = (f"{value:.{digits}e}" for digits in range(_DIGITS_OF_32_BITS))
    return next(text for text in texts if _single(float(text)) == value)


def _significant(text: str) -> tuple[str, int]:
    """Return the significant digits of a positive number and the exponent of the first of them."""
    mantissa, _, power = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    zeros = len(whole + fraction) - len(digits)
    return digits.rstrip("0"), int(power or 0) + len(whole) - 1 - zeros


def _positional(digits: str, exponent: int) -> str:
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    fraction = digits[exponent + 1 :]
    return f"{whole}.{fraction}" if fraction else whole
