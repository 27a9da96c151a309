"""The rights that plans need from the account that they act as.

OperatorVersion, Instance ──> needs_of: what its tasks send, by kind
kinds ──> Served: plural and scope, from discovery, the package's CRDs or a table
both  ──> rights_of: rules for a Role and for a ClusterRole, and notes on what is not known
"""

from kudo.permissions.kinds import built_in, guessed
from kudo.permissions.model import Action, Kind, Need, Needs, Rights, Rule, Served
from kudo.permissions.needs import needs_of
from kudo.permissions.rights import rights_of, successor

__all__ = [
    "Action",
    "Kind",
    "Need",
    "Needs",
    "Rights",
    "Rule",
    "Served",
    "built_in",
    "guessed",
    "needs_of",
    "rights_of",
    "successor",
]
