"""Bounds in words, for lists and references, and values that are within them, for previews."""

from collections.abc import Callable, Iterator
from math import ceil, floor

from kudo.api.value_bounds import ValueBounds
from kudo.parameters.formats import FORMATS
from kudo.parameters.sources import go_text
from kudo.parameters.types import TYPES

Code = Callable[[str], str]
"""Writes a pattern, a value or a key in a text."""


def bounds_text(bounds: ValueBounds, code: Code = str) -> str:
    """Return bounds in one line: `1 to 9`, `format quantity`, `items: integer, 1 to 65535`."""
    parts = [", ".join(_of_value(bounds, code)), *_of_inner_values(bounds, code)]
    return "; ".join(filter(None, parts))


def sample(value_type: str, bounds: ValueBounds | None) -> str | None:
    """Return a value of a type that is within the bounds, as far as they are no pattern.

    It is empty if any text is a value, and None if nothing but null is known to be one.
    """
    declared = TYPES.get(value_type or "string")
    if declared is None or bounds is None:
        return "" if declared is None else declared.sample
    if declared.name in {"integer", "number"}:
        return _number(bounds)
    if declared.name != "string":
        return declared.sample
    text = FORMATS[bounds.format].sample if bounds.format in FORMATS else ""
    return text.ljust(bounds.min_length or 0, "x")


def _number(bounds: ValueBounds) -> str:
    number: float = 1
    if bounds.minimum is not None and number < bounds.minimum:
        number = ceil(bounds.minimum)
    if bounds.maximum is not None and number > bounds.maximum:
        number = floor(bounds.maximum)
    # A fraction may be all that is between the two.
    if bounds.minimum is not None and number < bounds.minimum:
        number = bounds.minimum
    return go_text(number)


def _of_value(bounds: ValueBounds, code: Code) -> Iterator[str]:
    yield from _range("", bounds.minimum, bounds.maximum)
    yield from _range("length ", bounds.min_length, bounds.max_length)
    if bounds.pattern:
        yield f"matches {code(bounds.pattern)}"
    if bounds.format:
        yield f"format {bounds.format}"
    last = bounds.min_items if bounds.max_items is None else bounds.max_items
    unit = " item" if last == 1 else " items"
    yield from (f"{part}{unit}" for part in _range("", bounds.min_items, bounds.max_items))


def _range(what: str, least: float | None, most: float | None) -> Iterator[str]:
    if least is not None and most is not None:
        yield f"{what}{go_text(least)}" + ("" if least == most else f" to {go_text(most)}")
    elif least is not None:
        yield f"{what}at least {go_text(least)}"
    elif most is not None:
        yield f"{what}at most {go_text(most)}"


def _of_inner_values(bounds: ValueBounds, code: Code) -> Iterator[str]:
    if bounds.items is not None:
        yield f"items: {_definition(bounds.items, code) or 'any'}"
    if bounds.properties:
        keys = (
            _key(key, definition, code, is_required=key in bounds.required)
            for key, definition in bounds.properties.items()
        )
        yield f"{'keys' if bounds.additional else 'only keys'}: {', '.join(keys)}"


def _key(key: str, bounds: ValueBounds, code: Code, *, is_required: bool) -> str:
    facts = ", ".join(filter(None, [_definition(bounds, code), "required" if is_required else ""]))
    return f"{code(key)} ({facts})" if facts else code(key)


def _definition(bounds: ValueBounds, code: Code) -> str:
    values = " or ".join(map(code, bounds.enum or ()))
    return ", ".join(filter(None, [bounds.type, values, bounds_text(bounds, code)]))
