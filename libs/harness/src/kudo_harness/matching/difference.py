"""Differences between an assert and an object, and their texts.

The texts begin as kuttl's, because people search for them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from kudo.api.known_secrets import SECRET_FIELDS
from kudo_harness.findings import Place

PathElement = str | int
Path = tuple[PathElement, ...]

MOST_SHOWN: Final = 200
"""Characters of a value in a message."""
_READ: Final = 50
"""Entries of a mapping or list that a message reads; a value may be a megabyte."""
_HIDDEN: Final = "(left out, since it is of a Secret)"


class Absent:
    """Stands for a value that the object does not have."""

    def __repr__(self) -> str:
        return "absent"


ABSENT: Final = Absent()


class Mismatch(StrEnum):
    """In what way a value differs."""

    VALUE = "value"
    TYPE = "type"
    LENGTH = "length"
    """A list has another length; only where lists are compared by position."""
    MISSING = "missing"
    """A key is missing from a mapping."""
    NO_ITEM = "noItem"
    """A list has no item that matches; only where lists are compared by name."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference.

    Attributes:
        path: Of the value in the assert.
        mismatch: In what way it differs.
        expected: The value of the assert.
        actual: That of the object; ABSENT if there is none.
        weight: Values of the assert that it concerns; the smallest is shown first.
        place: Where the assert says so.
        secret: Whether the values are left out of texts.
    """

    path: Path
    mismatch: Mismatch
    expected: object
    actual: object
    weight: int
    place: Place
    secret: bool = False

    def __str__(self) -> str:
        return f"{self.place}: {path_text(self.path)}: {self.text}"

    @property
    def text(self) -> str:
        """What differs, without path and place."""
        # "3" is not 3: quotes show it.
        quoted = self.mismatch in {Mismatch.TYPE, Mismatch.NO_ITEM}
        expected = self._shown(self.expected, quoted=quoted)
        actual = self._shown(self.actual, quoted=quoted)
        both = f"expected: {expected} != actual: {actual}"
        match self.mismatch:
            case Mismatch.VALUE:
                return f"value mismatch, {both}"
            case Mismatch.TYPE:
                types = f"{_go_type(self.expected)} != {_go_type(self.actual)}"
                return f"type mismatch: {types}, {both}"
            case Mismatch.LENGTH:
                lengths = f"{_length(self.expected)} != {_length(self.actual)}"
                return f"slice length mismatch: {lengths}, {both}"
            case Mismatch.MISSING:
                return f"key is missing from map, expected: {expected}"
            case Mismatch.NO_ITEM:
                return f"no item matches, {both}"

    def _shown(self, value: object, *, quoted: bool) -> str:
        return _HIDDEN if self.secret else shown_value(value, quoted=quoted)


def is_secret(kind: object, path: Path) -> bool:
    """Return whether messages must not show a value: it is of a Secret, or may quote one."""
    if kind != "Secret":
        return False
    whole = path in {(), ("metadata",)}
    # kubectl apply keeps the whole object in an annotation.
    return whole or path[0] in SECRET_FIELDS or path[:2] == ("metadata", "annotations")


def path_text(path: Path) -> str:
    """Return a path as messages show it: `.status.conditions[0].type`."""
    text = ""
    for element in path:
        if isinstance(element, int):
            text += f"[{element}]"
        elif element and element.replace("-", "").replace("_", "").isalnum():
            text += f".{element}"
        else:
            text += f"[{json.dumps(cut(element, MOST_SHOWN))}]"
    return text or "."


def shown_value(value: object, *, quoted: bool = False) -> str:
    """Return a value in a line, as JSON; texts that cannot be misread need no quotes."""
    if isinstance(value, Absent):
        return "nothing"
    if (
        isinstance(value, str)
        and not quoted
        and value.isprintable()
        and value.strip() == value != ""
    ):
        return cut(value, MOST_SHOWN)
    return cut(json.dumps(_beginning(value, 4), ensure_ascii=False), MOST_SHOWN)


def cut(text: str, most: int) -> str:
    """Return the beginning of a text, with an ellipsis where something is left out."""
    return text if len(text) <= most else text[:most] + "…"


def _beginning(value: object, depth: int) -> object:
    """Return as much of a value as a message can show."""
    if isinstance(value, str):
        return cut(value, MOST_SHOWN)
    if isinstance(value, dict | list) and depth == 0:
        return "…"
    if isinstance(value, Mapping):
        keys = list(value)[:_READ]
        return {cut(str(key), MOST_SHOWN): _beginning(value[key], depth - 1) for key in keys}
    if isinstance(value, list):
        return [_beginning(item, depth - 1) for item in value[:_READ]]
    return value


def _length(value: object) -> int:
    return len(value) if isinstance(value, list) else 0


def _go_type(value: object) -> str:
    match value:
        case dict():
            return "map[string]interface {}"
        case list():
            return "[]interface {}"
        case bool():
            return "bool"
        case str():
            return "string"
        case int():
            return "int64"
        case float():
            return "float64"
    return "<nil>"
