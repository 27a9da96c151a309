"""Finds the OperatorVersion that a KudoOperator task requires among those of a namespace."""

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import ValidationError

from kubectl_kudo.session.output import JsonObject
from kudo.api import OperatorVersion, operator_version_name
from kudo.api.problems import InvalidInput, Problem
from kudo.api.semver import rank
from kudo.api.task_kinds.kinds import KUDO_OPERATOR
from kudo.packages.resolution import Lookup, Requirement, Stored


def lookup_in(namespace: str, versions: Sequence[JsonObject]) -> Lookup:
    """Return the lookup over these OperatorVersions: the newest that fits, by appVersion first.

    The reconciler finds it by a name made of operator and versions, so others do not count.
    """

    def lookup(requirement: Requirement) -> OperatorVersion:
        found = max(_fitting(requirement, versions), key=_rank, default=None)
        if found is None:
            raise InvalidInput(
                [Problem("OperatorVersionNotFound", _not_there(requirement, namespace))]
            )
        return found

    return lookup


def stored_requirements(versions: Sequence[JsonObject]) -> Stored:
    """Return what the KudoOperator tasks of these OperatorVersions name."""
    return {
        (version.metadata.name, position): Requirement(
            task.spec.package, task.spec.operator_version or "", task.spec.app_version or ""
        )
        for version in filter(None, map(_read, filter(_has_children, versions)))
        for position, task in enumerate(version.spec.tasks or ())
        if task.kind == KUDO_OPERATOR and task.spec.package
    }


def no_cluster(requirement: Requirement) -> OperatorVersion:
    """Fail with InvalidInput, where no cluster could be reached."""
    text = f"whether operator {requirement.package} is installed is unknown without a cluster"
    raise InvalidInput([Problem("DependencyUnresolved", text)])


def _fitting(requirement: Requirement, versions: Sequence[JsonObject]) -> Iterator[OperatorVersion]:
    for wire in versions:
        version = _read(wire) if _operator(wire) == requirement.package else None
        if version is None:
            continue
        number, app = version.spec.version or "", version.spec.app_version or ""
        asked = requirement.operator_version in {"", number} and requirement.app_version in {
            "",
            app,
        }
        if asked and version.metadata.name == operator_version_name(
            requirement.package, number, app
        ):
            yield version


def _has_children(wire: JsonObject) -> bool:
    """Return whether an OperatorVersion has KudoOperator tasks, without reading its templates."""
    tasks = (wire.get("spec") or {}).get("tasks") or ()
    return any(isinstance(task, dict) and task.get("kind") == KUDO_OPERATOR for task in tasks)


def _operator(wire: JsonObject) -> object:
    return ((wire.get("spec") or {}).get("operator") or {}).get("name")


def _read(wire: JsonObject) -> OperatorVersion | None:
    try:
        return OperatorVersion.from_wire(wire)
    except ValidationError:
        return None


def _rank(version: OperatorVersion) -> tuple[Any, ...]:
    return (*rank(version.spec.app_version or ""), *rank(version.spec.version or ""))


def _not_there(requirement: Requirement, namespace: str) -> str:
    return (
        f'failed to resolve operator version in namespace "{namespace}" for name '
        f'"{requirement.package}", version "{requirement.operator_version}", appVersion '
        f'"{requirement.app_version}"; install it first (kubectl kudo install <its folder> '
        f"--skip-instance -n {namespace}), or name its folder or .tgz file in the task, such as "
        f"./{requirement.package}"
    )
