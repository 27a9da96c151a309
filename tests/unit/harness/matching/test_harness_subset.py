"""The rules by which an assert matches an object, as tables."""

import pytest

from kudo_harness.suite import ListMatching
from tests.unit.harness.matching.reading import differences

POSITION, NAME = ListMatching.POSITION, ListMatching.NAME

EQUAL = [
    # What is not in the assert does not matter.
    ("{}", "{}"),
    ("{}", "a: 1"),
    ("a: 1", "a: 1"),
    ("a: 1", "{a: 1, b: 2}"),
    ("a: {}", "a: {b: 1}"),
    ("a: {b: {c: x}}", "a: {b: {c: x, d: w}, e: z}"),
    # Scalars.
    ("a: x", "a: 'x'"),
    ("a: ''", "a: ''"),
    ("a: '3'", "a: '3'"),
    ("a: 3", "a: 3.0"),
    ("a: 3.0", "a: 3"),
    ("a: 1e3", "a: 1000"),
    ("a: 0.5", "a: 5e-1"),
    ("a: -0.0", "a: 0"),
    ("a: true", "a: true"),
    ("a: yes", "a: true"),
    ("a: null", "a: null"),
    ("a: ~", "a: null"),
    ("a: 12345678901234567890", "a: 12345678901234567890"),
    ("a: 2020-01-01", "a: '2020-01-01'"),
    ("a: |\n  two\n  lines\n", 'a: "two\\nlines\\n"'),
    # Lists of equal length.
    ("a: []", "a: []"),
    ("a: [1, 2]", "a: [1, 2]"),
    ("a: [{name: x}]", "a: [{name: x, image: w}]"),
    ("a: [{name: x}, {name: w}]", "a: [{name: x, i: 1}, {name: w, i: 2}]"),
    ("a: [[1], [2, 3]]", "a: [[1], [2, 3]]"),
    ("a: [null]", "a: [null]"),
    ("a: [{}]", "a: [{b: 1}]"),
]

DIFFERENT = [
    # Missing keys.
    ("a: 1", "{}", ".a: key is missing from map, expected: 1"),
    ("a: null", "{}", ".a: key is missing from map, expected: null"),
    ("a: {}", "{}", ".a: key is missing from map, expected: {}"),
    ("a: []", "b: []", ".a: key is missing from map, expected: []"),
    ("a: {b: 1}", "a: {c: 1}", ".a.b: key is missing from map, expected: 1"),
    ("A: 1", "a: 1", ".A: key is missing from map, expected: 1"),
    # Values.
    ("a: x", "a: w", ".a: value mismatch, expected: x != actual: w"),
    ("a: x", "a: X", ".a: value mismatch, expected: x != actual: X"),
    ("a: x", "a: ''", '.a: value mismatch, expected: x != actual: ""'),
    ("a: x", "a: 'x '", '.a: value mismatch, expected: x != actual: "x "'),
    ("a: x", 'a: "x\\n"', '.a: value mismatch, expected: x != actual: "x\\n"'),
    ("a: 3", "a: 2", ".a: value mismatch, expected: 3 != actual: 2"),
    ("a: 3", "a: 3.5", ".a: value mismatch, expected: 3 != actual: 3.5"),
    ("a: true", "a: false", ".a: value mismatch, expected: true != actual: false"),
    ("a: {b: {c: 1}}", "a: {b: {c: 2}}", ".a.b.c: value mismatch, expected: 1 != actual: 2"),
    # Types.
    ("a: '3'", "a: 3", '.a: type mismatch: string != int64, expected: "3" != actual: 3'),
    ("a: 3", "a: '3'", '.a: type mismatch: int64 != string, expected: 3 != actual: "3"'),
    ("a: 1", "a: true", ".a: type mismatch: int64 != bool, expected: 1 != actual: true"),
    ("a: 0", "a: false", ".a: type mismatch: int64 != bool, expected: 0 != actual: false"),
    ("a: 'true'", "a: true", '.a: type mismatch: string != bool, expected: "true" != actual: true'),
    ("a: x", "a: null", '.a: type mismatch: string != <nil>, expected: "x" != actual: null'),
    ("a: null", "a: x", '.a: type mismatch: <nil> != string, expected: null != actual: "x"'),
    ("a: null", "a: {}", ".a: type mismatch: <nil> != map[string]interface {}, expected: null"),
    ("a: {}", "a: []", ".a: type mismatch: map[string]interface {} != []interface {}, expected"),
    (
        "a: {b: 1}",
        "a: x",
        '.a: type mismatch: map[string]interface {} != string, expected: {"b": 1}',
    ),
    ("a: [1]", "a: 1", ".a: type mismatch: []interface {} != int64, expected: [1] != actual: 1"),
    ("a: 1.5", "a: x", '.a: type mismatch: float64 != string, expected: 1.5 != actual: "x"'),
]

BY_POSITION = [
    # Lists of unequal length never match, whichever is longer.
    ("a: [1]", "a: [1, 2]", ".a: slice length mismatch: 1 != 2, expected: [1] != actual: [1, 2]"),
    ("a: [1, 2]", "a: [1]", ".a: slice length mismatch: 2 != 1, expected: [1, 2] != actual: [1]"),
    ("a: [1]", "a: []", ".a: slice length mismatch: 1 != 0, expected: [1] != actual: []"),
    ("a: [{}]", "a: [{}, {}]", ".a: slice length mismatch: 1 != 2, expected: [{}] != actual: "),
    ("a: [[1]]", "a: [[1, 2]]", ".a[0]: slice length mismatch: 1 != 2, expected: [1] != actual"),
    # Items must stand at the same place.
    ("a: [1, 2]", "a: [2, 1]", ".a[0]: value mismatch, expected: 1 != actual: 2"),
    ("a: [{name: x}, {name: w}]", "a: [{name: w}, {name: x}]", ".a[0].name: value mismatch"),
    ("a: [{b: 1}, {b: 2}]", "a: [{b: 1}, {b: 3}]", ".a[1].b: value mismatch, expected: 2 != "),
    (
        "a: [1, '2']",
        "a: [1, 2]",
        '.a[1]: type mismatch: string != int64, expected: "2" != actual: 2',
    ),
]

