"""Checks of templates as they are written: names, syntax, and what they use and are used by."""

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Final, NamedTuple

import yaml

from gotemplate import Environment, TemplateError, nodes, parse_tree
from kudo.api import Task
from kudo.api.problems import shown
from kudo.api.task_kinds import kind_of
from kudo.api.task_kinds.job import is_script
from kudo.api.task_kinds.kind import TemplateUse
from kudo.packages.files import PARAMETERS_FILE
from kudo.packages.model import Package, PackageParameter
from kudo.packages.reader import is_template, template_name
from kudo.packages.source import source_of
from kudo.parameters.types import is_container
from kudo.parameters.values import read_fully
from kudo.tasks.usage import MAPS, VARIABLES, Usage, usage_of
from kudo.verification.finding import (
    Edit,
    Finding,
    Place,
    at_parameter,
    at_script,
    at_task,
    at_template,
    did_you_mean,
    error,
    tolerated,
    warning,
)
from kudo.verification.operator import expressions_of
from kudo.verification.parameters import stored

_FOLDER: Final = "templates/"
_SUFFIX: Final = ".yaml"
_MISNAMED: Final = ".yml"
_DECLARE: Final = "declare it with type: boolean"
_FUNCTIONS: Final = Environment(policy="operator").function_names


def template_files_are_named_as_such(package: Package) -> Iterator[Finding]:
    """As in KUDO 0.19, a template is what contains `.yaml`, in a folder that begins `templates`."""
    for path, _ in package.files.walk():
        if path.startswith(_FOLDER) and path.endswith(_MISNAMED):
            message = f'"{path}" is no template, since its name does not end in {_SUFFIX}'
            name = path.removesuffix(_MISNAMED) + _SUFFIX
            yield warning("TemplateFileName", message, Place(path), f"rename it to {name}")
        elif is_template(path) and not (path.startswith(_FOLDER) and path.endswith(_SUFFIX)):
            message = f'"{path}" is read as template "{template_name(path)}"'
            suggestion = f"move it into {_FOLDER}" if path.endswith(_SUFFIX) else "remove it"
            yield warning("TemplateFileName", message, Place(path), suggestion)


def template_names_are_unique(package: Package) -> Iterator[Finding]:
    """The name of a template is what follows the last `templates/` of its path."""
    seen: dict[str, str] = {}
    for path, _ in package.files.walk():
        if not is_template(path):
            continue
        name = template_name(path)
        first = seen.setdefault(name, path)
        if first != path:
            message = f'"{path}" and "{first}" are both template "{name}"; only one of them is used'
            yield tolerated("TemplateDuplicate", message, Place(path), "rename one of them")


def parameters_are_defined(package: Package) -> Iterator[Finding]:
    """Templates and Toggle tasks use parameters that `params.yaml` has."""
    defined = {parameter.name for parameter in package.parameters}
    for template, usage in usages_of(package):
        for name, position in usage.parameters.items():
            if name not in defined:
                message = f'parameter "{name}" in {template.what} is not defined'
                place = template.place(*position)
                yield error("ParameterUnknown", message, place, did_you_mean(name, defined))
    for task, name in _switches(package):
        if name not in defined:
            message = f'parameter "{name}" in {task.kind}Task {task.name} is not defined'
            place = at_task(task.name, "spec", "parameter")
            yield error("ParameterUnknown", message, place, did_you_mean(name, defined))


def parameters_are_used(package: Package) -> Iterator[Finding]:
    """Nothing is said where a template cannot be parsed, or takes all parameters at once."""
    # A parameter may be used where it cannot be seen; a false alarm would have people remove it.
    usages = [usage for _, usage in usages_of(package)]
    if len(usages) < len([*written_in(package)]) or any(usage.everything for usage in usages):
        return
    used = {name for usage in usages for name in (*usage.parameters, *usage.asked)}
    used |= {name for _, name in _switches(package)}
    expressions = "\n".join(expression.text for _, expression in expressions_of(package))
    for parameter in package.parameters:
        # How an expression names it does not matter: `params["a-b"]`, or `params` as a whole.
        if parameter.name in expressions:
            continue
        if parameter.name not in used and not parameter.trigger:
            message = f'parameter "{parameter.name}" defined but not used.'
            place = at_parameter(parameter.name)
            yield warning("ParameterUnused", message, place, "use it in a template, or remove it")


