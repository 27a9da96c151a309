"""Where KUDO's kinds live in the API."""

from kubeio.resource import Resource
from kudo import names

OPERATORS = Resource(*names.OPERATORS)
OPERATOR_VERSIONS = Resource(*names.OPERATOR_VERSIONS)
INSTANCES = Resource(*names.INSTANCES)

ALL = (OPERATORS, OPERATOR_VERSIONS, INSTANCES)
FIELD_MANAGER = "kubectl-kudo"
"""Under which name the commands own the fields that they write."""
