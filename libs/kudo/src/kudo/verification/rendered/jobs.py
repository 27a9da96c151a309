"""Checks of the Jobs that Job tasks make with the defaults of the package."""

from collections.abc import Iterator
from typing import Any, Final

from gotemplate import TemplateError
from kudo.api import JsonObject, Task
from kudo.api.problems import shown_name
from kudo.api.task_kinds import FatalTaskError, kind_of
from kudo.packages.model import Package
from kudo.tasks.job import JobError, JobNames, RenderedJob, job_object, rendered_job
from kudo.tasks.rendering import Engine
from kudo.verification.finding import (
    Finding,
    Place,
    at_script,
    at_task,
    at_template,
    warning,
)
from kudo.verification.rendered.rendering import Rendering, Values, not_rendered

_LOGS: Final = "FallbackToLogsOnError"


def jobs_can_be_made(rendering: Rendering) -> Iterator[Finding]:
    """Check what the texts of each task render to: the fields, the script, the pod template."""
    for task in buildable(rendering.package):
        fault = _fault(task, rendering, fill=False)
        # A name that an optional parameter gives is no mistake: users who need it set it.
        if fault and not isinstance(fault.__cause__, TemplateError):
            filled = _fault(task, rendering, fill=True)
            fault = fault if filled else None
        if fault:
            yield from _finding(task, fault)


def buildable(package: Package) -> Iterator[Task]:
    """Yield the Job tasks that have nothing wrong which other checks report."""
    for task in package.operator.tasks:
        is_job = task.kind == "Job" and task.spec.job is not None
        if not is_job or any(True for _ in kind_of(task).faults(task)):
            continue
        if all(use.name in package.texts for use in kind_of(task).templates(task)):
            yield task


def _rendered(task: Task, rendering: Rendering, *, fill: bool) -> RenderedJob:
    """Return a task with all texts rendered.

    Raises:
        JobError: one cannot be rendered, or no Job be made of it.
    """
    assert task.spec.job is not None
    *_, rendered = rendered_job(
        task.name,
        task.spec.job.to_wire(),
        rendering.package.texts,
        rendering.values(fill=fill),
        engine=Engine.full(),
    )
    assert rendered is not None
    return rendered


def job_of(task: Task, package: Package, values: Values) -> JsonObject:
    """Return the Job of a task.

    Raises:
        JobError: a text of it cannot be rendered, or no Job be made of it.
    """
    assert task.spec.job is not None
    fields = task.spec.job.to_wire()
    *_, rendered = rendered_job(task.name, fields, package.texts, values, engine=Engine.full())
    assert rendered is not None
    return job_object(rendered, _names(task))


def _names(task: Task) -> JobNames:
    return JobNames("instance", "uid", "deploy", "phase", "step", task.name)


def _fault(task: Task, rendering: Rendering, *, fill: bool) -> JobError | None:
    try:
        job_object(_rendered(task, rendering, fill=fill), _names(task))
    except JobError as fault:
        return fault
    return None


def _finding(task: Task, fault: JobError) -> Iterator[Finding]:
    cause, message = fault.__cause__, str(fault)
    line, column = 0, 0
    if isinstance(cause, TemplateError):
        line, column = cause.line, cause.column + 1 if cause.executing else 0
    assert task.spec.job is not None
    if not fault.file:
        place = at_task(task.name, "spec", "job", *fault.path)
    elif fault.file == task.spec.job.script:
        place = at_script(fault.file, line, column)
    elif isinstance(cause, TemplateError):  # which the check of templates reports
        return
    else:
        place = at_template(fault.file)
    yield not_rendered(fault, message.removeprefix("error expanding "), place)


def pods_are_not_refused_by_default(rendering: Rendering) -> Iterator[Finding]:
    """A pod as root is refused by the kubelet unless its template says that it may be."""
    for task, pod in _pods(rendering):
        spec = pod["spec"]
        of_pod: JsonObject = spec.get("securityContext") or {}
        for container in _containers(spec):
            context = {**of_pod, **(container.get("securityContext") or {})}
            if context.get("runAsUser") == 0 and "runAsNonRoot" not in context:
                name = shown_name(str(container.get("name")))
                message = (
                    f"container {name} runs as root, and task {task.name} sets "
                    "securityContext.runAsNonRoot to true where the podTemplate does not say"
                )
                suggestion = "set securityContext.runAsNonRoot to false in the podTemplate"
                yield warning("RefusedByDefault", message, _place(task), suggestion)


def fields_of_pods_are_kept(rendering: Rendering) -> Iterator[Finding]:
    """A pod of a Job task is not started again, and never shows the end of a log."""
    for task, pod in _pods(rendering):
        replaced = []
        policy = pod["spec"].get("restartPolicy")
        if policy not in {None, "Never"}:
            replaced.append((f"restartPolicy {policy}", "set backoffLimit in the task"))
        for container in _containers(pod["spec"]):
            if container.get("terminationMessagePolicy") == _LOGS:
                what = f"terminationMessagePolicy {_LOGS} of container {container.get('name')}"
                replaced.append((what, "have the program write its termination message"))
        for what, advice in replaced:
            message = f"{shown_name(what)} is replaced by task {task.name}"
            yield warning("PodTemplateOverridden", message, _place(task), advice)


def _pods(rendering: Rendering) -> Iterator[tuple[Task, Any]]:
    """Yield the tasks with a pod template, and the pods that it gives."""
    for task in buildable(rendering.package):
        if task.spec.job is not None and task.spec.job.pod_template:
            try:
                pod = _rendered(task, rendering, fill=False)["pod"]
            except FatalTaskError:  # which another check reports
                continue
            if pod is not None:
                yield task, pod


def _containers(spec: JsonObject) -> Iterator[JsonObject]:
    for field in ("initContainers", "containers"):
        yield from spec.get(field) or ()


def _place(task: Task) -> Place:
    assert task.spec.job is not None
    return at_template(task.spec.job.pod_template or "")
