"""What is added to an object before it is applied."""

import base64
import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo.api import Instance, JsonObject, OperatorVersion
from kudo.api.task_kinds import FatalTaskError
from kudo.objects.enrichment import Origin, annotate_pods, encode_string_data, enrich

INSTANCE = Instance.from_wire({"metadata": {"name": "inst", "namespace": "ns", "uid": "u-1"}})
VERSION = OperatorVersion.from_wire(
    {
        "metadata": {"name": "op-0.1.0", "namespace": "ns"},
        "spec": {"operator": {"name": "op"}, "version": "0.1.0"},
    }
)
ORIGIN = Origin(INSTANCE, VERSION, plan="deploy", phase="ph", step="st", uid="plan-uid")

LABELS = {"heritage": "kudo", "kudo.dev/instance": "inst", "kudo.dev/operator": "op"}
ANNOTATIONS = {
    "kudo.dev/last-plan-execution-uid": "plan-uid",
    "kudo.dev/phase": "ph",
    "kudo.dev/plan": "deploy",
    "kudo.dev/step": "st",
}
OWNER = {
    "apiVersion": "kudo.dev/v1beta1",
    "kind": "Instance",
    "name": "inst",
    "uid": "u-1",
    "controller": True,
    "blockOwnerDeletion": True,
}
OF_THE_VERSION = {"kudo.dev/operator-version": "0.1.0"}


def an(api_version: str, kind: str, **fields: Any) -> JsonObject:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, **fields}


def enriched(source: JsonObject, *, namespaced: bool = True) -> JsonObject:
    return enrich(source, ORIGIN, namespaced=namespaced)


# The recorded vector


def test_a_deployment_gets_what_the_original_gives_it() -> None:
    source = an(
        "apps/v1",
        "Deployment",
        spec={
            "selector": {"matchLabels": {"app": "d"}},
            "template": {
                "metadata": {"labels": {"app": "d"}},
                "spec": {"volumes": [{"name": "v", "configMap": {"name": "nope"}}]},
            },
        },
    )
    source["metadata"] |= {"name": "d", "namespace": "other"}
    assert enriched(source) == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "d",
            "namespace": "ns",
            "labels": LABELS,
            "annotations": ANNOTATIONS,
            "ownerReferences": [OWNER],
        },
        "spec": {
            "selector": {"matchLabels": {"app": "d"}},
            "template": {
                "metadata": {"labels": {"app": "d", **LABELS}, "annotations": OF_THE_VERSION},
                "spec": {"volumes": [{"name": "v", "configMap": {"name": "nope"}}]},
            },
        },
    }


def test_a_cluster_scoped_object_gets_no_owner_and_keeps_its_namespace() -> None:
    source = an("rbac.authorization.k8s.io/v1", "ClusterRole", rules=[])
    source["metadata"]["namespace"] = "zzz"
    assert enriched(source, namespaced=False) == {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {
            "name": "x",
            "namespace": "zzz",
            "labels": LABELS,
            "annotations": ANNOTATIONS,
        },
        "rules": [],
    }


# Labels and annotations


def test_what_the_template_says_under_our_names_is_overwritten_and_the_rest_kept() -> None:
    source = an("v1", "ConfigMap")
    source["metadata"] |= {
        "labels": {"heritage": "helm", "app": "x"},
        "annotations": {"kudo.dev/plan": "other", "note": "n"},
    }
    metadata = enriched(source)["metadata"]
    assert metadata["labels"] == {"app": "x", **LABELS}
    assert metadata["annotations"] == {"note": "n", **ANNOTATIONS}


def test_the_pods_of_a_workload_carry_labels_and_the_version(subtests: pytest.Subtests) -> None:
    table = [
        ("apps/v1", "Deployment"),
        ("apps/v1", "StatefulSet"),
        ("apps/v1", "ReplicaSet"),
        ("extensions/v1beta1", "ReplicaSet"),
        ("v1", "ReplicationController"),
        ("apps/v1", "DaemonSet"),
        ("extensions/v1beta1", "DaemonSet"),
        ("batch/v1", "Job"),
    ]
    for api_version, kind in table:
        with subtests.test(api_version=api_version, kind=kind):
            template = enriched(an(api_version, kind, spec={"template": {"spec": {}}}))["spec"][
                "template"
            ]
            assert template["metadata"] == {"labels": LABELS, "annotations": OF_THE_VERSION}


def test_the_pods_of_a_cron_job_carry_labels_and_nothing_is_made_up_beside_them() -> None:
    spec = {"schedule": "@daily", "jobTemplate": {"spec": {"template": {"spec": {}}}}}
    found = enriched(an("batch/v1", "CronJob", spec=spec))["spec"]
    assert set(found) == {"schedule", "jobTemplate"}
    assert found["jobTemplate"] == {
        "spec": {
            "template": {
                "metadata": {"labels": LABELS, "annotations": OF_THE_VERSION},
                "spec": {},
            }
        }
    }


