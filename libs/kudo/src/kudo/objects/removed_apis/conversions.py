"""Conversions of objects between a version that was removed and its successor, for each kind.

Each function changes an object in place. Objects are JSON of any shape, since tenants write them:
what is not understood stays as it is. Go takes a field that is null for one that is missing, and so
do these functions.

KudoError
|-- NoSuccessor     for callers: what was removed, when, and what to change
`-- NotMechanical   for conversions: what the author has to decide
"""

from collections.abc import Iterator
from typing import Final

from kudo.api import Json, JsonObject
from kudo.api.problems import KudoError


class NoSuccessor(KudoError):
    """An object is in a version that is no longer served and has no mechanical successor."""

    def __init__(self, api_version: str, kind: str, release: str, advice: str) -> None:
        super().__init__(f"{api_version} {kind} was removed in Kubernetes {release}: {advice}")


class NotMechanical(KudoError):
    """A conversion lacks something that only the author of the object knows.

    The text goes on after "was removed in Kubernetes 1.22:".
    """


def copied(value: Json) -> Json:
    """Copy the containers of a JSON value."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value


def mapping_at(value: Json, *path: str) -> JsonObject | None:
    """Return the mapping at a path, or None if there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else None


def child(parent: JsonObject, key: str) -> JsonObject | None:
    """Return the mapping at `key`, made if it is missing; None if something else is there."""
    set_default(parent, key, {})
    return mapping_at(parent, key)


def mappings_at(parent: JsonObject, key: str) -> Iterator[JsonObject]:
    """Yield the mappings of the list at `key`."""
    items = parent.get(key)
    if isinstance(items, list):
        yield from (item for item in items if isinstance(item, dict))


def set_default(parent: JsonObject, key: str, value: Json) -> None:
    """Set a field that is missing or null."""
    if parent.get(key) is None:
        parent[key] = value


def rename(parent: JsonObject, old: str, new: str) -> None:
    """Rename a field that is there, unless the new one is there, too."""
    if old in parent and parent.get(new) is None:
        parent[new] = parent.pop(old)


_UNLIMITED: Final = 2**31 - 1
"""What the API server keeps for a limit that was left out in extensions/v1beta1."""


def default_selector(workload: JsonObject) -> None:
    """Select the pods by all labels of their template, as these versions did by default."""
    spec = mapping_at(workload, "spec")
    labels = mapping_at(spec, "template", "metadata", "labels")
    if spec is not None and labels:
        set_default(spec, "selector", {"matchLabels": copied(labels)})


def upgrade_extensions_deployment(deployment: JsonObject) -> None:
    default_selector(deployment)
    spec = mapping_at(deployment, "spec")
    if spec is None:
        return
    spec.pop("rollbackTo", None)
    set_default(spec, "revisionHistoryLimit", _UNLIMITED)
    set_default(spec, "progressDeadlineSeconds", _UNLIMITED)
    strategy = child(spec, "strategy")
    if strategy is not None and strategy.get("type") in (None, "", "RollingUpdate"):
        rolling = child(strategy, "rollingUpdate")
        if rolling is not None:
            set_default(rolling, "maxUnavailable", 1)
            set_default(rolling, "maxSurge", 1)


def upgrade_apps_deployment(deployment: JsonObject) -> None:
    default_selector(deployment)
    spec = mapping_at(deployment, "spec")
    if spec is not None:
        spec.pop("rollbackTo", None)
        set_default(spec, "revisionHistoryLimit", 2)


def upgrade_extensions_daemon_set(daemon_set: JsonObject) -> None:
    default_selector(daemon_set)
    spec = mapping_at(daemon_set, "spec")
    if spec is not None:
        spec.pop("templateGeneration", None)
        _update_on_delete(spec)


def upgrade_apps_stateful_set(stateful_set: JsonObject) -> None:
    default_selector(stateful_set)
    spec = mapping_at(stateful_set, "spec")
    if spec is not None:
        _update_on_delete(spec)


def _update_on_delete(spec: JsonObject) -> None:
    strategy = child(spec, "updateStrategy")
    if strategy is not None and strategy.get("type") in (None, ""):
        strategy["type"] = "OnDelete"


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
    """Keep node and zone of the topology; the API server takes nothing else of it in v1."""
    for endpoint in mappings_at(endpoint_slice, "endpoints"):
        topology = mapping_at(endpoint, "topology")
        if topology is None:
            continue
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
    """Name the group of each subject instead of its version."""
    for subject in mappings_at(binding, "subjects"):
        kind, version = subject.get("kind"), subject.pop("apiVersion", None)
        if kind in ("User", "Group"):
            subject["apiGroup"] = _RBAC_GROUP
        elif kind == "ServiceAccount":
            subject["apiGroup"] = ""
        elif isinstance(version, str):
            subject["apiGroup"] = version.rpartition("/")[0]
        if kind == "User" and subject.get("name") == "*":
            # What `*` meant in v1alpha1.
            subject |= {"kind": "Group", "name": "system:authenticated"}


