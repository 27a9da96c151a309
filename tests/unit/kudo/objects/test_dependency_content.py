"""The digest of a ConfigMap's or Secret's content, from its body and from its annotations.

The recorded digests were computed by KUDO 0.19; the others are over the bytes written here.
"""

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo.api import JsonObject
from kudo.objects.dependency_hash import (
    MISSING,
    content_digest,
    digest_from_text,
    digest_text,
    last_applied_digest,
    live_digest,
)

LAST_APPLIED = "kudo.dev/last-applied-configuration"
CONTENT = "kudo.dev/dependency-content"
SKIP = "kudo.dev/skip-hash-calculation"
LABELS = {
    "heritage": "kudo",
    "kudo.dev/instance": "depop",
    "kudo.dev/operator": "dep-operator",
}
NATURAL_ORDER = (
    *("_x", "A", "Z", "a-b", "a.b", "a_b", "a2", "a10", "aB", "ab", "b", "log4j.properties"),
    *("server.1", "server.2", "server.10", "v1.0", "v1.9", "v1.10", "x20", "x100", "x101", "z"),
)
RECORDED = "72bc36069158061c5778f2775033c688"


def config_map(**fields: Any) -> JsonObject:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, **fields}


def secret(**fields: Any) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "c"}, **fields}


def recorded(value_a: str = "FancyValue", value_b: str = "OtherFancyValue") -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "configdata", "namespace": "ns", "labels": LABELS},
        "data": {"valueA": value_a, "valueB": value_b},
    }


def text_of(*, before: str = "", after: str = "", labels: str = "") -> str:
    """Return the bytes that are hashed for an object named `c`."""
    return (
        'object:\n  apiVersion: ""\n'
        + before
        + '  kind: ""\n  metadata:\n    annotations: {}\n    deletionGracePeriodSeconds: 0\n'
        + "    finalizers: []\n"
        + labels
        + "    managedFields: []\n    name: c\n    ownerReferences: []\n    remainingItemCount: 0\n"
        + after
    )


def md5(text: str) -> str:
    return hashlib.md5(text.encode()).hexdigest()


# Recorded


def test_contents_have_the_recorded_digests() -> None:
    table: list[tuple[str, str, str]] = [
        ("FancyValue", "OtherFancyValue", RECORDED),
        ("ChangedValue", "OtherFancyValue", "8dad2a77855345ee5520cf86979c2028"),
        ("ChangedValue", "SecondChangedValue", "59d21693601b97917b64e8bb8fdfc22f"),
    ]
    for value_a, value_b, digest in table:
        assert digest_text(content_digest(recorded(value_a, value_b))) == digest


def test_what_changes_without_the_content_does_not_count() -> None:
    obj = recorded()
    obj["metadata"] |= {
        "annotations": {"kudo.dev/plan": "deploy", CONTENT: "x"},
        "clusterName": "c",
        "creationTimestamp": "2021-07-02T10:00:00Z",
        "deletionGracePeriodSeconds": 30,
        "deletionTimestamp": "2021-07-02T11:00:00Z",
        "finalizers": ["a/b"],
        "generateName": "config",
        "generation": 3,
        "managedFields": [{"manager": "manager"}],
        "namespace": "elsewhere",
        "ownerReferences": [{"uid": "u"}],
        "resourceVersion": "17",
        "selfLink": "/api",
        "uid": "u-2",
    }
    assert content_digest(obj).hex() == RECORDED


# The bytes


def test_the_bytes_are_those_of_the_original() -> None:
    table: list[tuple[JsonObject, str]] = [
        (config_map(), text_of()),
        (config_map(data={}, binaryData=None, immutable=None), text_of()),
        (
            config_map(data={"k10": "a", "k9": "b", "n": "no", "x": None}),
            text_of(before='  data:\n    k9: b\n    k10: a\n    "n": "no"\n    x: ""\n'),
        ),
        (
            config_map(data={"t": "a\nb\n", "u": "win\r\n", "e": "\U0001f600"}),
            text_of(
                before='  data:\n    e: "\\U0001F600"\n    t: |\n      a\n      b\n'
                '    u: "win\\r\\n"\n'
            ),
        ),
        (
            config_map(data=dict.fromkeys(NATURAL_ORDER[::-1], "v")),
            text_of(before="  data:\n" + "".join(f"    {key}: v\n" for key in NATURAL_ORDER)),
        ),
        (
            config_map(immutable=False, data={"a": ""}, binaryData={"b": "AAE="}),
            text_of(before='  binaryData:\n    b: AAE=\n  data:\n    a: ""\n  immutable: false\n'),
        ),
        (
            config_map(data={"a": "b"}, stringData={"a": "b"}, type="T", spec={"x": 1}),
            text_of(before="  data:\n    a: b\n"),
        ),
        (
            secret(stringData={"p": "1"}, type="Opaque", immutable=True),
            text_of(
                before="  immutable: true\n",
                after='  stringData:\n    p: "1"\n  type: Opaque\n',
            ),
        ),
        (secret(type="", data=None, stringData={}, binaryData={"a": "AA=="}), text_of()),
        (
            secret(data={"a": "YWJj", "b": "YW\nJj\r\n", "c": "YR==", "d": "", "e": None}),
            text_of(
                before='  data:\n    a: YWJj\n    b: YWJj\n    c: YQ==\n    d: ""\n    e: null\n'
            ),
        ),
        (secret(data={"a": "no base64"}), text_of(before="  data:\n    a: no base64\n")),
    ]
    for obj, text in table:
        assert content_digest(obj).hex() == md5(text)


