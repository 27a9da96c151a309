"""Defaults, pruning and validation of custom resources by their structural schema.

Expressions (x-kubernetes-validations), patterns and formats are not evaluated.
"""

import json
from collections.abc import Iterator

from kubeio.types import Json, JsonObject
from tests.support.apiserver.status import Cause
from tests.support.apiserver.types.schema import Schema

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
}
_META = frozenset({"apiVersion", "kind", "metadata"})


def completed(obj: JsonObject, schema: Schema) -> JsonObject:
    """Return an object without unknown fields, and with the defaults."""
    known = {key: value for key, value in obj.items() if key in _META}
    return {**_completed(obj, schema), **known}


def _completed(value: Json, schema: Schema) -> Json:
    if not schema.node:
        return value
    if isinstance(value, list):
        return [_completed(item, schema.item) for item in value]
    if not isinstance(value, dict):
        return value
    found = {}
    for key, below in value.items():
        member = schema.fields.get(key) or (schema.member(key) if schema.free else None)
        if member is not None and not _is_dropped(below, member):
            found[key] = _completed(below, member) if isinstance(below, dict | list) else below
    for key, member in schema.defaults.items():
        if key not in found:
            found[key] = _completed(member.node["default"], member)
    return found


def _is_dropped(value: Json, schema: Schema) -> bool:
    """Whether a null is as good as no value."""
    return value is None and bool(schema.node) and not schema.node.get("nullable")


def problems(obj: JsonObject, old: JsonObject, schema: Schema) -> list[Cause]:
    """Return what an object violates, in what is not as it was."""
    return [
        cause
        for key, member in schema.fields.items()
        if key in obj and key not in _META and obj[key] != old.get(key)
        for cause in _problems(obj[key], member, key)
    ] + [*_missing(obj, schema, "")]


def _problems(value: Json, schema: Schema, path: str) -> Iterator[Cause]:
    node = schema.node
    if not node:
        return
    if "type" in node and not _has_type(value, node["type"]):
        yield _of_type(value, node["type"], path)
        return
    yield from _limits(value, node, path)
    if isinstance(value, dict):
        yield from _missing(value, schema, f"{path}.")
        for key, below in value.items():
            if key in schema.fields or schema.values is not None:
                yield from _problems(below, schema.member(key), f"{path}.{key}")
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _problems(item, schema.item, f"{path}[{number}]")


def _has_type(value: Json, expected: str) -> bool:
    if isinstance(value, bool) and expected != "boolean":
        return False
    return isinstance(value, _TYPES[expected])


def _of_type(value: Json, expected: str, path: str) -> Cause:
    names = {dict: "object", list: "array", str: "string", bool: "boolean"}
    found = names.get(type(value), "integer" if isinstance(value, int) else "number")
    text = f'Invalid value: "{found}": {path} in body must be of type {expected}: "{found}"'
    return Cause("FieldValueTypeInvalid", text, path)


def _missing(value: JsonObject, schema: Schema, prefix: str) -> Iterator[Cause]:
    for name in schema.node.get("required") or ():
        if name not in value:
            yield Cause("FieldValueRequired", "Required value", f"{prefix}{name}")


def _limits(value: Json, node: JsonObject, path: str) -> Iterator[Cause]:
    if "enum" in node and value not in node["enum"]:
        allowed = ", ".join(json.dumps(one) for one in node["enum"])
        text = f"Unsupported value: {json.dumps(value)}: supported values: {allowed}"
        yield Cause("FieldValueNotSupported", text, path)
    if "minimum" in node and value < node["minimum"]:
        text = f"Invalid value: {value}: {path} in body should be greater than or equal to"
        yield Cause("FieldValueInvalid", f"{text} {node['minimum']}", path)
    if isinstance(value, str) and len(value) > node.get("maxLength", len(value)):
        text = f"Too long: may not be more than {node['maxLength']} bytes"
        yield Cause("FieldValueTooLong", text, path)
