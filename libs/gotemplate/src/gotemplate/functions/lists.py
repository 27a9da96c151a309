"""Sprig's functions on lists."""

from typing import Final

from gotemplate.errors import FunctionError
from gotemplate.functions.numbers import to_int
from gotemplate.functions.signature import ANY, Function
from gotemplate.values import IntList, Kind, kind_of, type_name


def make_list(*values: object) -> list[object]:
    """Make a list of the arguments."""
    return list(values)


def part(items: object, *bounds: object) -> object:
    """Give the items from the first bound up to the second, which is left out; nil of no items.

    Raises:
        FunctionError: it is no list, or a bound is outside it.
    """
    if items is None:
        raise FunctionError("runtime error: invalid memory address or nil pointer dereference")
    if not isinstance(items, (list, tuple)):
        kind = "map" if kind_of(items) is Kind.MAP else type_name(items)
        raise FunctionError(f"list should be type of slice or array but {kind}")
    if not items:
        return None
    start = to_int(bounds[0]) if bounds else 0
    stop = to_int(bounds[1]) if len(bounds) > 1 else len(items)
    if not 0 <= start <= stop <= len(items):
        raise FunctionError("reflect.Value.Slice: slice index out of bounds")
    found = items[start:stop]
    return IntList(found) if isinstance(items, IntList) else found


FUNCTIONS: Final = (
    Function("list", make_list, (), ANY),
    Function("slice", part, (ANY,), ANY),
)
