"""Checks of the packages that a package brings along; what clusters hold is not known here."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from kudo.api import operator_version_name
from kudo.api.problems import InvalidInput, Problem
from kudo.api.task_kinds.kinds import KUDO_OPERATOR
from kudo.packages.location import Located, PackedLocation, is_path
from kudo.packages.model import Package
from kudo.packages.resolution import Resolution, resolve
from kudo.verification import children
from kudo.verification.checks import located, verify
from kudo.verification.codes import OF_NEW_INSTANCES
from kudo.verification.finding import Finding, Place, Severity, at_task, warning

_TASK: Final = re.compile(r"operator\.yaml: tasks\[(.*)\]", re.DOTALL)


def verify_dependencies(
    package: Located, resolution: Resolution | None = None
) -> tuple[Finding, ...]:
    """Return what is wrong with the dependencies of a package, and with finding them.

    Args:
        package: The package.
        resolution: The package with its dependencies; by default those at paths. A task that names
            an operator is not checked then: what is installed decides.
    """
    try:
        resolution = resolution or resolve(package, None)
    except InvalidInput as error:
        return tuple(located(_unresolved(problem), package.package) for problem in error.problems)
    own = (
        *_outside(package),
        *_other_versions(package.package, resolution),
        *children.verify(resolution.root, resolution),
    )
    return (
        *(located(finding, package.package) for finding in own),
        *(finding for one in resolution.dependencies for finding in _of(one, resolution)),
    )


def check_installable(package: Located) -> None:
    """Refuse a package that nobody can install; dependencies by name are not looked for.

    Raises:
        InvalidInput: it has errors.
    """
    findings = (*verify(package.package), *verify_dependencies(package))
    problems = [one.problem for one in findings if one.ends and one.code not in OF_NEW_INSTANCES]
    if problems:
        raise InvalidInput(problems)


def _unresolved(problem: Problem) -> Finding:
    task = _TASK.fullmatch(problem.field)
    place = at_task(task[1]) if task else Place(problem.field)
    return Finding(Severity.ERROR, problem, place)


def _outside(package: Located) -> Iterator[Finding]:
    """An archive is not whole if it is made of a folder that depends on what is beside it."""
    location = package.location
    if not isinstance(location, PackedLocation):
        return
    for task in package.package.operator.tasks:
        path = task.spec.package or ""
        if task.kind == KUDO_OPERATOR and is_path(path) and not location.archive.holds(path):
            message = (
                f'the package {path} of task "{task.name}" is outside of the folder, so the '
                "archive alone cannot be installed"
            )
            suggestion = "move that package below this one, or name its operator"
            place = at_task(task.name, "spec", "package")
            yield warning("DependencyOutside", message, place, suggestion)


def _other_versions(package: Package, resolution: Resolution) -> Iterator[Finding]:
    pairs = zip(package.operator.tasks, resolution.root.operator.tasks, strict=True)
    for asked, found in pairs:
        for field in ("operator_version", "app_version"):
            needed, has = getattr(asked.spec, field), getattr(found.spec, field)
            if needed and needed != has:
                message = (
                    f'task "{asked.name}" asks for version {needed} of {asked.spec.package}, but '
                    f"that is {has or 'without one'}; the package at that path is installed"
                )
                yield warning("DependencyVersion", message, at_task(asked.name))


def _of(package: Package, resolution: Resolution) -> Iterator[Finding]:
    """Yield what is wrong with one dependency, named in message and place."""
    file = package.operator
    name = operator_version_name(file.name, file.operator_version, file.app_version)
    nested = (located(finding, package) for finding in children.verify(package, resolution))
    for finding in (*verify(package), *nested):
        problem = finding.problem
        yield replace(
            finding,
            problem=replace(
                problem,
                message=f"dependency {name}: {problem.message}",
                field=f"{package.origin}/{problem.field}",
            ),
            place=replace(finding.place, file=f"{package.origin}/{finding.place.file}"),
            edit=None,
        )
