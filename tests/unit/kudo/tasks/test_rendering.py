"""From templates to objects: order, documents, and one clear error for everything else."""

import json

import pytest
import yaml

from goyaml import YamlError
from kudo.api import Instance, JsonObject, OperatorVersion
from kudo.api.task_kinds import FatalTaskError
from kudo.tasks.rendering import DocumentError, Manifest, render, render_objects, variables


def named(name: str) -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n"


def names(text: str) -> list[str]:
    return [m.object["metadata"]["name"] for m in render_objects(("t",), {"t": text}, {})]


def failure(templates: dict[str, str], *resources: str) -> str:
    with pytest.raises(FatalTaskError) as caught:
        render_objects(resources or ("t",), templates, {})
    assert caught.value.reason == "TaskRenderingError"
    return str(caught.value)


# Documents


def test_objects_come_in_the_order_of_resources_and_documents() -> None:
    templates = {"a": named("a1") + "---\n" + named("a2"), "b": named("b1"), "c": named("c1")}
    found = render_objects(("c", "a", "b"), templates, {})
    assert [(m.template, m.object["metadata"]["name"]) for m in found] == [
        ("c", "c1"),
        ("a", "a1"),
        ("a", "a2"),
        ("b", "b1"),
    ]


def test_a_template_that_is_named_twice_is_rendered_once() -> None:
    assert len(render_objects(("a", "b", "a"), {"a": named("a"), "b": named("b")}, {})) == 2


def test_documents_are_split_and_empty_ones_passed_over() -> None:
    table: list[tuple[str, list[str]]] = [
        ("", []),
        ("\n  \n", []),
        ("# only a comment\n", []),
        ("---\n---\n", []),
        ("---\n" + named("a"), ["a"]),
        (named("a") + "---\n# nothing\n---\n" + named("b") + "---\n", ["a", "b"]),
        (named("a") + "--- # a comment\n" + named("b"), ["a", "b"]),
        ("null\n", []),
    ]
    for text, expected in table:
        assert names(text) == expected


def test_a_separator_inside_a_text_is_no_separator() -> None:
    text = named("a") + "data:\n  x: |\n    ---\n    y\n"
    (manifest,) = render_objects(("t",), {"t": text}, {})
    assert manifest.object["data"] == {"x": "---\ny\n"}


def test_a_list_gives_its_items() -> None:
    text = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
- apiVersion: v1
  kind: List
  items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}]
"""
    assert names(text) == ["a", "b"]


def test_an_empty_list_gives_nothing() -> None:
    assert names("{apiVersion: v1, kind: List, items: []}") == []


def test_a_list_may_be_empty() -> None:
    for items in ["", "items:", "items: []"]:
        assert names(f"apiVersion: v1\nkind: List\n{items}\n") == []


def test_a_list_of_one_kind_gives_its_items_that_kind() -> None:
    text = """
