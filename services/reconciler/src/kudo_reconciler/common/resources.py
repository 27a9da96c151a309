"""The API resources that the reconciler always needs."""

from typing import Final

from kubeio.kinds import DAEMON_SETS, DEPLOYMENTS, PODS, REPLICA_SETS, STATEFUL_SETS
from kubeio.resource import Resource
from kudo.api import names

INSTANCES: Final = Resource(*names.INSTANCES)
OPERATOR_VERSIONS: Final = Resource(*names.OPERATOR_VERSIONS)
INVENTORIES: Final = Resource(*names.INVENTORIES)

READINESS_KINDS: Final = (DEPLOYMENTS, STATEFUL_SETS, DAEMON_SETS, REPLICA_SETS, PODS)
"""The kinds whose health makes an idle Instance Ready."""
