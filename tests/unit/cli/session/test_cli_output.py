"""Objects as data: the formats of `-o`."""

import json

import yaml

from kubectl_kudo.session.output import many, one, without_bookkeeping

TEA = {"kind": "Tea", "apiVersion": "v1", "spec": {"text": "a\nb\n", "on": "yes", "é": 1}}


def test_yaml_has_sorted_keys_readable_texts_and_a_blank_line_after_it() -> None:
    assert one(TEA, "yaml") == (
        "apiVersion: v1\nkind: Tea\nspec:\n  'on': 'yes'\n  text: |\n    a\n    b\n  é: 1\n\n"
    )


def test_json_keeps_the_order_and_has_two_spaces() -> None:
    assert one({"b": 1, "a": {"é": 2}}, "json") == ('{\n  "b": 1,\n  "a": {\n    "é": 2\n  }\n}\n')


def test_many_objects_are_documents_or_an_array() -> None:
    text = many([{"a": 1}, {"b": 2}], "yaml")
    assert text == "---\na: 1\n\n---\nb: 2\n\n...\n"
    assert list(yaml.safe_load_all(text)) == [{"a": 1}, {"b": 2}]
    assert json.loads(many([{"a": 1}, {"b": 2}], "json")) == [{"a": 1}, {"b": 2}]


def test_no_objects_are_an_empty_stream_or_an_empty_array() -> None:
    # BTO-7: JSON of no objects was `null`.
    assert many([], "yaml") == "...\n"
    assert many([], "json") == "[]\n"


def test_the_same_value_twice_is_written_twice() -> None:
    shared = {"x": [1]}
    assert "&" not in one({"a": shared, "b": shared}, "yaml")


def test_bookkeeping_of_the_server_is_left_out() -> None:
    obj = {"metadata": {"name": "tea", "managedFields": [{}]}, "spec": {}}
    assert without_bookkeeping(obj) == {"metadata": {"name": "tea"}, "spec": {}}
