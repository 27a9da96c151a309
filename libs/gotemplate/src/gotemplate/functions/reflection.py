"""Sprig's functions on types, equality, defaults and empty values; `ternary` and `fail`.

Two values are deeply equal if they have the same Go type and equal parts; an int never equals
an int64. `Key` makes such values usable as keys of a dict.
"""

from collections.abc import Hashable, Mapping
from typing import Final

from gotemplate.errors import FunctionError
from gotemplate.golang.gofmt import short_text
from gotemplate.golang.values import Int64, Kind, MethodValue, kind_of, truth, type_name
from gotemplate.rendering import Rendering
from gotemplate.types.signature import ANY, BOOL, STRING, Function

_PLAIN: Final = frozenset({bool, int, Int64, float})
_NAMED_KINDS: Final = {"time.Duration": "int64", "time.Month": "int", "time.Weekday": "int"}


def type_of(value: object) -> str:
    """Name the Go type of a value."""
    return type_name(value)


def type_is(name: str, value: object) -> bool:
    """Return whether a value has the Go type of that name."""
    return name == type_name(value)


def type_is_like(name: str, value: object) -> bool:
    """Return whether a value has the Go type of that name, or is a pointer to it."""
    return type_name(value) in (name, f"*{name}")


def kind_name(value: object) -> str:
    """Name the kind of a value as Go's reflection does: "slice", "map", "int64", "invalid"."""
    if isinstance(value, MethodValue):
        name = value.go_type()
        return "ptr" if name.startswith("*") else _NAMED_KINDS.get(name, "struct")
    kind = kind_of(value)
    if kind in (Kind.INT, Kind.FLOAT, Kind.COMPLEX):
        return type_name(value)
    return str(kind.value)


def kind_is(name: str, value: object) -> bool:
    """Return whether a value is of that kind."""
    return name == kind_name(value)


def key(run: Rendering, value: object, depth: int = 0) -> Hashable:
    """Return a key that is equal only for deeply equal values.

    Raises:
        LimitError: the value is too deep or too large.
    """
    if isinstance(value, str):
        return value
    run.charge(1)
    if type(value) in _PLAIN:
        return object() if value != value else (type(value), value)  # no NaN equals another
    run.check("value_depth", depth)
    name = type_name(value)
    if isinstance(value, Mapping):
        return name, frozenset((text, key(run, item, depth + 1)) for text, item in value.items())
    if isinstance(value, (list, tuple)):
        return name, tuple(key(run, item, depth + 1) for item in value)
    if isinstance(value, MethodValue):
        return name, repr(value)
    return name, short_text(value) if kind_of(value) is Kind.STRUCT else value


def deep_equal(run: Rendering, first: object, second: object) -> bool:
    """Return whether two values have the same type and equal parts."""
    return key(run, first) == key(run, second)


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
    Function("typeOf", type_of, (ANY,)),
    Function("typeIs", type_is, (STRING, ANY)),
    Function("typeIsLike", type_is_like, (STRING, ANY)),
    Function("kindOf", kind_name, (ANY,)),
    Function("kindIs", kind_is, (STRING, ANY)),
    Function("deepEqual", deep_equal, (ANY, ANY), uses_rendering=True),
    Function("default", default, (ANY,), ANY),
    Function("empty", empty, (ANY,)),
    Function("coalesce", coalesce, (), ANY),
    Function("all", all_set, (), ANY),
    Function("any", any_set, (), ANY),
    Function("ternary", ternary, (ANY, ANY, BOOL)),
    Function("fail", fail, (STRING,)),
)
