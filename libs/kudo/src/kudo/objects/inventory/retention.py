"""Retained objects: their template keeps them when their Instance is deleted.

They have no owner reference, so nothing takes them along. An annotation says whose they are, as
`namespace/name/operator/uid`, followed by `/adopted` if the object holds data that existed before
its Instance applied it: such an object gets no owner reference when it is no longer retained.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from kudo.api import names
from kudo.api.identity import InstanceIdentity

if TYPE_CHECKING:  # the models cost the command line a third of its time
    from kudo.api import Json

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
    def of(cls, one: InstanceIdentity, operator: str) -> Self:
        return cls(one.namespace, one.name, operator, one.uid)

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
    retention: Retention, one: InstanceIdentity, operator: str, *, lives: bool
) -> bool:
    """Return whether an Instance may apply a retained object by force.

    It may if the object is its own, or if the former Instance is gone and was of the same
    namespace, name and operator.

    Args:
        retention: Of the live object.
        one: The Instance that wants to apply it.
        operator: The name of its operator.
        lives: Whether the Instance of `retention` exists, with the same uid, read live.
    """
    if retention.uid == one.uid:
        return True
    former = (retention.namespace, retention.name, retention.operator)
    return not lives and former == (one.namespace, one.name, operator)
