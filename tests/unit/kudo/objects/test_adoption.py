"""Whose an object without an owner is, and what it is applied without."""

from kudo.api import JsonObject
from kudo.objects.adoption import applied_by, holds_data, without_owner
from kudo.objects.managed_fields import Writer

APPLY = Writer("kudo", "Apply", "")
LABELS = {"heritage": "kudo", "kudo.dev/instance": "i"}


def test_secrets_and_claims_hold_data() -> None:
    table = [
        ("", "Secret", True),
        ("", "PersistentVolumeClaim", True),
        ("", "ConfigMap", False),
        ("example.dev", "Secret", False),
    ]
    for group, kind, holds in table:
        assert holds_data(group, kind) is holds


def test_an_object_names_the_instance_that_applied_it() -> None:
    table: list[tuple[JsonObject | None, list[Writer], str]] = [
        (LABELS, [APPLY], "i"),
        (LABELS, [Writer("kube-controller-manager", "Update", ""), APPLY], "i"),
        # A claim that a StatefulSet made of its template, which has the labels.
        (LABELS, [Writer("kube-controller-manager", "Update", "")], ""),
        (LABELS, [Writer("kudo", "Apply", "status")], ""),
        ({"kudo.dev/instance": "i"}, [APPLY], ""),
        ({"heritage": "kudo"}, [APPLY], ""),
        (None, [APPLY], ""),
    ]
    for labels, writers, name in table:
        assert applied_by({"name": "o", "labels": labels}, writers) == name


def test_only_the_owner_reference_to_the_instance_is_left_out() -> None:
    ours, theirs = {"kind": "Instance", "uid": "u"}, {"kind": "Cluster", "uid": "c"}
    target: JsonObject = {
        "kind": "Secret",
        "metadata": {"name": "o", "ownerReferences": [theirs, ours]},
    }
    found = without_owner(target, "u")
    assert found == {"kind": "Secret", "metadata": {"name": "o", "ownerReferences": [theirs]}}
    assert without_owner(found, "c") == {"kind": "Secret", "metadata": {"name": "o"}}
    assert target["metadata"]["ownerReferences"] == [theirs, ours]
