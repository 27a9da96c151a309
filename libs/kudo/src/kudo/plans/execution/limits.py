"""Time limits of a plan, its phases, steps and tasks, read from an OperatorVersion.

`timeouts` tells which of them passes next, and ends a run whose limit has passed.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from kudo.api import OperatorVersion, Plan, Task
from kudo.api.problems import InvalidInput, Problem, first_problems, shown_name
from kudo.api.times import ADVICE, DurationError, seconds_of

DEFAULT_FIELD: Final = "spec.planTimeout"
"""Field of an Instance: the timeout of plans that set none."""


class LimitKind(StrEnum):
    """What a limit is of; `PROGRESS` is the `progressDeadline` of a task."""

    PLAN = "plan"
    PHASE = "phase"
    STEP = "step"
    TASK = "task"
    PROGRESS = "progress"


LimitKey = tuple[LimitKind, *tuple[int | str, ...]]
"""Kind, and of phases and steps the indexes, of tasks the name."""


@dataclass(frozen=True, slots=True)
class Limit:
    """How long something may take, or stay unchanged.

    Attributes:
        seconds: More than zero.
        text: The duration as it is written.
        field: Where it is written, such as `plans.deploy.timeout` or `spec.planTimeout`.
    """

    seconds: float
    text: str
    field: str


@dataclass(frozen=True, slots=True)
class Limits:
    """The time limits that count in runs of one plan; false if there are none.

    A limit of a task counts in each step that names the task, in each for itself.

    Attributes:
        by_key: The limits, by kind and by index or name.
    """

    by_key: Mapping[LimitKey, Limit] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.by_key)

    def get(self, key: LimitKey) -> Limit | None:
        return self.by_key.get(key)

    def times_phase(self, phase_index: int) -> bool:
        """Return whether the start of a phase has to be recorded."""
        return (LimitKind.PHASE, phase_index) in self.by_key

    def times_step(self, phase_index: int, step_index: int) -> bool:
        """Return whether the start of a step has to be recorded."""
        return (LimitKind.STEP, phase_index, step_index) in self.by_key

    def watches_progress(self, task_name: str) -> bool:
        """Return whether changes of what a task waits for have to be recorded."""
        return (LimitKind.PROGRESS, task_name) in self.by_key


NO_LIMITS: Final = Limits()


class InvalidLimits(InvalidInput):
    """Limits that cannot be read, or are not more than zero; reason TimeLimitInvalid."""


def limits_of(version: OperatorVersion, plan_name: str, *, default: str | None) -> Limits:
    """Return the limits that count in a run of a plan.

    Limits of other plans, and of tasks that the plan does not name, are not read.

    Args:
        version: The OperatorVersion that the run began with.
        plan_name: The plan.
        default: `spec.planTimeout` of the Instance; not read if the plan has a timeout.

    Raises:
        InvalidLimits: some cannot be used.
    """
    limits: dict[LimitKey, Limit] = {}
    problems: list[Problem] = []
    for key, text, where in _written(version, plan_name, default):
        try:
            limits[key] = Limit(seconds_of(text), text, where)
        except DurationError as error:
            problems.append(Problem("TimeLimitInvalid", f"{error}; {ADVICE}", where))
    if problems:
        raise InvalidLimits(first_problems(problems))
    return Limits(limits) if limits else NO_LIMITS


_Written = tuple[LimitKey, str, str]
"""Key, text and field of a limit that is set."""


def _written(version: OperatorVersion, name: str, default: str | None) -> Iterator[_Written]:
    plan = version.plans.get(name, Plan())
    path = f"plans.{shown_name(name)}"
    if plan.timeout:
        yield (LimitKind.PLAN,), plan.timeout, f"{path}.timeout"
    elif default:
        yield (LimitKind.PLAN,), default, DEFAULT_FIELD
    for index, phase in enumerate(plan.phases or ()):
        where = f"{path}.phases[{shown_name(phase.name)}]"
        if phase.timeout:
            yield (LimitKind.PHASE, index), phase.timeout, f"{where}.timeout"
        for step_index, step in enumerate(phase.steps):
            if step.timeout:
                at = f"{where}.steps[{shown_name(step.name)}].timeout"
                yield (LimitKind.STEP, index, step_index), step.timeout, at
    for task in _tasks_with_limits(version.spec.tasks or (), plan):
        where = f"tasks[{shown_name(task.name)}]"
        if task.timeout:
            yield (LimitKind.TASK, task.name), task.timeout, f"{where}.timeout"
        if task.progress_deadline:
            key = LimitKind.PROGRESS, task.name
            yield key, task.progress_deadline, f"{where}.progressDeadline"


def _tasks_with_limits(tasks: Iterable[Task], plan: Plan) -> list[Task]:
    """Return the tasks of a plan that have a limit; of duplicates the first one counts."""
    if not any(task.timeout or task.progress_deadline for task in tasks):
        return []  # most packages have none
    named = {name for phase in plan.phases or () for step in phase.steps for name in step.tasks}
    first: dict[str, Task] = {}
    for task in tasks:
        first.setdefault(task.name, task)
    return [task for name, task in first.items() if name in named]
