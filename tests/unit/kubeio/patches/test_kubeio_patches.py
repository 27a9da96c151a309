"""Merge patches round-trip; JSON patch operations and pointers are well formed."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeio.patches import jsonpatch
from kubeio.patches.merge import merge_apply, merge_diff
from kubeio.types import Json, JsonObject

SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "b"])
KEYS = st.sampled_from(["a", "b", "c", "metadata"])


def values(scalars: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    return st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
        max_leaves=8,
    )


ANY = st.dictionaries(KEYS, values(SCALARS), max_size=4)
WITHOUT_NULL = st.dictionaries(KEYS, values(SCALARS.filter(lambda v: v is not None)), max_size=4)


@given(ANY, WITHOUT_NULL)
def test_applying_the_difference_gives_the_new_object(old: JsonObject, new: JsonObject) -> None:
    before = copy.deepcopy((old, new))
    assert _typed(merge_apply(old, merge_diff(old, new))) == _typed(new)
    assert (old, new) == before


@given(WITHOUT_NULL)
def test_equal_objects_need_no_patch(obj: JsonObject) -> None:
    assert merge_diff(obj, copy.deepcopy(obj)) == {}


def _typed(value: Json) -> Json:
    """Make True and 1 differ, as they do in JSON."""
    if isinstance(value, dict):
        return {key: _typed(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_typed(inner) for inner in value]
    return (type(value).__name__, value)


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        # The examples of RFC 7386, appendix A.
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_the_examples_of_the_standard_hold(target: Json, patch: Json, result: Json) -> None:
    assert merge_apply(target, patch) == result


def test_only_what_differs_is_in_the_patch() -> None:
    old = {"spec": {"a": 1, "b": {"c": [1]}}, "gone": 1, "same": True}
    new = {"spec": {"a": 1, "b": {"c": [2]}}, "same": True, "flag": 1}
    assert merge_diff(old, new) == {"gone": None, "spec": {"b": {"c": [2]}}, "flag": 1}


def test_true_is_not_one() -> None:
    assert merge_diff({"a": True, "b": [1], "c": {"d": [True]}}, {"a": 1, "b": [True]}) == {
        "a": 1,
        "b": [True],
        "c": None,
    }


def test_pointers_are_escaped() -> None:
    assert jsonpatch.escape_pointer("kudo.dev/a~b") == "kudo.dev~1a~0b"
    path = jsonpatch.pointer(["metadata", "annotations", "x/y", 0, ""])
    assert path == "/metadata/annotations/x~1y/0/"
    assert jsonpatch.pointer([]) == ""


def test_operations_are_plain_objects() -> None:
    assert [
        jsonpatch.test("/a", 1),
        jsonpatch.add("/b", [2]),
        jsonpatch.replace("/c", None),
        jsonpatch.remove("/d"),
    ] == [
        {"op": "test", "path": "/a", "value": 1},
        {"op": "add", "path": "/b", "value": [2]},
        {"op": "replace", "path": "/c", "value": None},
        {"op": "remove", "path": "/d"},
    ]
