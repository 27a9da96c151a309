"""Pruning: which orphans may be deleted, and in which order.

The record never justifies a deletion. What decides is the live object.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from kudo.api import names
from kudo.api.identity import InstanceIdentity
from kudo.objects.deletion_policy import is_retained
from kudo.objects.inventory.record import Entry
from kudo.objects.inventory.shares import has_applied
from kudo.objects.sharing import sharers, told

if TYPE_CHECKING:  # the models cost the command line a third of its time
    from kudo.api import Instance, Json, OperatorVersion

_HOLD_DATA: Final = frozenset(
    {
        ("", "Namespace"),
        ("", "PersistentVolume"),
        ("", "PersistentVolumeClaim"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
    }
)
"""Kinds whose deletion deletes data: only if the object asks for it."""

_RBAC: Final = "rbac.authorization.k8s.io"
_ADMISSION: Final = "admissionregistration.k8s.io"
_INSTALLED: Final = (
    ("scheduling.k8s.io", "PriorityClass"),
    ("", "Namespace"),
    ("networking.k8s.io", "NetworkPolicy"),
    ("", "ResourceQuota"),
    ("", "LimitRange"),
    ("policy", "PodSecurityPolicy"),
    ("policy", "PodDisruptionBudget"),
    ("", "ServiceAccount"),
    ("", "Secret"),
    ("", "ConfigMap"),
    ("storage.k8s.io", "StorageClass"),
    ("", "PersistentVolume"),
    ("", "PersistentVolumeClaim"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    (_RBAC, "ClusterRole"),
    (_RBAC, "ClusterRoleBinding"),
    (_RBAC, "Role"),
    (_RBAC, "RoleBinding"),
    ("", "Service"),
    ("apps", "DaemonSet"),
    ("", "Pod"),
    ("", "ReplicationController"),
    ("apps", "ReplicaSet"),
    ("apps", "Deployment"),
    ("autoscaling", "HorizontalPodAutoscaler"),
    ("apps", "StatefulSet"),
    ("batch", "Job"),
    ("batch", "CronJob"),
    ("networking.k8s.io", "IngressClass"),
    ("networking.k8s.io", "Ingress"),
    ("apiregistration.k8s.io", "APIService"),
    (_ADMISSION, "MutatingWebhookConfiguration"),
    (_ADMISSION, "ValidatingWebhookConfiguration"),
)
"""The order in which Helm installs kinds; all others, such as custom resources, come last."""
_RANKS: Final = {kind: rank for rank, kind in enumerate(_INSTALLED)}


def prunes(instance: Instance, version: OperatorVersion) -> bool:
    """Return whether the orphans of an Instance are deleted without being asked."""
    own = instance.spec.prune
    return bool(version.spec.prune if own is None else own)


def may_be_pruned(group: str, kind: str, metadata: Mapping[str, Json]) -> bool:
    """Return whether an object of a template may be deleted once no plan applies it any more.

    Args:
        group: API group of the object.
        kind: Its kind.
        metadata: As its template gives it.
    """
    if group == names.GROUP or is_retained(metadata):
        return False
    return not _keeps_data(group, kind, metadata)


def why_kept(
    entry: Entry,
    metadata: Mapping[str, Json],
    one: InstanceIdentity,
    *,
    shared_with: InstanceIdentity | None,
) -> str:
    """Return why an orphan is not deleted; empty if it may be.

    Args:
        entry: Of the record.
        metadata: Of the live object.
        one: The Instance.
        shared_with: Another Instance that has the object on record or in its annotation, and
            exists; None if there is none.
    """
    place = entry.place
    if place.group == names.GROUP:
        return f"objects of {names.GROUP} are never pruned"
    if entry.retained or is_retained(metadata):
        return f"{names.ANNOTATION_DELETION_POLICY} says {names.RETAIN}"
    if shared_with is not None:
        return f"{told(metadata, shared_with)} shares it"
    if entry.adopted:
        return "it existed before the Instance applied it, and holds data"
    if not _is_ours(entry, metadata, one):
        return "it does not belong to the Instance any more"
    if _keeps_data(place.group, place.kind, metadata):
        return f'its kind holds data; {names.ANNOTATION_PRUNE}: "true" on it permits the deletion'
    return ""


def is_given_up(entry: Entry, metadata: Mapping[str, Json], one: InstanceIdentity) -> bool:
    """Return whether a cluster-scoped object is on record, and was not applied by its Instance.

    Its run ended before that. What lists all that share it lists who has applied it.
    """
    if not entry.cluster_scoped or has_applied(entry, metadata, one):
        return False
    return bool(sharers(metadata))


def in_order(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Return entries in the order in which they are to be deleted.

    That is the reverse of the order in which kinds are installed; of one kind, those that were
    recorded last come first.
    """
    return tuple(sorted(entries, key=_rank)[::-1])


def _rank(entry: Entry) -> int:
    return _RANKS.get((entry.place.group, entry.place.kind), len(_RANKS))


def _is_ours(entry: Entry, metadata: Mapping[str, Json], one: InstanceIdentity) -> bool:
    if entry.cluster_scoped:
        return has_applied(entry, metadata, one)
    owners = metadata.get("ownerReferences") or ()
    return any(owner.get("controller") and owner.get("uid") == one.uid for owner in owners)


def _keeps_data(group: str, kind: str, metadata: Mapping[str, Json]) -> bool:
    if (group, kind) not in _HOLD_DATA:
        return False
    annotations = metadata.get("annotations")
    found = annotations if isinstance(annotations, dict) else {}
    return found.get(names.ANNOTATION_PRUNE) != "true"
