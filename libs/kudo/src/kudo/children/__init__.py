"""Children: the Instances that the KudoOperator tasks of another Instance have.

What a task wants (`desired`), whose an existing Instance is (`kinship`), what is to be changed next
(`updates`), which fields are ours (`fields`), and whether the OperatorVersions that a tree of
Instances needs are there and without a cycle (`dependencies`).

A child differs from the objects of an Apply task. It is not labelled as an object of its parent,
which is its owner but not its controller. And it has a life of its own: people change it, its own
plans run, and the admission rules judge what its parent sends.
"""

from kudo.children.dependencies import check_dependencies, dependencies_of
from kudo.children.desired import Child, VersionKey, child_of, execution_of, manifest
from kudo.children.fields import handed_over, owned_parameters
from kudo.children.kinship import Kin, check_ancestors, kin_of, refusal
from kudo.children.updates import ChildUpdate, differs, next_update, restart

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
    "execution_of",
    "handed_over",
    "kin_of",
    "manifest",
    "next_update",
    "owned_parameters",
    "refusal",
    "restart",
]
