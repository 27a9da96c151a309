"""Whether values are within the bounds of their parameter.

The values are those that expressions see: texts, numbers, lists and maps. The first bound that a
value breaks is enough. Everything takes time in proportion to the value, whatever its definition
says, except patterns: these are matched by RE2 in worker processes and on the machines of users
alone (`ValueBounds.patterned`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from kudo.api import bounds as most
from kudo.api.problems import kind_of_value, listed, path_text, shown_name
from kudo.api.value_bounds import ValueBounds
from kudo.parameters.formats import FORMATS
from kudo.parameters.sources import go_text
from kudo.parameters.types import TYPES

_Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Breach:
    """A bound that a value breaks.

    Attributes:
        bound: Its word, such as `minimum`.
        path: Where in the value, by keys and positions; empty for the value itself.
        text: What is wrong and what to do, behind the name of what it is about.
    """

    bound: str
    path: _Path
    text: str

    def __str__(self) -> str:
        return f"{path_text(map(_shown, self.path)) or 'it'} {self.text}"


def _shown(element: str | int) -> str | int:
    return element if isinstance(element, int) else shown_name(element)


def breach_of(bounds: ValueBounds, value: object) -> Breach | None:
    """Return the first bound that a value of a parameter breaks; None if there is none.

    Args:
        bounds: Those of the parameter.
        value: The value, which is of the type of the parameter; null and booleans have no bounds.
    """
    return next(_breaches(bounds, value, ()), None)


def pattern_fault(pattern: str) -> str:
    """Return why a pattern cannot be matched; empty if it can."""
    from gotemplate import RegexError, compile_regex  # they load the library

    if len(pattern) > most.PATTERN:
        return f"it has more than {most.PATTERN} characters"
    try:
        compile_regex(pattern)
    except RegexError as error:
        return str(error)
    return ""


def preload() -> None:
    """Import the libraries of formats and patterns, for a process that can open no files later."""
    for declared in FORMATS.values():
        declared.accepts(declared.sample)
    pattern_fault(".")


def _breaches(bounds: ValueBounds, value: object, path: _Path) -> Iterator[Breach]:
    match value:
        case bool() | None:
            return
        case int() | float():
            yield from _of_number(bounds, value, path)
        case str():
            yield from _of_text(bounds, value, path)
        case list():
            yield from _of_length(bounds, len(value), path)
            if bounds.items is not None:
                for number, item in enumerate(value):
                    yield from _of_inner(bounds.items, item, (*path, number))
        case dict():
            yield from _of_keys(bounds, value, path)
            # Over the keys that are there: there may be many maps, and many keys in the definition.
            for key, inner in value.items():
                if key in bounds.properties:
                    yield from _of_inner(bounds.properties[key], inner, (*path, key))


def _of_inner(bounds: ValueBounds, value: object, path: _Path) -> Iterator[Breach]:
    """Yield what is wrong with an item or a property, whose definition says its type."""
    if not _is_of(bounds.type, value):
        is_plain = bounds.type == "string" and isinstance(value, bool | int | float)
        advice = "put quotes around it" if is_plain else "set a value of that type"
        kind = kind_of_value(value)
        yield Breach("type", path, f"is {kind}, and its type is {bounds.type}; {advice}")
    elif bounds.enum is not None and not _is_one_of(bounds.enum, value):
        allowed = listed(bounds.enum, " ")
        yield Breach("enum", path, f"is none of the only allowed values [{allowed}]; set one")
    else:
        yield from _breaches(bounds, value, path)


def _is_of(value_type: str, value: object) -> bool:
    """Return whether a value of YAML is of a type; any is of an unknown one."""
    declared = TYPES.get(value_type)
    if declared is None:
        return True
    if declared.container is not None:
        return isinstance(value, declared.container)
    return declared.accepts(value) if declared.fault is not None else isinstance(value, str)


def _is_one_of(enum: tuple[str, ...], value: object) -> bool:
    return not isinstance(value, list | dict) and go_text(value) in enum


def _of_number(bounds: ValueBounds, value: float, path: _Path) -> Iterator[Breach]:
    # "Not more" is not the same as "less": NaN is neither, and outside of every bound.
    if bounds.minimum is not None and not value >= bounds.minimum:
        least = go_text(bounds.minimum)
        yield Breach("minimum", path, f"is below the minimum {least}; set {least} or more")
    if bounds.maximum is not None and not value <= bounds.maximum:
        largest = go_text(bounds.maximum)
        yield Breach("maximum", path, f"is above the maximum {largest}; set {largest} or less")


def _of_text(bounds: ValueBounds, value: str, path: _Path) -> Iterator[Breach]:
    least, largest, length = bounds.min_length, bounds.max_length, len(value)
    if least is not None and length < least:
        text = f"has length {length}, less than minLength {least}; set a longer text"
        yield Breach("minLength", path, text)
    if largest is not None and length > largest:
        text = f"has length {length}, more than maxLength {largest}; set a shorter text"
        yield Breach("maxLength", path, text)
    declared = FORMATS.get(bounds.format)
    fault = "" if declared is None else declared.fault(value)
    if fault:
        yield Breach("format", path, f"{fault} (format {bounds.format})")
    if bounds.pattern:
        yield from _of_pattern(bounds.pattern, value, path)


def _of_pattern(pattern: str, value: str, path: _Path) -> Iterator[Breach]:
    from gotemplate import compile_regex  # see `pattern_fault`

    if len(value) > most.MATCHED:
        text = f"has more than {most.MATCHED} characters, to which no pattern is applied"
        yield Breach("pattern", path, f"{text}; set a shorter text")
        return
    fault = pattern_fault(pattern)
    if fault:
        text = f"cannot be checked, since the pattern of the operator is invalid: {fault}"
        yield Breach("pattern", path, f"{text}; install a version that corrects it")
    # Texts from JSON may hold single surrogates, which no pattern matches.
    elif compile_regex(pattern).search(value.encode(errors="surrogatepass")) is None:
        text = f"does not match the pattern {shown_name(pattern)}; set a text that does"
        yield Breach("pattern", path, text)


def _of_length(bounds: ValueBounds, length: int, path: _Path) -> Iterator[Breach]:
    least, largest = bounds.min_items, bounds.max_items
    if least is not None and length < least:
        text = f"has length {length}, less than minItems {least}; add items"
        yield Breach("minItems", path, text)
    if largest is not None and length > largest:
        text = f"has length {length}, more than maxItems {largest}; remove items"
        yield Breach("maxItems", path, text)


def _of_keys(bounds: ValueBounds, value: dict[str, object], path: _Path) -> Iterator[Breach]:
    for key in bounds.required:
        if key not in value:
            text = f"has no key {shown_name(key)}, which is required; add it"
            yield Breach("required", path, text)
    if bounds.additional:
        return
    for key in value:
        if key not in bounds.properties:
            names = listed(bounds.properties) or "none"
            text = f"has the key {shown_name(key)}, and its only keys are {names}; remove it"
            yield Breach("additionalProperties", path, text)
