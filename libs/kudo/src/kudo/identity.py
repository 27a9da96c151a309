"""Which Instance: its name, and the uid that tells it from a later one of the same name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the models cost the command line a third of its time
    from kudo.api import Instance


@dataclass(frozen=True, slots=True, order=True)
class InstanceIdentity:
    """One Instance, which may be gone."""

    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def identity(instance: Instance) -> InstanceIdentity:
    metadata = instance.metadata
    return InstanceIdentity(metadata.namespace, metadata.name, metadata.uid)
