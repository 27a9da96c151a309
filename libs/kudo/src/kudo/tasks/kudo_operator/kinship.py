"""The parent and the ancestors of an existing Instance."""

from collections.abc import Callable
from enum import Enum

from kudo.api import Instance
from kudo.api.task_kinds import FatalTaskError
from kudo.tasks.kudo_operator.desired import Child


class Kin(Enum):
    """Relation of an existing Instance to the one whose task applies it."""

    OURS = "ours"
    ORPHAN = "orphan"
    """A child of an earlier Instance of the same name: Kubernetes is about to remove it."""
    FOREIGN = "foreign"


def kin_of(existing: Instance, parent: Instance) -> Kin:
    """Return what an existing Instance is to `parent`; only the uid of an owner counts."""
    owners = existing.metadata.owner_references or ()
    if any(owner.uid == parent.metadata.uid for owner in owners):
        return Kin.OURS
    former = [owner for owner in existing.parents if owner.name == parent.metadata.name]
    return Kin.ORPHAN if former and len(former) == len(owners) else Kin.FOREIGN


def refusal(child: Child, existing: Instance) -> FatalTaskError:
    """Return why an Instance that is not ours is left alone.

    KUDO 0.19 patched any Instance of that name. Then two writers overwrite each other, and the
    Instance stays when the parent is deleted.
    """
    owners = ", ".join(f"{o.kind} {o.name}" for o in existing.metadata.owner_references or ())
    whose = f"belongs to {owners}" if owners else "was not created by this Instance"
    return FatalTaskError(
        "TaskEnhancementError",
        f"{child} exists and {whose}; delete it (kubectl kudo uninstall --instance {child.name} "
        f"-n {child.namespace}), or give task {child.task} another instanceName",
    )


def check_ancestors(
    child: Child, parent: Instance, find: Callable[[str, str], Instance | None]
) -> None:
    """Refuse a child that would be its own ancestor.

    Args:
        child: What a task of `parent` wants.
        parent: The Instance whose plan has the task.
        find: Returns an Instance by namespace and name, or None.

    Raises:
        FatalTaskError: reason CircularDependency.
    """
    line = _line_from(child.name, parent, find, frozenset())
    if line:
        raise FatalTaskError(
            "CircularDependency",
            f"{child} would be a child of itself: {' -> '.join((*line, child.name))}; "
            f"give task {child.task} another instanceName",
        )


def _line_from(
    name: str, one: Instance, find: Callable[[str, str], Instance | None], seen: frozenset[str]
) -> tuple[str, ...]:
    """Return the names from the ancestor called `name` down to `one`; empty if there is none."""
    own = one.metadata
    if own.name == name:
        return (name,)
    for owner in one.parents:
        found = None if owner.name in seen else find(own.namespace, owner.name)
        if found is not None and found.metadata.uid == owner.uid:
            line = _line_from(name, found, find, seen | {own.name})
            if line:
                return (*line, own.name)
    return ()
