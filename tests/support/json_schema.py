"""Validates values by JSON schemas, with the keywords that the schemas in docs/schemas/ use."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.support.build import Json

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}
_SILENT = {
    *("$schema", "title", "description", "definitions", "then"),
    *("additionalProperties", "patternProperties"),
}
"""Keywords that restrict nothing, or are handled with another one."""


def faults(value: Any, schema: Json, root: Json | None = None, path: str = "") -> list[str]:
    """Return the paths at which a value is not as the schema says, with the keyword.

    Raises:
        KeyError: the schema has a keyword that is not known here.
    """
    root = schema if root is None else root
    found: list[str] = []
    for keyword in schema.keys() - _SILENT:
        found += _KEYWORDS[keyword](value, schema, root, path)
    if "additionalProperties" in schema and "properties" not in schema:
        found += _properties(value, schema, root, path)
    return sorted(found)


def _valid(value: Any, schema: Json, root: Json) -> bool:
    return not faults(value, schema, root)


def _type(value: Any, schema: Json, _root: Json, path: str) -> Iterator[str]:
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    known = tuple(one for name in names for one in _TYPES[name])
    if not isinstance(value, known) or (isinstance(value, bool) and bool not in known):
        yield f"{path}: type"


def _properties(value: Any, schema: Json, root: Json, path: str) -> Iterator[str]:
    if not isinstance(value, dict):
        return
    known, others = schema.get("properties", {}), schema.get("additionalProperties", {})
    patterns = schema.get("patternProperties", {})
    for key, item in value.items():
        matching = [below for pattern, below in patterns.items() if re.search(pattern, key)]
        for below in matching:
            yield from faults(item, below, root, f"{path}.{key}")
        if key in known:
            yield from faults(item, known[key], root, f"{path}.{key}")
        elif matching:
            continue
        elif others is False:
            yield f"{path}.{key}: additionalProperties"
        else:
            yield from faults(item, others, root, f"{path}.{key}")


def _required(value: Any, schema: Json, _root: Json, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (f"{path}.{key}: required" for key in schema["required"] if key not in value)


def _names(value: Any, schema: Json, root: Json, path: str) -> Iterator[str]:
    for key in value if isinstance(value, dict) else ():
        if not _valid(key, schema["propertyNames"], root):
            yield f"{path}.{key}: propertyNames"


def _items(value: Any, schema: Json, root: Json, path: str) -> Iterator[str]:
    for number, item in enumerate(value if isinstance(value, list) else ()):
        yield from faults(item, schema["items"], root, f"{path}[{number}]")


def _length(value: Any, schema: Json, _root: Json, path: str) -> Iterator[str]:
    if isinstance(value, list) and len(value) < schema["minItems"]:
        yield f"{path}: minItems"


def _minimum(value: Any, schema: Json, _root: Json, path: str) -> Iterator[str]:
    if isinstance(value, int) and value < schema["minimum"]:
        yield f"{path}: minimum"


def _maximum(value: Any, schema: Json, _root: Json, path: str) -> Iterator[str]:
    if isinstance(value, int) and value > schema["maximum"]:
        yield f"{path}: maximum"


def _reference(value: Any, schema: Json, root: Json, path: str) -> Iterator[str]:
    name = schema["$ref"].removeprefix("#/definitions/")
    yield from faults(value, root["definitions"][name], root, path)


def _all(value: Any, schema: Json, root: Json, path: str) -> Iterator[str]:
    for one in schema["allOf"]:
        yield from faults(value, one, root, path)


def _one(value: Any, schema: Json, root: Json, path: str) -> Iterator[str]:
    if sum(_valid(value, one, root) for one in schema["oneOf"]) != 1:
        yield f"{path}: oneOf"


def _any(value: Any, schema: Json, root: Json, path: str) -> Iterator[str]:
    if not any(_valid(value, one, root) for one in schema["anyOf"]):
        yield f"{path}: anyOf"


def _if(value: Any, schema: Json, root: Json, path: str) -> Iterator[str]:
    if _valid(value, schema["if"], root):
        yield from faults(value, schema["then"], root, path)


def _not(value: Any, schema: Json, root: Json, path: str) -> Iterator[str]:
    if _valid(value, schema["not"], root):
        yield f"{path}: not"


def _const(value: Any, schema: Json, _root: Json, path: str) -> Iterator[str]:
    if value != schema["const"]:
        yield f"{path}: const"


def _enum(value: Any, schema: Json, _root: Json, path: str) -> Iterator[str]:
    if value not in schema["enum"]:
        yield f"{path}: enum"


_KEYWORDS: Mapping[str, Callable[[Any, Json, Json, str], Iterator[str]]] = {
    "type": _type,
    "properties": _properties,
    "required": _required,
    "propertyNames": _names,
    "items": _items,
    "minItems": _length,
    "minimum": _minimum,
    "maximum": _maximum,
    "$ref": _reference,
    "allOf": _all,
    "oneOf": _one,
    "anyOf": _any,
    "if": _if,
    "not": _not,
    "const": _const,
    "enum": _enum,
}
