"""Children: the Instances that KudoOperator tasks of another Instance apply.

The Instance that a task describes (`desired`), who owns an existing Instance (`kinship`), the next
update of a child (`updates`), the fields that we own (`fields`), and whether the OperatorVersions
of a tree of Instances exist and have no cycle (`dependencies`).

A child differs from the objects of an Apply task. It is not labelled as an object of its parent,
which is its owner but not its controller. Users change it, it runs plans of its own, and the
admission rules apply to what its parent sends.
"""

from kudo.tasks.kudo_operator.dependencies import check_dependencies, dependencies_of
from kudo.tasks.kudo_operator.desired import Child, VersionKey, child_of, execution_of, manifest
from kudo.tasks.kudo_operator.fields import handed_over, owned_parameters, owns_account
from kudo.tasks.kudo_operator.kinship import Kin, check_ancestors, kin_of, refusal
from kudo.tasks.kudo_operator.updates import (
    ChildUpdate,
    differs,
    differs_in_account,
    next_update,
    restart,
)

__all__ = [
    "Child",
    "ChildUpdate",
    "Kin",
    "VersionKey",
    "check_ancestors",
    "check_dependencies",
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
]
