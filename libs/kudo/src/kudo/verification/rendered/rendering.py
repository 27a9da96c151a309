"""Checks of templates by what they render to with the defaults of the package.

A required parameter without default has a stand-in, since every Instance gives it a value. So have
the variables that an Instance gives, such as its name.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from gotemplate import TemplateError
from kubeio.names import is_subdomain
from kudo.api import JsonObject, Parameter, PipeFile
from kudo.api.problems import InvalidInput
from kudo.api.task_kinds import FatalTaskError, kind_of
from kudo.api.task_kinds.kinds import is_pipe
from kudo.packages.model import Package, PackageParameter
from kudo.packages.source import Path, Source
from kudo.parameters.bound_texts import sample
from kudo.parameters.template import template_values
from kudo.tasks.rendering import DocumentError, Engine, objects_with_lines, render
from kudo.tasks.template_lines import template_line
from kudo.verification.fields import second_document
from kudo.verification.finding import Finding, Place, at_template, error, warning
from kudo.verification.operator import pod_fault, pods_of
from kudo.verification.parameters import declared, stored

Values = dict[str, object]

NAMESPACE: Final = "instance-namespace"
"""Stands for the namespace of an Instance."""
_INSTANCE: Final = "instance"
_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9]+")
_FAIL: Final = "error calling fail: "
_LONGEST: Final = 20
"""Characters of a stand-in, so that names that contain several of them do not become too long."""


@dataclass(frozen=True, slots=True)
class RenderedObject:
    """An object that a template renders to.

    Attributes:
        file: Name of the template.
        object: The object.
        line: Line of the rendered text in which its document begins.
    """

    file: str
    object: JsonObject
    line: int

    def __str__(self) -> str:
        return f'{self.object["kind"]} "{self.object["metadata"]["name"]}"'


class Rendering:
    """The templates of a package, rendered when a check needs them, and only once.

    Attributes:
        package: The package.
    """

    def __init__(self, package: Package) -> None:
        self.package = package
        self._texts: dict[tuple[str, bool], str | FatalTaskError] = {}
        self._objects: dict[tuple[str, bool], tuple[RenderedObject, ...] | FatalTaskError] = {}

    @cached_property
    def strict(self) -> Values:
        """The values of a rendering in which optional parameters have no stand-in."""
        return values_of(self.package)

    @cached_property
    def filled(self) -> Values:
        """The values of a rendering in which all parameters have a value."""
        return values_of(self.package, fill=True)

    def values(self, *, fill: bool = False) -> Values:
        return self.filled if fill else self.strict

    def text(self, file: str, *, fill: bool = False) -> str:
        """Return what a template renders to.

        Raises:
            FatalTaskError: it cannot be rendered.
        """
        if (file, fill) not in self._texts:
            try:
                text = render(file, self.package.templates[file], self.values(fill=fill))
            except FatalTaskError as fault:
                self._texts[file, fill] = fault
            else:
                self._texts[file, fill] = text
        rendered = self._texts[file, fill]
        if isinstance(rendered, FatalTaskError):
            raise rendered
        return rendered

    def objects(self, file: str, *, fill: bool = False) -> tuple[RenderedObject, ...]:
        """Return the objects that a template renders to.

        Raises:
            FatalTaskError: it cannot be rendered, or renders to something else.
        """
        if (file, fill) not in self._objects:
            try:
                text = self.text(file, fill=fill)
                read = objects_with_lines(file, text, Engine.full().budget)
                made = tuple(RenderedObject(file, item, line) for line, item in read)
            except FatalTaskError as fault:
                self._objects[file, fill] = fault
            else:
                self._objects[file, fill] = made
        items = self._objects[file, fill]
        if isinstance(items, FatalTaskError):
            raise items
        return items

    def found(self, file: str) -> tuple[tuple[RenderedObject, ...], bool]:
        """Return the objects of a template, and whether optional parameters have a stand-in.

        There are none if the template cannot be rendered, which another check reports.
        """
        for fill in (False, True):
            try:
                objects = self.objects(file, fill=fill)
            except FatalTaskError:
                continue
            if objects:
                return objects, fill
        return (), False

    def place(self, item: RenderedObject, path: Path = (), *, fill: bool, line: int = 0) -> Place:
        """Return where the template has a field of an object.

        Args:
            item: The object.
            path: The field.
            fill: Whether the object was rendered with stand-ins for optional parameters.
            line: Line of the rendered text; 0 for that of the field.
        """
        if not line:
            lines = self.text(item.file, fill=fill).split("\n")[item.line - 1 :]
            position = Source("\n".join(lines)).position(path)
            line = item.line + (position.line - 1 if position else 0)
        return self._place(item.file, line, fill=fill)

    def place_of_fault(self, file: str, fault: DocumentError) -> Place:
        """Return the line of the template that a wrong document comes from."""
        return self._place(file, fault.line, fill=False)

    def _place(self, file: str, rendered: int, *, fill: bool) -> Place:
        text = self.package.templates[file]
        line = template_line(file, text, self.values(fill=fill), rendered)
        return at_template(file, line or 0)


def templates_can_be_rendered(rendering: Rendering) -> Iterator[Finding]:
    """What tasks apply must be Kubernetes objects; parameter files of children only render.

    What Pipe tasks run must be a pod that can hand their files on.
    """
    package = rendering.package
    pods = pods_of(package)
    texts = without_objects(package)
    for file in package.templates:
        if file in texts:
            fault = _text_fault(file, rendering)
        else:
            copied = pods.get(file)
            fault = _fault(file, rendering, copied, fill=False)
            # A name that an optional parameter gives is no mistake: users who need it set it.
            if fault and not isinstance(fault.__cause__, TemplateError):
                filled = _fault(file, rendering, copied, fill=True)
                fault = fault if filled else None
        if fault:
            yield _finding(file, fault, rendering)


def documents_are_single(rendering: Rendering) -> Iterator[Finding]:
    """Of the pod of a Pipe task, and of the parameters of a child, the first document counts."""
    package = rendering.package
    files = {*(task.spec.parameter_file for task in package.operator.tasks), *pods_of(package)}
    for file in package.templates:
        if file in files and _text_fault(file, rendering) is None:
            yield from second_document(rendering.text(file), at_template(file).file)


def without_objects(package: Package) -> set[str]:
    """Return the templates that need not give objects."""
    tasks = package.operator.tasks
    applied = {name for task in tasks for name in task.spec.resources or ()}
    files = {task.spec.parameter_file or "" for task in tasks}
    # The pod of a Job task is none: it has no name, and need not say that it is a pod.
    files |= {task.spec.job.pod_template or "" for task in tasks if task.spec.job} - applied
    return {*files, package.operator.namespace_manifest}


def values_of(package: Package, *, fill: bool = False) -> Values:
    """Return what the templates are rendered with.

    Args:
        package: The package.
        fill: Whether optional parameters without default have a stand-in, too.
    """
    operator = package.operator
    pipe_tasks = (task for task in package.operator.tasks if is_pipe(task))
    keys = (file.key for task in pipe_tasks for file in task.spec.pipe or () if file.key)
    outputs = {
        task.name: {output: _name_of(f"{task.name}-{output}") for output in names}
        for task in reversed(operator.tasks)
        if (names := kind_of(task).outputs(task))
    }
    # All plans together: a template may be of several, and another check tells their own apart.
    of_runs = {
        parameter.name: parameter
        for plan in (operator.plans or {}).values()
        for parameter in plan.parameters or ()
    }
    given = {name: _value(parameter, fill=fill) for name, parameter in of_runs.items()}
    return {
        **({"Outputs": outputs} if outputs else {}),
        **({"RunParams": given} if given else {}),
        "OperatorName": operator.name if is_subdomain(operator.name) else "operator",
        "Name": _INSTANCE,
        "Namespace": NAMESPACE,
        "AppVersion": operator.app_version,
        "OperatorVersion": operator.operator_version,
        "PlanName": "deploy",
        "PhaseName": "phase",
        "StepName": "step",
        "Params": {
            parameter.name: _value(parameter, fill=fill) for parameter in package.parameters
        },
        "Pipes": {key: _name_of(key) for key in keys},
    }


def _value(parameter: PackageParameter, *, fill: bool) -> object:
    text = stored(parameter, parameter.default) if parameter.has_default else None
    if text is None and (parameter.required or fill):
        text = _stand_in(parameter)
    try:
        value = Parameter(name=parameter.name, value_type=parameter.type, default=text)
        return template_values([value], {})[parameter.name]
    except InvalidInput:  # a wrong default, which another check reports
        value = Parameter(name=parameter.name, value_type=parameter.type)
        return template_values([value], {})[parameter.name]


def _stand_in(parameter: PackageParameter) -> str | None:
    if parameter.enum:
        return stored(parameter, parameter.enum[0])
    value = sample(parameter.type, declared(parameter).bounds)
    return _name_of(parameter.name) if value == "" else value


def _name_of(text: str) -> str:
    """Return a name that objects can have, similar to a text."""
    return _NOT_IN_NAMES.sub("-", text.lower()).strip("-")[:_LONGEST].strip("-") or "value"


def _fault(
    file: str,
    rendering: Rendering,
    copied: Sequence[Sequence[PipeFile]] | None,
    *,
    fill: bool,
) -> FatalTaskError | None:
    try:
        if copied is not None:
            return pod_fault(rendering.text(file, fill=fill), copied)
        rendering.objects(file, fill=fill)
    except FatalTaskError as fault:
        return fault
    return None


def _text_fault(file: str, rendering: Rendering) -> FatalTaskError | None:
    try:
        rendering.text(file)
    except FatalTaskError as fault:
        return fault
    return None


def not_rendered(fault: FatalTaskError, message: str, place: Place) -> Finding:
    """Return the finding of a template that cannot be rendered.

    Args:
        fault: What the engine says of it.
        message: The same in the words of verification.
        place: Where it stands.
    """
    cause = fault.__cause__
    if isinstance(cause, TemplateError) and cause.message.startswith(_FAIL):
        # It refuses the defaults on purpose, and an Instance may have other values.
        advice = "a plan ends here unless the Instance has other values"
        return warning(fault.reason, message, place, advice)
    return error(fault.reason, message, place)


def _finding(file: str, fault: FatalTaskError, rendering: Rendering) -> Finding:
    cause, text = fault.__cause__, str(fault)
    if isinstance(cause, TemplateError):
        message = text.removeprefix(f"error expanding template {file}: ")
        column = cause.column + 1 if cause.executing else 0
        return not_rendered(fault, message, at_template(file, cause.line, column))
    if fault.reason == "ResourceValidationError":
        return error(fault.reason, text, at_template(file))
    place = at_template(file)
    if isinstance(fault, DocumentError):
        place = rendering.place_of_fault(file, fault)
    reason = text.removeprefix(f"parsing YAML from {file}: ")
    message = f"parsing rendered YAML from {file} failed: {reason}"
    return error(fault.reason, message, place)
