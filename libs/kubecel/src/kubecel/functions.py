"""Functions and quantities of Kubernetes' CEL that the library for CEL does not have.

The library takes no values of types of its own from Python, so a quantity, such as `500m` or `1Gi`,
is a mapping with its exact number as a fraction: equal quantities are equal mappings.

Of Kubernetes' functions these are missing: `find`, `findAll`, `ip`, `cidr`, `url`, `format.named`
and what works on their results, `semver`, `authorizer`, `indexOf` of lists, and macros with two
variables.
"""

import ipaddress
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final
from urllib.parse import urlsplit

_QUANTITY: Final = re.compile(
    # Bounded, since a Fraction has as many digits as it is given.
    r"([+-]?)(\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})"
    r"(?:([KMGTPE]i|[numkMGTPE])|[eE]([+-]?\d{1,2}))?",
    re.ASCII,
)
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


def parse_quantity(text: str) -> Fraction:
    """Return the number that a quantity stands for.

    Raises:
        ValueError: the text is no quantity.
    """
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"{text[:40]!r} is no quantity of Kubernetes")
    sign, digits, suffix, exponent = match.groups()
    number = Fraction(digits.rstrip(".") or "0")
    if suffix in _BINARY:
        number *= 2 ** _BINARY[suffix]
    else:
        number *= Fraction(10) ** (_DECIMAL[suffix] if suffix else int(exponent or 0))
    return -number if sign == "-" else number


MISSING: Final = frozenset(
    {
        *("find", "findAll", "ip", "cidr", "url", "format", "semver", "isSemver", "authorizer"),
        *("containsIP", "containsCIDR", "family", "getHost", "getPort", "getScheme", "validate"),
    }
)
"""Names of functions that Kubernetes has, and expressions of suites cannot use."""

_KEY: Final = "quantity"
_LARGEST: Final = 2**63
"""The bound of integers in CEL, which have 64 bits; those of Python have none."""
_Quantity = dict[str, str]


@dataclass(frozen=True, slots=True)
class Overload:
    """One form of a function.

    Attributes:
        function: Its name.
        parameters: Types of what it takes, by their names in CEL.
        result: Type of its result.
        member: Whether the first parameter stands before a dot.
        implementation: What it does.
    """

    function: str
    parameters: tuple[str, ...]
    result: str
    member: bool
    implementation: Callable[..., Any]


def declarations(cel: Any) -> list[Any]:
    """Return the declarations of all functions, as the library takes them."""
    types = {
        "bool": cel.Type.BOOL,
        "double": cel.Type.DOUBLE,
        "dyn": cel.Type.DYN,
        "int": cel.Type.INT,
        "list": cel.Type.List(cel.Type.DYN),
        "quantity": cel.Type.Map(cel.Type.STRING, cel.Type.STRING),
        "string": cel.Type.STRING,
    }
    by_name: dict[str, list[Any]] = {}
    for overload in OVERLOADS:
        declared = cel.Overload(
            f"kudo_{overload.function}_{'_'.join(overload.parameters)}",
            return_type=types[overload.result],
            parameters=[types[name] for name in overload.parameters],
            is_member=overload.member,
            impl=overload.implementation,
        )
        by_name.setdefault(overload.function, []).append(declared)
    return [cel.FunctionDecl(name, overloads) for name, overloads in by_name.items()]


def _of(number: Fraction) -> _Quantity:
    return {_KEY: str(number)}


def _number(value: _Quantity | int) -> Fraction:
    if isinstance(value, int):
        return Fraction(value)
    if set(value) != {_KEY}:
        raise ValueError("it is no quantity; write quantity(...) around it")
    return Fraction(value[_KEY])


