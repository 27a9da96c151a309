"""Which Instances share a cluster-scoped object, and what that means for it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo.api import Instance
from kudo.api.identity import InstanceIdentity, identity
from kudo.objects.sharing import (
    Claim,
    as_applied_last,
    claim,
    differs,
    goes_with_instance,
    is_listed,
    is_of_kudo,
    shared_by,
    sharers,
)

A, B, C = (
    InstanceIdentity("ns", "a", "u-a"),
    InstanceIdentity("ns", "b", "u-b"),
    InstanceIdentity("other", "a", "u-c"),
)
INSTANCE = Instance.from_wire(
    {"metadata": {"name": "a", "namespace": "ns", "uid": "u-a"}, "spec": {}}
)
NAMES = st.text("abc-019", min_size=1, max_size=8)


def metadata(shared: str | None = None, **labels: str) -> dict[str, Any]:
    annotations = {} if shared is None else {"kudo.dev/shared-by": shared}
    return {"name": "x", "annotations": annotations, "labels": labels}


@given(st.sets(st.builds(InstanceIdentity, NAMES, NAMES, NAMES)))
def test_what_is_written_is_read_again(instances: set[InstanceIdentity]) -> None:
    assert sharers(metadata(shared_by(instances))) == tuple(sorted(instances))


def test_what_cannot_be_read_names_nobody() -> None:
    for text in ["", ",", "ns/a", "ns/a/", "/a/u", "ns//u", "ns/a/u/more", "  "]:
        assert sharers(metadata(text)) == ()


def test_an_unreadable_entry_hides_no_other() -> None:
    assert sharers(metadata(f"broken,{shared_by([A])}")) == (A,)


@pytest.mark.parametrize("found", [{}, {"annotations": None}, {"annotations": {}}])
def test_an_object_without_the_annotation_is_listed_nobody(found: dict[str, Any]) -> None:
    assert sharers(found) == ()


def test_the_sharer_is_the_instance_itself() -> None:
    assert identity(INSTANCE) == A


@pytest.mark.parametrize(
    ("found", "others", "expected"),
    [
        pytest.param(metadata(shared_by([A])), (), (Claim.OURS, ()), id="named alone"),
        pytest.param(
            metadata(shared_by([A, B])),
            ("ns/b",),
            (Claim.SHARED, ("ns/b",)),
            id="named with another",
        ),
        pytest.param(metadata(shared_by([B])), (), (Claim.OURS, ()), id="others that are gone"),
        pytest.param(
            metadata(shared_by([B]), heritage="kudo", **{"kudo.dev/instance": "b"}),
            (),
            (Claim.OURS, ()),
            id="with the label of one that is gone",
        ),
        pytest.param(metadata(heritage="other"), (), (Claim.FOREIGN, ()), id="of somebody else"),
        pytest.param(metadata(), (), (Claim.FOREIGN, ()), id="of nobody"),
        pytest.param(metadata(), ("ns/b",), (Claim.FOREIGN, ()), id="on record before it exists"),
        pytest.param(
            metadata(heritage="kudo", **{"kudo.dev/instance": "a"}),
            (),
            (Claim.OURS, ()),
            id="left by the original for this name",
        ),
        pytest.param(
            metadata(heritage="kudo", **{"kudo.dev/instance": "z"}),
            (),
            (Claim.SHARED, ("z",)),
            id="left by the original for another name",
        ),
        pytest.param(
            metadata(heritage="kudo", **{"kudo.dev/instance": "a"}),
            ("ns/b",),
            (Claim.SHARED, ("ns/b",)),
            id="without its annotation",
        ),
    ],
)
def test_whose_an_object_is(
    found: dict[str, Any], others: tuple[str, ...], expected: tuple[Claim, tuple[str, ...]]
) -> None:
    assert claim(found, INSTANCE, others) == expected


def shown(**changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Thing",
        "metadata": {"name": "x", "uid": "1", "labels": {"l": "1"}, "annotations": {"a": "1"}},
        "spec": {"list": [1, 2]},
    }
    made["metadata"].update(changes.pop("metadata", {}))
    return {**made, **changes}


def test_whose_an_object_is_makes_no_difference() -> None:
    table: list[dict[str, Any]] = [
        shown(metadata={"resourceVersion": "7", "generation": 3, "managedFields": [{}]}),
        shown(metadata={"labels": {"l": "1", "kudo.dev/instance": "b", "heritage": "kudo"}}),
        shown(
            metadata={"annotations": {"a": "1", "kudo.dev/plan": "p", "kudo.dev/shared-by": "s"}}
        ),
    ]
    for other in table:
        assert not differs(shown(), other)


def test_everything_else_makes_one(subtests: pytest.Subtests) -> None:
    table: list[dict[str, Any]] = [
        shown(spec={"list": [2, 1]}),
        shown(metadata={"labels": {"l": "2"}}),
        shown(metadata={"labels": {}}),
        shown(metadata={"annotations": {"a": "1", "b": "2"}}),
        shown(metadata={"annotations": {"a": "1", "kudo.dev/delete-with-instance": "true"}}),
        shown(metadata={"finalizers": ["f"]}),
        shown(extra=1),
    ]
    for other in table:
        with subtests.test(other=other):
            assert differs(shown(), other)
            assert differs(other, shown())


def test_what_goes_with_its_last_instance(subtests: pytest.Subtests) -> None:
    table: list[tuple[str, str, str | None, bool]] = [
        ("rbac.authorization.k8s.io", "ClusterRole", "true", True),
        ("rbac.authorization.k8s.io", "ClusterRole", "false", False),
        ("rbac.authorization.k8s.io", "ClusterRole", "yes", False),
        ("rbac.authorization.k8s.io", "ClusterRole", None, False),
        ("apiextensions.k8s.io", "CustomResourceDefinition", "true", False),
        ("", "Namespace", "true", False),
        ("", "PersistentVolume", "true", False),
        ("example.org", "Namespace", "true", True),
    ]
    for group, kind, wish, expected in table:
        with subtests.test(group=group, kind=kind, wish=wish, expected=expected):
            annotations = {} if wish is None else {"kudo.dev/delete-with-instance": wish}
            assert goes_with_instance(group, kind, {"annotations": annotations}) is expected


def test_a_retained_object_does_not_go_with_its_last_instance() -> None:
    wish = {"kudo.dev/delete-with-instance": "true"}
    for policy, expected in (("retain", False), ("delete", True)):
        annotations = {**wish, "kudo.dev/deletion-policy": policy}
        assert goes_with_instance("example.com", "A", {"annotations": annotations}) is expected


def test_an_object_is_of_kudo_by_its_label_or_its_sharers() -> None:
    table: list[tuple[dict[str, Any], bool]] = [
        (metadata(), False),
        (metadata("broken"), False),
        (metadata(shared_by([A])), True),
        (metadata(heritage="kudo"), True),
        (metadata(heritage="other"), False),
    ]
    for found, ours in table:
        assert is_of_kudo(found) is ours


def test_what_others_applied_is_applied_with_the_marks_of_their_run() -> None:
    target = {
        "metadata": {
            "name": "x",
            "labels": {"heritage": "kudo", "kudo.dev/instance": "b", "app": "x"},
            "annotations": {"kudo.dev/plan": "update", "kudo.dev/step": "s", "note": "n"},
        }
    }
    live = {
        "metadata": {
            "labels": {"kudo.dev/instance": "a", "kudo.dev/operator": "op", "theirs": "y"},
            "annotations": {"kudo.dev/plan": "deploy", "theirs": "y"},
        }
    }
    assert as_applied_last(target, live)["metadata"] == {
        "name": "x",
        "labels": {
            "heritage": "kudo",
            "app": "x",
            "kudo.dev/instance": "a",
            "kudo.dev/operator": "op",
        },
        "annotations": {"note": "n", "kudo.dev/plan": "deploy"},
    }


def test_an_object_names_an_instance_by_all_parts() -> None:
    table: list[tuple[str, bool]] = [
        (shared_by([A, B]), True),
        (shared_by([B]), False),
        ("ns/b/u-a", False),
        ("u-a", False),
        (shared_by([A, C]), True),
        ("more than 16 Instances, the last one ns a u-a", False),
        ("more than 16 Instances, the last one ns b u-a,ns/c/u-a", False),
    ]
    for text, named in table:
        assert is_listed(metadata(text), A) is named
