"""What `package verify` finds in the bounds of parameters."""

import re
from typing import Any

import pytest

from kudo.api.problems import InvalidInput
from kudo.verification import Finding, verify
from tests.unit.kudo.verification.test_verification import package, used

Json = dict[str, Any]


def findings(**fields: Any) -> list[Finding]:
    """Return what is found of a package with one parameter."""
    return [*verify(package(**used({"name": "P", "required": False, **fields})))]


def test_bounds_that_can_hold_are_fine() -> None:
    table: list[Json] = [
        {"type": "integer", "minimum": 1, "maximum": 5, "default": 3},
        {"type": "integer", "minimum": 1, "enum": [1, 2], "default": 2},
        {"type": "number", "minimum": 0.5, "default": 0.5},
        {"minLength": 1, "maxLength": 3, "pattern": "^a", "default": "ab"},
        {"format": "quantity", "default": "1Gi"},
        {"pattern": "^a", "default": ""},
        {"type": "array", "minItems": 1},
        {"type": "array", "items": {"type": "map", "properties": {"a": {"type": "string"}}}},
        {"type": "map", "properties": {"a": {"enum": [1, True, 0.5]}}, "default": {"a": True}},
        {"type": "map", "default": "a: 1", "properties": {"a": {"type": "integer"}}},
    ]
    for fields in table:
        assert findings(**fields) == []


BOUNDS: list[tuple[Json, str, str]] = [
    (
        {"type": "integer", "minimum": 6, "maximum": 5},
        "minimum",
        "no value is within minimum 6 and maximum 5",
    ),
    (
        {"pattern": "(a"},
        "pattern",
        "pattern cannot be used: error parsing regexp: missing closing ): `(a`",
    ),
    (
        {"maximum": 3},
        "maximum",
        "maximum is for values of type integer or number, and not string",
    ),
    (
        {"type": "map", "properties": {"a": {"type": "array", "items": {"format": "mail"}}}},
        "properties.a.items.format",
        "format mail is unknown; formats are quantity, duration, cron, dns-name, semver",
    ),
]


def test_bounds_that_can_never_hold_are_errors(subtests: pytest.Subtests) -> None:
    for fields, path, fault in BOUNDS:
        with subtests.test(**fields):
            [finding] = findings(**fields)
            # KUDO 0.19 knows no bounds: no package has worked like this.
            assert finding.ends
            assert finding.code == "ParameterBoundInvalid"
            assert finding.place.field == f"parameters[P].{path}"
            assert finding.place.line == 1
            assert finding.problem.message == f'bound "{path}" of parameter "P": {fault}'


VALUES: list[tuple[Json, str, str]] = [
    (
        {"type": "integer", "minimum": 3, "default": 2},
        "default",
        "a default that it does not allow: it is below the minimum 3; set 3 or more",
    ),
    (
        {"minLength": 1, "default": ""},
        "default",
        (
            "a default that it does not allow: it has length 0, less than minLength 1; set a "
            "longer text"
        ),
    ),
    (
        {"type": "integer", "maximum": 3, "enum": [2, 4]},
        "enum",
        "an enum value that it does not allow: 4: it is above the maximum 3; set 3 or less",
    ),
    (
        {"type": "array", "default": [1, "a"], "items": {"type": "integer"}},
        "default",
        (
            "a default that it does not allow: [1] is text, and its type is integer; set a value "
            "of that type"
        ),
    ),
]


def test_defaults_and_enums_are_within_the_bounds(subtests: pytest.Subtests) -> None:
    for fields, path, fault in VALUES:
        with subtests.test(**fields):
            [finding] = findings(**fields)
            assert finding.ends
            assert finding.code == "ParameterInvalid"
            assert finding.place.field == f"parameters[P].{path}"
            assert finding.problem.message == f'parameter "P" has {fault}'


def test_a_default_of_another_type_is_told_once() -> None:
    [finding] = findings(type="integer", minimum=3, default="x")
    assert "invalid syntax" in finding.problem.message


def test_bounds_have_the_type_of_their_field() -> None:
    table: list[tuple[Json, str]] = [
        ({"minimum": "1"}, "parameters[0].minimum must be a finite number, not text"),
        ({"minimum": True}, "parameters[0].minimum must be a finite number, not true"),
        ({"minimum": float("-inf")}, "parameters[0].minimum must be a finite number, not text"),
        ({"minLength": 1.5}, "parameters[0].minLength must be a whole number, not a number"),
        ({"items": []}, "parameters[0].items must be a mapping, not a list"),
        ({"properties": {"a": 1}}, "parameters[0].properties.a must be a mapping, not a number"),
        ({"items": {"pattern": [1]}}, "parameters[0].items.pattern must be text, not a list"),
    ]
    for fields, text in table:
        with pytest.raises(InvalidInput, match=re.escape(text)):
            findings(**fields)


def test_what_a_schema_would_not_store_is_told() -> None:
    table: list[tuple[Json, str]] = [
        ({"pattern": "a" * 257}, "the number of characters of pattern of the parameter is 257"),
        (
            {"type": "map", "properties": {f"k{n}": {} for n in range(101)}},
            "the number of properties of the parameter is 101",
        ),
        ({"type": "array", "items": {"properties": {"a": {}, "b": {}}}}, ""),
        (
            {"type": "array", "items": {"enum": [str(n) for n in range(101)]}},
            "the number of enum of items of the parameter is 101",
        ),
        (
            {
                "type": "map",
                "properties": {
                    f"k{n}": {"properties": {f"l{m}": {} for m in range(30)}} for n in range(70)
                },
            },
            (
                "the number of items and properties of all parameters, and of values of their "
                "enums is 2170"
            ),
        ),
    ]
    for fields, text in table:
        found = [each for each in findings(**fields) if each.code == "PackageTooLarge"]
        assert [each.problem.message.partition(";")[0] for each in found] == [text] * bool(text)


def test_a_misspelt_bound_is_told_at_each_level() -> None:
    [outer] = findings(minLenght=3)
    assert (outer.code, outer.suggestion) == ("FieldUnknown", 'did you mean "minLength"?')
    [inner] = findings(type="array", items={"properties": {"a": {"patern": "x"}}})
    assert inner.place.field == "parameters[0].items.properties.a.patern"
    # Deeper than three levels nothing is stored.
    three = {"items": {"items": {"items": {"items": {"type": "string"}}}}}
    [deep] = findings(type="array", **three)
    assert (deep.code, deep.place.field) == (
        "FieldUnknown",
        "parameters[0].items.items.items.items",
    )