def test_what_embeds_pods_in_its_own_way_is_left_alone_inside(subtests: pytest.Subtests) -> None:
    table = [
        ("extensions/v1beta1", "Deployment"),
        ("example.org/v1", "StatefulSet"),
        ("example.org/v1", "Job"),
        ("v1", "PodTemplate"),
    ]
    for api_version, kind in table:
        with subtests.test(api_version=api_version, kind=kind):
            spec = {"template": {"metadata": {"labels": {"a": "b"}}, "spec": {}}}
            assert enriched(an(api_version, kind, spec=copy.deepcopy(spec)))["spec"] == spec


def test_volume_claims_of_a_stateful_set_carry_labels_but_no_annotations() -> None:
    claims = [{"metadata": {"name": "a"}, "spec": {}}, {"metadata": {"labels": {"x": "y"}}}, {}]
    found = enriched(an("apps/v1", "StatefulSet", spec={"volumeClaimTemplates": claims}))
    assert found["spec"]["volumeClaimTemplates"] == [
        {"metadata": {"name": "a", "labels": LABELS}, "spec": {}},
        {"metadata": {"labels": {"x": "y", **LABELS}}},
        {"metadata": {"labels": LABELS}},
    ]


def test_a_workload_without_a_pod_template_gets_none() -> None:
    assert enriched(an("apps/v1", "Deployment", spec={"replicas": 1}))["spec"] == {"replicas": 1}
    assert "spec" not in enriched(an("apps/v1", "Deployment"))


@pytest.mark.parametrize("empty", [None, {}])
def test_empty_maps_are_filled(empty: JsonObject | None) -> None:
    source = an("apps/v1", "Deployment", spec={"template": {"metadata": empty}})
    source["metadata"] |= {"labels": empty, "annotations": empty}
    found = enriched(source)
    assert found["metadata"]["labels"] == LABELS
    assert found["spec"]["template"]["metadata"]["labels"] == LABELS


def test_what_is_no_map_is_left_for_the_api_server_to_refuse(subtests: pytest.Subtests) -> None:
    for odd in ["text", ["a"], 5, True]:
        with subtests.test(odd=odd):
            source = an("apps/v1", "Deployment", spec={"template": {"metadata": odd}})
            source["metadata"]["labels"] = odd
            found = enriched(source)
            assert found["metadata"]["labels"] == odd
            assert found["spec"]["template"]["metadata"] == odd
            assert enriched(an("apps/v1", "Deployment", spec=odd))["spec"] == odd
            assert enriched(an("apps/v1", "StatefulSet", spec={"volumeClaimTemplates": odd}))[
                "spec"
            ] == {"volumeClaimTemplates": odd}


# Owners


def test_owners_that_are_no_controllers_stay() -> None:
    other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "u-2"}
    source = an("v1", "ConfigMap")
    source["metadata"]["ownerReferences"] = [other]
    assert enriched(source)["metadata"]["ownerReferences"] == [other, OWNER]


def test_the_owner_is_named_once_even_if_the_template_names_it_too() -> None:
    source = an("v1", "ConfigMap")
    source["metadata"]["ownerReferences"] = [{**OWNER, "blockOwnerDeletion": False}]
    assert enriched(source)["metadata"]["ownerReferences"] == [OWNER]


def test_another_controller_is_refused_by_name() -> None:
    source = an("v1", "ConfigMap")
    source["metadata"]["ownerReferences"] = [
        {"kind": "Deployment", "name": "d", "uid": "u-2", "controller": True}
    ]
    with pytest.raises(FatalTaskError) as caught:
        enriched(source)
    assert caught.value.reason == "TaskEnhancementError"
    assert str(caught.value) == ("Object ns/x is already owned by another Deployment controller d")


# Secrets


def test_enriching_leaves_string_data_since_the_hash_is_over_it() -> None:
    source = an("v1", "Secret", data={"k": "a2VwdA=="}, stringData={"a": "b"})
    found = enriched(source)
    assert (found["data"], found["stringData"]) == ({"k": "a2VwdA=="}, {"a": "b"})


def test_string_data_becomes_data_and_wins_over_it() -> None:
    source = an("v1", "Secret", data={"a": "b2xk", "k": "a2VwdA=="}, stringData={"a": "n\u00e9w"})
    before = copy.deepcopy(source)
    assert encode_string_data(source) == an(
        "v1",
        "Secret",
        data={"a": base64.b64encode("n\u00e9w".encode()).decode(), "k": "a2VwdA=="},
    )
    assert source == before


