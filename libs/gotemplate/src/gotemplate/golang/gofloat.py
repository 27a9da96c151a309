"""Floats as Go prints them."""

import math
from typing import Final

_PLAIN_FROM: Final = 1e-4
_PLAIN_BELOW: Final = 1e6


def shortest(value: float) -> str:
    """Write the fewest digits that read back; exponent form from 1e+06 up and below 0.0001.

    This is `%v` and `%g`: at least two exponent digits, no decimal point without a fraction,
    `+Inf`, `-Inf` and `NaN`.
    """
    size = abs(value)
    if _PLAIN_FROM <= size < _PLAIN_BELOW or size == 0:
        return repr(value).removesuffix(".0")
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    digits, exponent = _decimal(size)
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[0]}{fraction}e{exponent:+03d}"


def _decimal(size: float) -> tuple[str, int]:
    """Give the shortest digits of a positive float and the exponent of the first of them."""
    mantissa, _, power = repr(size).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    exponent = int(power or 0) + len(whole) - 1
    exponent -= len(whole + fraction) - len(digits)
    return digits.rstrip("0"), exponent


def with_verb(value: float, verb: str, precision: int | None) -> str:
    """Write a float for one of the verbs e E f F g G x X b; without flags and width."""
    if not math.isfinite(value):
        return shortest(value)
    if verb == "b":
        return _binary(value)
    if verb in "xX":
        text = _hexadecimal(value, precision)
        return text.upper() if verb == "X" else text
    if verb in "gG" and precision is None:
        text = shortest(value)
        return text.upper() if verb == "G" else text
    places = 6 if precision is None else precision
    return f"{value:.{places}{verb}}"


def _binary(value: float) -> str:
    mantissa, exponent = math.frexp(value)
    if value == 0:
        return f"{'-' if math.copysign(1, value) < 0 else ''}0p-1074"
    shift = 53 if exponent > -1021 else 53 - (-1021 - exponent)
    return f"{int(mantissa * (1 << shift))}p{exponent - shift:+d}"


def _hexadecimal(value: float, precision: int | None) -> str:
    mantissa, exponent = math.frexp(abs(value))
    sign = "-" if math.copysign(1, value) < 0 else ""
    whole, exponent = (int(mantissa * (1 << 53)), exponent - 1) if value else (0, 0)
    if precision is None:
        digits = f"{whole & ((1 << 52) - 1):013x}".rstrip("0")
    else:
        whole, carry = _rounded(whole, precision)
        exponent += carry
        digits = f"{whole & ((1 << 52) - 1):013x}"[:precision].ljust(precision, "0")
    point = "." if digits else ""
    return f"{sign}0x{whole >> 52}{point}{digits}p{exponent:+03d}"


def _rounded(whole: int, precision: int) -> tuple[int, bool]:
    """Round a mantissa of 53 bits to hexadecimal digits, half to even; tell whether it grew."""
    dropped = 52 - 4 * precision
    if dropped <= 0:
        return whole, False
    half = 1 << (dropped - 1)
    kept = (whole + half - 1 + (whole >> dropped & 1)) >> dropped << dropped
    grew = bool(kept >> 53)
    return kept >> grew, grew


def sharpen(text: str, verb: str, precision: int | None) -> str:
    """Apply the `#` flag: always a decimal point, and zeros up to the precision for %g and %x."""
    exponent_marks = "pP" if verb in "xX" else "eEpP"
    cut = next((i for i, c in enumerate(text) if c in exponent_marks), len(text))
    number, tail = text[:cut], text[cut:]
    wanted = 0
    if verb in "gGx":
        wanted = 6 if precision is None else precision
    significant = number.lstrip("+-").replace(".", "").lstrip("0")
    missing = wanted - len(significant)
    if "." not in number:
        missing -= number.lstrip("+-") == "0"
        number += "."
    return number + "0" * missing + tail
