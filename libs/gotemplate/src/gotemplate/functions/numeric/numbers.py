"""Sprig's arithmetic on integers: 64 bits with wraparound, and anything counts as a number."""

import re
from typing import Final

from gotemplate.errors import FunctionError
from gotemplate.golang.gofmt import plain_text
from gotemplate.golang.literals import INT_MAX, INT_MIN
from gotemplate.golang.values import Int64, IntList
from gotemplate.limits import Rendering
from gotemplate.types.casts import to_float, to_int, wrap
from gotemplate.types.signature import ANY, INT, STRING, Function

_ALL_DIGITS: Final = re.compile(r"([+-]?)0*([0-9]+)", re.ASCII)
_OCTAL: Final = re.compile(r"[+-]?[0-7]{1,30}", re.ASCII)
_MOST_DIGITS: Final = 20


def atoi(text: str) -> int:
    """Read decimal digits; 0 if there is anything else, the nearest int64 if there are too many."""
    match = _ALL_DIGITS.fullmatch(text)
    if match is None:
        return 0
    value = INT_MAX + 1 if len(match[2]) > _MOST_DIGITS else int(match[2])
    return max(INT_MIN, -value) if match[1] == "-" else min(INT_MAX, value)


def int64(value: object) -> int:
    """Convert any value to an int64."""
    return Int64(to_int(value))


def to_decimal(run: Rendering, value: object) -> int:
    """Read the text of a value as octal digits; 0 when it has others."""
    text = plain_text(run, value)
    number = int(text, 8) if _OCTAL.fullmatch(text) else 0
    return Int64(number if INT_MIN <= number <= INT_MAX else 0)


def add(*values: object) -> int:
    """Add numbers; 0 without arguments."""
    return Int64(wrap(sum(map(to_int, values))))


def add1(value: object) -> int:
    """Add one."""
    return Int64(wrap(to_int(value) + 1))


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
    return Int64(wrap(_quotient(to_int(first), to_int(second))))


def mod(first: object, second: object) -> int:
    """Return the remainder of a division; it has the sign of the dividend.

    Raises:
        FunctionError: the divisor is 0.
    """
    one, two = to_int(first), to_int(second)
    return Int64(one - _quotient(one, two) * two)


def _quotient(one: int, two: int) -> int:
    if two == 0:
        raise FunctionError("runtime error: integer divide by zero")
    quotient = abs(one) // abs(two)
    return quotient if (one < 0) == (two < 0) else -quotient


def biggest(first: object, *others: object) -> int:
    """Return the largest number."""
    return Int64(max(map(to_int, (first, *others))))


def smallest(first: object, *others: object) -> int:
    """Return the smallest number."""
    return Int64(min(map(to_int, (first, *others))))


def until(run: Rendering, count: int) -> list[int]:
    """Count from 0 to `count`, exclusive; downwards if it is negative."""
    return until_step(run, 0, count, -1 if count < 0 else 1)


def until_step(run: Rendering, start: int, stop: int, step: int) -> list[int]:
    """Count from `start` to `stop`, exclusive; nothing if `step` leads away."""
    if step == 0:
        return IntList()
    numbers = range(start, stop, step)
    # A count beyond sys.maxsize has no len().
    size = (abs(stop - start) + abs(step) - 1) // abs(step) if numbers else 0
    run.check("items", size)
    return IntList(numbers)


def seq(run: Rendering, *bounds: int) -> str:
    """Count as the shell's `seq` does: to END, START to END, or START, STEP and END.

    Returns:
        The numbers with spaces between, the last one included; "" of no or of too many bounds.
    """
    match bounds:
        case [stop]:
            start, step = 1, -1 if stop < 1 else 1
        case [start, stop]:
            step = -1 if stop < start else 1
        case [start, step, stop]:
            if stop < start and step > 0:
                return ""
        case _:
            return ""
    numbers = until_step(run, start, stop + (-1 if stop < start else 1), step)
    return " ".join(map(str, numbers))


FUNCTIONS: Final = (
    Function("int", to_int, (ANY,)),
    Function("int64", int64, (ANY,)),
    Function("float64", to_float, (ANY,)),
    Function("toDecimal", to_decimal, (ANY,), uses_rendering=True),
    Function("atoi", atoi, (STRING,)),
    Function("add", add, (), ANY),
    Function("add1", add1, (ANY,)),
    Function("sub", sub, (ANY, ANY)),
    Function("mul", mul, (ANY,), ANY),
    Function("div", div, (ANY, ANY)),
    Function("mod", mod, (ANY, ANY)),
    Function("max", biggest, (ANY,), ANY),
    Function("biggest", biggest, (ANY,), ANY),
    Function("min", smallest, (ANY,), ANY),
    Function("until", until, (INT,), uses_rendering=True),
    Function("untilStep", until_step, (INT, INT, INT), uses_rendering=True),
    Function("seq", seq, (), INT, uses_rendering=True),
)
