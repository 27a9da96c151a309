"""Checks whether texts are integers, numbers or booleans, as Go's `strconv` does."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from goyaml import parse_float

_INT64_DIGITS: Final = 19
_NUMBER: Final = 4096
"""Characters of a number; reading a megabyte of digits takes a tenth of a second."""
_DECIMAL: Final = re.compile(r"[-+]?([0-9]+)")
_BOOLEANS: Final = frozenset(
    {"1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False"}
)
_SYNTAX: Final = "invalid syntax"


def scalar_fault(value_type: str, text: str) -> str | None:
    """Return why a text is not a value of a scalar type; unknown types accept every text.

    Integers are decimal and fit 64 bits, numbers are what `strconv.ParseFloat` reads.
    """
    fault_of = _TYPES.get(value_type)
    return None if fault_of is None else fault_of(text)


def _integer(text: str) -> str | None:
    match = _DECIMAL.fullmatch(text)
    if match is None:
        return _SYNTAX
    most = 2**63 if text[0] == "-" else 2**63 - 1
    # Zeros in front are dropped here: a pattern for them tries each way to divide the digits.
    digits = match[1].lstrip("0") or "0"
    return "value out of range" if len(digits) > _INT64_DIGITS or int(digits) > most else None


def _number(text: str) -> str | None:
    if len(text) > _NUMBER:
        return f"it has more than {_NUMBER} characters"
    return None if parse_float(text) is not None else "it is not a number, or it is out of range"


def _boolean(text: str) -> str | None:
    return None if text in _BOOLEANS else _SYNTAX


_TYPES: Final[Mapping[str, Callable[[str], str | None]]] = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
}
