"""The OperatorVersions that an Instance and its children need."""

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from kudo.api import OperatorVersion, Task
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
    used = None if plan is None else set(_used(version, plan))
    return tuple(
        Dependency(task.name, task.spec.package or "", version_of(task, version))
        for task in version.spec.tasks or ()
        if _is_child(task) and (used is None or task.name in used)
    )


def check_dependencies(version: OperatorVersion, plan: str, found: Versions) -> None:
    """Refuse a plan whose tree of Instances is impossible, before anything is sent.

    Args:
        version: The OperatorVersion whose plan runs.
        plan: The plan.
        found: Every OperatorVersion of the tree; None where there is none.

    Raises:
        FatalTaskError: one is missing (OperatorVersionNotFound), or leads back to itself
            (CircularDependency).
    """
    _check(version, dependencies_of(version, plan), found, {_key(version): version}, set())


def _check(
    version: OperatorVersion,
    needed: tuple[Dependency, ...],
    found: Versions,
    above: Mapping[VersionKey, OperatorVersion],
    good: set[VersionKey],
) -> None:
    for one in needed:
        if one.version in above:
            raise _circular(one, [*above])
        below = found.get(one.version)
        if below is None:
            raise _missing(one, version)
        if one.version not in good:
            path = {**above, one.version: below}
            _check(below, dependencies_of(below), found, path, good)
            good.add(one.version)


def _used(version: OperatorVersion, plan: str) -> Iterator[str]:
    found = version.plans.get(plan)
    for phase in (found.phases if found else None) or ():
        for step in phase.steps:
            yield from step.tasks


def _is_child(task: Task) -> bool:
    """Return whether a task needs a version; one that lacks fields is refused when it is built."""
    spec = task.spec
    return task.kind == KUDO_OPERATOR and bool(spec.package) and bool(spec.operator_version)


def _key(version: OperatorVersion) -> VersionKey:
    return version.metadata.namespace, version.metadata.name


def _missing(one: Dependency, version: OperatorVersion) -> FatalTaskError:
    namespace, name = one.version
    return FatalTaskError(
        "OperatorVersionNotFound",
        f"failed to resolve package {one.operator} of task {one.task} of "
        f"{version.metadata.name}: OperatorVersion {namespace}/{name} does not exist; install it "
        f"(kubectl kudo install PACKAGE --skip-instance -n {namespace}) and run the plan again",
    )


def _circular(one: Dependency, above: Collection[VersionKey]) -> FatalTaskError:
    names = [name for _, name in above]
    cycle = [*names[names.index(one.version[1]) :], one.version[1]]
    return FatalTaskError(
        "CircularDependency",
        f"cyclic package dependency found: {' -> '.join(cycle)}; remove one of these KudoOperator "
        "tasks",
    )
