"""The marks that are changed on an object whose content is left as it is."""

import copy

import pytest

from kubeio import jsonpatch
from kubeio.types import JsonObject
from kudo_reconciler.objects.ownership import mark_changes

RETAIN, BY = "kudo.dev/deletion-policy", "kudo.dev/retained-by"
PATH = "/metadata/annotations/kudo.dev~1"
OURS = {"kind": "Instance", "name": "i", "uid": "u-1", "controller": True}
OTHER = {"kind": "Pod", "name": "p", "uid": "u-2"}
RETAINED = {RETAIN: "retain", BY: "ns/i/op/u-1"}


def an(*owners: JsonObject, **annotations: str) -> JsonObject:
    """Return an object with owners, annotations, and content."""
    metadata = {"ownerReferences": list(owners), "annotations": annotations}
    return {"metadata": {key: value for key, value in metadata.items() if value}, "data": {}}


@pytest.mark.parametrize(
    ("live", "wanted"),
    [
        (an(), an()),
        (an(OURS), an(OURS)),
        (an(OTHER, OURS), an(OURS)),
        (an(OURS, mine="1"), an(OURS, theirs="2")),
        (an(**RETAINED), an(**RETAINED)),
        (an(OTHER, **RETAINED), an(**RETAINED)),
        (an(OURS, **{RETAIN: "delete"}), an(OURS)),
    ],
)
def test_marks_that_are_the_same_are_not_written(live: JsonObject, wanted: JsonObject) -> None:
    assert mark_changes(live, wanted, "u-1") == []


def test_a_former_retention_is_replaced() -> None:
    live = an(mine="1", **{**RETAINED, BY: "ns/i/op/u-0"})
    assert mark_changes(live, an(**RETAINED), "u-1") == [
        jsonpatch.add(f"{PATH}retained-by", "ns/i/op/u-1")
    ]


@pytest.mark.parametrize("annotations", [{"mine": "1"}, {RETAIN: "delete"}])
def test_an_object_that_is_retained_from_now_on_loses_our_reference(
    annotations: dict[str, str],
) -> None:
    assert mark_changes(an(OTHER, OURS, **annotations), an(**RETAINED), "u-1") == [
        jsonpatch.add(f"{PATH}deletion-policy", "retain"),
        jsonpatch.add(f"{PATH}retained-by", "ns/i/op/u-1"),
        jsonpatch.add("/metadata/ownerReferences", [OTHER]),
    ]


def test_an_object_without_annotations_gets_the_map() -> None:
    assert mark_changes(an(), an(**RETAINED), "u-1") == [
        jsonpatch.add("/metadata/annotations", RETAINED)
    ]


def test_an_object_that_is_retained_no_more_is_owned() -> None:
    live = an(OTHER, mine="1", **RETAINED)
    before = copy.deepcopy(live)
    assert mark_changes(live, an(OURS), "u-1") == [
        jsonpatch.remove(f"{PATH}deletion-policy"),
        jsonpatch.remove(f"{PATH}retained-by"),
        jsonpatch.add("/metadata/ownerReferences", [OTHER, OURS]),
    ]
    assert live == before


def test_no_operation_quotes_other_annotations() -> None:
    secret = {"kubectl.kubernetes.io/last-applied-configuration": "s3cret"}
    assert "s3cret" not in str(mark_changes(an(OURS, **secret), an(**RETAINED), "u-1"))
