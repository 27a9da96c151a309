"""Which ConfigMaps and Secrets count for the pods of an object, and the hash in the pod template.

The recorded hashes were computed by KUDO 0.19. The content of one is in
`test_dependencies_content.py`.
"""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo.api import Instance, JsonObject, OperatorVersion
from kudo.objects.dependency_hash import (
    MISSING,
    Dependency,
    content_digest,
    dependencies_hash,
    dependencies_of,
    with_dependencies_hash,
)
from kudo.objects.enrichment import Origin, enrich

INSTANCE = Instance.from_wire({"metadata": {"name": "inst", "namespace": "ns", "uid": "u-1"}})
VERSION = OperatorVersion.from_wire(
    {
        "metadata": {"name": "op-0.1.0", "namespace": "ns"},
        "spec": {"operator": {"name": "op"}, "version": "0.1.0"},
    }
)
ORIGIN = Origin(INSTANCE, VERSION, plan="deploy", phase="ph", step="st", uid="plan-uid")
LABELS = {"heritage": "kudo", "kudo.dev/instance": "inst", "kudo.dev/operator": "op"}
OF_ONE_MISSING = "4ae71336e44bf9bf79d2752e234818a5"


def config_map_volume(name: str) -> JsonObject:
    return {"name": "v", "configMap": {"name": name}}


def secret_volume(name: str) -> JsonObject:
    return {"name": "v", "secret": {"secretName": name}}


def workload(api_version: str, kind: str, *path: str, **pod: Any) -> JsonObject:
    inner: JsonObject = {"template": {"spec": pod}}
    for key in reversed(path):
        inner = {key: inner}
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "d"}, **inner}


def deployment(**pod: Any) -> JsonObject:
    return workload("apps/v1", "Deployment", "spec", **pod)


CONFIG_MAP_A, SECRET_A = Dependency("ConfigMap", "a"), Dependency("Secret", "a")


# What counts


def test_volumes_and_pull_secrets_count_and_as_often_as_they_are_named() -> None:
    table: list[tuple[JsonObject, tuple[Dependency, ...]]] = [
        ({"volumes": [config_map_volume("a")]}, (CONFIG_MAP_A,)),
        ({"volumes": [secret_volume("a")]}, (SECRET_A,)),
        ({"imagePullSecrets": [{"name": "a"}]}, (SECRET_A,)),
        (
            {"volumes": [{"name": "v", "configMap": {"name": "a", "optional": True}}]},
            (CONFIG_MAP_A,),
        ),
        ({"volumes": [config_map_volume("a"), config_map_volume("a")]}, (CONFIG_MAP_A,) * 2),
        (
            {"imagePullSecrets": [{"name": "a"}], "volumes": [secret_volume("a")]},
            (SECRET_A, SECRET_A),
        ),
    ]
    for pod, expected in table:
        assert dependencies_of(deployment(**pod)) == expected


def test_other_uses_do_not_count_as_in_the_original() -> None:
    table: list[JsonObject] = [
        {"volumes": [{"name": "v", "emptyDir": {}}]},
        {"volumes": [{"name": "v", "projected": {"sources": [{"configMap": {"name": "a"}}]}}]},
        {"volumes": [{"name": "v", "csi": {"nodePublishSecretRef": {"name": "a"}}}]},
        {"containers": [{"envFrom": [{"configMapRef": {"name": "a"}}]}]},
        {
            "containers": [
                {"env": [{"valueFrom": {"secretKeyRef": {"name": "a", "key": "k"}}}]},
            ]
        },
    ]
    for pod in table:
        assert dependencies_of(deployment(**pod)) == ()


def test_every_kind_with_a_pod_template_has_dependencies() -> None:
    table: list[JsonObject] = [
        deployment(volumes=[config_map_volume("a")]),
        workload("apps/v1", "StatefulSet", "spec", volumes=[config_map_volume("a")]),
        workload(
            "batch/v1", "CronJob", "spec", "jobTemplate", "spec", volumes=[config_map_volume("a")]
        ),
        workload("example.org/v1", "Thing", "spec", volumes=[config_map_volume("a")]),
    ]
    for obj in table:
        assert dependencies_of(obj) == (CONFIG_MAP_A,)


def test_a_bare_pod_has_none() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "spec": {"volumes": [config_map_volume("a")]}}
    assert dependencies_of(pod) == ()


def test_config_maps_come_before_secrets_and_each_by_name() -> None:
    pod = {
        "imagePullSecrets": [{"name": "m"}, {"name": "b"}],
        "volumes": [secret_volume("a"), config_map_volume("z"), config_map_volume("B")],
    }
    assert dependencies_of(deployment(**pod)) == (
        Dependency("ConfigMap", "B"),
        Dependency("ConfigMap", "z"),
        Dependency("Secret", "a"),
        Dependency("Secret", "b"),
        Dependency("Secret", "m"),
    )


