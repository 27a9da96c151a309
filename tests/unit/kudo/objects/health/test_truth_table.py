"""The truth table of health: objects as the API server shows them, and what they are judged to be.

The rows are in the `*.yaml` beside this file. A file is a list of kinds, each with `apiVersion`,
`kind`, `generation` (1 unless said otherwise), `namespaced` (true unless said otherwise) and
`rows`. A row has `id`, `state`, `message` (none if healthy) and the parts of the object: `spec`,
`status`, and what its `metadata` has beside the name `x`, the namespace `ns` and the generation.
"""

from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from goyaml import load
from kudo.api import JsonObject
from kudo.objects.health import Health, State, health_of

HEALTHY, WAITING, FAILED = State.HEALTHY, State.WAITING, State.FAILED
FILES = sorted(Path(__file__).parent.glob("*.yaml"))


class Row(NamedTuple):
    id: str
    object: JsonObject
    expected: Health


def rows_of(section: JsonObject) -> list[Row]:
    return [row_of(section, row) for row in section["rows"]]


def row_of(section: JsonObject, row: JsonObject) -> Row:
    known = {"id", "state", "message", "metadata", "spec", "status"}
    assert set(row) <= known, f"{row['id']} says {set(row) - known}, which is never read"
    metadata: JsonObject = {"name": "x", "generation": section.get("generation", 1)}
    if section.get("namespaced", True):
        metadata["namespace"] = "ns"
    obj: JsonObject = {
        "apiVersion": section["apiVersion"],
        "kind": section["kind"],
        "metadata": {**metadata, **row.get("metadata", {})},
        **{part: row[part] for part in ("spec", "status") if part in row},
    }
    return Row(
        f"{section['apiVersion']} {section['kind']}: {row['id']}",
        obj,
        Health(State(row["state"]), row.get("message", "")),
    )


def sections_of(file: Path) -> list[JsonObject]:
    read = load(file.read_bytes())
    assert isinstance(read, list), file
    return read


TABLE = [row for file in FILES for section in sections_of(file) for row in rows_of(section)]

WITH_A_RULE = {
    ("apps/v1", "Deployment"): {HEALTHY, WAITING},
    ("apps/v1", "StatefulSet"): {HEALTHY, WAITING},
    ("apps/v1", "DaemonSet"): {HEALTHY, WAITING},
    ("apps/v1", "ReplicaSet"): {HEALTHY, WAITING},
    ("batch/v1", "Job"): {HEALTHY, WAITING, FAILED},
    ("batch/v1", "CronJob"): {HEALTHY, WAITING},
    ("v1", "Pod"): {HEALTHY, WAITING, FAILED},
    ("v1", "PersistentVolumeClaim"): {HEALTHY, WAITING, FAILED},
    ("v1", "Service"): {HEALTHY, WAITING},
    ("v1", "Namespace"): {HEALTHY, WAITING},
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"): {HEALTHY, WAITING, FAILED},
    ("apiregistration.k8s.io/v1", "APIService"): {HEALTHY, WAITING},
    ("policy/v1", "PodDisruptionBudget"): {HEALTHY, WAITING},
    ("networking.k8s.io/v1", "Ingress"): {HEALTHY, WAITING},
    ("autoscaling/v2", "HorizontalPodAutoscaler"): {HEALTHY, WAITING},
    ("kudo.dev/v1beta1", "Instance"): {HEALTHY, WAITING, FAILED},
    ("example.org/v1", "Thing"): {HEALTHY, WAITING, FAILED},
    ("v1", "ConfigMap"): {HEALTHY, WAITING},
}
"""The states that objects of each kind can be in; a Thing is a custom resource."""


def test_an_object_is_judged_by_what_it_says() -> None:
    judged = {row.id: health_of(row.object) for row in TABLE}
    assert judged == {row.id: row.expected for row in TABLE}


def test_the_table_is_long_enough_and_names_every_row_once() -> None:
    assert len(TABLE) >= 120
    assert [name for name, times in Counter(row.id for row in TABLE).items() if times > 1] == []


def test_every_kind_has_rows_for_each_state_that_it_can_be_in(subtests: pytest.Subtests) -> None:
    for kind in WITH_A_RULE:
        with subtests.test(kind=kind):
            rows = [row for row in TABLE if (row.object["apiVersion"], row.object["kind"]) == kind]
            assert {row.expected.state for row in rows} == WITH_A_RULE[kind]


def test_every_kind_has_a_row_for_an_object_that_is_being_deleted(
    subtests: pytest.Subtests,
) -> None:
    for kind in WITH_A_RULE:
        with subtests.test(kind=kind):
            rows = [row for row in TABLE if (row.object["apiVersion"], row.object["kind"]) == kind]
            deleted = [row for row in rows if row.object["metadata"].get("deletionTimestamp")]
            assert WAITING in {row.expected.state for row in deleted}


def test_the_version_of_a_built_in_kind_does_not_matter() -> None:
    for row in TABLE:
        group, slash, _ = row.object["apiVersion"].partition("/")
        other = {**row.object, "apiVersion": f"{group}{slash}v7" if slash else "v7"}
        assert health_of(other) == row.expected
