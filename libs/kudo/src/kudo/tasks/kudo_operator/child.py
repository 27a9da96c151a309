"""The child Instance that a KudoOperator task describes, its manifest, parent and ancestors."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from kubeio.names import is_subdomain
from kudo.api import Instance, JsonObject, OperatorVersion, Task, names, operator_version_name
from kudo.api.task_kinds import FatalTaskError

VersionKey = tuple[str, str]
"""Namespace and name of an OperatorVersion."""


@dataclass(frozen=True, slots=True)
class Child:
    """The Instance that a task describes.

    Attributes:
        task: Name of the task, for messages.
        namespace, name: Of the Instance.
        operator: Name of its operator.
        version: Its OperatorVersion.
        parameters: What the parameter file sets, as Instances store it.
        account: `spec.serviceAccountName` of the parent; None if it has none.
    """

    task: str
    namespace: str
    name: str
    operator: str
    version: VersionKey
    parameters: Mapping[str, str]
    account: str | None = None

    def __str__(self) -> str:
        return f"Instance {self.namespace}/{self.name}"


def child_of(
    task: Task, parent: Instance, version: OperatorVersion, parameters: Mapping[str, str]
) -> Child:
    """Return the child that a task describes.

    Its OperatorVersion is that of package, appVersion and operatorVersion as the task has them, in
    the namespace of the parent's OperatorVersion: they were installed together.

    Args:
        task: A KudoOperator task.
        parent: The Instance whose plan has the task.
        version: The OperatorVersion of the parent.
        parameters: What the parameter file sets.

    Raises:
        FatalTaskError: no Instance can have the name; TaskEnhancementError.
    """
    operator = task.spec.package or ""
    name = task.spec.instance_name or f"{parent.metadata.name}-{operator}"
    if not is_subdomain(name):
        text = f"task {task.name}: '{name}' cannot be the name of an Instance; set instanceName"
        raise FatalTaskError("TaskEnhancementError", text)
    return Child(
        task=task.name,
        namespace=parent.metadata.namespace,
        name=name,
        operator=operator,
        version=version_of(task, version),
        parameters=parameters,
        account=parent.spec.service_account_name or None,
    )


def version_of(task: Task, version: OperatorVersion) -> VersionKey:
    """Return the OperatorVersion that a KudoOperator task of a version refers to."""
    spec = task.spec
    name = operator_version_name(
        spec.package or "", spec.operator_version or "", spec.app_version or ""
    )
    return version.metadata.namespace, name


def manifest(
    child: Child, parent: Instance, uid: str, version: VersionKey, parameters: Mapping[str, str]
) -> JsonObject:
    """Return the Instance to apply.

    Args:
        child: The child.
        parent: Its parent.
        uid: Execution of the parent that sends it.
        version: The OperatorVersion it gets; only its name is written where the child finds it in
            its own namespace.
        parameters: The parameters it gets from us.
    """
    namespace, name = version
    reference = {"name": name}
    if namespace != child.namespace:
        reference["namespace"] = namespace
    spec: JsonObject = {"operatorVersion": reference}
    if parameters:
        spec["parameters"] = dict(parameters)
    if child.account:
        spec["serviceAccountName"] = child.account
    return {
        "apiVersion": names.API_VERSION,
        "kind": "Instance",
        "metadata": {
            "namespace": child.namespace,
            "name": child.name,
            "labels": {names.LABEL_OPERATOR: child.operator},
            "annotations": {names.ANNOTATION_PLAN_UID: uid},
            "ownerReferences": [_owner(parent)],
        },
        "spec": spec,
    }


def execution_of(metadata: Mapping[str, object]) -> str:
    """Return the execution of the parent that sent a child last; empty if the original did."""
    annotations = metadata.get("annotations")
    uid = annotations.get(names.ANNOTATION_PLAN_UID) if isinstance(annotations, dict) else None
    return str(uid or "")


def _owner(parent: Instance) -> JsonObject:
    return {
        "apiVersion": names.API_VERSION,
        "kind": "Instance",
        "name": parent.metadata.name,
        "uid": parent.metadata.uid,
    }


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
    # The uid tells: an Instance of the same name may have been deleted and created again.
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
    name: str, instance: Instance, find: Callable[[str, str], Instance | None], seen: frozenset[str]
) -> tuple[str, ...]:
    """Return the names from the ancestor called `name` down to an Instance; empty if none is."""
    own = instance.metadata
    if own.name == name:
        return (name,)
    # `seen` ends a circle that somebody has made by hand.
    for owner in instance.parents:
        parent = None if owner.name in seen else find(own.namespace, owner.name)
        if parent is not None and parent.metadata.uid == owner.uid:
            line = _line_from(name, parent, find, seen | {own.name})
            if line:
                return (*line, own.name)
    return ()
