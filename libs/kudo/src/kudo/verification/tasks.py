"""Checks of tasks, and of the steps that name them."""

from collections import Counter
from collections.abc import Iterable, Iterator

from kudo.api import Plan, Step, Task
from kudo.packages import Package
from kudo.tasks import FatalTaskError, check_task
from kudo.verification.finding import Finding, at_plan, at_task, error, warning


def tasks_can_be_built(package: Package) -> Iterator[Finding]:
    for task in package.operator.tasks:
        try:
            check_task(_with_version(task))
        except FatalTaskError as fault:
            yield error(fault.reason, str(fault), at_task(task.name))


def _with_version(task: Task) -> Task:
    """Give a KudoOperator task a version: it need not name one, installing the package adds it."""
    if task.kind != "KudoOperator" or task.spec.operator_version:
        return task
    return task.model_copy(
        update={"spec": task.spec.model_copy(update={"operator_version": "any"})}
    )


def task_names_are_unique(package: Package) -> Iterator[Finding]:
    for name in repeated(task.name for task in package.operator.tasks):
        message = f'task "{name}" is defined more than once; steps would use the first one'
        yield error("NameDuplicate", message, at_task(name))


def steps_name_defined_tasks(package: Package) -> Iterator[Finding]:
    defined = {task.name for task in package.operator.tasks}
    for plan, name in dict.fromkeys(_used(package)):
        if name not in defined:
            message = f'task "{name}" in plan "{plan}" is not defined'
            yield error("TaskUnknown", message, at_plan(plan))


def tasks_are_used(package: Package) -> Iterator[Finding]:
    used = {name for _, name in _used(package)}
    for name in dict.fromkeys(task.name for task in package.operator.tasks):
        if name not in used:
            yield warning("TaskUnused", f'task "{name}" defined but not used', at_task(name))


def _used(package: Package) -> Iterator[tuple[str, str]]:
    """Yield plan and task for each task that a step names."""
    for name, plan in (package.operator.plans or {}).items():
        for step in steps_of(plan):
            for task in step.tasks:
                yield name, task


def steps_of(plan: Plan) -> Iterator[Step]:
    for phase in plan.phases or ():
        yield from phase.steps


def repeated(names: Iterable[str]) -> list[str]:
    """Return the names that come more than once."""
    return [name for name, count in Counter(names).items() if count > 1]
