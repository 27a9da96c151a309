"""JSON Schemas as parameters: what each word becomes, what is lost and said, what is refused."""

import json
from typing import Any

import pytest

from kudo.api.problems import InvalidInput
from kudo.authoring.json_schema import MOST_BYTES
from kudo.authoring.schema_parameters import SchemaParameters, parameters_of
from kudo.packages.reader import parse_parameters

Json = dict[str, Any]
PORT = {"type": "integer", "minimum": 1, "maximum": 65535}


def imported(schema: object) -> SchemaParameters:
    return parameters_of("s.json", json.dumps(schema).encode())


def of(definition: object, **more: object) -> tuple[Json, list[str]]:
    """Return the parameter of a property `p`, without its name, and what is lost."""
    result = imported({"properties": {"p": definition}, **more})
    [parameter] = result.parameters
    assert parameter.pop("name") == "p"
    return parameter, [str(loss) for loss in result.losses]


OPTIONAL = {"required": False}


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ({"type": "string"}, {"type": "string", **OPTIONAL}),
        ({"type": "string", "default": ""}, {"type": "string", "default": ""}),
        (
            {"type": "string", "title": " Size ", "description": "How large.",
             "examples": [1, "b"]},
            {"displayName": "Size", "description": "How large.", "type": "string", **OPTIONAL,
             "hint": "for example 1, b"},
        ),
        (PORT | {"default": 80}, {**PORT, "default": 80}),
        ({"type": "integer", "exclusiveMinimum": 0}, {"type": "integer", "minimum": 1, **OPTIONAL}),
        (
            {"type": "integer", "minimum": 3, "exclusiveMinimum": 1.5, "exclusiveMaximum": 9},
            {"type": "integer", "minimum": 3, "maximum": 8, **OPTIONAL},
        ),
        # Draft 4.
        (
            {"type": "integer", "minimum": 0, "exclusiveMinimum": True, "exclusiveMaximum": False},
            {"type": "integer", "minimum": 1, **OPTIONAL},
        ),
        ({"type": "integer", "format": "int64", "multipleOf": 1}, {"type": "integer", **OPTIONAL}),
        ({"type": ["integer", "number"]}, {"type": "number", **OPTIONAL}),
        (
            {"type": "string", "minLength": 1.0, "maxLength": 9, "pattern": "^a",
             "format": "semver"},
            {"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^a", "format": "semver",
             **OPTIONAL},
        ),
        ({"enum": ["y", "n", None]}, {"type": "string", "enum": ["y", "n"], **OPTIONAL}),
        ({"enum": ["a", 1, True]}, {"type": "string", "enum": ["a", "1", "true"], **OPTIONAL}),
        ({"const": 3}, {"type": "integer", "enum": [3], **OPTIONAL}),
        ({"enum": [1, 1.5]}, {"type": "number", "enum": [1, 1.5], **OPTIONAL}),
        (
            {"type": "array", "minItems": 1, "items": PORT},
            {"type": "array", "minItems": 1, "items": PORT, **OPTIONAL},
        ),
        ({"type": "array", "items": True}, {"type": "array", **OPTIONAL}),
        # An object is a map, whose default is made of those of its properties.
        (
            {
                "type": "object",
                "required": ["name"],
                "additionalProperties": False,
                "properties": {
                    "name": {"type": "string", "default": "nginx", "title": "Name"},
                    "mode": {"enum": [1, 2]},
                    "port": {**PORT, "default": 80, "description": "Where."},
                },
            },
            {
                "type": "map",
                "properties": {
                    "name": {"type": "string", "description": "Name", "required": True},
                    "mode": {"enum": ["1", "2"]},
                    "port": {**PORT, "description": "Where."},
                },
                "additionalProperties": False,
                "default": {"name": "nginx", "port": 80},
            },
        ),
        (
            {
                "type": "object",
                "default": {"a": {"c": 3}},
                "properties": {
                    "a": {
                        "type": "object",
                        "properties": {
                            "b": {"type": "integer", "default": 1},
                            "c": {"type": "integer", "default": 2},
                        },
                    }
                },
            },
            {
                "type": "map",
                "properties": {
                    "a": {
                        "type": "map",
                        "properties": {"b": {"type": "integer"}, "c": {"type": "integer"}},
                    }
                },
                "default": {"a": {"b": 1, "c": 3}},
            },
        ),
        (
            {"type": "object", "required": ["x"]},
            {"type": "map", "properties": {"x": {"required": True}}, **OPTIONAL},
        ),
        # Null is no value of a parameter.
        ({"type": ["string", "null"], "default": None}, {"type": "string", **OPTIONAL}),
        ({"type": "string", "nullable": True}, {"type": "string", **OPTIONAL}),
        ({"oneOf": [{"type": "null"}, PORT]}, {**PORT, **OPTIONAL}),
        # Alternatives that one schema can say.
        (
            {"anyOf": [{"const": "a", "description": "A."}, {"enum": ["b", "c"]}]},
            {"type": "string", "enum": ["a", "b", "c"], **OPTIONAL},
        ),
        ({"anyOf": [{"type": "integer"}, {"type": "number"}]}, {"type": "number", **OPTIONAL}),
        # All of them hold.
        (
            {"allOf": [PORT, {"minimum": 1024, "description": "Its."}], "description": "Own."},
            {"type": "integer", "minimum": 1024, "maximum": 65535, "description": "Own.",
             **OPTIONAL},
        ),
    ],
)  # fmt: skip
def test_a_property_becomes_a_parameter_and_nothing_is_lost(
    definition: Json, expected: Json
) -> None:
    assert of(definition) == (expected, [])


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ({"type": "string"}, {"type": "string"}),
        ({"type": "array"}, {"type": "array", "required": True}),
        ({"type": "string", "default": "a"}, {"type": "string", "default": "a"}),
        ({"type": ["string", "null"]}, {"type": "string", "required": False}),
    ],
)
def test_what_the_schema_requires_is_required_unless_there_is_a_default(
    definition: Json, expected: Json
) -> None:
    assert of(definition, required=["p"]) == (expected, [])
    # As in draft 3.
    assert of({**definition, "required": True}) == (expected, [])


