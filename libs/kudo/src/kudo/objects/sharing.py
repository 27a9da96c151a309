"""Sharing of cluster-scoped objects between Instances.

Owner references cannot be used, since an owner must be in the object's namespace. The Inventories
of Instances tell who shares an object. Its annotation `kudo.dev/shared-by` lists them as
`namespace/name/uid`, all or `MOST_LISTED` of them: it tells users, and older releases, which read
nothing else; and it tells of Instances whose record is not complete. Each new share changes it, so
that a deletion that was decided before fails.

Whether the object is deleted with the last of them is decided by its template; some kinds always
stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from kudo.api import names
from kudo.api.identity import InstanceIdentity
from kudo.objects.policies import is_retained

if TYPE_CHECKING:  # the models cost the command line a third of its time
    from kudo.api import Instance, Json, JsonObject

MOST_LISTED: Final = 32
"""Instances that the annotation lists.

The release before this one takes up to 16 for all that share an object. What it leaves of a full
list is more, so it never takes the rest of many for all.
"""
_NEVER_DELETED = frozenset(
    {
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        ("", "Namespace"),
        ("", "PersistentVolume"),
    }
)
"""Deleting one of these deletes data that may belong to others."""
_PER_INSTANCE_LABELS = frozenset({names.LABEL_HERITAGE, names.LABEL_OPERATOR, names.LABEL_INSTANCE})
_PER_INSTANCE_ANNOTATIONS = frozenset(
    {
        names.ANNOTATION_PLAN,
        names.ANNOTATION_PHASE,
        names.ANNOTATION_STEP,
        names.ANNOTATION_PLAN_UID,
        names.ANNOTATION_SHARED_BY,
        names.ANNOTATION_LAST_APPLIED,
    }
)
_LABELS_OF_LAST = (names.LABEL_OPERATOR, names.LABEL_INSTANCE)
_ANNOTATIONS_OF_LAST = (
    names.ANNOTATION_PLAN,
    names.ANNOTATION_PHASE,
    names.ANNOTATION_STEP,
    names.ANNOTATION_PLAN_UID,
)
"""Annotations that name the run that applied an object last."""
_SERVER_METADATA = frozenset(
    {"managedFields", "resourceVersion", "generation", "labels", "annotations"}
)


def sharers(metadata: Mapping[str, Json]) -> tuple[InstanceIdentity, ...]:
    """Return the Instances that the annotation lists; what cannot be read is left out."""
    return _read(_annotation(metadata))[0]


def lists_all(metadata: Mapping[str, Json]) -> bool:
    """Return whether the annotation, if there is one, lists all that share an object.

    A full list may lack some, and so may one with texts that name no Instance.
    """
    listed, is_whole = _read(_annotation(metadata))
    return is_whole and len(listed) < MOST_LISTED


def _annotation(metadata: Mapping[str, Json]) -> str:
    return str((metadata.get("annotations") or {}).get(names.ANNOTATION_SHARED_BY) or "")


@lru_cache(maxsize=4)  # an event of an object with many sharers asks again and again
def _read(text: str) -> tuple[tuple[InstanceIdentity, ...], bool]:
    """Return the Instances in an annotation, and whether there is nothing else in it."""
    parts = [tuple(entry.split("/")) for entry in text.split(",")] if text else []
    identities = [part for part in parts if len(part) == 3 and all(part)]
    listed = tuple(InstanceIdentity(*part) for part in sorted(set(identities)))
    return listed, len(identities) == len(parts)


def is_listed(metadata: Mapping[str, Json], instance: InstanceIdentity) -> bool:
    """Return whether the annotation lists an Instance."""
    # Of a long text no more is read than that it may name it.
    return instance.uid in _annotation(metadata) and instance in sharers(metadata)


def name_for_user(metadata: Mapping[str, Json], other: InstanceIdentity) -> str:
    """Return how another Instance that shares an object is named in texts for users.

    It is named only if the annotation lists it: a tenant who reads the object knows it then. The
    reconciler also finds others, in namespaces of which the tenant may know nothing.
    """
    return f"Instance {other}" if is_listed(metadata, other) else "another Instance"


def shared_by(instances: Iterable[InstanceIdentity]) -> str:
    """Return the value of the annotation."""
    return ",".join(f"{i.namespace}/{i.name}/{i.uid}" for i in sorted(set(instances)))


def is_of_kudo(metadata: Mapping[str, Json]) -> bool:
    """Return whether a cluster-scoped object was applied by an Instance, here or with KUDO 0.19."""
    labels = metadata.get("labels") or {}
    return labels.get(names.LABEL_HERITAGE) == names.HERITAGE or bool(sharers(metadata))


def instance_label(metadata: Mapping[str, Json]) -> str:
    """Return the name of the Instance that applied an object last; empty if it has no label."""
    return str((metadata.get("labels") or {}).get(names.LABEL_INSTANCE) or "")


class Claim(Enum):
    """How an Instance may apply an object that exists.

    Attributes:
        OURS: By force; nobody else applies it.
        KEPT: By force, and without an owner reference: it is ours, but existed before.
        SHARED: Others apply it too: by force where it differs, which they must be told.
        FOREIGN: Without force; it does not belong to KUDO.
    """

    OURS = "ours"
    KEPT = "kept"
    SHARED = "shared"
    FOREIGN = "foreign"


def claim(
    metadata: Mapping[str, Json], instance: Instance, others: tuple[str, ...]
) -> tuple[Claim, tuple[str, ...]]:
    """Return what an existing object is to an Instance, and some of the others that share it.

    Args:
        metadata: Of the object as it is stored.
        instance: Which wants to apply it.
        others: Others that share it and exist: all or some, none only if there are none. An empty
            name stands for those that must not be named.
    """
    if not is_of_kudo(metadata):
        return Claim.FOREIGN, ()
    if others:
        return Claim.SHARED, others
    if sharers(metadata):
        return Claim.OURS, ()
    # Left by KUDO 0.19, which wrote down no more than the name of the Instance.
    name = instance_label(metadata)
    return (Claim.OURS, ()) if name == instance.metadata.name else (Claim.SHARED, (name,))


def as_applied_last(target: JsonObject, live: JsonObject) -> JsonObject:
    """Return an object to apply with the marks of the run that applied the stored one last.

    To apply what others have applied then changes nothing but who shares it.
    """
    metadata, stored = target["metadata"], live["metadata"]
    labels = _marked(metadata.get("labels"), stored.get("labels"), _LABELS_OF_LAST)
    annotations = _marked(
        metadata.get("annotations"), stored.get("annotations"), _ANNOTATIONS_OF_LAST
    )
    return {**target, "metadata": {**metadata, "labels": labels, "annotations": annotations}}


def _marked(values: Json, stored: Json, marks: tuple[str, ...]) -> JsonObject:
    rest = _rest(values, frozenset(marks))
    return rest | {key: stored[key] for key in marks if key in (stored or {})}


def differs(left: JsonObject, right: JsonObject) -> bool:
    """Return whether two states of an object differ in more than their ownership."""

    def without_sharing(obj: JsonObject) -> JsonObject:
        metadata = obj["metadata"]
        kept: JsonObject = {k: v for k, v in metadata.items() if k not in _SERVER_METADATA}
        kept["labels"] = _rest(metadata.get("labels"), _PER_INSTANCE_LABELS)
        kept["annotations"] = _rest(metadata.get("annotations"), _PER_INSTANCE_ANNOTATIONS)
        return {**obj, "metadata": kept}

    return without_sharing(left) != without_sharing(right)


def _rest(values: Json, left_out: frozenset[str]) -> JsonObject:
    return {key: value for key, value in (values or {}).items() if key not in left_out}


def goes_with_instance(group: str, kind: str, metadata: Mapping[str, Json]) -> bool:
    """Return whether a template asks that its object be deleted with its last Instance."""
    annotations = metadata.get("annotations") or {}
    requested = annotations.get(names.ANNOTATION_DELETE_WITH_INSTANCE) == "true"
    return requested and (group, kind) not in _NEVER_DELETED and not is_retained(metadata)
