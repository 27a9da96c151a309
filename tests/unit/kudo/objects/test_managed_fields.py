"""Field owners before and after the migration of managed fields."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo.api import JsonObject
from kudo.api.names import ANNOTATION_LAST_APPLIED
from kudo.objects.managed_fields import (
    last_applied,
    migrated,
    needs_migration,
    with_entry_of,
    writers,
)

V1 = "apps/v1"
ORIGINAL = {"kudo.dev/last-applied-configuration": "{}"}


def entry(
    manager: str,
    operation: str = "Update",
    fields: dict[str, Any] | None = None,
    api_version: str = V1,
    **more: str,
) -> dict[str, Any]:
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": api_version,
        "time": "2026-01-02T03:04:05Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields or {},
        **more,
    }


def metadata(*entries: dict[str, Any], annotations: dict[str, str] | None = None) -> dict[str, Any]:
    return {"name": "x", "managedFields": list(entries), "annotations": annotations or {}}


SPEC: dict[str, Any] = {"f:spec": {"f:replicas": {}}}
LABELS: dict[str, Any] = {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}}


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(metadata(), id="no entries"),
        pytest.param({"name": "x"}, id="no list of entries"),
        pytest.param(metadata(entry("kudo", "Apply", SPEC)), id="applied by us"),
        pytest.param(
            metadata(entry("kudo", "Apply", SPEC, "apps/v1beta1")), id="in another version"
        ),
        pytest.param(metadata(entry("manager", fields=SPEC)), id="another controller's binary"),
        pytest.param(
            metadata(entry("manager", subresource="status"), annotations=ORIGINAL), id="a status"
        ),
        pytest.param(
            metadata(entry("kubectl-edit", fields=SPEC), annotations=ORIGINAL), id="a person's"
        ),
        pytest.param(metadata(entry("manager", "Apply"), annotations=ORIGINAL), id="applied by it"),
    ],
)
def test_there_is_nothing_to_migrate(found: dict[str, Any]) -> None:
    assert migrated(found, V1) is None


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(metadata(entry("manager", fields=SPEC), annotations=ORIGINAL), id="original"),
        pytest.param(metadata(entry("kudo", fields=SPEC)), id="created by us"),
        pytest.param(
            metadata(entry("kudo", fields=SPEC, api_version="apps/v1beta2")), id="another version"
        ),
    ],
)
def test_one_entry_becomes_ours(found: dict[str, Any]) -> None:
    assert migrated(found, V1) == [entry("kudo", "Apply", SPEC)]


def test_entries_are_united_and_strangers_stay() -> None:
    other = entry("kubectl-edit", fields={"f:data": {}})
    found = metadata(
        other,
        entry("kudo", "Apply", SPEC, time="2026-01-01T00:00:00Z"),
        entry("manager", fields={**LABELS, "f:spec": {"f:template": {}}}),
        annotations=ORIGINAL,
    )
    union = {"f:spec": {"f:replicas": {}, "f:template": {}}, **LABELS}
    assert migrated(found, V1) == [entry("kudo", "Apply", union), other]


def test_migration_leaves_its_argument_alone() -> None:
    first, second = entry("kudo", "Apply", SPEC), entry("kudo", fields={"f:spec": {"f:x": {}}})
    migrated(metadata(first, second), V1)
    assert first == entry("kudo", "Apply", SPEC)
    assert second == entry("kudo", fields={"f:spec": {"f:x": {}}})


TREES: st.SearchStrategy[dict[str, Any]] = st.recursive(
    st.just({}), lambda below: st.dictionaries(st.sampled_from(["f:a", "f:b", "."]), below)
)
ENTRIES = st.builds(
    entry,
    st.sampled_from(["kudo", "manager", "kubectl"]),
    st.sampled_from(["Apply", "Update"]),
    TREES,
    st.sampled_from([V1, "apps/v1beta1"]),
)


def leaves(tree: dict[str, Any], path: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    below = [leaves(child, (*path, key)) for key, child in tree.items()]
    return {path}.union(*below)


@given(st.lists(ENTRIES), st.sampled_from([{}, ORIGINAL]))
def test_no_field_is_lost_and_a_second_migration_changes_nothing(
    entries: list[dict[str, Any]], annotations: dict[str, str]
) -> None:
    found = metadata(*entries, annotations=annotations)
    result = migrated(found, V1)
    if result is None:
        assert not needs_migration(writers(found), {})
        return
    before = set().union(*(leaves(one["fieldsV1"]) for one in entries))
    assert set().union(*(leaves(one["fieldsV1"]) for one in result)) == before
    assert migrated({**found, "managedFields": result}, V1) is None


# What the original wrote down


def live(applied: str | None, **metadata: Any) -> dict[str, Any]:
    annotations = {} if applied is None else {"kudo.dev/last-applied-configuration": applied}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "x", "namespace": "ns", "annotations": annotations, **metadata},
    }


def test_what_cannot_be_read_says_nothing() -> None:
    table: list[str | None] = [
        None,
        "",
        "{",
        "[]",
        '"text"',
        "null",
        "{}",
        '{"metadata": []}',
        "[" * 100_000,
    ]
    for applied in table:
        assert last_applied(live(applied)) is None


def test_what_was_last_applied_is_of_this_object_whatever_it_names(
    subtests: pytest.Subtests,
) -> None:
    table: list[JsonObject] = [
        {"name": "other", "namespace": "others"},
        {},
        {"annotations": ["a"]},
        {"annotations": None, "namespace": None},
    ]
    for metadata in table:
        with subtests.test(metadata=metadata):
            applied = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {}}
            found = last_applied(live(json.dumps(applied)))
            assert found is not None
            known = live("{}")["metadata"]
            assert found["metadata"]["name"] == known["name"]
            assert found["metadata"].get("namespace") == known.get("namespace")
            assert found["metadata"]["annotations"] == {ANNOTATION_LAST_APPLIED: ""}


def test_what_was_applied_is_freed_of_what_typed_objects_leave_behind() -> None:
    applied = {
        "apiVersion": "policy/v1beta1",
        "kind": "PodDisruptionBudget",
        "metadata": {
            "name": "x",
            "namespace": "ns",
            "creationTimestamp": None,
            "labels": {"a": "b"},
        },
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}, "strategy": {}},
        "status": {"currentHealthy": 0},
    }
    found = last_applied(live(json.dumps(applied) + "\n"))
    assert found is not None
    assert found["apiVersion"] == "policy/v1"
    assert found["spec"] == {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}
    assert "status" not in found
    assert found["metadata"]["labels"] == {"a": "b"}
    assert "creationTimestamp" not in found["metadata"]
    # Ours from now on, so that it goes with the next apply.
    assert "kudo.dev/last-applied-configuration" in found["metadata"]["annotations"]


def test_the_entry_that_the_api_server_made_comes_in_beside_the_others() -> None:
    other = entry("kubectl-edit", fields={"f:data": {}})
    planned = metadata(entry("kudo", "Apply", SPEC), entry("before-first-apply", fields=LABELS))
    assert with_entry_of(metadata(other), planned) == [entry("kudo", "Apply", SPEC), other]
