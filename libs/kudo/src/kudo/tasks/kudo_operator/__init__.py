"""Children: the Instances that KudoOperator tasks of another Instance apply.

The Instance that a task describes (`desired`), who owns an existing Instance (`kinship`), the next
update of a child (`updates`), the fields that we own (`fields`), and whether the OperatorVersions
of a tree of Instances exist and have no cycle (`dependencies`).

A child differs from the objects of an Apply task. It is not labelled as an object of its parent,
which is its owner but not its controller. Users change it, it runs plans of its own, and the
admission rules apply to what its parent sends.
"""

from kudo.tasks.kudo_operator.child import (
    Child,
    Kin,
    SecretMark,
    VersionKey,
    check_ancestors,
    check_dependencies,
    check_secrets,
    child_of,
    dependencies_of,
    execution_of,
    kin_of,
    manifest,
    refusal,
    with_references,
)
from kudo.tasks.kudo_operator.updates import (
    ChildUpdate,
    differs,
    differs_in_account,
    handed_over,
    next_update,
    owned_parameters,
    owns_account,
    restart,
)

__all__ = [
    "Child",
    "ChildUpdate",
    "Kin",
    "SecretMark",
    "VersionKey",
    "check_ancestors",
    "check_dependencies",
    "check_secrets",
    "child_of",
    "dependencies_of",
    "differs",
    "differs_in_account",
    "execution_of",
    "handed_over",
    "kin_of",
    "manifest",
    "next_update",
    "owned_parameters",
    "owns_account",
    "refusal",
    "restart",
    "with_references",
]
