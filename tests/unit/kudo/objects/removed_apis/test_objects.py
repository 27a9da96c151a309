"""What changes beside the version when an object is upgraded, workloads and CRDs apart."""

from typing import Any

import pytest

from kudo.objects.removed_apis import NoSuccessor, modernized

Json = dict[str, Any]
RBAC = "rbac.authorization.k8s.io"
FLOW = "flowcontrol.apiserver.k8s.io"
WEBHOOKS = "admissionregistration.k8s.io"


def upgraded(api_version: str, kind: str, **fields: Any) -> Json:
    """Return an upgraded object without what identifies it."""
    source = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, **fields}
    target = modernized(source)
    assert target is not None
    return {key: target[key] for key in target if key not in ("apiVersion", "kind", "metadata")}


# Disruption budgets

NO_POD = {
    "matchExpressions": [
        {"key": "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match", "operator": "Exists"}
    ]
}


def test_an_empty_selector_of_a_budget_goes_on_selecting_no_pod(subtests: pytest.Subtests) -> None:
    table: list[tuple[Any, Any]] = [
        ({}, NO_POD),
        ({"matchLabels": {}}, NO_POD),
        ({"matchLabels": None, "matchExpressions": []}, NO_POD),
        ({"matchLabels": {"a": "b"}}, {"matchLabels": {"a": "b"}}),
        (
            {"matchLabels": {}, "matchExpressions": [1]},
            {"matchLabels": {}, "matchExpressions": [1]},
        ),
        ({"matchLabels": False}, {"matchLabels": False}),
        (None, None),
        ("a=b", "a=b"),
    ]
    for selector, expected in table:
        with subtests.test(selector=selector, expected=expected):
            spec = {"minAvailable": 1, "selector": selector}
            assert upgraded("policy/v1beta1", "PodDisruptionBudget", spec=spec) == {
                "spec": {"minAvailable": 1, "selector": expected}
            }


# RBAC


def test_subjects_of_v1alpha1_name_a_group_instead_of_a_version(subtests: pytest.Subtests) -> None:
    table: list[tuple[Any, Any]] = [
        (
            {"kind": "ServiceAccount", "apiVersion": "v1", "name": "a", "namespace": "n"},
            {"kind": "ServiceAccount", "apiGroup": "", "name": "a", "namespace": "n"},
        ),
        ({"kind": "User", "name": "a"}, {"kind": "User", "apiGroup": RBAC, "name": "a"}),
        ({"kind": "Group", "name": "a"}, {"kind": "Group", "apiGroup": RBAC, "name": "a"}),
        (
            {"kind": "Group", "apiVersion": f"{RBAC}/v1alpha1", "name": "a"},
            {"kind": "Group", "apiGroup": RBAC, "name": "a"},
        ),
        (
            {"kind": "User", "name": "*"},
            {"kind": "Group", "apiGroup": RBAC, "name": "system:authenticated"},
        ),
        (
            {"kind": "Robot", "apiVersion": "robots.io/v2", "name": "a"},
            {"kind": "Robot", "apiGroup": "robots.io", "name": "a"},
        ),
        ({"kind": "Robot"}, {"kind": "Robot"}),
        ("User a", "User a"),
    ]
    for subject, expected in table:
        with subtests.test(subject=subject, expected=expected):
            target = upgraded(f"{RBAC}/v1alpha1", "RoleBinding", subjects=[subject])
            assert target == {"subjects": [expected]}


def test_bindings_of_v1beta1_stay_as_they_are() -> None:
    fields: Json = {
        "roleRef": {"kind": "Role", "name": "r"},
        "subjects": [{"kind": "User", "name": "*"}],
    }
    assert upgraded(f"{RBAC}/v1beta1", "RoleBinding", **fields) == fields


# Ingresses


def test_backends_of_an_ingress_name_service_and_port(subtests: pytest.Subtests) -> None:
    table: list[tuple[Any, Any]] = [
        (
            {"serviceName": "web", "servicePort": 80},
            {"service": {"name": "web", "port": {"number": 80}}},
        ),
        (
            {"serviceName": "web", "servicePort": "http"},
            {"service": {"name": "web", "port": {"name": "http"}}},
        ),
        ({"serviceName": "web"}, {"service": {"name": "web"}}),
        ({"serviceName": 1, "servicePort": []}, {"service": {"name": 1, "port": {"number": []}}}),
        (
            {"resource": {"kind": "Bucket", "name": "b"}},
            {"resource": {"kind": "Bucket", "name": "b"}},
        ),
        ("web:80", "web:80"),
    ]
    for group in ["extensions", "networking.k8s.io"]:
        for backend, expected in table:
            with subtests.test(backend=backend, expected=expected, group=group):
                spec = {
                    "backend": backend,
                    "tls": [{"secretName": "s"}],
                    "rules": [
                        {"host": "h", "http": {"paths": [{"path": "/", "backend": backend}]}},
                        {},
                        1,
                    ],
                }
                path = {"path": "/", "pathType": "ImplementationSpecific", "backend": expected}
                assert upgraded(f"{group}/v1beta1", "Ingress", spec=spec) == {
                    "spec": {
                        "defaultBackend": expected,
                        "tls": [{"secretName": "s"}],
                        "rules": [{"host": "h", "http": {"paths": [path]}}, {}, 1],
                    }
                }


def test_the_path_type_and_class_that_an_ingress_names_stay() -> None:
    annotations = {"kubernetes.io/ingress.class": "nginx"}
    spec = {"rules": [{"http": {"paths": [{"path": "/", "pathType": "Exact"}]}}]}
    source = {
        "apiVersion": "networking.k8s.io/v1beta1",
        "kind": "Ingress",
        "metadata": {"name": "x", "annotations": annotations},
        "spec": spec,
    }
    assert modernized(source) == {**source, "apiVersion": "networking.k8s.io/v1"}


