"""The child Instance that a KudoOperator task describes, its relatives, and what it needs."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from kubeio.names import is_subdomain
from kudo.api import (
    Instance,
    JsonObject,
    OperatorVersion,
    ParameterSource,
    Reference,
    Setting,
    Task,
    names,
    operator_version_name,
)
from kudo.api.known_secrets import Confidential
from kudo.api.problems import shown_name
from kudo.api.task_kinds import FatalTaskError
from kudo.api.task_kinds.kinds import KUDO_OPERATOR

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
        parameters: What the parameter file sets: values as Instances store them, and references to
            those of secret parameters.
        account: `spec.serviceAccountName` of the parent; None if it has none.
    """

    task: str
    namespace: str
    name: str
    operator: str
    version: VersionKey
    parameters: Mapping[str, Setting]
    account: str | None = None

    def __str__(self) -> str:
        return f"Instance {self.namespace}/{self.name}"


def child_of(
    task: Task, parent: Instance, version: OperatorVersion, parameters: Mapping[str, Setting]
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


@dataclass(frozen=True, slots=True)
class SecretMark:
    """What stands for the value of a secret parameter while a parameter file is rendered.

    Attributes:
        parameter: Of the parent.
        text: The mark, which no other text has.
        reference: Where the value is, which is what the child gets.
    """

    parameter: str
    text: str
    reference: Reference


def with_references(
    task: str, file: Mapping[str, str], marks: Collection[SecretMark]
) -> dict[str, Setting]:
    """Return what a parameter file sets, with references in the place of marks.

    Args:
        task: Name of the task.
        file: What was rendered with the marks.
        marks: Those of the secret parameters of the parent.

    Raises:
        FatalTaskError: a mark is a part of a value; TaskRenderingError.
    """
    references = {mark.text: mark.reference for mark in marks}
    settings: dict[str, Setting] = {}
    for name, text in file.items():
        settings[name] = references.get(text, text)
        if text in references:
            continue
        inside = [mark.parameter for mark in marks if Confidential([mark.text]).has(text)]
        if inside:
            raise FatalTaskError(
                "TaskRenderingError",
                f'task {task}: in the parameter file, "{shown_name(name)}" has the value of the '
                f"secret parameter {shown_name(inside[0])} as a part of a text; children get "
                "references to Secrets, never values: set it to the whole value",
            )
    return settings


def check_secrets(child: Child, after: OperatorVersion) -> None:
    """Refuse to give a secret to a parameter of a child that would show it, before it is sent.

    Raises:
        FatalTaskError: reason TaskEnhancementError.
    """
    for name, setting in child.parameters.items():
        declared = after.parameter(name)
        if isinstance(setting, str) or declared is None or declared.secret:
            continue
        raise FatalTaskError(
            "TaskEnhancementError",
            f'{child} gets a secret for its parameter "{shown_name(name)}", which '
            f"{after.metadata.name} does not declare as secret, so its value would be shown; have "
            "it declare secret: true",
        )


def version_of(task: Task, version: OperatorVersion) -> VersionKey:
    """Return the OperatorVersion that a KudoOperator task of a version refers to."""
    spec = task.spec
    name = operator_version_name(
        spec.package or "", spec.operator_version or "", spec.app_version or ""
    )
    return version.metadata.namespace, name


def manifest(
    child: Child, parent: Instance, uid: str, version: VersionKey, parameters: Mapping[str, Setting]
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
    values = {name: text for name, text in parameters.items() if isinstance(text, str)}
    if values:
        spec["parameters"] = values
    sources = [
        ParameterSource.of(name, reference).to_wire()
        for name, reference in parameters.items()
        if not isinstance(reference, str)
    ]
    if sources:
        spec["parametersFrom"] = sources
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


Versions = Mapping[VersionKey, OperatorVersion | None]


class Dependency(NamedTuple):
    """An OperatorVersion that a task needs."""

    task: str
    operator: str
    version: VersionKey


def dependencies_of(version: OperatorVersion, plan: str | None = None) -> tuple[Dependency, ...]:
    """Return what the KudoOperator tasks of a version need, in the order of the tasks.

    Args:
        version: The OperatorVersion.
        plan: The plan whose tasks count; None for all tasks, whatever uses them.
    """
    used = None
    if plan is not None:
        phases = version.plans[plan].phases if plan in version.plans else None
        used = {task for phase in phases or () for step in phase.steps for task in step.tasks}
    return tuple(
        Dependency(task.name, task.spec.package or "", version_of(task, version))
        for task in version.spec.tasks or ()
        # A task that lacks fields is refused when it is built.
        if task.kind == KUDO_OPERATOR
        and task.spec.package
        and task.spec.operator_version
        and (used is None or task.name in used)
    )


def check_dependencies(version: OperatorVersion, plan: str, versions: Versions) -> None:
    """Refuse a plan whose tree of Instances is impossible, before anything is sent.

    Args:
        version: The OperatorVersion whose plan runs.
        plan: The plan.
        versions: Every OperatorVersion of the tree; None where there is none.

    Raises:
        FatalTaskError: one is missing (OperatorVersionNotFound), or leads back to itself
            (CircularDependency).
    """
    key = version.metadata.namespace, version.metadata.name
    _check(version, dependencies_of(version, plan), versions, {key: version}, set())


def _check(
    version: OperatorVersion,
    needed: tuple[Dependency, ...],
    versions: Versions,
    above: Mapping[VersionKey, OperatorVersion],
    good: set[VersionKey],
) -> None:
    for dependency in needed:
        if dependency.version in above:
            raise _circular(dependency, [*above])
        below = versions.get(dependency.version)
        if below is None:
            raise _missing(dependency, version)
        # Without `good`, a version that many depend on would be walked once for each of them.
        if dependency.version not in good:
            path = {**above, dependency.version: below}
            _check(below, dependencies_of(below), versions, path, good)
            good.add(dependency.version)


def _missing(dependency: Dependency, version: OperatorVersion) -> FatalTaskError:
    namespace, name = dependency.version
    return FatalTaskError(
        "OperatorVersionNotFound",
        f"failed to resolve package {dependency.operator} of task {dependency.task} of "
        f"{version.metadata.name}: OperatorVersion {namespace}/{name} does not exist; install it "
        f"(kubectl kudo install PACKAGE --skip-instance -n {namespace}) and run the plan again",
    )


def _circular(dependency: Dependency, above: Collection[VersionKey]) -> FatalTaskError:
    names = [name for _, name in above]
    cycle = [*names[names.index(dependency.version[1]) :], dependency.version[1]]
    return FatalTaskError(
        "CircularDependency",
        f"cyclic package dependency found: {' -> '.join(cycle)}; remove one of these KudoOperator "
        "tasks",
    )
