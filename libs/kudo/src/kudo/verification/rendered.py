"""Checks of templates by what they render to with the defaults of the package.

Each variable has its own name as value. A required parameter without default has a stand-in, since
every Instance gives it a value.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from gotemplate import TemplateError
from kudo.api import Parameter, PipeFile
from kudo.packages import Package, PackageParameter
from kudo.parameters import template_values
from kudo.problems import InvalidInput
from kudo.rendering import render, render_objects
from kudo.tasks import FatalTaskError
from kudo.verification.finding import Finding, at_template, error
from kudo.verification.pipes import pod_fault, pods_of
from kudo.verification.usage import VARIABLES
from kudo.verification.values import stored

Values = dict[str, object]

_STAND_INS: Final = {"integer": "1", "number": "1", "boolean": "true", "array": None, "map": None}


def templates_can_be_rendered(package: Package) -> Iterator[Finding]:
    """What tasks apply must be Kubernetes objects; parameter files of children only render.

    What Pipe tasks run must be a pod that can hand their files on.
    """
    strict, filled = values_of(package), values_of(package, fill=True)
    pods = pods_of(package)
    texts = {task.spec.parameter_file for task in package.operator.tasks}
    texts.add(package.operator.namespace_manifest)
    for file, text in package.templates.items():
        if file in texts:
            fault = _text_fault(file, text, strict)
        else:
            copied = pods.get(file)
            fault = _fault(file, text, strict, copied)
            # A name that an optional parameter gives is no mistake: users who need it set it.
            if fault and not _of_the_engine(fault) and not _fault(file, text, filled, copied):
                continue
        if fault:
            yield _finding(file, fault)


def values_of(package: Package, *, fill: bool = False) -> Values:
    """Return what the templates are rendered with.

    Args:
        package: The package.
        fill: Whether optional parameters without default have a stand-in, too.
    """
    keys = (key for _, keys in _pipe_keys_by_task(package) for key in keys)
    return {
        **{name: name for name in VARIABLES},
        "Params": {
            parameter.name: _value(parameter, fill=fill) for parameter in package.parameters
        },
        "Pipes": {key: key for key in keys},
    }


def _value(parameter: PackageParameter, *, fill: bool) -> object:
    text = stored(parameter, parameter.default) if parameter.has_default else None
    if text is None and (parameter.required or fill):
        text = _stand_in(parameter)
    declared = Parameter(name=parameter.name, value_type=parameter.type, default=text)
    try:
        return template_values([declared], {})[parameter.name]
    except InvalidInput:  # a wrong default, which another check reports
        nothing = declared.model_copy(update={"default": None})
        return template_values([nothing], {})[parameter.name]


def _stand_in(parameter: PackageParameter) -> str | None:
    if parameter.enum:
        return stored(parameter, parameter.enum[0])
    return _STAND_INS.get(parameter.type, parameter.name)


def _pipe_keys_by_task(package: Package) -> Iterator[tuple[str, list[str]]]:
    for task in package.operator.tasks:
        if task.kind == "Pipe":
            yield task.name, [pipe.key for pipe in task.spec.pipe or () if pipe.key]


def _fault(
    file: str, text: str, values: Values, copied: Sequence[Sequence[PipeFile]] | None
) -> FatalTaskError | None:
    if copied is not None:
        return pod_fault(file, text, values, copied)
    return _objects_fault(file, text, values)


def _text_fault(file: str, text: str, values: Values) -> FatalTaskError | None:
    try:
        render(file, text, values)
    except FatalTaskError as fault:
        return fault
    return None


def _objects_fault(file: str, text: str, values: Values) -> FatalTaskError | None:
    try:
        render_objects((file,), {file: text}, values)
    except FatalTaskError as fault:
        return fault
    return None


def _of_the_engine(fault: FatalTaskError) -> bool:
    """Whether the template could not be rendered at all."""
    return isinstance(fault.__cause__, TemplateError)


def _finding(file: str, fault: FatalTaskError) -> Finding:
    cause, text = fault.__cause__, str(fault)
    if isinstance(cause, TemplateError):
        message = text.removeprefix(f"error expanding template {file}: ")
        return error(fault.reason, message, at_template(file, cause.line))
    if fault.reason == "ResourceValidationError":
        return error(fault.reason, text, at_template(file))
    reason = text.removeprefix(f"parsing YAML from {file}: ")
    message = f"parsing rendered YAML from {file} failed: {reason}"
    return error(fault.reason, message, at_template(file))
