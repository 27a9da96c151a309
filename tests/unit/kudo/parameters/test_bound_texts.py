"""Bounds in words, and samples that are within them."""

import pytest

from kudo.api import JsonObject, Parameter
from kudo.parameters.bound_texts import bounds_text, sample
from kudo.parameters.values import read_fully

TABLE: list[tuple[JsonObject, str]] = [
    ({"minimum": 1, "maximum": 9}, "1 to 9"),
    ({"minimum": 3, "maximum": 3}, "3"),
    ({"minimum": 0.5}, "at least 0.5"),
    ({"maximum": -1}, "at most -1"),
    ({"minLength": 1, "maxLength": 63, "pattern": "^a"}, "length 1 to 63, matches `^a`"),
    ({"format": "dns-name"}, "format dns-name"),
    ({"minItems": 1, "items": {"type": "integer"}}, "at least 1 item; items: integer"),
    ({"maxItems": 2, "items": {}}, "at most 2 items; items: any"),
    ({"minItems": 1, "maxItems": 3}, "1 to 3 items"),
    (
        {"items": {"enum": ["a", "b"], "properties": {"k": {}}}},
        "items: `a` or `b`, keys: `k`",
    ),
    (
        {
            "additionalProperties": False,
            "properties": {"a": {"required": True}, "b": {"type": "integer", "minimum": 0}},
        },
        "only keys: `a` (required), `b` (integer, at least 0)",
    ),
]


def test_bounds_are_told_in_one_line(subtests: pytest.Subtests) -> None:
    for fields, text in TABLE:
        with subtests.test(**fields):
            bounds = Parameter.from_wire(fields).bounds
            assert bounds is not None
            assert bounds_text(bounds, lambda code: f"`{code}`") == text
            assert bounds_text(bounds) == text.replace("`", "")


SAMPLES: list[tuple[str, JsonObject, str | None]] = [
    ("", {"maxLength": 5}, ""),
    ("string", {"minLength": 3}, "xxx"),
    ("string", {"format": "semver"}, "1.2.3"),
    ("integer", {"minimum": 1}, "1"),
    ("integer", {"minimum": 2.5}, "3"),
    ("integer", {"maximum": 0}, "0"),
    ("integer", {"minimum": -5, "maximum": -3}, "-3"),
    ("number", {"minimum": 1.2, "maximum": 1.6}, "1.2"),
    ("array", {"minItems": 1}, None),
    ("unheard-of", {"minimum": 1}, ""),
]


def test_a_sample_is_within_the_bounds(subtests: pytest.Subtests) -> None:
    for value_type, fields, value in SAMPLES:
        with subtests.test(value_type=value_type, **fields):
            bounds = Parameter.from_wire(fields).bounds
            assert sample(value_type, bounds) == value
            if value:
                assert read_fully(value_type, value, bounds) is None
