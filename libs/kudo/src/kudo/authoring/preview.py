"""Renders what the tasks of a plan would do, without a cluster.

Objects are as the templates give them: the labels, annotations, owner and namespace that the
reconciler adds are left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from gotemplate import TemplateError
from kudo.api import Instance, InstanceSpec, JsonObject, ObjectMeta, OperatorVersion, Task
from kudo.api.problems import InvalidInput, KudoError, shown_name
from kudo.api.task_kinds import FatalTaskError, check_task, kind_of
from kudo.api.task_kinds.job import is_script
from kudo.api.task_kinds.kind import Shown
from kudo.parameters.settings import Settings, plain_values, with_marks
from kudo.parameters.sources import parse_parameter_file
from kudo.tasks.job import JobError, JobNames, job_object, rendered_job
from kudo.tasks.job.outputs import placeholders
from kudo.tasks.kudo_operator import child_of, manifest
from kudo.tasks.pipe import read_pod
from kudo.tasks.rendering import (
    DocumentError,
    Engine,
    read_objects,
    render,
    stand_ins,
    variables,
)
from kudo.tasks.template_lines import template_line

_RUN: Final = "00000000-0000-0000-0000-000000000000"
"""The uid of a run that there is not: the name of a Job depends on it."""
_SHOWN: Final = 100
"""Characters of a line in an error."""


@dataclass(frozen=True, slots=True)
class Position:
    """Where in a plan a task stands."""

    plan: str
    phase: str
    step: str
    task: str

    def __str__(self) -> str:
        return f"plan {self.plan}, phase {self.phase}, step {self.step}, task {self.task}"


@dataclass(frozen=True, slots=True)
class Previewed:
    """What a task does with one object.

    Attributes:
        position: Of the task.
        kind: Of the task.
        shown: What it does, with the object.
        when: The conditions of its phase and step; nobody but the reconciler knows what they give.
    """

    position: Position
    kind: str
    shown: Shown
    when: tuple[str, ...] = ()


class PreviewError(KudoError):
    """A template cannot be rendered, or gives something that is not an object."""


def preview(
    version: OperatorVersion,
    instance: Instance,
    plan: str,
    *,
    step: str = "",
    run_parameters: Mapping[str, str] | None = None,
) -> tuple[Previewed, ...]:
    """Return what the tasks of a plan would do, in its order.

    Args:
        version: The OperatorVersion, with the plan.
        instance: The Instance, with the values of its parameters.
        plan: Name of the plan.
        step: Name of the only step to render; empty for all.
        run_parameters: The parameters of the run; `<run.name>` stands for a required one.

    Raises:
        PreviewError: a template or a value is wrong; the text has the line of the template and of
            what it was rendered to.
    """
    tasks, given = version.tasks, {**stand_ins(version.plans[plan]), **(run_parameters or {})}
    previews: list[Previewed] = []
    for phase_index, phase in enumerate(version.plans[plan].phases or ()):
        for step_index, definition in enumerate(phase.steps):
            if step and definition.name != step:
                continue
            outputs = _outputs(version, plan, phase_index, step_index)
            for name in definition.tasks:
                position = Position(plan, phase.name, definition.name, name)
                if name not in tasks:
                    raise PreviewError(f"{position}: the package has no such task")
                when = tuple(filter(None, (phase.when, definition.when)))
                items = _TaskPreview(
                    version, instance, position, tasks[name], outputs, given
                ).items()
                previews.extend(replace(item, when=when) for item in items)
    return tuple(previews)


def preview_instance(
    version: OperatorVersion, name: str, namespace: str, settings: Settings
) -> Instance:
    """Return an Instance that was never created: `(secret NAME)` stands for each secret value."""
    values = with_marks(version.parameters, plain_values(settings))
    return Instance(
        metadata=ObjectMeta(name=name, namespace=namespace),
        spec=InstanceSpec(
            operator_version={"name": version.metadata.name}, parameters=dict(values) or None
        ),
    )


def _outputs(
    version: OperatorVersion, plan: str, phase_index: int, step_index: int
) -> Mapping[str, Mapping[str, str]]:
    """Return what stands for the outputs that a step sees; a run alone has their texts."""
    if not version.outputs:
        return {}
    # Few packages have any, and it is the machine that runs plans.
    from kudo.plans.execution import step_of, steps_before, steps_of

    definition = version.plans[plan]
    at = phase_index, step_index
    ref = next(ref for ref in steps_of(definition) if (ref.phase_index, ref.step_index) == at)
    before = [
        task for other in steps_before(definition, ref) for task in step_of(definition, other).tasks
    ]
    seen = {task: version.outputs[task] for task in before if task in version.outputs}
    return placeholders(seen)


@dataclass(frozen=True)
class _TaskPreview:
    """Renders the templates of one task."""

    version: OperatorVersion
    instance: Instance
    position: Position
    task: Task
    outputs: Mapping[str, Mapping[str, str]]
    run_parameters: Mapping[str, str]

    def items(self) -> list[Previewed]:
        try:
            check_task(self.task, as_written=True)
            return [
                Previewed(self.position, self.task.kind, shown)
                for shown in kind_of(self.task).shown(self)
            ]
        except (FatalTaskError, InvalidInput) as error:
            raise PreviewError(f"{self.position}: {error}") from error

    @cached_property
    def values(self) -> Mapping[str, object]:
        """What the templates are rendered with."""
        at = self.position
        return variables(
            self.instance,
            self.version,
            plan=at.plan,
            phase=at.phase,
            step=at.step,
            outputs=self.outputs,
            run_parameters=self.run_parameters,
        ).read()

    def parameters(self) -> Mapping[str, object]:
        """Return the values of parameters as templates see them."""
        parameters = self.values["Params"]
        return parameters if isinstance(parameters, dict) else {}

    def pod(self, template: str) -> JsonObject:
        """Return the pod that a template renders to."""
        return read_pod(self._rendered(template))

    def job(self) -> JsonObject:
        """Return the Job of the task, as a run would make it."""
        at, fields = self.position, self.task.spec.job
        templates = self.version.spec.templates or {}
        names = JobNames(
            self.instance.metadata.name, _RUN, at.plan, at.phase, at.step, self.task.name
        )
        parts = rendered_job(
            self.task.name,
            {} if fields is None else fields.to_wire(),
            templates,
            self.values,
            engine=Engine.full(),
        )
        try:
            return job_object(next(filter(None, parts)), names)
        except JobError as error:
            if not error.file or error.file not in templates:
                raise
            raise self._not_rendered(error.file, templates[error.file], error) from error

    def child(self) -> JsonObject:
        """Return the Instance that the task describes."""
        file = self.task.spec.parameter_file
        parameters = parse_parameter_file(file, self._rendered(file)) if file else {}
        child = child_of(self.task, self.instance, self.version, parameters)
        made = manifest(child, self.instance, "", child.version, parameters)
        for added in ("annotations", "ownerReferences"):
            made["metadata"].pop(added)
        if not self.task.spec.operator_version:
            # Which version is installed, and so its name, is known to a cluster only.
            made["spec"].pop("operatorVersion")
        return made

    def texts(self) -> Mapping[str, str]:
        """Return what the templates in the spec of the task render to, by their fields."""
        templates = kind_of(self.task).inline_templates(self.task)
        task = shown_name(self.task.name)
        return {
            template.field: render(
                template.field, template.text, self.values, what=f"task {task}: {template.field}"
            )
            for template in templates
        }

    def objects(self, template: str) -> list[JsonObject]:
        """Return the objects that a template renders to."""
        text = self._rendered(template)
        try:
            return [*read_objects(template, text, Engine.full().budget)]
        except DocumentError as error:
            raise PreviewError(self._unreadable(template, text, error)) from error

    def _rendered(self, template: str) -> str:
        templates = self.version.spec.templates or {}
        if template not in templates:
            raise PreviewError(f"{self.position}: the package has no template {template}")
        try:
            return render(template, templates[template], self.values)
        except FatalTaskError as error:
            raise self._not_rendered(template, templates[template], error) from error

    def _not_rendered(self, name: str, text: str, error: FatalTaskError) -> PreviewError:
        cause = error.__cause__
        line = cause.line if isinstance(cause, TemplateError) else 0
        file = name if is_script(name) else f"templates/{name}"
        lines = [f"{file}:{line}: {error}" if line else f"{file}: {error}", f"in {self.position}"]
        if line:
            lines.insert(1, _quoted("template line", text, line))
        return PreviewError("\n  ".join(lines))

    def _unreadable(self, template: str, text: str, error: DocumentError) -> str:
        source = (self.version.spec.templates or {})[template]
        line = template_line(template, source, self.values, error.line)
        place = f"templates/{template}:{line}" if line else f"templates/{template}"
        return "\n  ".join(
            [
                f"{place}: {error}",
                *([_quoted("template line", source, line)] if line else []),
                _quoted("rendered line", text, error.line),
                f"in {self.position}",
            ]
        )


def _quoted(label: str, text: str, line: int) -> str:
    """Return a line of a text with its number."""
    quoted = text.split("\n")[line - 1].strip()
    return f"{label} {line}: {quoted if len(quoted) <= _SHOWN else quoted[:_SHOWN] + '…'}"