def test_references_within_the_file_are_followed() -> None:
    reference = {"$ref": "#/$defs/a~1b%20c/0", "default": 80}
    definitions = {"a/b c": [{"$ref": "#/definitions/port"}]}
    more = {"$defs": definitions, "definitions": {"port": PORT}}
    assert of(reference, **more) == ({**PORT, "default": 80}, [])


@pytest.mark.parametrize(
    ("definition", "word", "text"),
    [
        ({"type": "number", "exclusiveMinimum": 0.5}, "exclusiveMinimum", "0.5 itself is allowed"),
        ({"type": "number", "multipleOf": 0.1}, "multipleOf", "multiples of a number have no"),
        ({"type": "string", "pattern": "(?=a)"}, "pattern", "the pattern cannot be used"),
        ({"type": "string", "pattern": "a" * 257}, "pattern", "more than 256 characters"),
        ({"type": "string", "format": "email"}, "format", "format email is none of quantity"),
        ({"type": "string", "format": "password"}, "format", "secret: true keeps a value out of"),
        ({"type": "string", "format": "duration"}, "format", "one of ISO 8601 here"),
        ({"type": "string", "minimum": 1}, "minimum", "minimum is for values of another type"),
        ({"type": "string", "x-own": 1}, "x-own", "x-own has no counterpart in packages"),
        ({"type": "string", "not": {}}, "not", "conditions have no counterpart"),
        ({"type": "string", "if": {}}, "if", "conditions have no counterpart"),
        ({"type": "string", "title": 3}, "title", "3 is no text"),
        ({"type": "string", "examples": [{}]}, "examples", "examples of lists"),
        ({"type": "string", "anyOf": [{"pattern": "a"}, {"const": ""}]}, "anyOf", "alternatives"),
        ({"type": "object", "patternProperties": {}}, "patternProperties", "keys by pattern"),
        ({"type": "object", "additionalProperties": PORT}, "additionalProperties", "other keys"),
        ({"type": "object", "additionalProperties": False}, "additionalProperties", "other keys"),
        ({"type": "object", "properties": {"a": False}}, "properties/a", "false allows no value"),
        ({"type": "array", "items": [PORT]}, "items", "items by their position"),
        ({"type": "array", "items": {"type": "integer", "default": 1}}, "items/default", "an item"),
        ({"type": "array", "items": {"type": ["integer", "null"]}}, "items", "null is no value"),
        ({"type": "array", "enum": [[1]]}, "enum", "values of type array have no enum"),
        ({"type": "integer", "enum": [1, "b"]}, "enum", "b is not of type integer"),
        ({"type": "integer", "default": "x"}, "default", "the default is not allowed: type is"),
        ({**PORT, "default": 0}, "default", "the default is not allowed: it is below the minimum"),
        ({"type": ["string", "integer"]}, "type", "string or integer: a value has one type; the"),
        ({"type": ["string", "object"], "minLength": 1}, "minLength", "one of several types"),
        ({"minimum": 1}, "", "no type is said; number is taken, because of minimum"),
        ({"default": {}}, "", "no type is said; map is taken, because of its default"),
        ({}, "", "no type is said; any text is allowed"),
        (True, "", "no type is said; any text is allowed"),
        ({"type": "string", "$ref": "https://a/b"}, "$ref", "nothing is downloaded"),
        ({"type": "string", "$ref": "#/properties/p"}, "$ref", "leads back to itself"),
        ({"type": "string", "allOf": [{"type": "array"}]}, "allOf/0/type", "only that counts"),
    ],
)
def test_what_a_parameter_cannot_say_is_named(definition: object, word: str, text: str) -> None:
    _, losses = of(definition)
    place = f"#/properties/p/{word}".removesuffix("/") + ": "
    assert any(loss.startswith(place) and text in loss for loss in losses), losses