@pytest.mark.parametrize("empty", [None, {}])
def test_empty_string_data_adds_no_data(empty: JsonObject | None) -> None:
    assert encode_string_data(an("v1", "Secret", stringData=empty)) == an("v1", "Secret")


def test_string_data_of_other_kinds_is_theirs(subtests: pytest.Subtests) -> None:
    for api_version, kind in [("example.org/v1", "Secret"), ("v1", "ConfigMap")]:
        with subtests.test(api_version=api_version, kind=kind):
            source = an(api_version, kind, stringData={"a": "b"})
            assert encode_string_data(source) == source


def test_string_data_that_is_no_text_is_refused(subtests: pytest.Subtests) -> None:
    table: list[tuple[JsonObject, str]] = [
        (
            {"stringData": {"a": "b", "port": 80}},
            "values of stringData must be strings; put quotes around port",
        ),
        ({"stringData": ["a"]}, "data and stringData must be mappings"),
        ({"stringData": {"a": "b"}, "data": "x"}, "data and stringData must be mappings"),
    ]
    for fields, text in table:
        with subtests.test(fields=fields, text=text):
            with pytest.raises(FatalTaskError) as caught:
                encode_string_data(an("v1", "Secret", **fields))
            assert (caught.value.reason, str(caught.value)) == (
                "TaskEnhancementError",
                f"Secret x: {text}",
            )


# Annotations of pods


def test_pods_are_annotated_beside_what_they_carry() -> None:
    source = an(
        "apps/v1", "Deployment", spec={"template": {"metadata": {"annotations": OF_THE_VERSION}}}
    )
    before = copy.deepcopy(source)
    found = annotate_pods(source, {"note": "n"})
    assert found["spec"]["template"]["metadata"]["annotations"] == {**OF_THE_VERSION, "note": "n"}
    assert source == before


def test_what_has_no_pods_is_not_annotated() -> None:
    source = an("example.org/v1", "Thing", spec={"template": {"spec": {}}})
    assert annotate_pods(source, {"note": "n"}) == source


# Properties

_json: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["spec", "template", "metadata", "labels", "jobTemplate", "a"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)
_kinds = st.sampled_from(
    [
        ("apps/v1", "Deployment"),
        ("apps/v1", "StatefulSet"),
        ("batch/v1", "CronJob"),
        ("v1", "ConfigMap"),
        ("example.org/v1", "Thing"),
    ]
)


@given(_kinds, _json, st.dictionaries(st.text("ab", max_size=2), st.text("ab", max_size=2)))
def test_the_source_stays_as_it_is_and_enriching_again_changes_nothing(
    kind: tuple[str, str], spec: object, labels: dict[str, str]
) -> None:
    source = an(*kind, spec=spec)
    source["metadata"]["labels"] = labels
    before = copy.deepcopy(source)
    once = enriched(source)
    assert source == before
    assert enriched(once) == once
    assert once["metadata"]["labels"] == {**labels, **LABELS}


def test_what_the_api_server_writes_does_not_come_out_of_a_template() -> None:
    source = an("v1", "ConfigMap")
    source["metadata"] |= {
        "creationTimestamp": None,
        "generation": 3,
        "managedFields": [],
        "resourceVersion": "12",
        "uid": "somebody-elses",
    }
    found = enriched(source)["metadata"]
    assert set(found) == {"name", "namespace", "labels", "annotations", "ownerReferences"}


# Retained objects

RETAINED_BY = {"kudo.dev/retained-by": "ns/inst/op/u-1"}


def with_policy(policy: Any, **metadata: Any) -> JsonObject:
    source = an("v1", "PersistentVolumeClaim")
    source["metadata"] |= {"annotations": {"kudo.dev/deletion-policy": policy}, **metadata}
    return source


def test_a_retained_object_has_no_owner_and_names_its_instance() -> None:
    assert enriched(with_policy("retain"))["metadata"] == {
        "name": "x",
        "namespace": "ns",
        "labels": LABELS,
        "annotations": {"kudo.dev/deletion-policy": "retain", **ANNOTATIONS, **RETAINED_BY},
    }


def test_a_retained_object_keeps_other_owners() -> None:
    other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "u-c"}
    found = enriched(with_policy("retain", ownerReferences=[other, OWNER]))
    assert found["metadata"]["ownerReferences"] == [other]


def test_a_retained_object_is_not_taken_from_another_controller() -> None:
    other = {"apiVersion": "v1", "kind": "Pod", "name": "c", "uid": "u-c", "controller": True}
    with pytest.raises(FatalTaskError, match="already owned by another Pod controller c"):
        enriched(with_policy("retain", ownerReferences=[other]))


