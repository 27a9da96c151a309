"""The rights that plans need from the account that they act as.

OperatorVersion, Instance ──> needs_of: what its tasks send, by kind
kinds ──> Served: plural and scope, from discovery, the package's CRDs or a table
both  ──> rights_of: rules for a Role and for a ClusterRole, and notes on what is not known
rules ──> escalations: those that let their holder get more
"""

from kudo.permissions.grants import Escalation, described, escalations
from kudo.permissions.kinds import built_in, guessed
from kudo.permissions.model import Kind, Need, Needs, Rights, Rule, Served
from kudo.permissions.needs import needs_of
from kudo.permissions.rights import rights_of, successor

__all__ = [
    "Escalation",
    "Kind",
    "Need",
    "Needs",
    "Rights",
    "Rule",
    "Served",
    "built_in",
    "described",
    "escalations",
    "guessed",
    "needs_of",
    "rights_of",
    "successor",
]
