"""Owners of objects that existed before an Instance applied them, or that stay when it is deleted.

*Adopted* are namespaced objects that existed before. The Instance becomes their owner, so they are
deleted with it. Secrets and PersistentVolumeClaims hold data that existed before, so they get no
owner reference. That an Instance applies such an object is recognized by the labels and the field
managers.

*Retained* are objects that their template keeps when their Instance is deleted. They have no owner
reference, so the garbage collector leaves them. An annotation names their Instance, as
`namespace/name/operator/uid`, followed by `/adopted` if the object holds data that existed before
its Instance applied it: such an object gets no owner reference when it is no longer retained.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from kudo.api import names
from kudo.api.identity import InstanceIdentity
from kudo.objects.managed_fields import Writer

if TYPE_CHECKING:  # the models cost the command line a third of its time
    from kudo.api import Json, JsonObject

_HOLD_DATA: Final = frozenset({("", "Secret"), ("", "PersistentVolumeClaim")})


def holds_data(group: str, kind: str) -> bool:
    """Return whether objects of a kind stay if they were not created by the Instance."""
    return (group, kind) in _HOLD_DATA


def applied_by(metadata: Mapping[str, Json], written_by: Iterable[Writer]) -> str:
    """Return the name of the Instance that applied an object; empty if none did.

    Args:
        metadata: Of the object as it is stored.
        written_by: Who wrote it.
    """
    # The labels alone do not tell: a StatefulSet puts those of its Instance on its claims.
    labels = metadata.get("labels") or {}
    ours = (names.FIELD_MANAGER, "Apply", "")
    applied = any((w.manager, w.operation, w.subresource) == ours for w in written_by)
    if not applied or labels.get(names.LABEL_HERITAGE) != names.HERITAGE:
        return ""
    return str(labels.get(names.LABEL_INSTANCE) or "")


def without_owner(target: JsonObject, uid: str) -> JsonObject:
    """Return an object to apply without the owner reference to the Instance of a uid."""
    metadata = {key: value for key, value in target["metadata"].items() if key != "ownerReferences"}
    owners = target["metadata"].get("ownerReferences") or ()
    others = [owner for owner in owners if owner.get("uid") != uid]
    return {**target, "metadata": metadata | ({"ownerReferences": others} if others else {})}


_PARTS: Final = 4
_ADOPTED: Final = "adopted"


@dataclass(frozen=True, slots=True)
class Retention:
    """The Instance that applied a retained object; it may no longer exist.

    Attributes:
        namespace: Of the Instance.
        name: Of the Instance.
        operator: Name of its operator.
        uid: Of the Instance.
        adopted: Whether the object holds data and was not created by the Instance.
    """

    namespace: str
    name: str
    operator: str
    uid: str
    adopted: bool = False

    def __str__(self) -> str:
        whose = f"{self.namespace}/{self.name}/{self.operator}/{self.uid}"
        return f"{whose}/{_ADOPTED}" if self.adopted else whose

    @property
    def instance(self) -> InstanceIdentity:
        return InstanceIdentity(self.namespace, self.name, self.uid)

    @classmethod
    def of(cls, instance: InstanceIdentity, operator: str) -> Self:
        return cls(instance.namespace, instance.name, operator, instance.uid)

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Read the value of the annotation; None if it names no Instance."""
        parts = tuple(part.strip() for part in text.split("/"))
        adopted = parts[_PARTS:] == (_ADOPTED,)
        if not all(parts) or (len(parts) != _PARTS and not adopted):
            return None
        namespace, name, operator, uid = parts[:_PARTS]
        return cls(namespace, name, operator, uid, adopted)


def retained_by(metadata: Mapping[str, Json]) -> Retention | None:
    """Return the Instance that applied a live object as a retained one.

    None if there is no annotation, or one that names no Instance.
    """
    text = (metadata.get("annotations") or {}).get(names.ANNOTATION_RETAINED_BY)
    return Retention.read(text) if isinstance(text, str) else None


def may_take_over(
    retention: Retention, instance: InstanceIdentity, operator: str, *, lives: bool
) -> bool:
    """Return whether an Instance may apply a retained object by force.

    It may if the object is its own, or if the former Instance is gone and was of the same
    namespace, name and operator.

    Args:
        retention: Of the live object.
        instance: The Instance that wants to apply it.
        operator: The name of its operator.
        lives: Whether the Instance of `retention` exists, with the same uid, read live.
    """
    if retention.uid == instance.uid:
        return True
    # A new Instance of the same name is the usual way back after an uninstall. Any other one would
    # take data that is not its own.
    former = (retention.namespace, retention.name, retention.operator)
    return not lives and former == (instance.namespace, instance.name, operator)
