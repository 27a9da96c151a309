"""The key of an Instance in queues, indexes and caches."""

from typing import NamedTuple

from kudo.api import Instance


class Key(NamedTuple):
    """Namespace and name of an Instance to reconcile, never what happened to it."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def key_of(instance: Instance) -> Key:
    return Key(instance.metadata.namespace, instance.metadata.name)
