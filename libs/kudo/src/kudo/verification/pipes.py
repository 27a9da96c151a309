"""Checks of Pipe tasks: their keys, the names that they give, and the pods that they run."""

from collections.abc import Iterator, Sequence

from kudo.api import PipeFile, default_instance_name
from kudo.api.task_kinds import FatalTaskError
from kudo.api.task_kinds.kinds import is_pipe
from kudo.packages.model import Package
from kudo.tasks.pipe import naming_problems, read_pod, uses, validate
from kudo.verification.finding import Finding, at_plan, error
from kudo.verification.tasks import repeated

PodFiles = dict[str, list[Sequence[PipeFile]]]
"""What tasks copy, by the template of their pod."""


def keys_are_unique(package: Package) -> Iterator[Finding]:
    for name, keys in _keys_by_plan(package).items():
        for key in repeated(keys):
            yield error("PipeKeyDuplicate", f"duplicated pipe key {key}", at_plan(name))


def artifacts_can_be_named(package: Package) -> Iterator[Finding]:
    """Names are tried with that of the default instance."""
    instance = default_instance_name(package.operator.name)
    for name, plan in (package.operator.plans or {}).items():
        found = uses(instance, name, plan, package.operator.tasks)
        for problem in dict.fromkeys(naming_problems(found)):
            yield error("InvalidPlan", problem, at_plan(name))


def pods_of(package: Package) -> PodFiles:
    """Return the templates that are pods of Pipe tasks, and nothing else."""
    applied = {name for task in package.operator.tasks for name in task.spec.resources or ()}
    pods: PodFiles = {}
    for task in package.operator.tasks:
        if is_pipe(task) and task.spec.pod and task.spec.pod not in applied:
            pods.setdefault(task.spec.pod, []).append(task.spec.pipe or ())
    return pods


def pod_fault(text: str, copied: Sequence[Sequence[PipeFile]]) -> FatalTaskError | None:
    """Return what the engine would say of a pod.

    Args:
        text: What its template renders to.
        copied: The files of each task that uses it.
    """
    try:
        pod = read_pod(text)
    except FatalTaskError as fault:
        return fault
    problems = dict.fromkeys(problem for files in copied for problem in validate(pod, files))
    return FatalTaskError("ResourceValidationError", "; ".join(problems)) if problems else None


def _keys_by_plan(package: Package) -> dict[str, list[str]]:
    return {
        name: [
            file.key
            for _, task in uses("", name, plan, package.operator.tasks)
            for file in task.spec.pipe or ()
            if file.key
        ]
        for name, plan in (package.operator.plans or {}).items()
    }