def test_a_pull_secret_without_a_name_counts_as_go_reads_it() -> None:
    for secret in [{}, {"name": ""}, {"name": None}]:
        assert dependencies_of(deployment(imagePullSecrets=[secret])) == (Dependency("Secret", ""),)


# The hash


def test_a_deployment_with_a_missing_config_map_is_hashed_as_recorded() -> None:
    source = deployment(volumes=[config_map_volume("nope")])
    source["metadata"]["namespace"] = "other"
    source["spec"]["selector"] = {"matchLabels": {"app": "d"}}
    source["spec"]["template"]["metadata"] = {"labels": {"app": "d"}}
    target = enrich(source, ORIGIN, namespaced=True)
    digests = [MISSING for _ in dependencies_of(target)]
    assert with_dependencies_hash(target, dependencies_hash(digests)) == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "d",
            "namespace": "ns",
            "labels": LABELS,
            "annotations": {
                "kudo.dev/last-plan-execution-uid": "plan-uid",
                "kudo.dev/phase": "ph",
                "kudo.dev/plan": "deploy",
                "kudo.dev/step": "st",
            },
            "ownerReferences": [
                {
                    "apiVersion": "kudo.dev/v1beta1",
                    "kind": "Instance",
                    "name": "inst",
                    "uid": "u-1",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "selector": {"matchLabels": {"app": "d"}},
            "template": {
                "metadata": {
                    "labels": {"app": "d", **LABELS},
                    "annotations": {
                        "kudo.dev/operator-version": "0.1.0",
                        "kudo.dev/dependencies-hash": OF_ONE_MISSING,
                    },
                },
                "spec": {"volumes": [{"name": "v", "configMap": {"name": "nope"}}]},
            },
        },
    }


def test_the_hash_over_one_content_is_as_recorded() -> None:
    table: dict[str, str] = {
        "72bc36069158061c5778f2775033c688": "6fa812afe527bdb6c9a5fbfcba8193bb",
        "8dad2a77855345ee5520cf86979c2028": "da9f56a62d3c4af2596bebace008d845",
        "59d21693601b97917b64e8bb8fdfc22f": "1510654b540619228b477bdd56d44175",
        "00000000000000000000000000000000": OF_ONE_MISSING,
    }
    assert {content: dependencies_hash([bytes.fromhex(content)]) for content in table} == table


def test_the_hash_is_written_beside_the_annotations_of_the_pods(subtests: pytest.Subtests) -> None:
    table: list[tuple[str, str, tuple[str, ...]]] = [
        ("apps/v1", "StatefulSet", ("spec",)),
        ("apps/v1", "DaemonSet", ("spec",)),
        ("batch/v1", "Job", ("spec",)),
        ("batch/v1", "CronJob", ("spec", "jobTemplate", "spec")),
    ]
    for api_version, kind, path in table:
        with subtests.test(api_version=api_version, kind=kind, path=path):
            source = workload(api_version, kind, *path)
            before = copy.deepcopy(source)
            found: Any = with_dependencies_hash(source, "h")
            assert source == before
            for key in path:
                found = found[key]
            assert found["template"]["metadata"]["annotations"] == {
                "kudo.dev/dependencies-hash": "h"
            }


def test_a_custom_resource_carries_no_hash() -> None:
    source = workload("example.org/v1", "Thing", "spec", volumes=[config_map_volume("a")])
    assert with_dependencies_hash(source, "h") == source


# Properties

_digests = st.lists(st.binary(min_size=16, max_size=16), min_size=1, max_size=4)
_FIELDS = [
    *("spec", "template", "jobTemplate", "metadata", "annotations", "data"),
    *("imagePullSecrets", "volumes", "configMap", "secret", "name", "secretName"),
]
_json: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(_FIELDS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=25,
)


@given(_digests, _digests)
def test_different_contents_give_different_hashes(one: list[bytes], other: list[bytes]) -> None:
    assert (dependencies_hash(one) == dependencies_hash(other)) == (one == other)


@given(st.permutations([config_map_volume("a"), secret_volume("b"), secret_volume("a")]))
def test_the_order_of_volumes_is_irrelevant(volumes: list[JsonObject]) -> None:
    assert dependencies_of(deployment(volumes=volumes)) == (
        CONFIG_MAP_A,
        SECRET_A,
        Dependency("Secret", "b"),
    )


@given(_json, _json, st.sampled_from(["ConfigMap", "Secret", "Deployment", "CronJob"]))
def test_odd_objects_never_raise(spec: object, metadata: object, kind: str) -> None:
    obj = {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}
    assert all(isinstance(found.name, str) for found in dependencies_of(obj))
    assert len(content_digest({**obj, "data": spec})) == 16
    assert with_dependencies_hash(obj, "h").keys() == obj.keys()
