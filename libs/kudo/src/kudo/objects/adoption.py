"""Adoption of namespaced objects that existed before an Instance applied them.

The Instance becomes their owner, so they are deleted with it. Secrets and PersistentVolumeClaims
hold data that existed before, so they get no owner reference. That an Instance applies such an
object is recognized by the labels and the field managers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from kudo.api import names
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
        written_by: Who wrote it. The labels alone say less: a StatefulSet puts those of its
            Instance on the claims that it makes.
    """
    labels = metadata.get("labels") or {}
    applied = any(
        (one.manager, one.operation, one.subresource) == (names.FIELD_MANAGER, "Apply", "")
        for one in written_by
    )
    if not applied or labels.get(names.LABEL_HERITAGE) != names.HERITAGE:
        return ""
    return str(labels.get(names.LABEL_INSTANCE) or "")


def without_owner(target: JsonObject, uid: str) -> JsonObject:
    """Return an object to apply without the owner reference to the Instance of a uid."""
    metadata = {key: value for key, value in target["metadata"].items() if key != "ownerReferences"}
    owners = target["metadata"].get("ownerReferences") or ()
    others = [owner for owner in owners if owner.get("uid") != uid]
    return {**target, "metadata": metadata | ({"ownerReferences": others} if others else {})}
