"""Schemas are made structural and open: what was accepted stays accepted, nothing is pruned."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo.objects.removed_apis.definitions import open_schema, structural

Json = dict[str, Any]
PRESERVE = "x-kubernetes-preserve-unknown-fields"
INT_OR_STRING = "x-kubernetes-int-or-string"
OPEN = {PRESERVE: True}
EITHER = [{"type": "integer"}, {"type": "string"}]


def field(schema: Any) -> Any:
    """Return what becomes of the schema of a field."""
    return structural({"properties": {"a": schema}})["properties"]["a"]


def test_every_field_gets_a_type_or_is_open() -> None:
    table: list[tuple[Any, Json]] = [
        ({"type": "string", "pattern": "x"}, {"type": "string", "pattern": "x"}),
        ({"type": "object"}, {"type": "object", **OPEN}),
        ({}, OPEN),
        (None, OPEN),
        ({"type": None, "minimum": 1}, {"minimum": 1, **OPEN}),
        ({"type": "any"}, OPEN),
        ({"enum": ["a", 1]}, {"enum": ["a", 1], **OPEN}),
        (
            {"properties": {"b": {"type": "string"}, "c": None}},
            {"type": "object", "properties": {"b": {"type": "string"}, "c": OPEN}, **OPEN},
        ),
        ({"required": ["b"]}, {"type": "object", "required": ["b"], **OPEN}),
        ({"items": {"type": "string"}}, {"type": "array", "items": {"type": "string"}}),
        ({"type": "array"}, {"type": "array", "items": OPEN}),
        (
            {"additionalProperties": {"type": "string"}},
            {"type": "object", "additionalProperties": {"type": "string"}},
        ),
        ({"additionalProperties": True}, {"type": "object", **OPEN}),
        ({"type": "object", "additionalProperties": False}, {"type": "object", **OPEN}),
        (
            {"additionalProperties": {}, "properties": {"b": {"type": "string"}}},
            {"type": "object", "properties": {"b": {"type": "string"}}, **OPEN},
        ),
    ]
    for schema, expected in table:
        assert field(schema) == expected


def test_integer_or_string_keeps_its_meaning(subtests: pytest.Subtests) -> None:
    for branches in [EITHER, EITHER[::-1]]:
        for logic in ["anyOf", "oneOf"]:
            with subtests.test(logic=logic, branches=branches):
                expected = {INT_OR_STRING: True, "anyOf": EITHER, "pattern": "x"}
                assert field({logic: branches, "pattern": "x"}) == expected


def test_other_logic_beside_integer_or_string_is_judged_too() -> None:
    schema = {"anyOf": EITHER, "not": {"type": "string"}, "allOf": [{"minimum": 1}], "items": {}}
    expected = {INT_OR_STRING: True, "anyOf": EITHER, "allOf": [{"minimum": 1}]}
    assert field(schema) == expected


def test_what_is_marked_as_integer_or_string_stays() -> None:
    schema = {INT_OR_STRING: True, "anyOf": EITHER, "pattern": "x"}
    assert field(schema) == schema


B = {"b": {"type": "string"}, "metadata": {"type": "string"}}


def test_logic_stays_where_it_is_structural(subtests: pytest.Subtests) -> None:
    table: list[tuple[Json, bool]] = [
        ({"oneOf": [{"required": ["b"]}, {"required": ["c"]}]}, True),
        ({"not": {"required": ["b"]}}, True),
        ({"anyOf": [{"properties": {"b": {"enum": ["x"]}}}]}, True),
        ({"anyOf": [{"allOf": [{"not": {"properties": {"b": {"minLength": 1}}}}]}]}, True),
        ({"anyOf": [{"properties": {"c": {"enum": ["x"]}}}]}, False),
        ({"anyOf": [{"properties": {"b": {"properties": {"c": {"minLength": 1}}}}}]}, False),
        ({"oneOf": [{"type": "string"}, {"required": ["b"]}]}, False),
        ({"allOf": [{"default": {}}]}, False),
        ({"allOf": [{"additionalProperties": {"type": "string"}}]}, False),
        ({"not": {"type": "string"}}, False),
        ({"not": {"properties": {"metadata": {"minLength": 1}}}}, False),
        ({"not": {"items": {"minimum": 1}}}, False),
        ({"anyOf": [{"x-kubernetes-list-type": "set"}]}, False),
    ]
    for schema, kept in table:
        with subtests.test(schema=schema, kept=kept):
            key = next(iter(schema))
            found = field({"type": "object", "properties": B, **schema})
            assert found["properties"] == B
            assert found[PRESERVE] is True
            assert (found.get(key) == schema[key]) is kept
            assert (key in found) is kept


def test_branches_lose_what_is_said_outside_or_only_for_people() -> None:
    found = field(
        {
            "properties": B,
            "oneOf": [
                {"type": "object", "title": "One", "description": "the one", "required": ["b"]},
                {"properties": {"b": {"type": "string", "maxLength": 3}}},
            ],
        }
    )
    assert found["type"] == "object"
    assert found["oneOf"] == [
        {"required": ["b"]},
        {"properties": {"b": {"maxLength": 3}}},
    ]


def test_items_of_a_branch_are_judged_beside_the_items_outside() -> None:
    schema = {"type": "array", "items": {"type": "integer"}}
    branch = {"items": {"type": "integer", "minimum": 1}}
    assert field({**schema, "allOf": [branch]}) == {**schema, "allOf": [{"items": {"minimum": 1}}]}


def test_a_type_is_not_taken_for_granted_where_branches_name_others() -> None:
    schema = {"properties": B, "oneOf": [{"type": "string"}, {"type": "object"}]}
    assert field(schema) == {"properties": B, **OPEN}


# The root


def test_the_root_is_an_open_object() -> None:
    root = structural({"nullable": True, "additionalProperties": {"type": "string"}})
    assert root == open_schema() == {"type": "object", PRESERVE: True}


def test_the_root_knows_what_every_object_has() -> None:
    name = {"type": "string", "maxLength": 5}
    root = structural(
        {
            "properties": {
                "apiVersion": {"description": "version"},
                "kind": {"type": "string"},
                "metadata": {
                    "description": "of the object",
                    "required": ["labels"],
                    "properties": {"name": name, "labels": {"type": "object"}},
                },
            }
        }
    )
    assert root["properties"] == {
        "apiVersion": {"type": "string", "description": "version"},
        "kind": {"type": "string"},
        "metadata": {"type": "object", "properties": {"name": name}},
    }
    assert structural({"properties": {"metadata": {}}})["properties"] == {
        "metadata": {"type": "object"}
    }


# Properties

_types = st.sampled_from(["object", "array", "string", "integer", "any", None])
_names = st.sampled_from(["a", "b", "metadata", "kind"])


def _schemas(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    """Return well-formed schemas, structural or not."""
    return st.fixed_dictionaries(
        {},
        optional={
            "type": _types,
            "properties": st.dictionaries(_names, inner, max_size=2),
            "additionalProperties": st.booleans() | inner,
            "items": inner,
            "required": st.just(["a"]),
            "anyOf": st.lists(inner, min_size=1, max_size=2) | st.just(EITHER),
            "oneOf": st.lists(inner, min_size=1, max_size=2) | st.just(EITHER),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "not": inner,
            "nullable": st.booleans(),
            "description": st.just("x"),
        },
    )


_leaves: st.SearchStrategy[Json] = st.sampled_from(
    [{}, {"type": "string"}, {"type": "object"}, {"type": "array"}, {"minimum": 1}]
)
_well_formed: st.SearchStrategy[Json] = st.recursive(_leaves, _schemas, max_leaves=8)


def faults(schema: Json, where: str = "root") -> Iterator[str]:
    """Yield what keeps a schema from being structural, or from keeping everything."""
    if "type" not in schema and not schema.get(PRESERVE) and not schema.get(INT_OR_STRING):
        yield f"{where}: no type"
    if schema.get("type") == "array" and "items" not in schema:
        yield f"{where}: no items"
    if schema.get("type") == "object" and not schema.keys() & {PRESERVE, "additionalProperties"}:
        yield f"{where}: pruned"
    if schema.get("properties") and "additionalProperties" in schema:
        yield f"{where}: properties and additionalProperties"
    if not schema.get(INT_OR_STRING):
        for branch in branches(schema):
            yield from branch_faults(branch, schema, f"{where}: branch")
    for name, below in children(schema):
        if (where, name) != ("root", "metadata"):
            yield from faults(below, f"{where}.{name}")


def branch_faults(branch: Json, outer: Json, where: str) -> Iterator[str]:
    forbidden = {"type", "additionalProperties", "nullable", "description", "default", PRESERVE}
    yield from (f"{where} has {key}" for key in branch.keys() & forbidden)
    known = dict(children(outer))
    for inner in branches(branch):
        yield from branch_faults(inner, outer, f"{where} of a branch")
    for name, below in children(branch):
        if name not in known:
            yield f"{where}: {name} is unknown outside"
        else:
            yield from branch_faults(below, known[name], f"{where}.{name}")


def branches(schema: Json) -> list[Json]:
    found = [branch for key in ("anyOf", "oneOf", "allOf") for branch in schema.get(key, [])]
    return [*found, schema["not"]] if "not" in schema else found


def children(schema: Json) -> Iterator[tuple[str, Json]]:
    yield from schema.get("properties", {}).items()
    for key in ("items", "additionalProperties"):
        if key in schema:
            yield f"[{key}]", schema[key]


@given(_well_formed)
def test_the_result_is_structural_and_keeps_everything(schema: Json) -> None:
    root = structural(schema)
    assert list(faults(root)) == []
    assert root["type"] == "object"
    assert root[PRESERVE] is True


_keys = st.sampled_from(
    [
        *("type", "properties", "items", "additionalProperties", "required", "anyOf", "oneOf"),
        *("allOf", "not", "enum", "nullable", "default", "metadata", "spec", PRESERVE),
        INT_OR_STRING,
    ]
)
_scalars = st.sampled_from([None, True, False, 0, 1.5, "x", "object", "array", "string", "any"])
_anything: st.SearchStrategy[Any] = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=5),
    max_leaves=30,
)


@given(st.dictionaries(_keys, _anything, max_size=5))
def test_no_schema_breaks_the_change(schema: Json) -> None:
    before = copy.deepcopy(schema)
    assert structural(schema)["type"] == "object"
    assert schema == before