def toggles_are_booleans(package: Package) -> Iterator[Finding]:
    """A Toggle task fails unless the value of its parameter is a boolean.

    Published packages toggle parameters without type whose default is a boolean; that works until
    somebody sets another value.
    """
    parameters = {parameter.name: parameter for parameter in reversed(package.parameters)}
    for task, name in _switches(package):
        parameter = parameters.get(name)
        if parameter is None or parameter.type == "boolean":
            continue
        subject = f'parameter "{parameter.name}" of {task.kind}Task {task.name}'
        default = stored(parameter, parameter.default) if parameter.has_default else None
        place = at_parameter(parameter.name, "type" if parameter.type else "name")
        if is_container(parameter.type):
            message = f"{subject} is of type {parameter.type}, so the task can never run"
            yield error("ToggleNotBoolean", message, place, _DECLARE)
        elif default and read_fully("boolean", default):
            message = f'{subject} has the default "{shown(default)}", which is no boolean'
            place = at_parameter(parameter.name, "default")
            yield error("ToggleNotBoolean", message, place, _DECLARE)
        else:
            message = f"{subject} is not of type boolean, so a wrong value is found only by the run"
            edit = None if parameter.type else _with_type(package, parameter)
            yield warning("ToggleNotBoolean", message, place, _DECLARE, edit)


def _with_type(package: Package, parameter: PackageParameter) -> Edit | None:
    """Return the edit that declares a parameter as boolean, behind its name."""
    source = source_of(package.files.files.get(PARAMETERS_FILE, b""))
    path = ("parameters", package.parameters.index(parameter))
    mapping, name = source.value(path), source.value((*path, "name"))
    if not isinstance(mapping, yaml.MappingNode) or name is None:
        return None
    end, column = name.end_mark.index, mapping.start_mark.column
    # In flow style the mapping goes on in the line, else the field gets a line of its own.
    added = ", type: boolean"
    if not mapping.flow_style:
        end = (source.text + "\n").index("\n", end)
        added = f"\n{' ' * column}type: boolean"
    summary = f'declared parameter "{parameter.name}" as boolean'
    return Edit(PARAMETERS_FILE, end, end, added, summary)


def conditions_depend_on_values(package: Package) -> Iterator[Finding]:
    """In a condition a text is true unless it is empty, so the text `false` is true."""
    parameters = {parameter.name: parameter for parameter in reversed(package.parameters)}
    for template, usage in usages_of(package):
        for name, position in usage.conditions.items():
            parameter = parameters.get(name)
            value = _value_in_condition(parameter) if parameter else ""
            if value:
                message = (
                    f'parameter "{name}" in a condition of {template.what} is text, so the '
                    f"condition is true for {value} as well"
                )
                place = template.place(*position)
                suggestion = f'compare it: eq .Params.{name} "true"'
                yield warning("ConditionAlwaysTrue", message, place, suggestion)


def _value_in_condition(parameter: PackageParameter) -> str:
    """Return a value that looks false in a condition and is not; empty if there is none."""
    # Templates see numbers as texts, as in KUDO 0.19.
    if parameter.type in {"integer", "number"}:
        return '"0"'
    default = stored(parameter, parameter.default) if parameter.has_default else None
    boolean = parameter.type == "boolean" or (
        parameter.type in {"", "string"}
        and default is not None
        and default.casefold() in {"true", "false"}
    )
    return '"false"' if boolean else ""


def templates_can_be_parsed(package: Package) -> Iterator[Finding]:
    for template in written_in(package):
        fault = _parsed(template.name, template.text)
        if isinstance(fault, TemplateError):
            message = f"{template.in_errors} reports the following error: {fault}"
            yield error("TemplateInvalid", message, template.place(fault.line))


