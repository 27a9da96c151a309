"""Checks of tasks, and of the steps that name them."""

from collections import Counter
from collections.abc import Iterable, Iterator

from kudo.api import Plan, Step
from kudo.api.task_kinds import FatalTaskError, check_task
from kudo.packages.model import Package
from kudo.packages.source import Path
from kudo.verification.finding import (
    Finding,
    at_plan,
    at_task,
    did_you_mean,
    error,
    tolerated,
    warning,
)

_DOES_NOTHING = "it is COMPLETE at once; add what it is to do, or remove it"


def tasks_can_be_built(package: Package) -> Iterator[Finding]:
    used = {name for _, name, _ in _used(package)}
    for task in package.operator.tasks:
        try:
            check_task(task, as_written=True)
        except FatalTaskError as fault:
            make = error if task.name in used else tolerated
            yield make(fault.reason, str(fault), at_task(task.name))


def task_names_are_unique(package: Package) -> Iterator[Finding]:
    for name in repeated(task.name for task in package.operator.tasks):
        message = f'task "{name}" is defined more than once; steps would use the first one'
        place = at_task(name, occurrence=1)
        yield tolerated("NameDuplicate", message, place, "remove or rename one of them")


def steps_name_defined_tasks(package: Package) -> Iterator[Finding]:
    defined = list(dict.fromkeys(task.name for task in package.operator.tasks))
    told: set[tuple[str, str]] = set()
    for plan, name, path in _used(package):
        if name not in defined and (plan, name) not in told:
            told.add((plan, name))
            message = f'task "{name}" in plan "{plan}" is not defined'
            yield error("TaskUnknown", message, at_plan(plan, *path), did_you_mean(name, defined))


def steps_have_tasks(package: Package) -> Iterator[Finding]:
    """A step without tasks, and a phase without steps, is COMPLETE without having done anything."""
    for name, plan in (package.operator.plans or {}).items():
        phases = plan.phases or ()
        if not phases:
            yield warning("PlanEmpty", f'plan "{name}" has no phases', at_plan(name), _DOES_NOTHING)
        for number, phase in enumerate(phases):
            place = at_plan(name, "phases", number)
            if not phase.steps:
                message = f'phase "{phase.name}" of plan "{name}" has no steps'
                yield warning("PhaseEmpty", message, place, _DOES_NOTHING)
            for n, step in enumerate(phase.steps):
                if not step.tasks:
                    message = (
                        f'step "{step.name}" of phase "{phase.name}" of plan "{name}" has no tasks'
                    )
                    place = at_plan(name, "phases", number, "steps", n)
                    yield warning("StepEmpty", message, place, _DOES_NOTHING)


def tasks_are_used(package: Package) -> Iterator[Finding]:
    used = {name for _, name, _ in _used(package)}
    for name in dict.fromkeys(task.name for task in package.operator.tasks):
        if name not in used:
            message = f'task "{name}" defined but not used'
            yield warning("TaskUnused", message, at_task(name), "name it in a step, or remove it")


def _used(package: Package) -> Iterator[tuple[str, str, Path]]:
    """Yield plan, task and path in the plan for each task that a step names."""
    for name, plan in (package.operator.plans or {}).items():
        for number, phase in enumerate(plan.phases or ()):
            for n, step in enumerate(phase.steps):
                for position, task in enumerate(step.tasks):
                    yield name, task, ("phases", number, "steps", n, "tasks", position)


def steps_of(plan: Plan) -> Iterator[Step]:
    for phase in plan.phases or ():
        yield from phase.steps


def repeated(names: Iterable[str]) -> list[str]:
    """Return the names that come more than once."""
    return [name for name, count in Counter(names).items() if count > 1]
