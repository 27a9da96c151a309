"""Sprig's arithmetic: 64-bit integers with wraparound, and anything counts as a number.

Texts count by their decimal digits, with no space, point or prefix; whatever is no number is 0.
A float loses its fraction. These are the rules of Sprig 2.22.
"""

import math
import re
from typing import Final

from gotemplate.errors import FunctionError
from gotemplate.functions.signature import ANY, INT, STRING, Function
from gotemplate.limits import Run
from gotemplate.literals import INT_MAX, INT_MIN
from gotemplate.values import Int64, IntList

_DECIMAL: Final = re.compile(r"[+-]?0*([0-9]{1,20})", re.ASCII)
_MASK: Final = (1 << 64) - 1
_ALL_DIGITS: Final = re.compile(r"([+-]?)[0-9]+", re.ASCII)


def wrap(value: int) -> int:
    """Keep the low 64 bits, as Go's arithmetic does."""
    if INT_MIN <= value <= INT_MAX:
        return value
    value &= _MASK
    return value - (1 << 64) if value > INT_MAX else value


def to_int(value: object) -> int:
    """Read anything as an int64; 0 when it is no number or a text out of range."""
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


def atoi(text: str) -> int:
    """Read decimal digits; 0 when there are others, the nearest int64 when they are too many."""
    match = _ALL_DIGITS.fullmatch(text)
    if match is None:
        return 0
    value = INT_MAX + 1
    if _DECIMAL.fullmatch(text):
        value = int(text.lstrip("+-").lstrip("0") or 0)
    return max(INT_MIN, -value) if match[1] == "-" else min(INT_MAX, value)


def add(*values: object) -> int:
    """Add; nothing added is 0."""
    return Int64(wrap(sum(map(to_int, values))))


def sub(first: object, second: object) -> int:
    """Subtract the second number."""
    return Int64(wrap(to_int(first) - to_int(second)))


def mul(first: object, *others: object) -> int:
    """Multiply."""
    value = to_int(first)
    for other in others:
        value = wrap(value * to_int(other))
    return Int64(value)


def div(first: object, second: object) -> int:
    """Divide, without the fraction.

    Raises:
        FunctionError: the divisor is 0.
    """
    one, two = to_int(first), to_int(second)
    if two == 0:
        raise FunctionError("runtime error: integer divide by zero")
    quotient = abs(one) // abs(two)
    return Int64(wrap(quotient if (one < 0) == (two < 0) else -quotient))


def biggest(first: object, *others: object) -> int:
    """Give the largest number."""
    return Int64(max(map(to_int, (first, *others))))


def smallest(first: object, *others: object) -> int:
    """Give the smallest number."""
    return Int64(min(map(to_int, (first, *others))))


def until(run: Run, count: int) -> list[int]:
    """Count from 0 towards `count`, which is not reached; downwards when it is negative."""
    return until_step(run, 0, count, -1 if count < 0 else 1)


def until_step(run: Run, start: int, stop: int, step: int) -> list[int]:
    """Count from `start` towards `stop`, which is not reached; none when `step` leads away."""
    if step == 0:
        return IntList()
    numbers = range(start, stop, step)
    # A count beyond sys.maxsize has no len().
    size = (abs(stop - start) + abs(step) - 1) // abs(step) if numbers else 0
    run.check("items", size)
    return IntList(numbers)


FUNCTIONS: Final = (
    Function("int", to_int, (ANY,)),
    Function("atoi", atoi, (STRING,)),
    Function("add", add, (), ANY),
    Function("sub", sub, (ANY, ANY)),
    Function("mul", mul, (ANY,), ANY),
    Function("div", div, (ANY, ANY)),
    Function("max", biggest, (ANY,), ANY),
    Function("min", smallest, (ANY,), ANY),
    Function("until", until, (INT,), uses_run=True),
    Function("untilStep", until_step, (INT, INT, INT), uses_run=True),
)