EQUAL_BY_NAME = [
    ("a: [{name: x}]", "a: [{name: w}, {name: x}]"),
    ("a: [{name: x, i: 1}]", "a: [{name: w, i: 2}, {name: x, i: 1, j: 3}]"),
    ("a: [{name: x}, {name: w}]", "a: [{name: w}, {name: z}, {name: x}]"),
    ("a: [{type: Ready, status: 'True'}]", "a: [{type: Other}, {type: Ready, status: 'True'}]"),
    ("a: [{key: k, effect: e}]", "a: [{key: j}, {key: k, effect: e}]"),
    ("a: [2]", "a: [1, 2, 3]"),
    ("a: [3, 1]", "a: [1, 2, 3]"),
    ("a: [{port: 80}]", "a: [{port: 443}, {port: 80}]"),
    ("a: [[2]]", "a: [[1], [3, 2]]"),
    ("a: [{name: x, ports: [{name: web}]}]", "a: [{name: x, ports: [{name: ssh}, {name: web}]}]"),
    ("a: [{name: x, i: 2}]", "a: [{name: x, i: 1}, {name: x, i: 2}]"),
    # Without a name that all of them have, any item may be the one that is meant.
    ("a: [{name: x}, {port: 80}]", "a: [{port: 80}, {name: x}]"),
    ("a: [{name: 1}]", "a: [{name: 2}, {name: 1}]"),
]

DIFFERENT_BY_NAME = [
    ("a: [{name: x}]", "a: []", '.a[0]: no item matches, expected: {"name": "x"} != actual: []'),
    ("a: [{name: x}]", "a: [{name: w}]", '.a[0]: no item matches, expected: {"name": "x"}'),
    ("a: [{name: x}]", "a: [x]", '.a[0]: no item matches, expected: {"name": "x"}'),
    ("a: [4]", "a: [1, 2, 3]", ".a[0]: no item matches, expected: 4 != actual: [1, 2, 3]"),
    ("a: ['1']", "a: [1]", '.a[0]: no item matches, expected: "1" != actual: [1]'),
    (
        "a: [{name: x, i: 1}]",
        "a: [{name: w, i: 1}, {name: x, i: 2}]",
        ".a[0].i: value mismatch, expected: 1 != actual: 2",
    ),
    (
        "a: [{type: Ready, status: 'True'}]",
        "a: [{type: Other, status: 'True'}, {type: Ready, status: 'False'}]",
        ".a[0].status: value mismatch, expected: True != actual: False",
    ),
    (
        "a: [{port: 80, protocol: TCP, host: x}]",
        "a: [{port: 1, protocol: TCP, host: w}, {port: 80, protocol: UDP, host: x}]",
        ".a[0].protocol: value mismatch, expected: TCP != actual: UDP",
    ),
    # An empty list means that it is empty.
    ("a: []", "a: [1]", ".a: slice length mismatch: 0 != 1, expected: [] != actual: [1]"),
    ("a: [{name: x}]", "a: {name: x}", ".a: type mismatch: []interface {} != map[string]interface"),
]


def test_these_match_however_lists_are_compared() -> None:
    for expected, actual in EQUAL:
        for lists in ListMatching:
            assert differences(expected, actual, lists) == []


def test_these_differ_however_lists_are_compared(subtests: pytest.Subtests) -> None:
    for expected, actual, text in DIFFERENT:
        for lists in ListMatching:
            with subtests.test(lists=lists, expected=expected, actual=actual, text=text):
                (found,) = differences(expected, actual, lists)
                assert str(found).partition(" ")[2].startswith(text), str(found)


def test_these_differ_by_position(subtests: pytest.Subtests) -> None:
    for expected, actual, text in BY_POSITION:
        with subtests.test(expected=expected, actual=actual, text=text):
            found = differences(expected, actual, POSITION)
            assert str(found[0]).partition(" ")[2].startswith(text), str(found[0])


def test_these_match_by_name_and_not_by_position(subtests: pytest.Subtests) -> None:
    for expected, actual in EQUAL_BY_NAME:
        with subtests.test(expected=expected, actual=actual):
            assert differences(expected, actual, NAME) == []
            assert differences(expected, actual, POSITION) != []


def test_these_differ_by_name(subtests: pytest.Subtests) -> None:
    for expected, actual, text in DIFFERENT_BY_NAME:
        with subtests.test(expected=expected, actual=actual, text=text):
            (found,) = differences(expected, actual, NAME)
            assert str(found).partition(" ")[2].startswith(text), str(found)


def test_all_differences_are_found() -> None:
    found = differences(
        "{a: 1, b: {c: x, d: [1, 2]}, e: [{f: true}]}",
        "{a: 2, b: {c: 1, d: [1]}, e: [{f: false}], g: 1}",
        POSITION,
    )
    assert [one.path for one in found] == [("a",), ("b", "c"), ("b", "d"), ("e", 0, "f")]
