"""Tells of the tasks that run: since when, how often they failed, and when they are tried next.

The times are those of the API server and `now` is that of this machine, so an age is as exact as
their clocks agree.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from kubectl_kudo.reading.plan_view import Explanation, is_pending, shown_plan
from kubectl_kudo.reading.runs import RUNNING, TERMINAL, entries, message_of, status_of
from kubectl_kudo.reading.suspension import is_suspended
from kubectl_kudo.session.cells import duration, printable, seconds_since
from kubectl_kudo.session.output import JsonObject
from kudo.api.task_errors import cause_in

_MOST = 3
"""Tasks of a step that are told of."""


@dataclass(frozen=True, slots=True)
class RunningTask:
    """A task that was tried and is not done.

    Attributes:
        step: Dotted name of its step, with plan and phase.
        told: Message of the step.
        state: Its status.
        suspended: Whether the Instance is suspended, so that it is not tried again.
    """

    step: str
    told: str
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
        facts = [f"task {self.name}{self._age(now)}", *self._retries(now)]
        message = message_of(self.state)
        more = f": {printable(message)}" if message and message not in cause_in(self.told) else ""
        return f"{', '.join(facts)}{more}"

    def _age(self, now: datetime) -> str:
        seconds = seconds_since(str(self.state.get("startedAt") or ""), now)
        if seconds is None:
            return ""
        paused = self.state.get("suspendedSeconds") or 0
        pause = f" ({duration(paused)} of it suspended)" if paused else ""
        return f" for {duration(seconds)}{pause}"

    def _retries(self, now: datetime) -> Iterator[str]:
        if not self.failures:
            return
        yield "failed once" if self.failures == 1 else f"failed {self.failures} times in a row"
        since = seconds_since(str(self.state.get("nextAttemptAt") or ""), now)
        if since is not None and not self.suspended:
            yield f"next try in {duration(-since)}" if since < 0 else "next try now"


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
    found: dict[str, list[RunningTask]] = {}
    for task in running_tasks(instance):
        found.setdefault(task.step, []).append(task)
    return {step: _of_step(tasks, now) for step, tasks in found.items()}


def _of_step(tasks: list[RunningTask], now: datetime) -> list[Explanation]:
    told = [Explanation(task.text(now)) for task in tasks[:_MOST]]
    more = len(tasks) - _MOST
    return [*told, Explanation(f"and {more} more tasks")] if more > 0 else told
