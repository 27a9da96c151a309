"""Checks of the packages that a package brings along; what clusters hold is not known here."""

from collections.abc import Iterator
from dataclasses import replace

from kudo.api import operator_version_name
from kudo.packages import Located, Package, Resolution, resolve
from kudo.problems import InvalidInput
from kudo.verification.checks import verify
from kudo.verification.finding import Finding, Severity, at_task, warning


def verify_dependencies(located: Located) -> tuple[Finding, ...]:
    """Return what is wrong with the dependencies of a package, and with finding them.

    A task that names an operator instead of a place is not judged: what is installed decides.
    """
    try:
        resolution = resolve(located, None)
    except InvalidInput as error:
        return tuple(Finding(Severity.ERROR, problem) for problem in error.problems)
    return (
        *_other_versions(located.package, resolution),
        *(finding for package in resolution.dependencies for finding in _of(package)),
    )


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


def _of(package: Package) -> Iterator[Finding]:
    """Yield what is wrong with one dependency, named in message and place."""
    file = package.operator
    name = operator_version_name(file.name, file.operator_version, file.app_version)
    for finding in verify(package):
        problem = finding.problem
        yield replace(
            finding,
            problem=replace(
                problem,
                message=f"dependency {name}: {problem.message}",
                field=f"{package.origin}/{problem.field}",
            ),
        )
