"""What a write changes of an Instance, as lines: values of all kinds, defaults, secrets."""

from typing import Any

import pytest

from kubectl_kudo.reading.changes import changed_values, changes

JsonObject = dict[str, Any]
SECRET = """\
apiVersion: v1
kind: Secret
stringData: {pin: "{{ .Params.CODE }}"}
"""


def instance(parameters: JsonObject, version: str = "web-1", **spec: object) -> JsonObject:
    fields = {"operatorVersion": {"name": version}, "parameters": parameters, **spec}
    return {"kind": "Instance", "metadata": {"name": "web", "namespace": "ns"}, "spec": fields}


def operator_version(*parameters: JsonObject, **spec: object) -> JsonObject:
    return {"metadata": {"name": "web-1"}, "spec": {"parameters": list(parameters), **spec}}


def lines(before: JsonObject, after: JsonObject, *parameters: JsonObject) -> list[str]:
    version = operator_version(*parameters, templates={"secret.yaml": SECRET})
    return changes(instance(before), instance(after), version, version)


def test_values_are_compared_with_what_is_stored_and_not_with_defaults() -> None:
    before = instance({"A": "1"})
    assert changed_values(before, {"A": "1", "B": "2"}) == {"B": "2"}
    assert changed_values(before, {"A": "1"}) == {}


@pytest.mark.parametrize(
    ("before", "after", "parameter", "line"),
    [
        ({"A": "1"}, {"A": "2"}, {}, "A: 1 → 2"),
        ({}, {"A": "2"}, {}, "A: (not set) → 2"),
        ({}, {"A": "2"}, {"default": "1"}, "A: 1 (default) → 2"),
        ({}, {"A": "1"}, {"default": "1"}, "A: 1 (default) → 1"),
        ({"A": "2"}, {}, {"default": "1"}, "A: 2 → 1 (default)"),
        ({"A": "1"}, {"A": ""}, {}, 'A: 1 → ""'),
        ({"A": "a\nb"}, {"A": "\x1b[2J"}, {}, "A: a b → \\x1b[2J"),
        ({"A": "1"}, {"A": "x" * 99}, {}, f"A: 1 → {'x' * 59}…"),
        ({"A": "x" * 99}, {"A": "x" * 100}, {}, "A: changed (99 → 100 characters)"),
        ({"A": "- 1\n"}, {"A": "[1, 2]"}, {"value-type": "array"}, "A: [1] → [1, 2]"),
        ({"A": "[1"}, {"A": "[1]"}, {"value-type": "array"}, "A: [1 → [1]"),
    ],
)
def test_a_line_has_both_values(
    before: JsonObject, after: JsonObject, parameter: JsonObject, line: str
) -> None:
    assert lines(before, after, {"name": "A", **parameter}) == [line]


def test_what_is_the_same_has_no_line() -> None:
    assert lines({"A": "1"}, {"A": "1"}, {"name": "A"}, {"name": "B", "default": "2"}) == []


def test_of_a_map_the_entries_that_differ_are_shown() -> None:
    labels = {"name": "LABELS", "value-type": "map"}
    before, after = "{a: 1, b: red, c: 3}", "{a: 1, b: blue, d: {token: secretive}}"
    assert lines({"LABELS": before}, {"LABELS": after}, labels) == [
        "LABELS.b: red → blue",
        "LABELS.c: 3 → (not set)",
        'LABELS.d: (not set) → {"token": "(redacted)"}',
    ]
    many = f"{{{', '.join(f'k{n}: {n}' for n in range(6))}}}"
    assert lines({"LABELS": "{}"}, {"LABELS": many}, labels) == [
        'LABELS: {} → {"k0": 0, "k1": 1, "k2": 2, "k3": 3, "k4": 4, "k5": 5}'
    ]


def test_secrets_are_not_shown_whatever_tells_that_they_are() -> None:
    before = {"PASSWORD": "hunter2-old", "CODE": "4711-old"}
    after = {"PASSWORD": "hunter2-new", "CODE": "4711-new", "NOTE": "it is hunter2-new"}
    after["URL"] = "https://me:sesame@shop"
    shown = lines(before, after, *({"name": name} for name in after))
    assert shown == [
        "CODE: changed (redacted)",
        "NOTE: (not set) → it is (redacted)",
        "PASSWORD: changed (redacted)",
        "URL: (not set) → https://me:(redacted)@shop",
    ]
    assert lines({}, {"PASSWORD": "x1y2z3"}, {"name": "PASSWORD", "default": "changeme"}) == [
        "PASSWORD: (redacted) (default) → (redacted)"
    ]


def test_without_the_version_no_value_is_shown() -> None:
    assert changes(instance({"A": "1"}), instance({"A": "2"}), None, None) == ["A: changed"]


def test_an_upgrade_shows_versions_and_the_defaults_that_change() -> None:
    old = operator_version(
        {"name": "A", "default": "1"},
        {"name": "B", "default": "1"},
        {"name": "GONE", "default": "1"},
        version="0.1.0",
        appVersion="2",
    )
    new = operator_version(
        {"name": "A", "default": "2"},
        {"name": "B", "default": "2"},
        {"name": "FIXED", "default": "x", "immutable": True},
        {"name": "NEW", "default": "1"},
        version="0.2.0",
        appVersion="2",
    )
    before = instance({"B": "7"})
    # Admission sets the defaults of immutable parameters.
    after = instance({"B": "7", "FIXED": "x"}, "web-2")
    assert changes(before, after, old, new) == [
        "version: 0.1.0 → 0.2.0",
        "A: 1 (default) → 2 (default)",
    ]
    new["spec"]["appVersion"] = "3"
    assert changes(before, after, old, new)[0] == (
        "version: 0.1.0 (app version 2) → 0.2.0 (app version 3)"
    )


def test_many_changes_are_counted() -> None:
    values = {f"P{number:02}": "1" for number in range(30)}
    shown = lines({}, values, *({"name": name} for name in values))
    assert shown[19:] == ["P19: (not set) → 1", "and 10 more changes"]
