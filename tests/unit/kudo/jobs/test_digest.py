"""The job `digest`: the same digests as in the process that asks, of objects of any size."""

import json
from typing import Any

import pytest

from kudo.api import names
from kudo.jobs import HANDLERS, digest
from kudo.objects.dependency_hash import MISSING, content_digest

LABELS = {"a": "b"}


def config_map(**fields: Any) -> dict[str, Any]:
    metadata = {"name": "c", "labels": LABELS, "managedFields": [{"manager": "x"}]}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **fields}


def annotated(obj: dict[str, Any], **annotations: str) -> dict[str, Any]:
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}


def in_worker(obj: dict[str, Any], *, live: bool) -> bytes:
    return HANDLERS[digest.NAME](digest.encode_request(obj, live=live))


OBJECTS = [
    config_map(data={"a": "x\ny\n", "b": "é"}),
    config_map(data={"a": "x" * 100_000}, binaryData={"b": "AAEC"}, immutable=True),
    {**config_map(stringData={"a": "1"}, data={"b": "Mg=="}, type="Opaque"), "kind": "Secret"},
    {"kind": "ConfigMap", "metadata": {}},
]


def test_a_worker_gives_the_digest_of_the_content(subtests: pytest.Subtests) -> None:
    for obj in OBJECTS:
        with subtests.test(obj=obj):
            assert in_worker(obj, live=False) == content_digest(obj)
            assert digest.digest(obj, live=False) == content_digest(obj)


def test_annotations_of_a_live_object_count() -> None:
    applied = json.dumps(config_map(data={"a": "applied"}))
    found = annotated(config_map(data={"a": "edited"}), **{names.ANNOTATION_LAST_APPLIED: applied})
    for live in (True, False):
        assert in_worker(found, live=live) == digest.digest(found, live=live)
    assert in_worker(found, live=True) != in_worker(found, live=False)


def test_skipped_content_is_missing() -> None:
    found = annotated(config_map(data={"a": "x"}), **{names.ANNOTATION_SKIP_HASH: "true"})
    assert in_worker(found, live=False) == in_worker(found, live=True) == MISSING


def test_only_what_counts_is_sent() -> None:
    found = annotated(config_map(data={"a": "x"}), other="y" * 10_000)
    assert len(digest.encode_request(found, live=True)) < 200


def test_small_is_what_characters_and_keys_say() -> None:
    table: list[tuple[dict[str, Any], bool]] = [
        ({"data": {"a": "x" * 16_000}}, True),
        ({"data": {"a": "x" * 17_000}}, False),
        ({"data": {"a": "x" * 9_000}, "binaryData": {"a": "x" * 9_000}}, False),
        ({"stringData": {str(number): "" for number in range(250)}}, False),
        ({"data": None}, True),
        ({"data": {"a": 1}}, True),
    ]
    for fields, small in table:
        assert digest.is_small(config_map(**fields)) is small


def test_what_was_last_applied_counts_as_well() -> None:
    found = annotated(config_map(), **{names.ANNOTATION_LAST_APPLIED: "x" * 20_000})
    assert not digest.is_small(found)
