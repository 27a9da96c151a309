"""Sprig's arithmetic on integers, and its random functions.

Integers have 64 bits with wraparound, and anything counts as a number. Random bytes come from the
`Sources` of the `Environment`.
"""

import base64
import re
import string
import uuid
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from gotemplate.errors import FunctionError
from gotemplate.golang.gofmt import plain_text
from gotemplate.golang.literals import INT_MAX, INT_MIN, runes
from gotemplate.golang.values import Int64, IntList
from gotemplate.rendering import Rendering, Sources
from gotemplate.types.signature import ANY, INT, STRING, Function, to_float, to_int, wrap

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
    left, right = to_int(first), to_int(second)
    return Int64(left - _quotient(left, right) * right)


def _quotient(left: int, right: int) -> int:
    if right == 0:
        raise FunctionError("runtime error: integer divide by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


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


_ASCII: Final = "".join(map(chr, range(32, 127)))
_UUID_BYTES: Final = 16

_Item = TypeVar("_Item")


def below(sources: Sources, limit: int) -> int:
    """Return a uniformly random number from 0 up to, but not including, `limit`."""
    bits = (limit - 1).bit_length()
    size = (bits + 7) // 8
    while True:
        number = int.from_bytes(sources.random(size), "big") >> (size * 8 - bits)
        if number < limit:
            return number


def choice(sources: Sources, items: Sequence[_Item]) -> _Item:
    """Return a random item of a sequence that is not empty."""
    return items[below(sources, len(items))]


def _text_of(characters: str) -> Callable[[Rendering, int], str]:
    def make(run: Rendering, length: int) -> str:
        _afford(run, length)
        return "".join(choice(run.sources, characters) for _ in range(length))

    return make


def rand_bytes(run: Rendering, count: int) -> str:
    """Return that many random bytes in base64.

    Raises:
        FunctionError: the number is negative.
    """
    if count < 0:
        raise FunctionError("runtime error: makeslice: len out of range")
    _afford(run, count)
    return base64.b64encode(run.sources.random(count)).decode()


def rand_int(run: Rendering, low: int, high: int) -> int:
    """Return a random number from the first up to, but not including, the second.

    Raises:
        FunctionError: there is none.
    """
    if high <= low:
        raise FunctionError("invalid argument to Intn")
    return low + below(run.sources, high - low)


def shuffle(run: Rendering, text: str) -> str:
    """Shuffle the characters of a text."""
    _afford(run, len(text))
    left = list(runes(text))
    for end in range(len(left) - 1, 0, -1):
        other = below(run.sources, end + 1)
        left[end], left[other] = left[other], left[end]
    return "".join(left)


def uuidv4(run: Rendering) -> str:
    """Return a random UUID."""
    return str(uuid.UUID(bytes=run.sources.random(_UUID_BYTES), version=4))


def _afford(run: Rendering, length: int) -> None:
    run.check("string", length)
    run.charge(max(length, 0) >> 1)


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
    Function(
        "randAlphaNum", _text_of(string.digits + string.ascii_letters), (INT,), uses_rendering=True
    ),
    Function("randAlpha", _text_of(string.ascii_letters), (INT,), uses_rendering=True),
    Function("randNumeric", _text_of(string.digits), (INT,), uses_rendering=True),
    Function("randAscii", _text_of(_ASCII), (INT,), uses_rendering=True),
    Function("randBytes", rand_bytes, (INT,), uses_rendering=True),
    Function("randInt", rand_int, (INT, INT), uses_rendering=True),
    Function("shuffle", shuffle, (STRING,), uses_rendering=True),
    Function("uuidv4", uuidv4, uses_rendering=True),
)
