"""What is known of removed versions, and what holds for every upgrade."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo.objects.removed_apis import NoSuccessor, modernized, removed_in
from kudo.objects.removed_apis.catalogue import REMOVED, Gone, Moved

Json = dict[str, Any]


def obj(api_version: str, kind: str, **fields: Any) -> Json:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, **fields}


def test_a_version_that_changed_its_name_alone_is_renamed(subtests: pytest.Subtests) -> None:
    table = [
        ("apps/v1beta1", "ControllerRevision", "apps/v1", "1.16"),
        ("apps/v1beta2", "DaemonSet", "apps/v1", "1.16"),
        ("apps/v1beta2", "Deployment", "apps/v1", "1.16"),
        ("apps/v1beta2", "ReplicaSet", "apps/v1", "1.16"),
        ("apps/v1beta2", "StatefulSet", "apps/v1", "1.16"),
        ("extensions/v1beta1", "NetworkPolicy", "networking.k8s.io/v1", "1.16"),
        ("networking.k8s.io/v1beta1", "IngressClass", "networking.k8s.io/v1", "1.22"),
        ("batch/v1beta1", "CronJob", "batch/v1", "1.25"),
        ("batch/v2alpha1", "CronJob", "batch/v1", "1.21"),
        ("autoscaling/v2beta2", "HorizontalPodAutoscaler", "autoscaling/v2", "1.26"),
        ("rbac.authorization.k8s.io/v1beta1", "Role", "rbac.authorization.k8s.io/v1", "1.22"),
        (
            "rbac.authorization.k8s.io/v1alpha1",
            "ClusterRole",
            "rbac.authorization.k8s.io/v1",
            "1.23",
        ),
        ("scheduling.k8s.io/v1beta1", "PriorityClass", "scheduling.k8s.io/v1", "1.22"),
        ("scheduling.k8s.io/v1alpha1", "PriorityClass", "scheduling.k8s.io/v1", "1.23"),
        ("storage.k8s.io/v1beta1", "StorageClass", "storage.k8s.io/v1", "1.22"),
        ("storage.k8s.io/v1beta1", "CSIDriver", "storage.k8s.io/v1", "1.22"),
        ("storage.k8s.io/v1beta1", "CSIStorageCapacity", "storage.k8s.io/v1", "1.27"),
        ("storage.k8s.io/v1alpha1", "VolumeAttachment", "storage.k8s.io/v1", "1.24"),
        ("coordination.k8s.io/v1beta1", "Lease", "coordination.k8s.io/v1", "1.22"),
        ("node.k8s.io/v1beta1", "RuntimeClass", "node.k8s.io/v1", "1.25"),
        ("events.k8s.io/v1beta1", "Event", "events.k8s.io/v1", "1.25"),
        ("apiregistration.k8s.io/v1beta1", "APIService", "apiregistration.k8s.io/v1", "1.22"),
        (
            "admissionregistration.k8s.io/v1beta1",
            "ValidatingAdmissionPolicy",
            "admissionregistration.k8s.io/v1",
            "1.34",
        ),
        (
            "flowcontrol.apiserver.k8s.io/v1beta3",
            "FlowSchema",
            "flowcontrol.apiserver.k8s.io/v1",
            "1.32",
        ),
    ]
    for old, kind, new, release in table:
        with subtests.test(old=old, kind=kind, new=new, release=release):
            source = obj(old, kind, spec={"a": [1, {"b": None}]})
            assert modernized(source) == {**source, "apiVersion": new}
            assert removed_in(old, kind) == release


def test_what_was_never_removed_has_no_successor_and_is_no_error(subtests: pytest.Subtests) -> None:
    table = [
        ("v1", "ConfigMap"),
        ("apps/v1", "Deployment"),
        ("policy/v1", "PodDisruptionBudget"),
        ("kudo.dev/v1beta1", "Instance"),
        ("apps/v1beta1", "DaemonSet"),
        ("coordination.k8s.io/v1beta1", "LeaseCandidate"),
        ("cert-manager.io/v1alpha2", "Certificate"),
    ]
    for api_version, kind in table:
        with subtests.test(api_version=api_version, kind=kind):
            assert modernized(obj(api_version, kind)) is None
            assert removed_in(api_version, kind) is None


def test_what_has_no_successor_says_what_to_do(subtests: pytest.Subtests) -> None:
    table = [
        (
            "policy/v1beta1",
            "PodSecurityPolicy",
            "policy/v1beta1 PodSecurityPolicy was removed in Kubernetes 1.25: use Pod Security",
        ),
        (
            "extensions/v1beta1",
            "PodSecurityPolicy",
            "extensions/v1beta1 PodSecurityPolicy was removed in Kubernetes 1.16: use Pod Security",
        ),
        ("settings.k8s.io/v1alpha1", "PodPreset", "was removed in Kubernetes 1.20: write what"),
        ("auditregistration.k8s.io/v1alpha1", "AuditSink", "was removed in Kubernetes 1.19: "),
        (
            "admissionregistration.k8s.io/v1alpha1",
            "InitializerConfiguration",
            "was removed in Kubernetes 1.14: use a MutatingWebhookConfiguration",
        ),
        ("extensions/v1beta1", "ThirdPartyResource", "use a CustomResourceDefinition"),
    ]
    for api_version, kind, text in table:
        with subtests.test(api_version=api_version, kind=kind, text=text):
            with pytest.raises(NoSuccessor) as raised:
                modernized(obj(api_version, kind))
            assert text in str(raised.value)


def test_no_upgrade_leads_to_another_removed_version() -> None:
    for (old, kind), fate in REMOVED.items():
        if isinstance(fate, Moved):
            assert fate.api_version != old
            assert (fate.api_version, kind) not in REMOVED


# Properties

_KEYS = [
    *("spec", "metadata", "labels", "annotations", "selector", "template", "strategy", "status"),
    *("rollingUpdate", "updateStrategy", "type", "rules", "http", "paths", "backend", "service"),
    *("serviceName", "servicePort", "metrics", "resource", "pods", "object", "external", "target"),
    *("targetValue", "metricName", "webhooks", "sideEffects", "subjects", "kind", "name", "group"),
    *("endpoints", "topology", "limited", "assuredConcurrencyShares", "nominalConcurrencyShares"),
    *("validation", "versions", "version", "schema", "openAPIV3Schema", "conversion", "scope"),
    *("properties", "items", "additionalProperties", "anyOf", "oneOf", "not", "required"),
    *("additionalPrinterColumns", "JSONPath", "preserveUnknownFields", "subresources"),
    *("flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares", "signerName", "matchLabels"),
]
_scalars = st.sampled_from(
    [None, True, False, 0, 1, 2.5, "", "x", "None", "object", "array", "a.k8s.io", "User", "*"]
)
_values: st.SearchStrategy[Any] = st.recursive(
    _scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=4)
    ),
    max_leaves=25,
)


@st.composite
def _near(draw: st.DrawFn, *path: str) -> Any:
    """Draw a value below a path of keys, some of them lists, so that conversions reach it."""
    value = draw(_values)
    for key in reversed(path):
        value = {key.removesuffix("[]"): [value] if key.endswith("[]") else value}
    return value


_PATHS: list[tuple[str, ...]] = [
    (),
    ("spec",),
    ("spec", "template", "metadata"),
    ("spec", "rules[]", "http", "paths[]"),
    ("spec", "metrics[]"),
    ("spec", "versions[]", "schema", "openAPIV3Schema"),
    ("spec", "validation", "openAPIV3Schema", "properties"),
    ("spec", "limited"),
    ("webhooks[]",),
    ("subjects[]",),
    ("endpoints[]",),
]
_bodies = st.sampled_from(_PATHS).flatmap(lambda path: _near(*path))


def _outcome(source: Json) -> Any:
    try:
        return modernized(source)
    except NoSuccessor as error:
        return error


@given(st.sampled_from(sorted(REMOVED)), _bodies)
def test_nothing_that_a_tenant_writes_breaks_an_upgrade_and_the_source_stays(
    gvk: tuple[str, str], body: Any
) -> None:
    fields = body if isinstance(body, dict) else {"spec": body}
    source = {**fields, "apiVersion": gvk[0], "kind": gvk[1]}
    before = copy.deepcopy(source)
    fate = REMOVED[gvk]
    target = _outcome(source)
    if isinstance(fate, Gone) or isinstance(target, NoSuccessor):
        assert "was removed in Kubernetes" in str(target)
    else:
        assert target["apiVersion"] == fate.api_version
        assert modernized(target) is None
        json.dumps(target)
    assert source == before


@given(_values, _values, _values)
def test_an_object_without_a_readable_kind_is_unknown(
    api_version: Any, kind: Any, spec: Any
) -> None:
    assert modernized({"apiVersion": api_version, "kind": kind, "spec": spec}) is None