def _is(parse: Callable[[str], Any]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            parse(text)
        except ValueError:
            return False
        return True

    return check


def _is_integer(value: _Quantity) -> bool:
    number = _number(value)
    return number.denominator == 1 and -_LARGEST <= number < _LARGEST


def _as_integer(value: _Quantity) -> int:
    if not _is_integer(value):
        raise ValueError("the quantity is no integer")
    return int(_number(value))


def _compare(left: _Quantity, right: _Quantity) -> int:
    return (_number(left) > _number(right)) - (_number(left) < _number(right))


def _ip(text: str) -> Any:
    if "%" in text:  # a zone, which Kubernetes has not
        raise ValueError(text)
    return ipaddress.ip_address(text)


def _cidr(text: str) -> Any:
    address, slash, bits = text.partition("/")
    if not slash or not bits.isdecimal():  # without a mask such as 255.0.0.0
        raise ValueError(text)
    return ipaddress.ip_network(f"{_ip(address)}/{bits}", strict=False)


def _url(text: str) -> Any:
    # As Go's url.ParseRequestURI, which Kubernetes uses: an absolute path is one as well.
    parts = urlsplit(text)
    if not (parts.scheme and (parts.netloc or parts.path.startswith("/"))) and not (
        text.startswith("/")
    ):
        raise ValueError(text)
    return parts


def _sum(values: Sequence[Any]) -> Any:
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in values):
        raise ValueError("sum() needs a list of numbers")
    total = sum(values)
    if isinstance(total, int) and not -_LARGEST <= total < _LARGEST:
        raise ValueError("the sum is too large")
    return total


def _extreme(choose: Callable[[Sequence[Any]], Any], name: str) -> Callable[[Sequence[Any]], Any]:
    def extreme(values: Sequence[Any]) -> Any:
        if not values:
            raise ValueError(f"{name}() needs a list that is not empty")
        _check_comparable(values, name)
        return choose(values)

    return extreme


def _sorted(values: Sequence[Any]) -> bool:
    _check_comparable(values, "isSorted")
    return all(value <= following for value, following in pairwise(values))


def _check_comparable(values: Sequence[Any], name: str) -> None:
    # Python compares lists as well, and its TypeError for others tells a user of CEL nothing.
    types = {float if isinstance(value, int) else type(value) for value in values}
    if len(types) > 1 or types & {dict, list, type(None)}:
        raise ValueError(f"{name}() needs items of one type that can be compared")


_Q: Final = "quantity"
OVERLOADS: Final = (
    Overload("quantity", ("string",), _Q, False, lambda text: _of(parse_quantity(text))),
    Overload("isQuantity", ("string",), "bool", False, _is(parse_quantity)),
    Overload("sign", (_Q,), "int", True, lambda a: _compare(a, _of(Fraction(0)))),
    Overload("isInteger", (_Q,), "bool", True, _is_integer),
    Overload("asInteger", (_Q,), "int", True, _as_integer),
    Overload("asApproximateFloat", (_Q,), "double", True, lambda a: float(_number(a))),
    Overload("add", (_Q, _Q), _Q, True, lambda a, b: _of(_number(a) + _number(b))),
    Overload("add", (_Q, "int"), _Q, True, lambda a, b: _of(_number(a) + b)),
    Overload("sub", (_Q, _Q), _Q, True, lambda a, b: _of(_number(a) - _number(b))),
    Overload("sub", (_Q, "int"), _Q, True, lambda a, b: _of(_number(a) - b)),
    Overload("isLessThan", (_Q, _Q), "bool", True, lambda a, b: _compare(a, b) < 0),
    Overload("isGreaterThan", (_Q, _Q), "bool", True, lambda a, b: _compare(a, b) > 0),
    Overload("compareTo", (_Q, _Q), "int", True, _compare),
    Overload("isIP", ("string",), "bool", False, _is(_ip)),
    Overload("isCIDR", ("string",), "bool", False, _is(_cidr)),
    Overload("isURL", ("string",), "bool", False, _is(_url)),
    Overload("sum", ("list",), "dyn", True, _sum),
    Overload("min", ("list",), "dyn", True, _extreme(min, "min")),
    Overload("max", ("list",), "dyn", True, _extreme(max, "max")),
    Overload("isSorted", ("list",), "bool", True, _sorted),
)
