"""The key of an Instance: what queues, indexes and caches name it by."""

from typing import NamedTuple

from kudo.api import Instance


class Key(NamedTuple):
    """The Instance to work on. It says where to look, never what has happened."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def key_of(instance: Instance) -> Key:
    return Key(instance.metadata.namespace, instance.metadata.name)
