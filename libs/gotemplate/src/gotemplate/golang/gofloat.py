"""Floats as Go prints them."""

import math

from goyaml import format_float


def with_verb(value: float, verb: str, precision: int | None) -> str:
    """Write a float for one of the verbs e E f F g G x X b; without flags and width."""
    if not math.isfinite(value):
        return format_float(value)
    if verb == "b":
        return _binary(value)
    if verb in "xX":
        text = _hexadecimal(value, precision)
        return text.upper() if verb == "X" else text
    if verb in "gG" and precision is None:
        text = format_float(value)
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
    """Round a mantissa of 53 bits to hexadecimal digits, half to even; return whether it grew."""
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
    expected = 0
    if verb in "gGx":
        expected = 6 if precision is None else precision
    significant = number.lstrip("+-").replace(".", "").lstrip("0")
    missing = expected - len(significant)
    if "." not in number:
        missing -= number.lstrip("+-") == "0"
        number += "."
    return number + "0" * missing + tail
