"""Bounds of the values of a parameter, as its definition gives them.

They are the words of JSON Schema. `kudo.parameters.bounds` checks values against them. Imports no
models, so that worker processes start without them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from kudo.api.wire import JsonObject

WORDS: Final = (
    *("minimum", "maximum", "minLength", "maxLength", "pattern", "format"),
    *("minItems", "maxItems", "items", "properties", "additionalProperties"),
)
"""The fields of a definition of a parameter that are bounds."""


@dataclass(frozen=True, slots=True)
class ValueBounds:
    """What a value has to be. Each bound concerns values of its own type, and no others.

    Attributes:
        type: Type of an item or a property; empty for any, and for a parameter, which has its own.
        minimum: The least number.
        maximum: The largest number.
        min_length: The fewest characters of a text.
        max_length: The most characters of a text.
        pattern: A regular expression (RE2) that some part of a text matches.
        format: Name of one of `kudo.parameters.formats.FORMATS`, for texts; others allow any text.
        min_items: The fewest items of a list.
        max_items: The most items of a list.
        enum: The only values of an item or a property, as texts; None for any.
        items: Bounds of each item of a list.
        properties: Bounds of values of a map, by key.
        required: Keys of `properties` that a map must have.
        additional: Whether a map may have other keys.
        patterned: Whether there is a pattern anywhere, so that checking needs a worker process.
        text: The bounds as JSON, which is the same for the same bounds.
    """

    type: str = ""
    minimum: float | None = None
    maximum: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str = ""
    format: str = ""
    min_items: int | None = None
    max_items: int | None = None
    enum: tuple[str, ...] | None = None
    items: "ValueBounds | None" = None
    properties: Mapping[str, "ValueBounds"] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    additional: bool = True
    patterned: bool = False
    text: str = ""

    @classmethod
    def of(cls, definition: JsonObject) -> Self | None:
        """Return the bounds of a parameter as it is stored; None if it has none."""
        wire = {word: definition[word] for word in WORDS if definition.get(word) is not None}
        return cls._read(wire, json.dumps(_bare(wire))) if wire else None

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Return the bounds of a `text`."""
        return cls._read(json.loads(text), text)

    @classmethod
    def _read(cls, wire: JsonObject, text: str = "") -> Self:
        properties = wire.get("properties") or {}
        below = {name: cls._read(property_) for name, property_ in properties.items()}
        items = cls._read(wire["items"]) if wire.get("items") is not None else None
        pattern, enum = wire.get("pattern") or "", wire.get("enum")
        return cls(
            type=wire.get("type") or "",
            minimum=wire.get("minimum"),
            maximum=wire.get("maximum"),
            min_length=wire.get("minLength"),
            max_length=wire.get("maxLength"),
            pattern=pattern,
            format=wire.get("format") or "",
            min_items=wire.get("minItems"),
            max_items=wire.get("maxItems"),
            enum=None if enum is None else tuple(enum),
            items=items,
            properties=below,
            required=tuple(name for name, each in properties.items() if each.get("required")),
            additional=wire.get("additionalProperties") is not False,
            patterned=bool(pattern)
            or (items is not None and items.patterned)
            or any(each.patterned for each in below.values()),
            text=text,
        )


def _bare(wire: JsonObject) -> JsonObject:
    """Return bounds without the descriptions, which are most of their text."""
    bare = {key: value for key, value in wire.items() if key != "description"}
    if "properties" in bare:
        bare["properties"] = {name: _bare(each) for name, each in bare["properties"].items()}
    if "items" in bare:
        bare["items"] = _bare(bare["items"])
    return bare
