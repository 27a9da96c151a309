"""Reads fields of objects that may have any type.

The status of a custom resource is whatever its controller wrote, and a schema need not say what
that can be. Nothing here raises: a field of another type counts as absent.
"""

import math
import re
from collections.abc import Iterator
from typing import Final

from kudo.api import Json, JsonObject

LONGEST_TEXT: Final = 1024
"""Characters of a text that are read: a status can hold megabytes, and messages are passed on."""

_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,18}")


def mapping(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def items(value: Json) -> Iterator[JsonObject]:
    """Yield the objects in a list."""
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))


def text(value: Json) -> str:
    """Return a scalar as text, at most `LONGEST_TEXT` of it; empty if absent or no scalar."""
    return str(value)[:LONGEST_TEXT] if isinstance(value, str | int | float) else ""


def number(value: Json) -> int | None:
    """Return a whole number, also one written as text, as protobuf's JSON has 64-bit numbers."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if math.isfinite(value) else None
    if isinstance(value, str) and _WHOLE_NUMBER.fullmatch(value):
        return int(value)
    return None


def count(value: Json) -> int:
    """Return a number of things; what is absent is zero."""
    return number(value) or 0


# Fields that all objects have


def metadata(obj: JsonObject) -> JsonObject:
    return mapping(obj.get("metadata"))


def spec(obj: JsonObject) -> JsonObject:
    return mapping(obj.get("spec"))


def status(obj: JsonObject) -> JsonObject:
    return mapping(obj.get("status"))


def kind_of(obj: JsonObject) -> str:
    return text(obj.get("kind"))


def group_of(api_version: str) -> str:
    """Return the API group, which is empty for `v1`."""
    group, slash, _ = api_version.partition("/")
    return group if slash else ""


def name(obj: JsonObject) -> str:
    return text(metadata(obj).get("name"))


def where(obj: JsonObject) -> str:
    """Return `namespace/name`, or the name of what is cluster-scoped."""
    namespace = text(metadata(obj).get("namespace"))
    return f"{namespace}/{name(obj)}" if namespace else name(obj)


def is_terminating(obj: JsonObject) -> bool:
    return bool(metadata(obj).get("deletionTimestamp"))


def finalizers(obj: JsonObject) -> tuple[str, ...]:
    listed = metadata(obj).get("finalizers")
    return tuple(filter(None, map(text, listed))) if isinstance(listed, list) else ()


def generation(obj: JsonObject) -> int:
    """Return how often the spec was changed; zero for kinds that do not count."""
    return count(metadata(obj).get("generation"))


# Conditions


def condition(obj: JsonObject, kind: str) -> JsonObject:
    """Return the first condition of a type, or an empty one."""
    conditions = items(status(obj).get("conditions"))
    return next((condition for condition in conditions if condition.get("type") == kind), {})


def is_true(state: JsonObject) -> bool:
    """Whether a condition is true; a few controllers write the boolean for the word."""
    return text(state.get("status")) == "True"


def is_false(state: JsonObject) -> bool:
    return text(state.get("status")) == "False"


def explained(state: JsonObject) -> str:
    """Return `reason: message` of a condition or state, as far as it has them."""
    return ": ".join(filter(None, (text(state.get("reason")), text(state.get("message")))))


def own_message(state: JsonObject) -> str:
    """Return the message of a condition, or else its reason."""
    return text(state.get("message")) or text(state.get("reason")) or "no message"
