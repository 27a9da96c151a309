"""Which object fits best, and what is said about it."""

import pytest

import goyaml
from kudo_harness.matching import (
    Comparison,
    JsonObject,
    TooLargeToCompare,
    best_match,
    difference_lines,
)
from kudo_harness.suite import ListMatching
from tests.unit.harness.matching.reading import document

ASSERT = """apiVersion: v1
kind: Pod
metadata:
  labels:
    app: web
spec:
  containers:
  - name: main
    image: nginx
    env:
    - {name: A, value: b}
status:
  phase: Running
"""


def pod(phase: str, image: str = "nginx") -> JsonObject:
    containers = [{"name": "main", "image": image, "env": [{"name": "A", "value": "b"}]}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "labels": {"app": "web"}},
        "spec": {"containers": containers},
        "status": {"phase": phase},
    }


def test_one_of_the_objects_is_enough() -> None:
    wanted = pod("Running")
    match = best_match(document(ASSERT), [pod("Pending"), wanted, pod("Failed")])
    assert match.holds
    assert match.candidate is wanted


def test_no_object_is_no_match() -> None:
    match = best_match(document(ASSERT), [])
    assert not match.holds
    assert (match.candidate, match.candidates, match.differences) == (None, 0, ())


def test_the_object_that_differs_least_is_shown() -> None:
    best = pod("Pending")
    bare: JsonObject = {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"app": "web"}}}
    match = best_match(document(ASSERT), [bare, pod("Failed", "busybox"), best])
    assert match.candidate is best
    assert match.candidates == 3
    assert difference_lines(match.differences) == [
        "00-assert.yaml:13: .status.phase: value mismatch, expected: Running != actual: Pending"
    ]


def test_the_smallest_difference_comes_first() -> None:
    actual = pod("Pending")
    del actual["spec"]
    lines = difference_lines(best_match(document(ASSERT), [actual]).differences)
    assert lines == [
        "00-assert.yaml:13: .status.phase: value mismatch, expected: Running != actual: Pending",
        (
            "00-assert.yaml:6: .spec: key is missing from map, expected: "
            '{"containers": [{"name": "main", "image": "nginx", "env": ["…"]}]}'
        ),
    ]


def test_a_difference_in_a_list_has_the_line_of_its_item() -> None:
    actual = pod("Running")
    actual["spec"] = {"containers": [{"name": "main", "image": "nginx", "env": [{"name": "B"}]}]}
    lines = difference_lines(best_match(document(ASSERT), [actual]).differences)
    assert [line.partition(": ")[0] for line in lines] == ["00-assert.yaml:11"] * 2


def test_keys_that_are_no_words_are_quoted() -> None:
    (line,) = difference_lines(
        best_match(
            document("metadata:\n  labels:\n    app.kubernetes.io/name: x\n"),
            [{"metadata": {"labels": {}}}],
        ).differences
    )
    assert line.startswith('00-assert.yaml:3: .metadata.labels["app.kubernetes.io/name"]: key is')


def test_many_differences_are_counted() -> None:
    text = "".join(f"k{n}: 1\n" for n in range(30))
    lines = difference_lines(best_match(document(text), [{}]).differences)
    assert len(lines) == 21
    assert lines[-1] == "and 10 more differences"


def test_long_values_are_cut(subtests: pytest.Subtests) -> None:
    table: list[object] = [
        "x" * 1_000_000,
        ["x" * 1_000] * 1_000,
        {"x" * 1_000: 1},
        {"a": {"b": ["x" * 9_999]}},
    ]
    for value in table:
        with subtests.test(value=value):
            match = best_match(document("a: 1\n"), [{"a": value}])
            assert len(difference_lines(match.differences)[0]) < 600


def test_values_of_secrets_are_left_out(subtests: pytest.Subtests) -> None:
    table: list[tuple[str, JsonObject]] = [
        ("data: {p: aHVudGVyMg==}", {"data": {"p": "aHVudGVyMw=="}}),
        ("data: {p: aHVudGVyMg==}", {"data": {}}),
        ("data: {p: aHVudGVyMg==}", {}),
        ("data: {p: 1}", {"data": {"p": "aHVudGVyMw=="}}),
        ("data: 1", {"data": {"p": "aHVudGVyMw=="}}),
        ("stringData: {p: hunter2}", {"stringData": {"p": "hunter3"}}),
        ("metadata: {annotations: {last: x}}", {"metadata": {"annotations": {"last": "hunter3"}}}),
        ("metadata: {annotations: []}", {"metadata": {"annotations": {"last": "hunter3"}}}),
        ("metadata: []", {"metadata": {"annotations": {"last": "hunter3"}}}),
    ]
    for expected, actual in table:
        with subtests.test(expected=expected, actual=actual):
            match = best_match(
                document(f"kind: Secret\n{expected}\n"), [{"kind": "Secret", **actual}]
            )
            (line,) = difference_lines(match.differences)
            assert "left out, since it is of a Secret" in line
            assert "hunter" not in line
            assert "aHVud" not in line


def test_other_fields_of_secrets_are_shown() -> None:
    match = best_match(document("kind: Secret\ntype: Opaque\n"), [{"kind": "Secret", "type": "x"}])
    assert difference_lines(match.differences)[0].endswith("expected: Opaque != actual: x")


def test_comparing_long_lists_by_name_has_a_limit() -> None:
    expected = document(f"a: [{', '.join(f'{{port: {n}}}' for n in range(200))}]\n")
    actual: JsonObject = {"a": [{"port": -n} for n in range(1, 200)]}
    with pytest.raises(TooLargeToCompare):
        Comparison(expected, ListMatching.NAME, steps=20_000).differences(actual)
    assert not best_match(expected, [actual]).holds


def test_long_lists_with_names_are_within_the_limit() -> None:
    names = ", ".join(f"{{name: n{n}, i: {n}}}" for n in range(1_000))
    actual = goyaml.load(f"a: [{names}]")
    assert Comparison(document(f"a: [{names}]\n"), ListMatching.NAME).differences(actual) == []
