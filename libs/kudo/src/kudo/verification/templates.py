"""Checks of templates as they are written: syntax, and what they use and are used by."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from gotemplate import Environment, TemplateError, nodes, parse_tree
from kudo.api import Task
from kudo.packages import Package
from kudo.verification.finding import (
    Finding,
    at_parameter,
    at_task,
    at_template,
    error,
    warning,
)
from kudo.verification.usage import Usage, usage_of

_FUNCTIONS: Final = Environment(policy="operator").function_names


def parameters_are_defined(package: Package) -> Iterator[Finding]:
    """Templates and Toggle tasks use parameters that `params.yaml` has."""
    defined = {parameter.name for parameter in package.parameters}
    for file, usage in _usages(package):
        for name, line in usage.parameters.items():
            if name not in defined:
                message = f'parameter "{name}" in template {file} is not defined'
                yield error("ParameterUnknown", message, at_template(file, line))
    for task in _toggles(package):
        name = task.spec.parameter or ""
        if name and name not in defined:
            message = f'parameter "{name}" in ToggleTask {task.name} is not defined'
            yield error("ParameterUnknown", message, at_task(task.name))


def parameters_are_used(package: Package) -> Iterator[Finding]:
    """Nothing is said where a template cannot be parsed, or takes all parameters at once."""
    usages = [usage for _, usage in _usages(package)]
    if len(usages) < len(package.templates) or any(usage.everything for usage in usages):
        return
    used = {name for usage in usages for name in (*usage.parameters, *usage.asked)}
    used |= {task.spec.parameter or "" for task in _toggles(package)}
    for parameter in package.parameters:
        if parameter.name not in used and not parameter.trigger:
            message = f'parameter "{parameter.name}" defined but not used.'
            yield warning("ParameterUnused", message, at_parameter(parameter.name))


def templates_can_be_parsed(package: Package) -> Iterator[Finding]:
    for file, text in package.templates.items():
        fault = _parsed(file, text)
        if isinstance(fault, TemplateError):
            message = f'template file "{file}" reports the following error: {fault}'
            yield error("TemplateInvalid", message, at_template(file, fault.line))


def variables_are_known(package: Package) -> Iterator[Finding]:
    for file, usage in _usages(package):
        for name, line in usage.unknown.items():
            message = f'template {file} defines an invalid implicit parameter "{name}"'
            yield error("VariableUnknown", message, at_template(file, line))


def tasks_name_defined_templates(package: Package) -> Iterator[Finding]:
    for task in package.operator.tasks:
        for file in dict.fromkeys(templates_of(task)):
            if file not in package.templates:
                message = f'template "{file}" required by {task.name} but is not defined'
                yield error("TemplateUnknown", message, at_task(task.name))


def templates_are_used(package: Package) -> Iterator[Finding]:
    used = {file for task in package.operator.tasks for file in templates_of(task)}
    for file in package.templates:
        if file not in used and file != package.operator.namespace_manifest:
            message = f'template "{file}" is not referenced from any task'
            yield warning("TemplateUnused", message, at_template(file))


def templates_of(task: Task) -> Iterator[str]:
    """Yield the templates that a task of its kind needs."""
    spec = task.spec
    match task.kind:
        case "Apply" | "Delete" | "Toggle":
            yield from spec.resources or ()
        case "Pipe" if spec.pod:
            yield spec.pod
        case "KudoOperator" if spec.parameter_file:
            yield spec.parameter_file


def _toggles(package: Package) -> Iterator[Task]:
    return (task for task in package.operator.tasks if task.kind == "Toggle")


def _usages(package: Package) -> Iterator[tuple[str, Usage]]:
    """Yield the templates that can be parsed, with what they use."""
    for file, text in package.templates.items():
        tree = _parsed(file, text)
        if isinstance(tree, nodes.Tree):
            yield file, usage_of(tree)


@lru_cache(maxsize=1024)
def _parsed(file: str, text: str) -> nodes.Tree | TemplateError:
    try:
        return parse_tree(file, text, _FUNCTIONS)
    except TemplateError as fault:
        return fault
