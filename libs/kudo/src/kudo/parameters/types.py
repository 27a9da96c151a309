"""The types of parameters, and whether texts are values of them, as Go's `strconv` reads scalars.

Checks, files, commands and completion follow from `TYPES`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

_INT64_DIGITS: Final = 19
# Characters of a number; reading a megabyte of digits takes a tenth of a second.
_NUMBER: Final = 4096
_DECIMAL: Final = re.compile(r"[-+]?[0-9]+")
_BOOLEANS: Final = frozenset(
    {"1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False"}
)
_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_SYNTAX: Final = "invalid syntax"
_INT64: Final = range(-(2**63), 2**63)
# Below it, every whole number is a float.
_EXACT: Final = 2**53


@dataclass(frozen=True, slots=True)
class ValueType:
    """A type of parameters.

    Attributes:
        name: As packages write it.
        sample: A value of it; empty if any text is one, None if it is null without a value.
        aliases: What other languages call it.
        fault: Returns why a text is none of its values; None for YAML, and where any text is one.
        container: What YAML of it is read as; None for a scalar.
        accepts: Whether a value of YAML that is no text can stand for one of it.
        typed: Returns the value that an expression sees, for a text without fault.
    """

    name: str
    sample: str | None = ""
    aliases: tuple[str, ...] = ()
    fault: Callable[[str], str | None] | None = None
    container: type | None = None
    accepts: Callable[[object], bool] = lambda _: False
    typed: Callable[[str], object] = str


def scalar_fault(value_type: str, text: str) -> str | None:
    """Return why a text is not a value of a scalar type; unknown types accept every text.

    Integers are decimal and fit 64 bits, numbers are what `strconv.ParseFloat` reads.
    """
    declared = TYPES.get(value_type)
    return None if declared is None or declared.fault is None else declared.fault(text)


def typed(value_type: str | None, text: str) -> object:
    """Return the value of a scalar type as expressions see it; the text if it is none."""
    declared = TYPES.get(value_type or "")
    if declared is None or scalar_fault(declared.name, text) is not None:
        return text
    return declared.typed(text)


def is_container(value_type: str | None) -> bool:
    """Return whether values of a type are YAML, such as arrays; unknown types are scalar."""
    declared = TYPES.get(value_type or "")
    return declared is not None and declared.container is not None


def _integer(text: str) -> str | None:
    if _DECIMAL.fullmatch(text) is None:
        return _SYNTAX
    most = 2**63 if text[0] == "-" else 2**63 - 1
    digits = _digits(text)
    return "value out of range" if len(digits) > _INT64_DIGITS or int(digits) > most else None


def _digits(text: str) -> str:
    """Return the digits of an integer, without zeros in front: Python reads only 4,300 of them."""
    # Dropped here: a pattern for them tries each way to divide the digits.
    return text.lstrip("+-").lstrip("0") or "0"


def _as_integer(text: str) -> int:
    number = int(_digits(text))
    return -number if text[0] == "-" else number


def _number(text: str) -> str | None:
    from goyaml import parse_float  # it loads a parser, and completion needs the names alone

    if len(text) > _NUMBER:
        return f"it has more than {_NUMBER} characters"
    return None if parse_float(text) is not None else "it is not a number, or it is out of range"


def _as_float(text: str) -> float | None:
    from goyaml import parse_float

    return parse_float(text)


def _is_integral(value: object) -> bool:
    if isinstance(value, float):
        # Without quotes it is as good as the text of it, where no digit can get lost.
        return value.is_integer() and abs(value) < _EXACT
    return isinstance(value, int) and not isinstance(value, bool)


TYPES: Final[Mapping[str, ValueType]] = {
    value_type.name: value_type
    for value_type in (
        ValueType("string", "", ("str",), accepts=_is_integral),
        ValueType(
            "integer",
            "1",
            ("int",),
            _integer,
            accepts=lambda v: _is_integral(v) and int(str(v).partition(".")[0]) in _INT64,
            typed=_as_integer,
        ),
        ValueType(
            "number",
            "1",
            ("float",),
            _number,
            accepts=lambda v: isinstance(v, int | float) and not isinstance(v, bool),
            typed=_as_float,
        ),
        ValueType(
            "boolean",
            "true",
            ("bool",),
            lambda text: None if text in _BOOLEANS else _SYNTAX,
            accepts=lambda v: isinstance(v, bool),
            typed=lambda text: text in _TRUE,
        ),
        ValueType("array", None, ("list",), container=list),
        ValueType("map", None, ("object", "dict"), container=dict),
    )
}
"""By their names, in the order in which people are shown them."""