def upgrade_ingress(ingress: JsonObject) -> None:
    """Restructure the backends, and write the path type out.

    The annotation `kubernetes.io/ingress.class` stays: controllers still honour it, and
    `spec.ingressClassName` would ask for an IngressClass that the old version did not need.
    """
    spec = mapping_at(ingress, "spec")
    if spec is None:
        return
    rename(spec, "backend", "defaultBackend")
    _upgrade_backend(spec, "defaultBackend")
    for rule in mappings_at(spec, "rules"):
        for path in mappings_at(mapping_at(rule, "http") or {}, "paths"):
            # Without a path type, the controller decided in v1beta1.
            set_default(path, "pathType", "ImplementationSpecific")
            _upgrade_backend(path, "backend")


def _upgrade_backend(parent: JsonObject, key: str) -> None:
    backend = mapping_at(parent, key)
    if backend is None or not {"serviceName", "servicePort"} & backend.keys():
        return
    service: JsonObject = {}
    name, port = backend.pop("serviceName", None), backend.pop("servicePort", None)
    if name is not None:
        service["name"] = name
    if port is not None:
        service["port"] = {"name" if isinstance(port, str) else "number": port}
    if service:
        set_default(backend, "service", service)


_TARGETS: Final = {
    "targetAverageUtilization": ("Utilization", "averageUtilization"),
    "targetValue": ("Value", "value"),
    "targetAverageValue": ("AverageValue", "averageValue"),
    "averageValue": ("AverageValue", "averageValue"),
}
"""Fields that say what is aimed at: the type of the target, and its field in v2."""
_OF_SOURCE: Final = {
    "resource": ("targetAverageUtilization", "targetAverageValue"),
    "containerResource": ("targetAverageUtilization", "targetAverageValue"),
    "pods": ("targetAverageValue",),
    # The average counts where both are given; targetValue had to be there in any case.
    "object": ("averageValue", "targetValue"),
    "external": ("targetValue", "targetAverageValue"),
}
"""Kinds of metric sources, and their fields of that sort, the first one that is set counts."""
_NAMES: Final = {"metricName": "name", "selector": "selector", "metricSelector": "selector"}


def upgrade_v2beta1(autoscaler: JsonObject) -> None:
    spec = mapping_at(autoscaler, "spec")
    for metric in mappings_at(spec or {}, "metrics"):
        for kind, fields in _OF_SOURCE.items():
            source = mapping_at(metric, kind)
            if source is not None:
                metric[kind] = _source(source, fields)


def _source(old: JsonObject, fields: tuple[str, ...]) -> JsonObject:
    field = next((field for field in fields if old.get(field) is not None), None)
    if field is None:
        return old
    target_type, target_field = _TARGETS[field]
    new: JsonObject = {}
    for key, value in old.items():
        if key in _NAMES and value is not None:
            new.setdefault("metric", {})[_NAMES[key]] = value
        elif key == "target":
            new["describedObject"] = value
        elif key not in fields and key not in _NAMES:
            new[key] = value
    return {**new, "target": {"type": target_type, target_field: old[field]}}


_KEEP_ZERO: Final = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares"
_SHARES: Final = "nominalConcurrencyShares"


def upgrade_assured_shares(level: JsonObject) -> None:
    limited = mapping_at(level, "spec", "limited")
    if limited is not None:
        rename(limited, "assuredConcurrencyShares", _SHARES)
        _default_zero(limited)


def upgrade_nominal_shares(level: JsonObject) -> None:
    """Zero is meant where v1beta3 said so by an annotation."""
    annotations = mapping_at(level, "metadata", "annotations") or {}
    if _KEEP_ZERO in annotations:
        del annotations[_KEEP_ZERO]
        return
    limited = mapping_at(level, "spec", "limited")
    if limited is not None:
        _default_zero(limited)


def _default_zero(limited: JsonObject) -> None:
    # False equals 0, too, and is for the API server to refuse.
    if limited.get(_SHARES) == 0 and limited[_SHARES] is not False:
        del limited[_SHARES]
