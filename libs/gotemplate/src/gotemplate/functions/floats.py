"""Sprig's arithmetic on floats; anything counts as a number.

The functions that end in f calculate in decimal, so that 0.1 and 0.2 give 0.3. A quotient keeps
16 digits after the point.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Final

from gotemplate.errors import FunctionError
from gotemplate.rendering import Rendering
from gotemplate.types.signature import ANY, FLOAT, INT, Function, to_float
from goyaml import format_float

_QUOTIENT_DIGITS: Final = 16
_HALF: Final = 0.5
_ALL_WHOLE: Final = 2.0**52  # from here on floats have no fraction


@dataclass(frozen=True, slots=True)
class Decimal:
    """A number: digits times ten to the power of the exponent."""

    digits: int
    exponent: int

    @classmethod
    def of(cls, value: float) -> "Decimal":
        """Return the decimal with the fewest digits that reads back as the float.

        Raises:
            FunctionError: the float is NaN or infinite.
        """
        if not math.isfinite(value):
            raise FunctionError(f"Cannot create a Decimal from {format_float(value)}")
        mantissa, _, power = repr(value).partition("e")
        whole, _, fraction = mantissa.partition(".")
        return cls(int(whole + fraction), int(power or 0) - len(fraction))

    def __add__(self, other: "Decimal") -> "Decimal":
        exponent = min(self.exponent, other.exponent)
        return Decimal(self._at(exponent) + other._at(exponent), exponent)

    def __sub__(self, other: "Decimal") -> "Decimal":
        return self + Decimal(-other.digits, other.exponent)

    def __mul__(self, other: "Decimal") -> "Decimal":
        return Decimal(self.digits * other.digits, self.exponent + other.exponent)

    def __truediv__(self, other: "Decimal") -> "Decimal":
        """Divide; the last digit is rounded half away from zero.

        Raises:
            FunctionError: the divisor is 0.
        """
        if other.digits == 0:
            raise FunctionError("decimal division by 0")
        shift = self.exponent - other.exponent + _QUOTIENT_DIGITS
        scaled = abs(self.digits) * 10 ** max(shift, 0)
        two = abs(other.digits) * 10 ** max(-shift, 0)
        quotient = (2 * scaled + two) // (2 * two)
        same_sign = (self.digits < 0) == (other.digits < 0)
        return Decimal(quotient if same_sign else -quotient, -_QUOTIENT_DIGITS)

    def __float__(self) -> float:
        try:
            if self.exponent >= 0:
                return float(self.digits * 10**self.exponent)
            return float(self.digits / 10**-self.exponent)
        except OverflowError:
            return -math.inf if self.digits < 0 else math.inf

    def _at(self, exponent: int) -> int:
        return int(self.digits * 10 ** (self.exponent - exponent))


_Operation = Callable[[Decimal, Decimal], Decimal]


def _calculate(
    run: Rendering, operation: _Operation, first: object, others: tuple[object, ...]
) -> float:
    def step(value: Decimal, other: object) -> Decimal:
        result = operation(value, Decimal.of(to_float(other)))
        run.charge(abs(result.exponent) >> 6)
        return result

    return float(reduce(step, others, Decimal.of(to_float(first))))


def addf(run: Rendering, *values: object) -> float:
    """Add in decimal; 0 without arguments."""
    return _calculate(run, Decimal.__add__, 0, values)


def add1f(run: Rendering, value: object) -> float:
    """Add one in decimal."""
    return _calculate(run, Decimal.__add__, value, (1,))


def subf(run: Rendering, first: object, *others: object) -> float:
    """Subtract the others in decimal."""
    return _calculate(run, Decimal.__sub__, first, others)


def mulf(run: Rendering, first: object, *others: object) -> float:
    """Multiply in decimal."""
    return _calculate(run, Decimal.__mul__, first, others)


def divf(run: Rendering, first: object, *others: object) -> float:
    """Divide by the others in decimal."""
    return _calculate(run, Decimal.__truediv__, first, others)


def maxf(first: object, *others: object) -> float:
    """Return the largest number; NaN if one of them is NaN and none is infinite."""
    return reduce(_larger, map(to_float, others), to_float(first))


def minf(first: object, *others: object) -> float:
    """Return the smallest number; NaN if one of them is NaN and none is negative infinity."""
    return -reduce(_larger, (-to_float(other) for other in others), -to_float(first))


def _larger(left: float, right: float) -> float:
    if math.inf in (left, right):
        return math.inf
    if math.isnan(left) or math.isnan(right):
        return math.nan
    if left == right == 0:  # of two zeros, the one without a sign
        return left if math.copysign(1, left) > 0 else right
    return max(left, right)


def floor(value: object) -> float:
    """Round down to a whole number."""
    return _whole(to_float(value), math.floor)


def ceil(value: object) -> float:
    """Round up to a whole number."""
    return _whole(to_float(value), math.ceil)


def _whole(value: float, function: Callable[[float], int]) -> float:
    if not abs(value) < _ALL_WHOLE:
        return value
    return math.copysign(function(value), value)


def rounded(value: object, places: int, *half: float) -> float:
    """Round to decimal places: up when the fraction that is left is at least half, else down.

    So -2.5 becomes -3, and -2.3 does too: a negative fraction never reaches the half.

    Args:
        value: anything that counts as a number.
        places: digits after the point; negative ones are before it.
        half: what to take for the half instead of 0.5.
    """
    power = _power_of_ten(places)
    digit = power * to_float(value)
    fraction = math.modf(digit)[0] if math.isfinite(digit) else math.nan
    up = fraction >= (half[0] if half else _HALF)
    return _quotient(_whole(digit, math.ceil if up else math.floor), power)


def _power_of_ten(places: int) -> float:
    try:
        return 10.0**places
    except OverflowError:
        return math.inf


def _quotient(left: float, right: float) -> float:
    if right == 0:
        return math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left)
    return left / right


FUNCTIONS: Final = (
    Function("addf", addf, (), ANY, uses_rendering=True),
    Function("add1f", add1f, (ANY,), uses_rendering=True),
    Function("subf", subf, (ANY,), ANY, uses_rendering=True),
    Function("mulf", mulf, (ANY,), ANY, uses_rendering=True),
    Function("divf", divf, (ANY,), ANY, uses_rendering=True),
    Function("maxf", maxf, (ANY,), ANY),
    Function("minf", minf, (ANY,), ANY),
    Function("floor", floor, (ANY,)),
    Function("ceil", ceil, (ANY,)),
    Function("round", rounded, (ANY, INT), FLOAT),
)
