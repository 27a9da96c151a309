"""The API resources of KUDO's kinds."""

from kubeio.resource import Resource
from kudo import names

OPERATORS = Resource(*names.OPERATORS)
OPERATOR_VERSIONS = Resource(*names.OPERATOR_VERSIONS)
INSTANCES = Resource(*names.INSTANCES)

ALL = (OPERATORS, OPERATOR_VERSIONS, INSTANCES)
FIELD_MANAGER = "kubectl-kudo"
"""The field manager of the commands."""
