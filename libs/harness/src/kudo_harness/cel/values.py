"""Finds the values of the fields that an expression names, to show why it is not true."""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from kudo_harness.matching.difference import ABSENT, Absent, cut, is_secret, shown_value

JsonObject = dict[str, object]
Path = tuple[str | int, ...]

_MOST: Final = 5
"""Values of an expression, and names of fields of a mapping."""
_NAME: Final = 60
"""Characters of the name of a field."""
# Possessive: a name is read once, however long it is.
_STEP: Final = r"\.\??[A-Za-z_]\w*+(?!\()|\[\d{1,6}\]|\['[^'\\]{1,200}'\]"
_PATH: Final = re.compile(rf"(?<![\w.'\"])([A-Za-z_]\w*+)((?:{_STEP}){{1,30}})", re.ASCII)
_ELEMENT: Final = re.compile(r"\.\??(\w+)|\[(\d+)\]|\['([^']*)'\]")


def values_in(expression: str, objects: Mapping[str, JsonObject]) -> tuple[str, ...]:
    """Return what the fields are that an expression names, in its order, a few at most."""
    found = dict.fromkeys(_values(expression, objects))
    return tuple(found)[:_MOST]


def _values(expression: str, objects: Mapping[str, JsonObject]) -> Iterator[str]:
    for match in _PATH.finditer(expression):
        obj = objects.get(match[1])
        if obj is None:
            continue
        path = tuple(_path(match[2]))
        value = _value(obj, path)
        if isinstance(value, Absent):
            yield f"{match[0]} does not exist"
        elif is_secret(obj.get("kind"), path):
            yield f"{match[0]} is left out, since it is of a Secret"
        else:
            yield f"{match[0]} {_said(value)}"


def _said(value: object) -> str:
    if isinstance(value, list):
        return f"has {len(value)} {'item' if len(value) == 1 else 'items'}"
    if isinstance(value, dict):
        names = ", ".join(cut(str(name), _NAME) for name in islice(value, _MOST))
        more = ", …" if len(value) > _MOST else ""
        return f"has {len(value)} {'field' if len(value) == 1 else 'fields'}: {names}{more}"
    return f"is {shown_value(value)}"


def _path(text: str) -> Iterator[str | int]:
    for name, index, key in _ELEMENT.findall(text):
        yield int(index) if index else name or key


def _value(value: object, path: Path) -> object:
    for element in path:
        if isinstance(element, int):
            if not isinstance(value, list) or element >= len(value):
                return ABSENT
            value = value[element]
        elif isinstance(value, dict) and element in value:
            value = value[element]
        else:
            return ABSENT
    return value