def test_the_policy_delete_is_as_good_as_none() -> None:
    metadata = enriched(with_policy("delete"))["metadata"]
    assert metadata["ownerReferences"] == [OWNER]
    assert metadata["annotations"] == {"kudo.dev/deletion-policy": "delete", **ANNOTATIONS}


def test_a_cluster_scoped_object_that_is_retained_names_nobody() -> None:
    metadata = enriched(with_policy("retain"), namespaced=False)["metadata"]
    assert metadata["annotations"] == {"kudo.dev/deletion-policy": "retain", **ANNOTATIONS}
    assert "ownerReferences" not in metadata


def test_a_policy_that_there_is_not_is_refused(subtests: pytest.Subtests) -> None:
    table: list[tuple[Any, str]] = [
        ("keep", "'keep'"),
        ("Retain", "'Retain'"),
        ("", "''"),
        ("x" * 100, f"'{'x' * 40}…'"),
        (None, "no text"),
        (True, "no text"),
        (["retain"], "no text"),
    ]
    for namespaced in [True, False]:
        for policy, shown in table:
            with subtests.test(policy=policy, shown=shown, namespaced=namespaced):
                with pytest.raises(FatalTaskError) as raised:
                    enriched(with_policy(policy), namespaced=namespaced)
                assert raised.value.reason == "TaskEnhancementError"
                assert str(raised.value) == (
                    "PersistentVolumeClaim x: the annotation kudo.dev/deletion-policy is "
                    f"{shown}; it can be delete or retain"
                )


def test_a_template_cannot_say_whose_a_retained_object_is(subtests: pytest.Subtests) -> None:
    for policy in ["retain", "delete"]:
        for namespaced in [True, False]:
            with subtests.test(namespaced=namespaced, policy=policy):
                source = with_policy(policy)
                source["metadata"]["annotations"]["kudo.dev/retained-by"] = "ns/other/op/u-2"
                same = with_policy(policy)
                assert enriched(source, namespaced=namespaced) == enriched(
                    same, namespaced=namespaced
                )


def test_an_object_without_a_policy_is_retained_by_nobody() -> None:
    source = an("v1", "ConfigMap")
    source["metadata"]["annotations"] = {"kudo.dev/retained-by": "ns/other/op/u-2"}
    assert enriched(source)["metadata"]["annotations"] == ANNOTATIONS


@pytest.mark.parametrize("annotations", [None, {}, ["kudo.dev/deletion-policy"], "retain"])
def test_annotations_that_are_none_have_no_policy(annotations: Any) -> None:
    source = an("v1", "ConfigMap")
    source["metadata"]["annotations"] = annotations
    assert enriched(source)["metadata"]["ownerReferences"] == [OWNER]


# Objects that are only created


def only_created(policy: Any, kind: str = "Secret") -> JsonObject:
    source = an("v1", kind)
    source["metadata"]["annotations"] = {"kudo.dev/apply-policy": policy}
    return source


def test_an_object_that_is_only_created_is_owned_and_says_so(subtests: pytest.Subtests) -> None:
    for policy in ["create", "apply"]:
        with subtests.test(policy=policy):
            metadata = enriched(only_created(policy))["metadata"]
            assert metadata["ownerReferences"] == [OWNER]
            assert metadata["annotations"] == {"kudo.dev/apply-policy": policy, **ANNOTATIONS}


@pytest.mark.parametrize(
    ("policy", "shown"),
    [("once", "'once'"), ("Create", "'Create'"), ("", "''"), (None, "no text"), (True, "no text")],
)
@pytest.mark.parametrize("namespaced", [True, False])
def test_an_apply_policy_that_there_is_not_is_refused(
    policy: Any, shown: str, namespaced: bool
) -> None:
    with pytest.raises(FatalTaskError) as raised:
        enriched(only_created(policy), namespaced=namespaced)
    assert raised.value.reason == "TaskEnhancementError"
    assert str(raised.value) == (
        f"Secret x: the annotation kudo.dev/apply-policy is {shown}; it can be apply or create"
    )


def test_a_cluster_scoped_object_that_is_only_created_is_refused() -> None:
    with pytest.raises(FatalTaskError, match="only objects in a namespace can have"):
        enriched(only_created("create", "Node"), namespaced=False)
    assert enriched(only_created("apply", "Node"), namespaced=False)


# Inventories


def test_templates_of_inventories_are_refused(subtests: pytest.Subtests) -> None:
    for version in ["v1beta1", "v2"]:
        with subtests.test(version=version):
            inventory = an(f"kudo.dev/{version}", "Inventory", objects=[])

            with pytest.raises(FatalTaskError, match="Inventory x: only KUDO writes Inventories"):
                enriched(inventory)


def test_an_inventory_of_another_group_is_an_object_like_others() -> None:
    assert enriched(an("shop.example.com/v1", "Inventory"))["metadata"]["labels"] == LABELS