def test_an_ingress_that_names_its_default_twice_is_left_to_the_api_server() -> None:
    spec = {"backend": {"serviceName": "a"}, "defaultBackend": {"service": {"name": "b"}}}
    assert upgraded("networking.k8s.io/v1beta1", "Ingress", spec=spec) == {"spec": spec}


# Webhooks and certificates


def test_the_old_defaults_of_a_webhook_are_written_out() -> None:
    webhook = {"name": "a.b.c", "sideEffects": "None", "admissionReviewVersions": []}
    target = upgraded(f"{WEBHOOKS}/v1beta1", "MutatingWebhookConfiguration", webhooks=[webhook])
    assert target == {
        "webhooks": [
            {
                **webhook,
                "failurePolicy": "Ignore",
                "matchPolicy": "Exact",
                "timeoutSeconds": 30,
                "admissionReviewVersions": ["v1beta1"],
            }
        ]
    }


def test_what_a_webhook_says_itself_stays() -> None:
    webhook = {
        "name": "a.b.c",
        "sideEffects": "NoneOnDryRun",
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "timeoutSeconds": 1,
        "admissionReviewVersions": ["v1"],
    }
    kind = "ValidatingWebhookConfiguration"
    assert upgraded(f"{WEBHOOKS}/v1beta1", kind, webhooks=[webhook]) == {"webhooks": [webhook]}


@pytest.mark.parametrize("effects", [{}, {"sideEffects": "Unknown"}, {"sideEffects": "Some"}])
def test_only_an_author_knows_the_side_effects_of_a_webhook(effects: Json) -> None:
    webhook = {"name": "a.b.c", **effects}
    with pytest.raises(NoSuccessor) as raised:
        upgraded(f"{WEBHOOKS}/v1beta1", "ValidatingWebhookConfiguration", webhooks=[webhook])
    assert str(raised.value) == (
        f"{WEBHOOKS}/v1beta1 ValidatingWebhookConfiguration was removed in Kubernetes 1.22: "
        f"{WEBHOOKS}/v1 needs to know of webhook a.b.c whether it may be called in a dry run: "
        "set sideEffects to None or NoneOnDryRun"
    )


def test_a_signing_request_keeps_the_usages_it_had_by_default() -> None:
    spec = {"request": "eA==", "signerName": "example.com/signer"}
    target = upgraded("certificates.k8s.io/v1beta1", "CertificateSigningRequest", spec=spec)
    assert target == {"spec": {**spec, "usages": ["digital signature", "key encipherment"]}}


@pytest.mark.parametrize("signer", [{}, {"signerName": "kubernetes.io/legacy-unknown"}])
def test_a_signing_request_has_to_name_its_signer(signer: Json) -> None:
    with pytest.raises(NoSuccessor, match=r"certificates\.k8s\.io/v1 needs a signer"):
        upgraded("certificates.k8s.io/v1beta1", "CertificateSigningRequest", spec=signer)


# Endpoints and priority levels


def test_the_topology_of_an_endpoint_becomes_fields(subtests: pytest.Subtests) -> None:
    table: list[tuple[Json, Json]] = [
        (
            {
                "addresses": ["10.0.0.1"],
                "topology": {
                    "kubernetes.io/hostname": "n1",
                    "topology.kubernetes.io/zone": "z1",
                    "topology.kubernetes.io/region": "r1",
                },
            },
            {"addresses": ["10.0.0.1"], "nodeName": "n1", "zone": "z1"},
        ),
        (
            {"nodeName": "n2", "topology": {"kubernetes.io/hostname": "n1"}},
            {"nodeName": "n2"},
        ),
        ({"topology": "here"}, {"topology": "here"}),
        ({"addresses": []}, {"addresses": []}),
    ]
    for endpoint, expected in table:
        with subtests.test(endpoint=endpoint, expected=expected):
            target = upgraded("discovery.k8s.io/v1beta1", "EndpointSlice", endpoints=[endpoint])
            assert target == {"endpoints": [expected]}


def test_shares_of_a_priority_level_keep_their_meaning(subtests: pytest.Subtests) -> None:
    table: list[tuple[str, Json, Json]] = [
        ("v1beta1", {"assuredConcurrencyShares": 5}, {"nominalConcurrencyShares": 5}),
        ("v1beta2", {"assuredConcurrencyShares": 0}, {}),
        ("v1alpha1", {"assuredConcurrencyShares": "5"}, {"nominalConcurrencyShares": "5"}),
        ("v1beta3", {"nominalConcurrencyShares": 0}, {}),
        ("v1beta3", {"nominalConcurrencyShares": False}, {"nominalConcurrencyShares": False}),
        ("v1beta3", {"nominalConcurrencyShares": 7}, {"nominalConcurrencyShares": 7}),
    ]
    for version, limited, expected in table:
        with subtests.test(version=version, limited=limited, expected=expected):
            spec = {"type": "Limited", "limited": limited}
            target = upgraded(f"{FLOW}/{version}", "PriorityLevelConfiguration", spec=spec)
            assert target == {"spec": {"type": "Limited", "limited": expected}}


def test_zero_shares_stay_where_the_annotation_says_so() -> None:
    name = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares"
    source = {
        "apiVersion": f"{FLOW}/v1beta3",
        "kind": "PriorityLevelConfiguration",
        "metadata": {"name": "x", "annotations": {name: "", "other": "1"}},
        "spec": {"limited": {"nominalConcurrencyShares": 0}},
    }
    assert modernized(source) == {
        **source,
        "apiVersion": f"{FLOW}/v1",
        "metadata": {"name": "x", "annotations": {"other": "1"}},
    }
