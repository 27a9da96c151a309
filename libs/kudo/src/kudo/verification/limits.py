"""Checks of time limits: whether they can be read, can pass, and are of something that waits."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kudo.api import Phase, Plan, Step, Task
from kudo.api.task_kinds import kind_of
from kudo.api.times import ADVICE, DurationError, seconds_of
from kudo.packages.model import Package
from kudo.verification.finding import Finding, Place, at_plan, at_task, error, warning

_TIMEOUT: Final = "timeout"
_PROGRESS: Final = "progressDeadline"


@dataclass(frozen=True, slots=True)
class _Limit:
    """A limit as it is written.

    Attributes:
        what: What it is of: `step "db"`.
        text: The duration.
        place: The field.
        around: Limits of what the thing is in, from the outermost on.
    """

    what: str
    text: str
    place: Place
    around: tuple["_Limit", ...] = ()

    @property
    def field(self) -> str:
        return str(self.place.path[-1])

    @property
    def seconds(self) -> float | None:
        """The duration; None if there is none that can be read."""
        try:
            return seconds_of(self.text)
        except DurationError:
            return None


def limits_are_durations(package: Package) -> Iterator[Finding]:
    """One that cannot be read would end every run before it sends anything."""
    of_tasks = (limit for task in _first_tasks(package) for limit in _limits_of_task(task))
    for limit in (*_of_plans(package), *of_tasks):
        try:
            seconds_of(limit.text)
        except DurationError as fault:
            message = f"{limit.field} of {limit.what} cannot be used: {fault}"
            yield error("TimeLimitInvalid", message, limit.place, ADVICE)


def limits_can_pass(package: Package) -> Iterator[Finding]:
    """Of two limits that pass at the same time, the outer one decides."""
    for limit in _of_plans(package):
        yield from _unreachable(limit, [limit.around])
    places = _around_tasks(package)
    for task in _first_tasks(package):
        inner: tuple[_Limit, ...] = ()
        for limit in _limits_of_task(task):
            around = [(*outer, *inner) for outer in places.get(task.name, ())]
            yield from _unreachable(limit, around)
            # A progressDeadline comes after the timeout, and stands within it.
            inner = (limit,)


def _unreachable(limit: _Limit, places: Sequence[tuple[_Limit, ...]]) -> Iterator[Finding]:
    """Yield what is wrong with a limit if others pass before it in each of its places."""
    own, before = limit.seconds, list[_Limit]()
    for around in places:
        # The innermost of those that are not longer: the message names the nearest one.
        shorter = [each for each in around if own and each.seconds and each.seconds <= own]
        if not shorter:
            return
        before.append(shorter[-1])
    if not before:
        return
    first = before[0]
    message = (
        f"{limit.field} {limit.text} of {limit.what} never passes: {first.what} has the "
        f"{first.field} {first.text}"
    )
    yield warning("TimeLimitUnreachable", message, limit.place, "make it shorter, or remove it")


def limits_are_used(package: Package) -> Iterator[Finding]:
    used = _around_tasks(package)
    for task in _first_tasks(package):
        why = "it waits for nothing" if kind_of(task).never_waits(task) else ""
        if task.name not in used:
            why = "no step names the task"
        for limit in _limits_of_task(task):
            if why:
                message = f"{limit.field} of {limit.what} has no effect: {why}"
                yield warning("TimeLimitUnused", message, limit.place, "remove it")


# The limits of a package


def _of_plans(package: Package) -> Iterator[_Limit]:
    """Yield the limits of plans, phases and steps that are set."""
    for name, plan in (package.operator.plans or {}).items():
        phases = (limit for _, limit in _phases(name, plan))
        steps = (limit for _, limit in _steps(name, plan))
        yield from (each for each in (_of_plan(name, plan), *phases, *steps) if each.text)


def _of_plan(name: str, plan: Plan) -> _Limit:
    return _Limit(f'plan "{name}"', plan.timeout or "", at_plan(name, _TIMEOUT))


def _phases(name: str, plan: Plan) -> Iterator[tuple[Phase, _Limit]]:
    around = (_of_plan(name, plan),)
    for number, phase in enumerate(plan.phases or ()):
        place = at_plan(name, "phases", number, _TIMEOUT)
        yield phase, _Limit(f'phase "{phase.name}"', phase.timeout or "", place, around)


def _steps(name: str, plan: Plan) -> Iterator[tuple[Step, _Limit]]:
    for number, (phase, limit) in enumerate(_phases(name, plan)):
        around = (*limit.around, limit)
        for n, step in enumerate(phase.steps):
            place = at_plan(name, "phases", number, "steps", n, _TIMEOUT)
            yield step, _Limit(f'step "{step.name}"', step.timeout or "", place, around)


def _limits_of_task(task: Task) -> Iterator[_Limit]:
    what = f'task "{task.name}"'
    for field, text in ((_TIMEOUT, task.timeout), (_PROGRESS, task.progress_deadline)):
        if text:
            yield _Limit(what, text, at_task(task.name, field))


def _first_tasks(package: Package) -> list[Task]:
    """Return the tasks by which steps go: of several of a name the first."""
    return [*{task.name: task for task in reversed(package.operator.tasks)}.values()][::-1]


def _around_tasks(package: Package) -> Mapping[str, list[tuple[_Limit, ...]]]:
    """Return the limits around each task that is used, once for each step that names it."""
    places: dict[str, list[tuple[_Limit, ...]]] = {}
    for name, plan in (package.operator.plans or {}).items():
        for step, limit in _steps(name, plan):
            for task in step.tasks:
                places.setdefault(task, []).append((*limit.around, limit))
    return places
