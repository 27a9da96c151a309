"""How Sprig's functions convert any value to a number.

Strings are read as decimal digits without space, point or prefix; what is not a number is 0.
A float loses its fraction. These are the rules of Sprig 2.22.
"""

import math
import re
from typing import Final

from gotemplate.golang.literals import INT_MAX, INT_MIN, parse_float

_DECIMAL: Final = re.compile(r"[+-]?0*([0-9]{1,20})", re.ASCII)
_SURE_TO_FIT: Final = 19  # digits: any number with less is an int64
_MASK: Final = (1 << 64) - 1


def wrap(value: int) -> int:
    """Wrap an integer to 64 bits, as Go's arithmetic does."""
    if INT_MIN <= value <= INT_MAX:
        return value
    value &= _MASK
    return value - (1 << 64) if value > INT_MAX else value


def to_int(value: object) -> int:
    """Convert any value to an int64; 0 if it is not a number, or a text out of range."""
    match value:
        case bool():
            return int(value)
        case int():
            return wrap(int(value))
        case str():
            return _from_text(value)
        case float():
            return _from_float(value)
    return 0


def _from_text(text: str) -> int:
    if len(text) < _SURE_TO_FIT and text.isascii() and text.isdigit():
        return int(text)
    if not _DECIMAL.fullmatch(text):
        return 0
    value = int(text.lstrip("+-").lstrip("0")[:20] or 0)
    value = -value if text[0] == "-" else value
    return value if INT_MIN <= value <= INT_MAX else 0


def _from_float(value: float) -> int:
    # What does not fit becomes the smallest integer, as on amd64.
    if not math.isfinite(value) or not INT_MIN <= value < INT_MAX:
        return INT_MIN
    return int(value)


def to_float(value: object) -> float:
    """Convert any value to a float64; 0 if it is not a number, or a text out of range."""
    match value:
        case bool() | int() | float():
            return float(value)
        case str():
            number = parse_float(value)
            return 0.0 if number is None else number
    return 0.0