apiVersion: v1
kind: ConfigMapList
items:
- {metadata: {name: a}}
- {apiVersion: v2, kind: Other, metadata: {name: b}}
"""
    first, second = (one.object for one in render_objects(("t",), {"t": text}, {}))
    assert first == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    assert (second["apiVersion"], second["kind"]) == ("v2", "Other")


def test_a_custom_resource_of_a_kind_that_ends_in_list_is_an_object() -> None:
    text = "{apiVersion: a/v1, kind: AllowList, metadata: {name: a}, items: [1]}"
    assert names(text) == ["a"]


def test_json_documents_may_follow_each_other() -> None:
    first, second = (json.dumps({**yaml.safe_load(named(name)), "data": 1}) for name in "ab")
    assert names(f"{first}\n{second}\n---\n{second} {first}") == ["a", "b", "b", "a"]


def test_json_may_have_surrogate_pairs() -> None:
    text = json.dumps({**yaml.safe_load(named("a")), "data": {"a": "\U0001f600"}})
    [found] = render_objects(("t",), {"t": text}, {})
    assert found.object["data"] == {"a": "\U0001f600"}


def test_byte_order_marks_before_documents_are_left_out() -> None:
    text = f"\ufeff{named('a')}\n\ufeff---\n\ufeff{named('b')}\n--- \n\ufeff{named('c')}"
    assert names(text) == ["a", "b", "c"]
    assert "\ufeff" not in str([one.object for one in render_objects(("t",), {"t": text}, {})])


def test_a_manifest_names_object_and_template() -> None:
    manifest = Manifest("t.yaml", {"kind": "Job", "metadata": {"name": "j"}})
    assert str(manifest) == "Job j of template t.yaml"


# Errors


def test_a_missing_template_is_named() -> None:
    assert failure({"t": named("a")}, "t", "nowhere") == "error finding resource named nowhere"


def test_what_is_no_object_is_refused_with_the_reason(subtests: pytest.Subtests) -> None:
    table = [
        ("just text", "a Kubernetes object must be a mapping"),
        ("- a\n- b", "a Kubernetes object must be a mapping"),
        ("apiVersion: v1\nmetadata: {name: a}", "Object 'kind' is missing"),
        ("kind: Pod\nmetadata: {name: a}", "Object 'apiVersion' is missing"),
        ("apiVersion: 1\nkind: Pod\nmetadata: {name: a}", "apiVersion is a number and not text"),
        ("apiVersion: v1\nkind: ''\nmetadata: {name: a}", "Object 'kind' is missing"),
        ("apiVersion: v1\nkind: Pod", "metadata.name is missing"),
        ("apiVersion: v1\nkind: Pod\nmetadata: text", "metadata.name is missing"),
        ("apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}", "metadata.name is missing"),
        (
            "apiVersion: kudo.dev/v1beta1/operatorversions\nkind: x\nmetadata: {name: a}",
            "apiVersion 'kudo.dev/v1beta1/operatorversions' is not an API version: 'kudo.dev/v1b",
        ),
        ("apiVersion: v1?watch=1\nkind: x\nmetadata: {name: a}", "apiVersion 'v1?watch=1' is not"),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a%2fb}",
            "metadata.name 'a%2fb' cannot be the name in an API path",
        ),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: .., namespace: ns}",
            "metadata.name '..' cannot be the name in an API path",
        ),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: other/pods}",
            "metadata.namespace 'other/pods' cannot be the namespace in an API path",
        ),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a, annotations: text}",
            "metadata.annotations is text and not a mapping",
        ),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: [a]}",
            "metadata.labels is a list and not a mapping",
        ),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {b: x, v: 1.10}}",
            "metadata.labels.v is a number and not text; put quotes around it",
        ),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a, annotations: {a: [x]}}",
            "metadata.annotations.a is a list and not text",
        ),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: 5}",
            "metadata.name is a number and not text; put quotes around it",
        ),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: y}",
            "metadata.name is true and not text; put quotes around it",
        ),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: [a]}",
            "metadata.name is a list and not text",
        ),
        ("apiVersion: v1\nkind: List\nitems: [text]", "a Kubernetes object must be a mapping"),
        ("apiVersion: v1\nkind: List\nitems: text", "items of a List must be a list"),
        ("apiVersion: v1\nkind: AllowList", "metadata.name is missing"),
        ('{"kind": "A"} text', "line 1, column 15: something follows the end of the document"),
        ("a: 1\n...\nb: 1", "line 3, column 1: something follows the end of the document"),
        ("a: [1, 2", "line "),
        ("a: b: c", "line "),
    ]
    for text, reason in table:
        with subtests.test(text=text, reason=reason):
            found = failure({"t": text})
            assert found.startswith("parsing YAML from t: decoding chunk ")
            assert f"failed: {reason}" in found


def test_only_the_first_lines_of_what_cannot_be_read_are_shown() -> None:
    assert len(failure({"t": "x" * 10_000})) < 300


def test_a_template_that_fails_says_where_and_in_which_step(subtests: pytest.Subtests) -> None:
    for text, step in [("{{ .Params.A ", "parsing"), ("{{ .Nope }}", "rendering")]:
        with subtests.test(text=text, step=step):
            found = failure({"t": f"a\n{text}"})
            assert found.startswith(
                f"error expanding template t: error {step} template: template: t:2"
            )


def test_a_template_without_end_is_stopped() -> None:
    text = "{{ range until 90000 }}{{ range until 90000 }}x{{ end }}{{ end }}"
    assert "limit exceeded" in failure({"t": text})


# Variables

VERSION: JsonObject = {
    "metadata": {"name": "op-1", "namespace": "ns"},
    "spec": {
        "operator": {"name": "op"},
        "version": "1.0.0",
        "appVersion": "3.4",
        "parameters": [
            {"name": "A", "default": "1"},
            {"name": "B", "default": "2"},
            {"name": "L", "value-type": "array", "default": "[one, two]"},
        ],
    },
}
INSTANCE = {
    "metadata": {"name": "i", "namespace": "ns"},
    "spec": {"parameters": {"B": "", "undeclared": "z"}},
}


def test_templates_see_names_versions_the_place_in_the_plan_and_parameters() -> None:
    found = variables(
        Instance.from_wire(INSTANCE),
        OperatorVersion.from_wire(VERSION),
        plan="deploy",
        phase="p",
        step="s",
    ).read()
    assert found == {
        "OperatorName": "op",
        "Name": "i",
        "Namespace": "ns",
        "AppVersion": "3.4",
        "OperatorVersion": "1.0.0",
        "PlanName": "deploy",
        "PhaseName": "p",
        "StepName": "s",
        "Params": {"A": "1", "B": "", "L": ["one", "two"]},
        "Pipes": {},
    }


def test_a_version_that_says_little_gives_empty_texts() -> None:
    found = variables(Instance(), OperatorVersion(), plan="p", phase="p", step="s").read()
    assert (found["OperatorName"], found["AppVersion"], found["OperatorVersion"]) == ("", "", "")


def test_a_parameter_that_cannot_be_read_is_fatal_and_named() -> None:
    raw = {**INSTANCE, "spec": {"parameters": {"L": "{a: b}"}}}
    found = variables(
        Instance.from_wire(raw),
        OperatorVersion.from_wire(VERSION),
        plan="deploy",
        phase="p",
        step="s",
    )
    with pytest.raises(FatalTaskError) as caught:
        found.read()
    assert caught.value.reason == "InvalidParams"
    assert str(caught.value).startswith("could not parse parameters: ")
    assert '"L"' in str(caught.value)


def test_values_are_put_into_the_text_as_they_are() -> None:
    values = {"Name": "i", "Params": {"A": "x: {y}\n"}}
    assert render("t", "{{ .Name }}-{{ .Params.A }}", values) == "i-x: {y}\n"


def test_a_document_that_is_no_object_has_its_line_in_the_rendered_text(
    subtests: pytest.Subtests,
) -> None:
    table = [
        ("a: [", 1),
        ("a: 1\n\tb: 1", 2),
        ('{"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}}\n{"a": ]}', 2),
        ("\n\nkind: x", 3),
        ("---\nkind: x", 2),
        ("# no object\n---\n\nkind: x\n---\nkind: y", 4),
        ("apiVersion: v1\nkind: A\nmetadata: {name: a}\n---\na: 1\nb: c: d\n", 6),
        ("--- # a\n--- # b\n- a", 2),
    ]
    for text, line in table:
        with subtests.test(text=text, line=line):
            with pytest.raises(DocumentError) as caught:
                render_objects(("t",), {"t": text}, {})
            assert caught.value.line == line
            if isinstance(caught.value.__cause__, YamlError):
                assert f"failed: line {line}, column " in str(caught.value)
