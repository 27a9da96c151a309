"""Where the kinds that the commands use live in the API."""

from kubeio.resource import Resource
from kudo.names import GROUP, VERSION

OPERATORS = Resource(GROUP, VERSION, "Operator", "operators", namespaced=True)
OPERATOR_VERSIONS = Resource(GROUP, VERSION, "OperatorVersion", "operatorversions", namespaced=True)
INSTANCES = Resource(GROUP, VERSION, "Instance", "instances", namespaced=True)
NAMESPACES = Resource("", "v1", "Namespace", "namespaces", namespaced=False)
EVENTS = Resource("", "v1", "Event", "events", namespaced=True)

ALL = (OPERATORS, OPERATOR_VERSIONS, INSTANCES)
FIELD_MANAGER = "kubectl-kudo"
"""Under which name the commands own the fields that they write."""
