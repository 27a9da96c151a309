"""Checks of the parameters that KudoOperator tasks give to the packages of their children."""

from collections.abc import Iterator

from kudo.api import Task
from kudo.api.problems import InvalidInput
from kudo.api.task_kinds import FatalTaskError
from kudo.api.task_kinds.kinds import KUDO_OPERATOR
from kudo.packages.model import Package, PackageParameter
from kudo.packages.resolution import Resolution
from kudo.packages.source import Source
from kudo.parameters.check import check_value
from kudo.parameters.sources import parse_parameter_file
from kudo.tasks.template_lines import template_line
from kudo.verification.finding import Finding, Place, at_task, at_template, did_you_mean, error
from kudo.verification.rendered.rendering import Rendering
from kudo.verification.values import declared, stored


def verify(package: Package, resolution: Resolution) -> Iterator[Finding]:
    """Yield what is wrong with the values for children whose package is known."""
    known = {_identity(one): one for one in resolution.dependencies}
    rendering = Rendering(package)
    for task in package.operator.tasks:
        spec = task.spec
        child = known.get((spec.package, spec.operator_version, spec.app_version))
        if task.kind == KUDO_OPERATOR and child is not None:
            yield from _values(task, child, rendering)


def _identity(package: Package) -> tuple[str | None, str | None, str | None]:
    file = package.operator
    return file.name or None, file.operator_version or None, file.app_version or None


def _values(task: Task, child: Package, rendering: Rendering) -> Iterator[Finding]:
    file = task.spec.parameter_file or ""
    values: dict[str, str] = {}
    if file:
        if file not in rendering.package.templates:  # which another check reports
            return
        try:
            values = parse_parameter_file(file, rendering.text(file, fill=True))
        except FatalTaskError:  # which the check of rendering reports
            return
        except InvalidInput as fault:
            yield error("ParameterInvalid", str(fault), at_template(file))
            return
    parameters = {parameter.name: parameter for parameter in child.parameters}
    for name, value in values.items():
        if name not in parameters:
            message = f'parameter "{name}" of task "{task.name}" is not declared by {_name(child)}'
            place = _place(file, name, rendering)
            yield error("ParameterUnknown", message, place, did_you_mean(name, parameters))
        else:
            yield from _value(file, parameters[name], value, rendering)
    for parameter in child.parameters:
        if parameter.name not in values and _is_needed(parameter):
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
    if problem is not None and "{{" not in line:
        yield error(problem.reason, problem.message, place)


def _place(file: str, name: str, rendering: Rendering) -> Place:
    text = rendering.package.templates[file]
    found = Source(rendering.text(file, fill=True)).position((name,))
    line = template_line(file, text, rendering.filled, found.line) if found else None
    return at_template(file, line or 0)


def _is_needed(parameter: PackageParameter) -> bool:
    return parameter.required and not (
        parameter.has_default and stored(parameter, parameter.default) is not None
    )


def _name(package: Package) -> str:
    return f"package {package.operator.name}"
