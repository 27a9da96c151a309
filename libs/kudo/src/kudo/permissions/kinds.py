"""Kinds without a cluster: their plurals and scopes, and those that the text of a template names.

Templates that were not rendered, or not all of them, are searched (`named_in`): a condition that is
false now may be true with other values. Nothing is parsed: a document of a template is no YAML
before it is rendered.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kudo.api import names
from kudo.permissions.model import Kind, Served, is_kind

_NAMESPACED: Final = {
    "": "Binding ConfigMap Endpoints Event LimitRange PersistentVolumeClaim Pod PodTemplate "
    "ReplicationController ResourceQuota Secret Service ServiceAccount",
    "apps": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
    "autoscaling": "HorizontalPodAutoscaler",
    "batch": "CronJob Job",
    "coordination.k8s.io": "Lease",
    "discovery.k8s.io": "EndpointSlice",
    "events.k8s.io": "Event",
    "networking.k8s.io": "Ingress NetworkPolicy",
    "policy": "PodDisruptionBudget",
    "rbac.authorization.k8s.io": "Role RoleBinding",
    "resource.k8s.io": "ResourceClaim ResourceClaimTemplate",
    "storage.k8s.io": "CSIStorageCapacity",
    names.GROUP: "Instance Inventory Operator OperatorVersion",
}
_CLUSTER_SCOPED: Final = {
    "": "Namespace Node PersistentVolume",
    "admissionregistration.k8s.io": "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding "
    "MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding "
    "ValidatingWebhookConfiguration",
    "apiextensions.k8s.io": "CustomResourceDefinition",
    "apiregistration.k8s.io": "APIService",
    "certificates.k8s.io": "CertificateSigningRequest ClusterTrustBundle",
    "flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
    "networking.k8s.io": "IngressClass IPAddress ServiceCIDR",
    "node.k8s.io": "RuntimeClass",
    "rbac.authorization.k8s.io": "ClusterRole ClusterRoleBinding",
    "resource.k8s.io": "DeviceClass ResourceSlice",
    "scheduling.k8s.io": "PriorityClass",
    "storage.k8s.io": "CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass",
}


def _plural(kind: str) -> str:
    """Return the plural that tools make of a kind."""
    word = kind.lower()
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "x", "ch", "sh")) else f"{word}s"


_IRREGULAR: Final = {"Endpoints": "endpoints"}
_BUILT_IN: Final = {
    (group, kind): Served(group, _IRREGULAR.get(kind) or _plural(kind), namespaced)
    for table, namespaced in ((_NAMESPACED, True), (_CLUSTER_SCOPED, False))
    for group, kinds in table.items()
    for kind in kinds.split()
}


def built_in(kind: Kind) -> Served | None:
    """Return how a kind of Kubernetes or KUDO is served; None for any other kind."""
    return _BUILT_IN.get((kind.group, kind.kind))


def guessed(kind: Kind) -> Served:
    """Return how a kind is probably served: namespaced, with the usual plural."""
    return Served(kind.group, _plural(kind.kind), namespaced=True, guess=True)


# Each repetition has a bound: templates come from strangers, and a search must not take long.
_DOCUMENT: Final = re.compile(r"^---", re.MULTILINE)
_FIELD: Final = re.compile(
    r"^([ \t]{0,40}(?:-[ \t]{1,8})?)(apiVersion|kind)[ \t]{0,8}:[ \t]{0,8}([^\n]{0,300})",
    re.MULTILINE,
)
# An object in flow style, or of JSON.
_FLOW: Final = re.compile(
    r"""\{[ \t]{0,8}["']?apiVersion["']?[ \t]{0,8}:[ \t]{0,8}["']?([^"',}\n]{1,300})["']?"""
    r"""[ \t]{0,8},\s{0,80}["']?kind["']?[ \t]{0,8}:[ \t]{0,8}["']?([^"',}\n]{1,100})"""
)
_ACTION: Final = "{{"


@dataclass(frozen=True, slots=True)
class Named:
    """What a text names.

    Attributes:
        kinds: Kinds that stand there as they are.
        computed: Whether another kind is computed by the template.
    """

    kinds: tuple[Kind, ...]
    computed: bool


def named_in(text: str) -> Named:
    """Return the kinds of the objects in a template's text."""
    pairs = [pair for document in _DOCUMENT.split(text) for pair in _pairs(document)]
    kinds = (Kind(*pair) for pair in pairs if is_kind(*pair))
    computed = any(_ACTION in text for pair in pairs for text in pair)
    return Named(tuple(dict.fromkeys(kinds)), computed)


def _pairs(document: str) -> Iterator[tuple[str, str]]:
    """Yield apiVersion and kind of each object: of the document, or of the items of its List."""
    yield from ((m[1].strip(), m[2].strip()) for m in _FLOW.finditer(document) if m[2] != "List")
    fields = [
        (len(m[1]), m[2], m[3].partition(" #")[0].strip().strip("\"'"))
        for m in _FIELD.finditer(document)
    ]
    if not fields:
        return
    top = min(indent for indent, _, _ in fields)
    whole = [field for field in fields if field[0] == top]
    yield from _combined(whole)
    # The items of a List are objects themselves, one level below.
    if any(name == "kind" and value == "List" for _, name, value in whole):
        below = [field for field in fields if field[0] != top]
        items = min((indent for indent, _, _ in below), default=0)
        yield from _combined([field for field in below if field[0] == items])


def _combined(fields: list[tuple[int, str, str]]) -> Iterator[tuple[str, str]]:
    """Yield neighbours: branches of a condition may name several kinds in one document."""
    versions = [value for _, name, value in fields if name == "apiVersion"]
    kinds = [value for _, name, value in fields if name == "kind"]
    if len(versions) == 1:
        yield from ((versions[0], kind) for kind in kinds if kind != "List")
    elif len(kinds) == 1:
        yield from ((version, kinds[0]) for version in versions if kinds[0] != "List")
    else:
        pairs = zip(versions, kinds, strict=False)
        yield from (pair for pair in pairs if pair[1] != "List")
