"""Quantities of Kubernetes, such as `500m`, `1Gi` and `2e3`, as exact numbers."""

import re
from fractions import Fraction
from typing import Final

_QUANTITY: Final = re.compile(
    r"([+-]?)(\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})"
    r"(?:([KMGTPE]i|[numkMGTPE])|[eE]([+-]?\d{1,2}))?"
)
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


def parse_quantity(text: str) -> Fraction:
    """Return the number that a quantity stands for.

    Raises:
        ValueError: the text is no quantity.
    """
    found = _QUANTITY.fullmatch(text)
    if found is None:
        raise ValueError(f"{text[:40]!r} is no quantity of Kubernetes")
    sign, digits, suffix, exponent = found.groups()
    number = Fraction(digits.rstrip(".") or "0")
    if suffix in _BINARY:
        number *= 2 ** _BINARY[suffix]
    else:
        number *= Fraction(10) ** (_DECIMAL[suffix] if suffix else int(exponent or 0))
    return -number if sign == "-" else number
