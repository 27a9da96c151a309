"""The keys of Instances in queues, indexes and caches, and the kinds that are always needed."""

from typing import Final, NamedTuple

from kubeio.resource import DAEMON_SETS, DEPLOYMENTS, PODS, REPLICA_SETS, STATEFUL_SETS, Resource
from kudo.api import Instance, names


class Key(NamedTuple):
    """Namespace and name of an Instance to reconcile, never what happened to it."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def key_of(instance: Instance) -> Key:
    return Key(instance.metadata.namespace, instance.metadata.name)


INSTANCES: Final = Resource(*names.INSTANCES)
OPERATOR_VERSIONS: Final = Resource(*names.OPERATOR_VERSIONS)
INVENTORIES: Final = Resource(*names.INVENTORIES)

READINESS_KINDS: Final = (DEPLOYMENTS, STATEFUL_SETS, DAEMON_SETS, REPLICA_SETS, PODS)
"""The kinds whose health makes an idle Instance Ready."""
