"""Tells how far a run is: the tasks that run, and the time limit that comes first.

Of a task it tells since when it runs, how often it failed, and when it is tried next. The times are
those of the API server and `now` is that of this machine, so an age is as exact as their clocks
agree.

The rules of time limits are those of `kudo.plans.execution`. It is imported only if a run has
limits, since the models cost a fifth of a second.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from kubectl_kudo.reading.instance_state import is_suspended
from kubectl_kudo.reading.plan_view import Explanation, is_pending, shown_plan
from kubectl_kudo.reading.runs import RUNNING, TERMINAL, entries, message_of, status_of
from kubectl_kudo.session.blocks import duration, printable, seconds_since
from kubectl_kudo.session.output import JsonObject
from kudo.api.task_errors import cause_in

_MOST = 3
"""Tasks of a step that are told of."""


@dataclass(frozen=True, slots=True)
class RunningTask:
    """A task that was tried and is not done.

    Attributes:
        step: Dotted name of its step, with plan and phase.
        step_message: Message of the step.
        state: Its status.
        suspended: Whether the Instance is suspended, so that it is not tried again.
    """

    step: str
    step_message: str
    state: JsonObject
    suspended: bool = False

    @property
    def name(self) -> str:
        return str(self.state.get("name"))

    @property
    def failures(self) -> int:
        return self.state.get("failures") or 0

    def text(self, now: datetime) -> str:
        """Return one line: for how long it runs, its failures, the next try, what it waits for."""
        age, paused = self._since("startedAt", now), self.state.get("suspendedSeconds") or 0
        facts = [f"task {self.name}" + (f" for {duration(age)}" if age is not None else "")]
        if age is not None and paused:
            facts[0] += f" ({duration(paused)} of it suspended)"
        if self.failures:
            times = "once" if self.failures == 1 else f"{self.failures} times in a row"
            facts.append(f"failed {times}")
            since = self._since("nextAttemptAt", now)
            if since is not None and not self.suspended:
                facts.append(f"next try in {duration(-since)}" if since < 0 else "next try now")
        message = message_of(self.state)
        # The step above has the message of one of its tasks.
        is_new = message and message not in cause_in(self.step_message)
        return ", ".join(facts) + (f": {printable(message)}" if is_new else "")

    def _since(self, field: str, now: datetime) -> float | None:
        return seconds_since(str(self.state.get(field) or ""), now)


def running_tasks(instance: JsonObject) -> Iterator[RunningTask]:
    """Yield the tasks that run, in the order of the plan."""
    plan, suspended = shown_plan(instance) or "", is_suspended(instance)
    entry = {} if is_pending(instance, plan) else entries(instance).get(plan) or {}
    for phase in entry.get("phases") or []:
        for step in phase.get("steps") or []:
            path = f"{plan}.{phase.get('name')}.{step.get('name')}"
            for task in step.get("tasks") or [] if status_of(step) in RUNNING else ():
                if status_of(task) not in TERMINAL and task.get("startedAt"):
                    yield RunningTask(path, str(step.get("message") or ""), task, suspended)


def details(instance: JsonObject, now: datetime) -> Mapping[str, list[Explanation]]:
    """Return what is told of the tasks that run, by the dotted name of their step."""
    by_step: dict[str, list[RunningTask]] = {}
    for task in running_tasks(instance):
        by_step.setdefault(task.step, []).append(task)
    result = {}
    for step, tasks in by_step.items():
        result[step] = [Explanation(task.text(now)) for task in tasks[:_MOST]]
        if len(tasks) > _MOST:
            result[step].append(Explanation(f"and {len(tasks) - _MOST} more tasks"))
    return result


if TYPE_CHECKING:
    from kudo.api import Plan
    from kudo.plans.execution import Limits


@dataclass(frozen=True, slots=True)
class NextLimit:
    """The time limit of a run that comes first.

    Attributes:
        part: Dotted name of the plan, phase or step that it is shown at; a task's is at its step.
        limit: The limit, such as `timeout 10m of step main.db`.
        text: One line: when it passes, or that it has passed.
    """

    part: str
    limit: str
    text: str


class TimeLimits:
    """The time limits of the runs of an Instance.

    Args:
        version: Its OperatorVersion; without one there are no limits.
    """

    def __init__(self, version: JsonObject | None = None) -> None:
        self._version = version or {}
        self._has_limits = any(_written(self._version.get("spec") or {}))
        self._read: dict[tuple[str, str], tuple[Plan, Limits] | None] = {}

    def next(self, instance: JsonObject, now: datetime) -> NextLimit | None:
        """Return the limit that comes first in the run in progress.

        None if there is none, it cannot be read, or the Instance is suspended.
        """
        plan = shown_plan(instance) or ""
        entry = entries(instance).get(plan)
        if entry is None or is_pending(instance, plan) or not self._counts(instance):
            return None
        key = plan, str(instance["spec"].get("planTimeout") or "")
        if key not in self._read:
            self._read[key] = _read(self._version, *key)
        read = self._read[key]
        return _next(plan, entry, *read, now) if read else None

    def _counts(self, instance: JsonObject) -> bool:
        spec, status = instance["spec"], instance.get("status") or {}
        if not self._version or not (self._has_limits or spec.get("planTimeout")):
            return False
        # An Instance that was upgraded since has another one.
        named = (spec.get("operatorVersion") or {}).get("name")
        is_its_version = named == self._version["metadata"]["name"]
        return is_its_version and not is_suspended(instance) and not status.get("suspendedAt")


def _written(spec: JsonObject) -> Iterator[bool]:
    """Yield for all that can have a limit whether it has one."""
    for plan in (spec.get("plans") or {}).values():
        yield bool(plan.get("timeout"))
        for phase in plan.get("phases") or []:
            yield bool(phase.get("timeout"))
            yield from (bool(step.get("timeout")) for step in phase.get("steps") or [])
    for task in spec.get("tasks") or []:
        yield bool(task.get("timeout") or task.get("progressDeadline"))


def _read(version: JsonObject, plan: str, default: str) -> "tuple[Plan, Limits] | None":
    """Return a plan and its limits; None if it has none, or they cannot be read."""
    from pydantic import ValidationError

    from kudo.api import OperatorVersion
    from kudo.plans.execution import InvalidLimits, limits_of

    try:
        model = OperatorVersion.from_wire(version)
        limits = limits_of(model, plan, default=default or None)
    except (ValidationError, InvalidLimits):
        return None
    return (model.plans[plan], limits) if limits and plan in model.plans else None


def _next(
    name: str, state: JsonObject, plan: "Plan", limits: "Limits", now: datetime
) -> NextLimit | None:
    from pydantic import ValidationError

    from kudo.api import PlanStatus
    from kudo.api.problems import shown_name
    from kudo.plans.execution import next_limit
    from kudo.plans.execution.limits import DEFAULT_FIELD

    try:
        entry = PlanStatus.from_wire(state)
    except ValidationError:
        return None
    passing = next_limit(plan, entry, limits, now, suspended_at=None)
    if passing is None:
        return None
    # The position has the indexes of the phase and of the step in it.
    names = [name]
    if passing.position:
        phase = (entry.phases or ())[passing.position[0]]
        names += [phase.name, *((phase.steps or ())[i].name for i in passing.position[1:2])]
    own = [passing.task] if passing.task else names[1:] or names
    shown = printable(".".join(map(shown_name, own)))
    kind = "task" if passing.task else str(passing.kind)
    field = "progressDeadline" if passing.kind == "progress" else "timeout"
    default = f", from {DEFAULT_FIELD}" if passing.limit.field == DEFAULT_FIELD else ""
    limit = f"{field} {passing.limit.text} of {kind} {shown}{default}"
    if passing.passed:
        task = f"task {shown}: " if passing.task else ""
        text = f"{task}its {field} of {passing.limit.text} has passed"
    else:
        # A limit passes up to a second after its time, for which nobody looks.
        left = min(passing.seconds_left, passing.limit.seconds)
        text = f"times out in {duration(left)} ({limit})"
    return NextLimit(".".join(names), limit, text)
