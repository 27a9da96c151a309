"""The rights that plans need from the account that they act as.

OperatorVersion, Instance ──> needs_of: what its tasks send, by kind
kinds ──> Served: plural and scope, from discovery, the package's CRDs or a table
both  ──> rights_of: rules for a Role and for a ClusterRole, and notes on what is not known
rules ──> escalations: those that let their holder get more
"""
