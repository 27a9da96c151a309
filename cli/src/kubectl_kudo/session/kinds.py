"""The API resources of KUDO's kinds."""

from kubeio.resource import Resource
from kudo.api import names

OPERATORS = Resource(*names.OPERATORS)
OPERATOR_VERSIONS = Resource(*names.OPERATOR_VERSIONS)
INSTANCES = Resource(*names.INSTANCES)
INVENTORIES = Resource(*names.INVENTORIES)

ALL = (OPERATORS, OPERATOR_VERSIONS, INSTANCES)
"""The kinds that users write. Every release serves them."""
DEFINED = (*ALL, INVENTORIES)
"""The kinds of which this release installs the CRDs."""
BY_WORD = {
    word: kind
    for kind, short in ((INSTANCES, "ki"), (OPERATORS, "kop"), (OPERATOR_VERSIONS, "kov"))
    for word in (kind.plural, kind.kind.lower(), kind.name, short)
}
"""The kinds by the words that `kubectl get` takes for them."""
FIELD_MANAGER = "kubectl-kudo"
"""The field manager of the commands."""