def variables_are_known(package: Package) -> Iterator[Finding]:
    for template, usage in usages_of(package):
        for name, position in usage.unknown.items():
            message = f'{template.what} defines an invalid implicit parameter "{name}"'
            suggestion = did_you_mean(name, (*VARIABLES, *MAPS))
            if any(parameter.name == name for parameter in package.parameters):
                suggestion = f"parameters are in .Params: .Params.{name}"
            yield error("VariableUnknown", message, template.place(*position), suggestion)


def tasks_name_defined_templates(package: Package) -> Iterator[Finding]:
    for task in package.operator.tasks:
        reported: set[str] = set()
        for use in _named_templates(task):
            if use.name not in package.texts and use.name not in reported:
                reported.add(use.name)
                message = f'{use.what} "{use.name}" required by {task.name} but is not defined'
                is_file = use.what == "script"
                close = filter(is_script, package.files.files) if is_file else package.templates
                suggestion = did_you_mean(use.name, close)
                place = at_task(task.name, "spec", *use.path)
                yield error("TemplateUnknown", message, place, suggestion)


def templates_are_used(package: Package) -> Iterator[Finding]:
    used = {file for task in package.operator.tasks for file in templates_of(task)}
    for file in package.templates:
        if file not in used and file != package.operator.namespace_manifest:
            message = f'template "{file}" is not referenced from any task'
            yield warning("TemplateUnused", message, at_template(file), "name it in a task")


def scripts_are_used(package: Package) -> Iterator[Finding]:
    """A package without Job tasks may have a folder of this name for anything."""
    used = {file for task in package.operator.tasks for file in templates_of(task)}
    if not any(map(is_script, used)):
        return
    for path, _ in package.files.walk():
        if is_script(path) and path not in used:
            message = f'script "{path}" is not referenced from any task'
            yield warning("ScriptUnused", message, at_script(path), "name it in a task")


def templates_of(task: Task) -> Iterator[str]:
    """Yield the templates that a task of its kind needs."""
    return (use.name for use in _named_templates(task))


def _named_templates(task: Task) -> Iterator[TemplateUse]:
    """Yield the templates that a task needs; a field that is missing names none."""
    return (use for use in kind_of(task).templates(task) if use.name or len(use.path) > 1)


def _switches(package: Package) -> Iterator[tuple[Task, str]]:
    """Yield the tasks that a boolean parameter decides for, with its name."""
    for task in package.operator.tasks:
        name = kind_of(task).switch(task)
        if name:
            yield task, name


class Written(NamedTuple):
    """A template as it is written: a file, or a text of a task.

    Attributes:
        name: Of the template.
        text: Its text.
        what: What it is, for messages.
        in_errors: The same as KUDO 0.19 calls it where it cannot be parsed.
        place: Returns where a line, and perhaps a column, of it is.
        task: The task whose text it is; empty for a file.
    """

    name: str
    text: str
    what: str
    in_errors: str
    place: Callable[..., Place]
    task: str = ""


def written_in(package: Package) -> Iterator[Written]:
    """Yield the templates of a package, as they are written."""
    for file, text in package.templates.items():
        what, in_errors = f"template {file}", f'template file "{file}"'
        yield Written(file, text, what, in_errors, partial(at_template, file))
    for path, text in package.scripts.items():
        yield Written(path, text, f"script {path}", f"script {path}", partial(at_script, path))
    for task in package.operator.tasks:
        for inline in kind_of(task).inline_templates(task):
            what = f"{inline.field} of task {task.name}"
            place = partial(_at_field, at_task(task.name, "spec", *inline.path))
            yield Written(inline.field, inline.text, what, what, place, task.name)


def _at_field(place: Place, *_: int) -> Place:
    # A line of the text is not one of the file.
    return place


def usages_of(package: Package) -> Iterator[tuple[Written, Usage]]:
    """Yield the templates that can be parsed, with what they use."""
    for template in written_in(package):
        tree = _parsed(template.name, template.text)
        if isinstance(tree, nodes.Tree):
            yield template, usage_of(tree)


@lru_cache(maxsize=1024)
def _parsed(file: str, text: str) -> nodes.Tree | TemplateError:
    try:
        return parse_tree(file, text, _FUNCTIONS)
    except TemplateError as fault:
        return fault
