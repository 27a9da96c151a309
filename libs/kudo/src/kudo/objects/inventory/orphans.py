"""Orphans: objects on record that no plan applies any more, and which of them may be pruned.

See docs/design/20261123.inventory.md, "Orphans". An object is one only if that is certain: what
cannot be known stays what it is. The rules here find what may have become one; whether another plan
of the version applies it is known only after rendering.

The record never justifies a deletion, since it may be out of date or forged: the live object
decides (`why_kept`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from kudo.api import names
from kudo.api.identity import InstanceIdentity
from kudo.objects.inventory.record import Entry, Place, Record
from kudo.objects.policies import is_retained
from kudo.objects.sharing import is_listed, lists_all, name_for_user, sharers

if TYPE_CHECKING:  # the models cost the command line a third of its time
    from kudo.api import Instance, Json, OperatorVersion, Orphan

MOST_IN_STATUS: Final = 20


@dataclass(frozen=True, slots=True)
class Finished:
    """A run that is COMPLETE.

    Attributes:
        plan: The plan.
        uid: Of the run.
        rendered: The objects that each task has rendered in it, of all its steps.
        unknown: Tasks of which that is not known, or not of all steps: a retry took their result
            over. The run then makes no orphans: an object may have moved to one of them that has
            not run since. A task that is neither here nor in `rendered` counts as not known, too.
    """

    plan: str
    uid: str
    rendered: Mapping[str, frozenset[Place]]
    unknown: frozenset[str] = frozenset()


def orphans(record: Record, version: OperatorVersion, finished: Finished) -> tuple[Entry, ...]:
    """Return the entries that have become orphans if no plan applies them, marked with the run.

    Those that were orphans before keep the mark of an earlier run, and are not among them.

    Args:
        record: Of the Instance.
        version: The OperatorVersion that is in force.
        finished: Its last run.
    """
    if finished.unknown:
        return ()
    used = {
        name: frozenset(
            task for phase in plan.phases or () for step in phase.steps for task in step.tasks
        )
        for name, plan in version.plans.items()
    }
    anywhere = frozenset().union(*used.values())
    rendered = frozenset().union(*finished.rendered.values())

    def is_orphan(entry: Entry) -> bool:
        if entry.orphaned_by or not entry.plan or not entry.task:
            return False
        if entry.place in rendered:
            return False  # whichever task rendered it: it is about to be on record for that one
        if entry.plan not in used or entry.task not in anywhere:
            return True
        return entry.plan == finished.plan and (
            entry.task not in used[entry.plan] or entry.task in finished.rendered
        )

    return tuple(replace(entry, orphaned_by=finished.uid) for entry in record if is_orphan(entry))


def all_orphans(record: Record) -> tuple[Entry, ...]:
    """Return the entries that are orphans, in the order of the record."""
    return tuple(entry for entry in record if entry.orphaned_by)


def in_status(record: Record) -> tuple[tuple[Orphan, ...], int]:
    """Return the orphans that the status of the Instance names, and how many more there are."""
    from kudo.api import Orphan

    entries = all_orphans(record)
    named = tuple(
        Orphan(
            api_version=entry.api_version,
            kind=entry.place.kind,
            namespace=entry.place.namespace or None,
            name=entry.place.name,
            plan=entry.plan or None,
            task=entry.task or None,
        )
        for entry in entries[:MOST_IN_STATUS]
    )
    return named, max(0, len(entries) - MOST_IN_STATUS)


# Pruning


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
    choice = instance.spec.prune
    return bool(version.spec.prune if choice is None else choice)


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
    instance: InstanceIdentity,
    *,
    shared_with: InstanceIdentity | None,
) -> str:
    """Return why an orphan is not deleted; empty if it may be.

    Args:
        entry: Of the record.
        metadata: Of the live object.
        instance: The Instance.
        shared_with: Another Instance that has the object on record or in its annotation, and
            exists; None if there is none.
    """
    place = entry.place
    if place.group == names.GROUP:
        return f"objects of {names.GROUP} are never pruned"
    if entry.retained or is_retained(metadata):
        return f"{names.ANNOTATION_DELETION_POLICY} says {names.RETAIN}"
    if shared_with is not None:
        return f"{name_for_user(metadata, shared_with)} shares it"
    if entry.adopted:
        return "it existed before the Instance applied it, and holds data"
    owners = metadata.get("ownerReferences") or ()
    is_ours = any(o.get("controller") and o.get("uid") == instance.uid for o in owners)
    if entry.cluster_scoped:  # it cannot have an owner in a namespace
        is_ours = has_applied(entry, metadata, instance)
    if not is_ours:
        return "it does not belong to the Instance any more"
    if _keeps_data(place.group, place.kind, metadata):
        return f'its kind holds data; {names.ANNOTATION_PRUNE}: "true" on it permits the deletion'
    return ""


def is_given_up(entry: Entry, metadata: Mapping[str, Json], instance: InstanceIdentity) -> bool:
    """Return whether a cluster-scoped object is on record, and was not applied by its Instance.

    Its run ended before that. What lists all that share it lists who has applied it.
    """
    if not entry.cluster_scoped or has_applied(entry, metadata, instance):
        return False
    return bool(sharers(metadata))


def in_order(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Return entries in the order in which they are to be deleted.

    That is the reverse of the order in which kinds are installed; of one kind, those that were
    recorded last come first.
    """

    def rank(entry: Entry) -> int:
        return _RANKS.get((entry.place.group, entry.place.kind), len(_RANKS))

    return tuple(sorted(entries, key=rank)[::-1])


def _keeps_data(group: str, kind: str, metadata: Mapping[str, Json]) -> bool:
    if (group, kind) not in _HOLD_DATA:
        return False
    annotations = metadata.get("annotations")
    return not isinstance(annotations, dict) or annotations.get(names.ANNOTATION_PRUNE) != "true"


def has_applied(entry: Entry, metadata: Mapping[str, Json], instance: InstanceIdentity) -> bool:
    """Return whether an Instance has applied a cluster-scoped object that it has on record.

    An object is on record before it is applied, and the plan may never come to it. Its uid is on
    record at the end of the run; until then, the object itself lists who has applied it, unless too
    many have.

    Args:
        entry: Of the record.
        metadata: Of the object as it is.
        instance: The Instance.
    """
    if entry.leaving or (entry.uid and entry.uid == metadata.get("uid")):
        return True
    return is_listed(metadata, instance) or not lists_all(metadata)
