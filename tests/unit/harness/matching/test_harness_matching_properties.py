"""What holds for every assert and object."""

import copy

from hypothesis import given
from hypothesis import strategies as st

from kudo_harness.matching import Comparison, Mismatch
from kudo_harness.suite import Document, ListMatching

NAMES = st.sampled_from(["a", "b", "name", "type", "key", "x/y"])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.5, 1.0, 1e300]),
    st.sampled_from(["", "a", "3", "true"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=20,
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=4)


def matches(expected: dict[str, object], actual: object, lists: ListMatching) -> bool:
    return not Comparison(Document(expected, "f"), lists).differences(actual)


def is_subset(expected: object, actual: object) -> bool:
    """The rule in kuttl's words, by position; without paths, places and weights."""
    numbers = [
        isinstance(value, int | float) and not isinstance(value, bool)
        for value in (expected, actual)
    ]
    if all(numbers):
        return expected == actual
    if any(numbers) or type(expected) is not type(actual):
        return False
    if isinstance(expected, dict) and isinstance(actual, dict):
        return all(key in actual and is_subset(expected[key], actual[key]) for key in expected)
    if isinstance(expected, list) and isinstance(actual, list):
        pairs = zip(expected, actual, strict=False)
        return len(expected) == len(actual) and all(is_subset(*pair) for pair in pairs)
    return expected == actual


@given(OBJECTS, OBJECTS)
def test_the_rule_by_position_is_that_of_kuttl(
    expected: dict[str, object], actual: dict[str, object]
) -> None:
    assert matches(expected, actual, ListMatching.POSITION) is is_subset(expected, actual)


@given(OBJECTS)
def test_everything_matches_itself(value: dict[str, object]) -> None:
    for lists in ListMatching:
        assert matches(value, copy.deepcopy(value), lists)


@given(OBJECTS, OBJECTS)
def test_what_matches_by_position_matches_by_name(
    expected: dict[str, object], actual: dict[str, object]
) -> None:
    if matches(expected, actual, ListMatching.POSITION):
        assert matches(expected, actual, ListMatching.NAME)


@given(OBJECTS, OBJECTS, st.sampled_from(ListMatching))
def test_more_keys_of_an_object_change_nothing(
    value: dict[str, object], more: dict[str, object], lists: ListMatching
) -> None:
    assert matches(value, {**more, **value}, lists)


@given(OBJECTS, OBJECTS, st.sampled_from(ListMatching))
def test_fewer_keys_of_an_assert_still_match(
    expected: dict[str, object], actual: dict[str, object], lists: ListMatching
) -> None:
    if matches(expected, actual, lists):
        for key in expected:
            fewer = {name: value for name, value in expected.items() if name != key}
            assert matches(fewer, actual, lists)


@given(st.lists(SCALARS, min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_order_counts_by_position_alone(names: list[object], random: object) -> None:
    items: list[object] = [{"name": f"n{n}", "value": value} for n, value in enumerate(names)]
    shuffled = list(reversed(items))
    assert matches({"a": items}, {"a": shuffled}, ListMatching.NAME)
    assert matches({"a": items}, {"a": shuffled}, ListMatching.POSITION) is (len(items) == 1)


@given(OBJECTS, OBJECTS, st.sampled_from(ListMatching))
def test_paths_lead_to_values_of_the_assert(
    expected: dict[str, object], actual: dict[str, object], lists: ListMatching
) -> None:
    for difference in Comparison(Document(expected, "f"), lists).differences(actual):
        value: object = expected
        for element in difference.path:
            value = value[element]  # type: ignore[index]
        assert value is difference.expected
        assert difference.weight >= 1
        assert str(difference)


@given(OBJECTS, OBJECTS)
def test_nothing_is_changed_by_comparing(
    expected: dict[str, object], actual: dict[str, object]
) -> None:
    before = copy.deepcopy((expected, actual))
    for lists in ListMatching:
        matches(expected, actual, lists)
    assert (expected, actual) == before


@given(OBJECTS)
def test_an_object_without_anything_lacks_every_key(expected: dict[str, object]) -> None:
    found = Comparison(Document(expected, "f")).differences({})
    assert [one.path for one in found] == [(key,) for key in expected]
    assert {one.mismatch for one in found} <= {Mismatch.MISSING}
