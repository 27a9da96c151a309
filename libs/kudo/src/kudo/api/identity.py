"""Identity of an Instance: namespace, name, and the uid that a later one does not share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the models cost the command line a third of its time
    from kudo.api.instance import Instance


@dataclass(frozen=True, slots=True, order=True)
class InstanceIdentity:
    """One Instance, which may no longer exist."""

    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def identity(instance: Instance) -> InstanceIdentity:
    metadata = instance.metadata
    return InstanceIdentity(metadata.namespace, metadata.name, metadata.uid)