def test_what_is_said_of_all_values_is_named() -> None:
    schema = {
        "properties": {"a": False, "b": {"type": "string"}},
        "required": ["b", "absent"],
        "additionalProperties": {"type": "string"},
        "dependencies": {"b": ["a"]},
    }
    result = imported(schema)
    assert result.parameters == ({"name": "b", "type": "string"},)
    assert [str(loss) for loss in result.losses] == [
        "#/required: there is no property absent; left out",
        "#/additionalProperties: what other values are has no counterpart; left out",
        "#/properties/a: false allows no value; left out",
        "#/dependencies: dependencies has no counterpart in packages; left out",
    ]


def test_definitions_inside_each_other_end_after_three_levels() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/definitions/node"}}}
    parameter, losses = of({"$ref": "#/definitions/node"}, definitions={"node": node})
    depth = 0
    while "properties" in parameter:
        parameter, depth = parameter["properties"]["next"], depth + 1
    assert depth == 3
    [loss] = losses
    assert loss.startswith("#/definitions/node/properties: more than 3 levels inside the parameter")


@pytest.mark.parametrize(
    ("definition", "text"),
    [
        (3, "#/properties/p: a schema is a mapping, not"),
        ({"type": "text"}, "#/properties/p/type: text is no type; types are string,"),
        ({"type": "string", "minLength": -1}, "/minLength: must be a whole number from 0 on"),
        ({"type": "string", "maxLength": "9"}, "/maxLength: must be a number, not text"),
        ({"type": "string", "pattern": 3}, "/pattern: must be a text"),
        ({"type": "integer", "minimum": 10**400}, "/minimum: the number is too large"),
        ({"type": "integer", "minimum": 2, "maximum": 1}, "p: minimum: no value is within"),
        ({"enum": "a"}, "/enum: must be a list, not text"),
        ({"enum": list(range(1001))}, "/enum: 1001 values, and an enum has at most 1000 here"),
        ({"allOf": {}}, "/allOf: must be a list, not a mapping"),
        ({"$ref": "#/absent"}, "/$ref: there is no #/absent in the file"),
        ({"$ref": 3}, "/$ref: must be a text"),
        ({"type": "object", "properties": []}, "/properties: must be a mapping, not a list"),
        ({"type": "object", "required": [3]}, "/required: must be a list of names"),
        (
            {"type": "object", "properties": {str(n): {} for n in range(101)}},
            "p: 101 properties, and a map defines at most 100",
        ),
    ],
)
def test_what_is_no_schema_or_allows_nothing_is_refused(definition: object, text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        of(definition)
    assert text in str(caught.value)
    assert str(caught.value).startswith("s.json#/properties/p")


def ladder(steps: int) -> Json:
    """Return definitions of which each refers to the next one twice."""
    return {f"d{n}": {"allOf": [{"$ref": f"#/definitions/d{n + 1}"}] * 2} for n in range(steps)} | {
        f"d{steps}": {"type": "string"}
    }


def wide() -> Json:
    """Return a schema in which a map of 100 maps stands for 10,000 properties."""
    below = {"type": "object", "properties": {str(n): {"type": "string"} for n in range(100)}}
    keys = {str(n): {"$ref": "#/$defs/below"} for n in range(100)}
    return {"properties": {"p": {"type": "object", "properties": keys}}, "$defs": {"below": below}}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "s.json:1: not valid JSON: column 1: Expecting value"),
        (b'{\n "a": 1,\n}', "s.json:3: not valid JSON"),
        (b"\xff", "not valid JSON"),
        (b"[]", "s.json#: a JSON Schema is a mapping, not a list"),
        (b"{}", "s.json#: the schema has no properties"),
        (b'{"properties": {}}', "s.json#: the schema has no properties"),
        (b'{"a": 1, "a": 2}', 's.json: not valid JSON: a mapping has the key "a" twice'),
        (b'{"a": NaN}', "NaN is no number of JSON"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not valid JSON"),
        (b"[" * 200_000, "too deep"),
        (b'{"a": ' * 200 + b"1" + b"}" * 200, "more than 100 mappings and lists"),
        (b" " * (MOST_BYTES + 1), "more than 4194304 bytes"),
        (
            json.dumps({"properties": {str(n): True for n in range(2001)}}).encode(),
            "2001 properties, and a package has at most 2000 parameters",
        ),
        (
            json.dumps(
                {"properties": {"p": {"$ref": "#/definitions/d0"}}, "definitions": ladder(20)}
            ).encode(),
            "more than 20000 schemas",
        ),
        (
            json.dumps(
                {"properties": {"p": {"$ref": "#/definitions/d0"}}, "definitions": ladder(60)}
            ).encode(),
            "more than 50 references or allOf behind each other",
        ),
        (
            json.dumps(wide()).encode(),
            "more than 2000 items, properties",
        ),
    ],
)  # fmt: skip
def test_a_file_that_is_none_or_too_large_is_refused(content: bytes, text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parameters_of("s.json", content)
    assert text in str(caught.value)


def test_parameters_that_a_package_has_are_compared() -> None:
    problems: list[object] = []
    text = b"parameters:\n- {name: a, default: '3', type: integer}\n- {name: B, trigger: deploy}\n"
    existing, _ = parse_parameters(text, problems)  # type: ignore[arg-type]
    schema = {
        "properties": {
            "a": {"type": "integer", "default": 3},
            "b": {"type": "string", "maxLength": 3},
            "c": {"type": "string", "default": "x"},
        }
    }
    missing, conflicts = imported(schema).beside(existing)
    assert missing == [{"name": "c", "type": "string", "default": "x"}]
    assert conflicts == [
        'parameter "B" is kept; the schema differs in name, type, maxLength, required'
    ]
