"""Whether the bounds of a parameter can hold: what is wrong with a definition, whatever the value.

Checks of packages and the admission of OperatorVersions use it. Compiling a pattern may take some
hundredths of a second.
"""

from collections.abc import Iterator
from math import ceil, floor
from typing import Final

from kudo.api.problems import shown, shown_name
from kudo.api.value_bounds import ValueBounds
from kudo.parameters.bounds import breach_of, pattern_fault
from kudo.parameters.formats import FORMATS
from kudo.parameters.sources import go_text
from kudo.parameters.types import TYPES, is_container, scalar_fault, typed

_Path = tuple[str | int, ...]
Fault = tuple[_Path, str]
"""Where it is, by the fields of the definition, and what is wrong with it."""

RUN_ON_CHANGE: Final = "run"
"""`onChange` of a secret parameter: a Secret with another value runs its plan."""
_NUMBERS: Final = ("integer", "number")
_TYPES: Final = {
    "minimum": _NUMBERS,
    "maximum": _NUMBERS,
    "minLength": ("string",),
    "maxLength": ("string",),
    "pattern": ("string",),
    "format": ("string",),
    "minItems": ("array",),
    "maxItems": ("array",),
    "items": ("array",),
    "properties": ("map",),
    "additionalProperties": ("map",),
}
"""The types that each bound is for."""


def definition_faults(value_type: str, bounds: ValueBounds) -> Iterator[Fault]:
    """Yield what is wrong with the bounds of a parameter of a type; empty is `string`."""
    yield from _faults(bounds, value_type or "string", ())


def secret_faults(*, secret: bool, on_change: str, has_default: bool) -> Iterator[Fault]:
    """Yield what is wrong with a parameter that is secret, or that has `onChange`."""
    if secret and has_default:
        text = "is secret, and whoever may read the OperatorVersion sees its default; remove it"
        yield ("default",), text
    if on_change and on_change != RUN_ON_CHANGE:
        yield ("onChange",), f"onChange {shown_name(on_change)} is unknown; use {RUN_ON_CHANGE}"
    elif on_change and not secret:
        yield ("onChange",), "onChange is for secret parameters; declare secret: true"


def _faults(bounds: ValueBounds, value_type: str, path: _Path) -> Iterator[Fault]:
    """Yield what is wrong with a definition; an empty type is any."""
    for word in _words(bounds):
        if value_type in TYPES and value_type not in _TYPES[word]:
            kinds = " or ".join(_TYPES[word])
            yield (*path, word), f"{word} is for values of type {kinds}, and not {value_type}"
    yield from _contradictions(bounds, value_type, path)
    if bounds.format and bounds.format not in FORMATS:
        text = f"format {shown_name(bounds.format)} is unknown; formats are {', '.join(FORMATS)}"
        yield (*path, "format"), text
    fault = pattern_fault(bounds.pattern) if bounds.pattern else ""
    if fault:
        yield (*path, "pattern"), f"pattern cannot be used: {fault}"
    if not bounds.additional and not bounds.properties:
        text = "additionalProperties is false, and there are no properties: no key is allowed"
        yield (*path, "additionalProperties"), text
    if bounds.items is not None:
        yield from _inner_faults(bounds.items, (*path, "items"))
    for name, definition in bounds.properties.items():
        yield from _inner_faults(definition, (*path, "properties", name))


def _words(bounds: ValueBounds) -> Iterator[str]:
    """Yield the bounds that are set."""
    given = {
        "minimum": bounds.minimum is not None,
        "maximum": bounds.maximum is not None,
        "minLength": bounds.min_length is not None,
        "maxLength": bounds.max_length is not None,
        "pattern": bool(bounds.pattern),
        "format": bool(bounds.format),
        "minItems": bounds.min_items is not None,
        "maxItems": bounds.max_items is not None,
        "items": bounds.items is not None,
        "properties": bool(bounds.properties),
        "additionalProperties": not bounds.additional,
    }
    yield from (word for word, is_set in given.items() if is_set)


def _contradictions(bounds: ValueBounds, value_type: str, path: _Path) -> Iterator[Fault]:
    pairs = (
        ("minimum", bounds.minimum, "maximum", bounds.maximum),
        ("minLength", bounds.min_length, "maxLength", bounds.max_length),
        ("minItems", bounds.min_items, "maxItems", bounds.max_items),
    )
    for least_word, least, most_word, most in pairs:
        if least is None or most is None:
            continue
        between = f"{least_word} {go_text(least)} and {most_word} {go_text(most)}"
        if least > most:
            yield (*path, least_word), f"no value is within {between}"
        elif value_type == "integer" and ceil(least) > floor(most):
            yield (*path, least_word), f"no integer is within {between}"


def _inner_faults(bounds: ValueBounds, path: _Path) -> Iterator[Fault]:
    """Yield what is wrong with the definition of an item or a property."""
    if bounds.type and bounds.type not in TYPES:
        text = f"type {shown_name(bounds.type)} is unknown; types are {', '.join(TYPES)}"
        yield (*path, "type"), text
    if bounds.enum == ():
        yield (*path, "enum"), "enum has no values: none is allowed"
    if bounds.enum is not None and is_container(bounds.type):
        yield (*path, "enum"), f"enum is not for values of type {bounds.type}"
    elif bounds.enum is not None:
        yield from _enum_faults(bounds, path)
    yield from _faults(bounds, bounds.type, path)


def _enum_faults(bounds: ValueBounds, path: _Path) -> Iterator[Fault]:
    """Yield the values of an enum that are of another type, or not within the other bounds."""
    for number, text in enumerate(bounds.enum or ()):
        place = (*path, "enum", number)
        fault = scalar_fault(bounds.type, text)
        if fault is not None:
            yield place, f"{shown(text)} is not of type {bounds.type}: {fault}"
            continue
        # Without a type, the text may stand for a number, too.
        breach = breach_of(bounds, typed(bounds.type, text)) if bounds.type else None
        if breach is not None:
            yield place, f"{shown(text)} is not allowed by the other bounds: {breach}"