def test_labels_count_and_empty_ones_are_absent(subtests: pytest.Subtests) -> None:
    table: list[tuple[JsonObject | None, str]] = [
        (None, ""),
        ({}, ""),
        ({"a": "b", "n": None}, '    labels:\n      a: b\n      "n": ""\n'),
    ]
    for labels, text in table:
        with subtests.test(labels=labels, text=text):
            obj = config_map(metadata={"name": "c", "labels": labels})
            assert content_digest(obj).hex() == md5(text_of(labels=text))


def test_an_object_with_the_skip_annotation_stands_for_nothing(subtests: pytest.Subtests) -> None:
    for value in ["", "true", "anything"]:
        with subtests.test(value=value):
            obj = config_map(metadata={"name": "c", "annotations": {SKIP: value}}, data={"a": "b"})
            assert content_digest(obj) == MISSING


# From annotations


APPLIED = json.dumps(
    {
        **recorded(),
        "metadata": {
            **recorded()["metadata"],
            "creationTimestamp": None,
            "annotations": {"a": "b"},
        },
    },
    separators=(",", ":"),
)


def test_what_the_original_applied_is_digested(subtests: pytest.Subtests) -> None:
    for text in [APPLIED, APPLIED + "\n"]:
        with subtests.test(text=text):
            digest = last_applied_digest({LAST_APPLIED: text})
            assert digest is not None
            assert digest.hex() == RECORDED


def test_what_the_original_applied_with_the_skip_annotation_stands_for_nothing() -> None:
    applied = config_map(metadata={"name": "c", "annotations": {SKIP: "x"}})
    assert last_applied_digest({LAST_APPLIED: json.dumps(applied)}) == MISSING


def test_an_annotation_that_is_no_such_object_tells_nothing(subtests: pytest.Subtests) -> None:
    table: list[str] = [
        "",
        "{",
        "null",
        "[]",
        '"x"',
        "5",
        "{}",
        '{"kind":"Service"}',
        '{"kind":[]}',
        "[" * 100_000,
    ]
    for text in table:
        with subtests.test(text=text):
            assert last_applied_digest({LAST_APPLIED: text}) is None
            assert live_digest({LAST_APPLIED: text}) is None


def test_a_live_object_is_told_by_its_annotations(subtests: pytest.Subtests) -> None:
    table: list[tuple[dict[str, str], str | None]] = [
        ({}, None),
        ({LAST_APPLIED: APPLIED}, RECORDED),
        ({LAST_APPLIED: APPLIED, CONTENT: "0f" * 16}, "0f" * 16),
        ({LAST_APPLIED: APPLIED, CONTENT: "0F" * 16}, RECORDED),
        ({LAST_APPLIED: APPLIED, CONTENT: "0f" * 16, SKIP: ""}, "00" * 16),
    ]
    for annotations, digest in table:
        with subtests.test(annotations=annotations, digest=digest):
            found = live_digest(annotations)
            assert (None if found is None else found.hex()) == digest


def test_only_a_digest_is_read_as_one() -> None:
    table: list[str] = ["", "0f", "0f" * 17, "0g" * 16, "0f" * 16 + "\n", " " + "0f" * 16, "٣" * 32]
    for text in table:
        assert digest_from_text(text) is None


@given(st.binary(min_size=16, max_size=16))
def test_a_digest_is_read_as_it_was_written(digest: bytes) -> None:
    assert digest_from_text(digest_text(digest)) == digest


# Properties

_data = st.dictionaries(st.text(max_size=3), st.text(max_size=8), max_size=4)


@given(_data, _data)
def test_contents_have_the_same_digest_only_if_they_are_the_same(
    one: dict[str, str], other: dict[str, str]
) -> None:
    same = content_digest(config_map(data=one)) == content_digest(config_map(data=other))
    assert same == (one == other)


@given(_data, st.randoms(use_true_random=False))
def test_the_order_of_keys_is_irrelevant(data: dict[str, str], random: Any) -> None:
    keys = list(data)
    random.shuffle(keys)
    shuffled = {key: data[key] for key in keys}
    assert content_digest(secret(stringData=shuffled)) == content_digest(secret(stringData=data))


@given(_data)
def test_data_of_a_secret_is_another_content_than_string_data(data: dict[str, str]) -> None:
    in_data = content_digest(secret(data=data))
    assert (in_data == content_digest(secret(stringData=data))) == (not data)


@given(_data)
def test_what_was_applied_is_digested_as_its_body(data: dict[str, str]) -> None:
    obj = config_map(data=data)
    assert last_applied_digest({LAST_APPLIED: json.dumps(obj)}) == content_digest(obj)
