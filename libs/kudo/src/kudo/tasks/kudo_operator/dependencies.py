"""The OperatorVersions that an Instance and its children need."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from kudo.api import OperatorVersion
from kudo.api.task_kinds import FatalTaskError
from kudo.api.task_kinds.kinds import KUDO_OPERATOR
from kudo.tasks.kudo_operator.child import VersionKey, version_of

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
