"""Objects as failures show them: bounded, without secrets, with marks."""

from typing import Any

import pytest

from kudo.redaction.objects import Redactor
from kudo_harness.failing.shown_objects import (
    MOST_LINES,
    bounded,
    path_in_object,
    shown_object,
)

JsonObject = dict[str, Any]

BASE: JsonObject = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}


def nested(levels: int) -> JsonObject:
    found: JsonObject = {}
    for _ in range(levels):
        found = {"a": found}
    return found


LARGE = {
    "many entries": {f"k{n}": "x" * 500 for n in range(3000)},
    "a long text": {"k": "password=abc\n" * 100_000},
    "lists of lists": {"k": [[["a" * 500] * 200] * 200] * 200},
    "long keys": {"k" * 100_000 + str(n): 1 for n in range(300)},
    "many levels": nested(3000),
    "many lines": {f"k{n}": "a\n" * 200 for n in range(2000)},
}


@pytest.mark.parametrize("name", list(LARGE))
def test_a_large_object_is_cut(name: str) -> None:
    obj = {**BASE, "data": LARGE[name], "status": {"phase": "Running"}}
    assert len(str(bounded(obj))) < 200_000
    lines = shown_object(obj, [("status", "phase")], Redactor())
    assert ">   phase: Running" in lines
    assert len(lines) <= MOST_LINES + 10
    assert sum(map(len, lines)) < 60_000


def test_an_object_of_few_lines_is_shown_whole() -> None:
    obj = {**BASE, "data": {f"k{n}": "v" for n in range(MOST_LINES - 6)}}
    assert len(shown_object(obj, (), Redactor())) == MOST_LINES - 1


def test_a_missing_field_marks_what_is_above_it() -> None:
    obj = {**BASE, "data": {"a": {"b": 1}}}
    lines = shown_object(obj, [("data", "a", "c"), ("spec", "x")], Redactor())
    assert [line for line in lines if line.startswith(">")] == [">   a:"]


def test_texts_of_several_lines_keep_the_marks_in_place() -> None:
    obj = {**BASE, "data": {"a": "1\n2\n3\n", "b": "x"}}
    lines = shown_object(obj, [("data", "b")], Redactor())
    assert [line for line in lines if line.startswith(">")] == [">   b: x"]


def test_beside_what_differs_the_conditions_are_shown() -> None:
    plans = {f"plan{n:02}": {"name": "a", "status": "COMPLETE", "uid": "b"} for n in range(20)}
    conditions = [{"type": "Ready", "status": "True"}]
    status = {"conditions": conditions, "planStatus": plans, "zone": "a"}
    obj = {**BASE, "spec": {f"k{n}": "v" for n in range(50)}, "status": status}
    path = ("status", "planStatus", "plan09", "status")
    assert shown_object(obj, [path], Redactor()) == [
        "  … 55 more lines",
        "  status:",
        "    conditions:",
        "    - status: 'True'",
        "      type: Ready",
        "    planStatus:",
        "  … 36 more lines",
        "      plan09:",
        "        name: a",
        ">       status: COMPLETE",
        "        uid: b",
        "  … 41 more lines",
    ]


def test_without_differences_the_status_of_a_long_object_comes_first() -> None:
    obj = {**BASE, "spec": {f"k{n}": "v" for n in range(90)}, "status": {"phase": "Running"}}
    lines = shown_object(obj, (), Redactor())
    assert lines[0] == "  apiVersion: v1"
    assert lines[-2:] == ["  status:", "    phase: Running"]


def test_items_that_are_compared_by_name_are_found_in_the_object() -> None:
    expected = {"list": [{"name": "b", "value": 1}, {"type": "t"}, {"other": 1}, 4]}
    actual = {"list": [{"name": "a"}, {"name": "b", "value": 2}, {"type": "t"}]}
    assert path_in_object(expected, actual, ("list", 0, "value")) == ("list", 1, "value")
    assert path_in_object(expected, actual, ("list", 1, "x")) == ("list", 2, "x")
    assert path_in_object(expected, actual, ("list", 2, "other")) == ("list", 2, "other")
    assert path_in_object(expected, actual, ("list", 3)) == ("list", 3)
    # Compared by position, the name itself may differ.
    assert path_in_object(expected, actual, ("list", 0, "name")) == ("list", 0, "name")
    assert path_in_object(expected, {}, ("list", 0, "name")) == ("list", 0, "name")
