"""Sprig's functions on defaults and empty values, `ternary` and `fail`."""

from typing import Final

from gotemplate.errors import FunctionError
from gotemplate.golang.values import truth
from gotemplate.types.signature import ANY, BOOL, STRING, Function


def default(fallback: object, *given: object) -> object:
    """Return the value, or the fallback if it is empty: 0, false, nil, "", or without items."""
    return given[0] if given and truth(given[0]) else fallback


def empty(value: object) -> bool:
    """Return whether a value is 0, false, nil, "", or without items."""
    return not truth(value)


def coalesce(*values: object) -> object:
    """Return the first value that is not empty, nil when there is none."""
    return next(filter(truth, values), None)


def all_set(*values: object) -> bool:
    """Return whether no value is empty."""
    return all(map(truth, values))


def any_set(*values: object) -> bool:
    """Return whether a value is not empty."""
    return any(map(truth, values))


def ternary(yes: object, no: object, condition: bool) -> object:
    """Choose the first value when the last one is true, else the second."""
    return yes if condition else no


def fail(message: str) -> str:
    """Stop the rendering.

    Raises:
        FunctionError: always, with the message.
    """
    raise FunctionError(message)


FUNCTIONS: Final = (
    Function("default", default, (ANY,), ANY),
    Function("empty", empty, (ANY,)),
    Function("coalesce", coalesce, (), ANY),
    Function("all", all_set, (), ANY),
    Function("any", any_set, (), ANY),
    Function("ternary", ternary, (ANY, ANY, BOOL)),
    Function("fail", fail, (STRING,)),
)
