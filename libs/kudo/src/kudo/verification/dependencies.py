"""Checks of the packages that a package brings along, and of the parameters that it gives to them.

What clusters hold is not known here.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from kudo.api import Task, operator_version_name
from kudo.api.problems import InvalidInput, Problem
from kudo.api.task_kinds import FatalTaskError
from kudo.api.task_kinds.kinds import KUDO_OPERATOR
from kudo.packages.location import Located, PackedLocation, is_path
from kudo.packages.model import Package, PackageParameter
from kudo.packages.resolution import Resolution, resolve
from kudo.packages.source import Source
from kudo.parameters.sources import parse_parameter_file
from kudo.parameters.values import check_value
from kudo.tasks.template_lines import template_line
from kudo.verification.checks import located, verify
from kudo.verification.finding import (
    OF_NEW_INSTANCES,
    Finding,
    Place,
    Severity,
    at_task,
    at_template,
    did_you_mean,
    error,
    warning,
)
from kudo.verification.parameters import declared, stored
from kudo.verification.rendered.rendering import Rendering
from kudo.verification.rendered.secrets import secrets_of_children

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
        *child_values(resolution.root, resolution),
    )
    return (
        *(located(finding, package.package) for finding in own),
        *(
            finding
            for dependency in resolution.dependencies
            for finding in _of(dependency, resolution)
        ),
    )


def check_installable(package: Located) -> None:
    """Refuse a package that nobody can install; dependencies by name are not looked for.

    Raises:
        InvalidInput: it has errors.
    """
    findings = (*verify(package.package), *verify_dependencies(package))
    problems = [
        finding.problem
        for finding in findings
        if finding.ends and finding.code not in OF_NEW_INSTANCES
    ]
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
    for asked, resolved in pairs:
        for field in ("operator_version", "app_version"):
            needed, has = getattr(asked.spec, field), getattr(resolved.spec, field)
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
    nested = (located(finding, package) for finding in child_values(package, resolution))
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
            # An edit belongs to the file of the dependency, which is not the package at hand.
            edit=None,
        )


def child_values(package: Package, resolution: Resolution) -> Iterator[Finding]:
    """Yield what is wrong with the values for children whose package is known."""
    # By name and versions, as tasks name them: a package may depend on several versions of one.
    children = {}
    for dependency in resolution.dependencies:
        file = dependency.operator
        versions = file.operator_version or None, file.app_version or None
        children[file.name or None, *versions] = dependency
    rendering = Rendering(package)
    for task in package.operator.tasks:
        spec = task.spec
        child = children.get((spec.package, spec.operator_version, spec.app_version))
        if task.kind == KUDO_OPERATOR and child is not None:
            yield from _values(task, child, rendering)


def _values(task: Task, child: Package, rendering: Rendering) -> Iterator[Finding]:
    file = task.spec.parameter_file or ""
    values: dict[str, str] = {}
    if file:
        if file not in rendering.package.templates:  # which another check reports
            return
        try:
            # Filled with texts where Instances decide: what is the same for all is judged.
            values = parse_parameter_file(file, rendering.text(file, fill=True))
        except FatalTaskError:  # which the check of rendering reports
            return
        except InvalidInput as fault:
            yield error("ParameterInvalid", str(fault), at_template(file))
            return
    parameters = {parameter.name: parameter for parameter in child.parameters}
    if file:
        yield from secrets_of_children(rendering, file, parameters, _name(child))
    for name, value in values.items():
        if name not in parameters:
            message = f'parameter "{name}" of task "{task.name}" is not declared by {_name(child)}'
            place = _place(file, name, rendering)
            yield error("ParameterUnknown", message, place, did_you_mean(name, parameters))
        else:
            yield from _value(file, parameters[name], value, rendering)
    for parameter in child.parameters:
        default = stored(parameter, parameter.default) if parameter.has_default else None
        if parameter.name not in values and parameter.required and default is None:
            message = (
                f'task "{task.name}" gives no value to parameter "{parameter.name}", which '
                f"{_name(child)} requires"
            )
            place = at_template(file) if file else at_task(task.name, "spec")
            yield error("ParameterRequired", message, place)


def _value(
    file: str, parameter: PackageParameter, value: str, rendering: Rendering
) -> Iterator[Finding]:
    """Check a value that is the same for all Instances."""
    place = _place(file, parameter.name, rendering)
    line = rendering.package.templates[file].split("\n")[place.line - 1] if place.line else "{{"
    problem = check_value(declared(parameter), value)
    # A value that a template computes may be right for each Instance that there is.
    if problem is not None and "{{" not in line:
        yield error(problem.reason, problem.message, place)


def _place(file: str, name: str, rendering: Rendering) -> Place:
    text = rendering.package.templates[file]
    position = Source(rendering.text(file, fill=True)).position((name,))
    line = template_line(file, text, rendering.filled, position.line) if position else None
    return at_template(file, line or 0)


def _name(package: Package) -> str:
    return f"package {package.operator.name}"
