"""Kinds of which a few fields changed between the removed version and v1.

* webhook configurations: v1 has stricter defaults and requires side effects to be declared.
* CertificateSigningRequests: v1 requires the signer.
* EndpointSlices: the topology map became fields.
* PodDisruptionBudgets: an empty selector selects every pod in v1, and none in v1beta1.
* RoleBindings and ClusterRoleBindings of v1alpha1: subjects name their group. v1beta1 is as v1.
"""

from typing import Final

from kudo.api import JsonObject
from kudo.objects.removed_apis.errors import NotMechanical
from kudo.objects.removed_apis.shapes import mapping_at, mappings_at, set_default

_WEBHOOK_DEFAULTS: Final = {"failurePolicy": "Ignore", "matchPolicy": "Exact", "timeoutSeconds": 30}
_NO_POD: Final = {
    "key": "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match",
    "operator": "Exists",
}
"""How the API server itself shows in v1 a selector of v1beta1 that selects nothing."""
_RBAC_GROUP: Final = "rbac.authorization.k8s.io"


def upgrade_webhooks(configuration: JsonObject) -> None:
    """Write the old defaults out.

    Raises:
        NotMechanical: a webhook does not say that dry runs are safe with it.
    """
    for webhook in mappings_at(configuration, "webhooks"):
        if webhook.get("sideEffects") in (None, "Unknown", "Some"):
            raise NotMechanical(
                f"admissionregistration.k8s.io/v1 needs to know of webhook {webhook.get('name')} "
                "whether it may be called in a dry run: set sideEffects to None or NoneOnDryRun"
            )
        for field, value in _WEBHOOK_DEFAULTS.items():
            set_default(webhook, field, value)
        if not webhook.get("admissionReviewVersions"):
            webhook["admissionReviewVersions"] = ["v1beta1"]


def upgrade_signing_request(request: JsonObject) -> None:
    """Write the default of usages out.

    Raises:
        NotMechanical: the signer is not named; v1beta1 guessed it from the request.
    """
    spec = mapping_at(request, "spec")
    if spec is None:
        return
    if spec.get("signerName") in (None, "kubernetes.io/legacy-unknown"):
        raise NotMechanical(
            "certificates.k8s.io/v1 needs a signer, and knows no kubernetes.io/legacy-unknown: "
            "set spec.signerName"
        )
    set_default(spec, "usages", ["digital signature", "key encipherment"])


def upgrade_endpoint_slice(endpoint_slice: JsonObject) -> None:
    for endpoint in mappings_at(endpoint_slice, "endpoints"):
        topology = mapping_at(endpoint, "topology")
        if topology is not None:
            _upgrade_topology(endpoint, topology)


def _upgrade_topology(endpoint: JsonObject, topology: JsonObject) -> None:
    """Keep node and zone; the API server takes nothing else of it in v1."""
    del endpoint["topology"]
    for label, field in (
        ("kubernetes.io/hostname", "nodeName"),
        ("topology.kubernetes.io/zone", "zone"),
    ):
        if topology.get(label) is not None:
            set_default(endpoint, field, topology[label])


def upgrade_disruption_budget(budget: JsonObject) -> None:
    """Keep what an empty selector means: no pod in v1beta1, every pod in v1."""
    spec = mapping_at(budget, "spec")
    selector = mapping_at(spec, "selector")
    if spec is None or selector is None:
        return
    if all(part in ({}, [], None) for part in selector.values()):
        spec["selector"] = {"matchExpressions": [dict(_NO_POD)]}


def upgrade_alpha_binding(binding: JsonObject) -> None:
    for subject in mappings_at(binding, "subjects"):
        _upgrade_subject(subject)


def _upgrade_subject(subject: JsonObject) -> None:
    """Name the group of a subject instead of its version; `*` meant all authenticated users."""
    kind, version = subject.get("kind"), subject.pop("apiVersion", None)
    if kind in ("User", "Group"):
        subject["apiGroup"] = _RBAC_GROUP
    elif kind == "ServiceAccount":
        subject["apiGroup"] = ""
    elif isinstance(version, str):
        subject["apiGroup"] = version.rpartition("/")[0]
    if kind == "User" and subject.get("name") == "*":
        subject |= {"kind": "Group", "name": "system:authenticated"}
