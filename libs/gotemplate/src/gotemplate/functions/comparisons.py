"""Go's comparison functions and their rules for types.

Values of different basic kinds are an error, not unequal; nil equals nil and nothing else;
maps and lists compare with nil only.
"""

from typing import Final

from gotemplate.errors import FunctionError
from gotemplate.golang.gofmt import short_text
from gotemplate.golang.values import BASIC, Kind, MethodValue, kind_of, type_name
from gotemplate.types.signature import VALUE, Function


def eq(first: object, *others: object) -> bool:
    """Return whether the first value equals any of the others.

    Raises:
        FunctionError: there are no others, or two values cannot be compared.
    """
    if not others:
        raise FunctionError("missing argument for comparison")
    return any(_equal(first, other) for other in others)


def _equal(first: object, second: object) -> bool:
    if type(first) is type(second) and isinstance(first, (str, bool, int, float)):
        return first == second
    one, two = kind_of(first), kind_of(second)
    if one is two and one in BASIC:
        return first == second
    if one is Kind.INVALID or two is Kind.INVALID:
        return one is two
    if one in BASIC or two in BASIC:
        raise FunctionError(
            f"incompatible types for comparison: {type_name(first)} and {type_name(second)}"
        )
    if one is not two:
        raise FunctionError(
            f"non-comparable types {short_text(first, 's')}: {type_name(first)}, "
            f"{type_name(second)}: {short_text(second)}"
        )
    if one is Kind.STRUCT:
        return first is second or (isinstance(first, MethodValue) and first == second)
    raise FunctionError(f"non-comparable type {short_text(second, 's')}: {type_name(second)}")


def ne(first: object, second: object) -> bool:
    """Return whether two values differ; errors as for `eq`."""
    return not _equal(first, second)


def lt(first: object, second: object) -> bool:
    """Return whether the first value is less.

    Raises:
        FunctionError: the values have no order, or are of different kinds.
    """
    one, two = kind_of(first), kind_of(second)
    if one not in BASIC or two not in BASIC:
        raise FunctionError("invalid type for comparison")
    if one is not two:
        raise FunctionError(
            f"incompatible types for comparison: {type_name(first)} and {type_name(second)}"
        )
    if isinstance(first, str) and isinstance(second, str):
        return first < second
    if one in (Kind.BOOL, Kind.COMPLEX):
        raise FunctionError("invalid type for comparison")
    assert isinstance(first, (int, float))
    assert isinstance(second, (int, float))
    return first < second


def le(first: object, second: object) -> bool:
    """Return whether the first value is less or equal; errors as for `lt`."""
    return lt(first, second) or _equal(first, second)


def gt(first: object, second: object) -> bool:
    """Return whether the first value is greater; errors as for `lt`."""
    return not le(first, second)


def ge(first: object, second: object) -> bool:
    """Return whether the first value is greater or equal; errors as for `lt`."""
    return not lt(first, second)


FUNCTIONS: Final = (
    Function("eq", eq, (VALUE,), VALUE),
    Function("ne", ne, (VALUE, VALUE)),
    Function("lt", lt, (VALUE, VALUE)),
    Function("le", le, (VALUE, VALUE)),
    Function("gt", gt, (VALUE, VALUE)),
    Function("ge", ge, (VALUE, VALUE)),
)
