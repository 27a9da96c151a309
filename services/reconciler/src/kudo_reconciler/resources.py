"""The kinds that the reconciler always needs, written down so that no discovery is needed."""

from typing import Final

from kubeio.resource import Resource
from kudo.names import GROUP, VERSION

INSTANCES: Final = Resource(GROUP, VERSION, "Instance", "instances", namespaced=True)
OPERATOR_VERSIONS: Final = Resource(
    GROUP, VERSION, "OperatorVersion", "operatorversions", namespaced=True
)
EVENTS: Final = Resource("", "v1", "Event", "events", namespaced=True)
CONFIG_MAPS: Final = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)
SECRETS: Final = Resource("", "v1", "Secret", "secrets", namespaced=True)

READINESS_KINDS: Final = (
    Resource("apps", "v1", "Deployment", "deployments", namespaced=True),
    Resource("apps", "v1", "StatefulSet", "statefulsets", namespaced=True),
    Resource("apps", "v1", "DaemonSet", "daemonsets", namespaced=True),
    Resource("apps", "v1", "ReplicaSet", "replicasets", namespaced=True),
    Resource("", "v1", "Pod", "pods", namespaced=True),
)
"""The kinds whose health makes an idle Instance Ready."""
