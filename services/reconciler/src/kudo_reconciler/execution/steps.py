"""One pass over the plan of a run: what may run does, and what came of it is recorded.

Steps that may run do so at the same time, bounded. The entry is stored before anything of the
next serial step is sent: a crash must not repeat a finished step. It is also stored before anything
is sent at all, but for a plan of one step, whose end is the next thing to be stored anyway.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime

from kubeio.lease import NotLeading
from kudo.api import ExecutionStatus, Instance, OperatorVersion, Plan, PlanStatus, Task
from kudo.execution import (
    StepOutcome,
    StepRef,
    TaskOutcome,
    is_single_step,
    record,
    runnable,
    step_of,
)
from kudo.tasks import FatalTaskError, TaskPath, TransientTaskError
from kudo_reconciler.clock import Clock, timestamp
from kudo_reconciler.errors import Outdated, Superseded, described
from kudo_reconciler.execution.rendering import Renderer
from kudo_reconciler.execution.task_context import RunMemory, TaskContext
from kudo_reconciler.execution.tasks import TaskRunner
from kudo_reconciler.metrics.metrics import Metrics
from kudo_reconciler.objects.run_context import Tell

log = logging.getLogger(__name__)

_CONCURRENT_STEPS = 8
S = ExecutionStatus

Store = Callable[[PlanStatus], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Run:
    """What runs: a plan of an Instance under a uid."""

    instance: Instance
    version: OperatorVersion
    plan: Plan
    name: str
    uid: str
    memory: RunMemory
    still_wanted: Callable[[], bool]
    tell: Tell
    metrics: Metrics

    def path(self, ref: StepRef, task: str) -> TaskPath:
        return TaskPath(self.instance.key, self.name, ref.phase, ref.step, task)

    def context(self, path: TaskPath, ref: StepRef, task: Task, renderer: Renderer) -> TaskContext:
        return TaskContext(
            instance=self.instance,
            version=self.version,
            uid=self.uid,
            path=path,
            ref=ref,
            task=task,
            memory=self.memory,
            still_wanted=self.still_wanted,
            tell=self.tell,
            renderer=renderer,
        )

    def measure(self, ref: StepRef, outcome: StepOutcome, now: datetime) -> None:
        """Take note of how long a step took, once it has ended."""
        seconds = self.memory.steps.end(ref, now) if outcome.status.terminal else None
        if seconds is not None:
            self.metrics.step_ended(outcome.status, seconds)


@dataclass(frozen=True, slots=True)
class StepResult:
    """How a pass over a step ended."""

    outcome: StepOutcome
    failure: FatalTaskError | None = None
    retry: bool = False
    polled: bool = False


@dataclass
class PassResult:
    """How a pass over a plan ended.

    Attributes:
        entry: The status entry after the pass.
        failures: What ended the plan, with the message of its step.
        retry: Whether a transient error wants another try.
        polled: Whether something that is waited for cannot be watched.
    """

    entry: PlanStatus
    failures: list[tuple[FatalTaskError, str]] = field(default_factory=list)
    retry: bool = False
    polled: bool = False


@dataclass(frozen=True, slots=True)
class PlanRunner:
    """Runs passes over plans."""

    tasks: TaskRunner
    clock: Clock
    renderer: Renderer

    async def advance(self, run: Run, entry: PlanStatus, store: Store) -> PassResult:
        """Run every step that may run, until all wait or the plan has ended.

        Raises:
            Superseded: the run was replaced; nothing more was sent for it.
            Outdated: `store` found that the Instance had changed.
        """
        result = PassResult(record(entry, {}, self._now()))
        attempted: set[StepRef] = set()
        while steps := [ref for ref in runnable(run.plan, result.entry) if ref not in attempted]:
            if attempted or not is_single_step(run.plan):
                await store(result.entry)
            attempted.update(steps)
            for ref in steps:
                run.memory.steps.begin(ref, result.entry, self.clock.now())
            done = await self._run_steps(run, steps)
            outcomes = {ref: step.outcome for ref, step in done.items()}
            result.entry = record(result.entry, outcomes, self._now())
            for step in done.values():
                result.retry |= step.retry
                result.polled |= step.polled
                if step.failure is not None:
                    result.failures.append((step.failure, step.outcome.message or ""))
            if result.failures:
                break
        return result

    async def _run_steps(self, run: Run, steps: list[StepRef]) -> dict[StepRef, StepResult]:
        limit = asyncio.Semaphore(_CONCURRENT_STEPS)

        async def bounded(ref: StepRef) -> StepResult:
            async with limit:
                return await self._run_step(run, ref)

        if len(steps) == 1:
            return {steps[0]: await self._run_step(run, steps[0])}
        results = await asyncio.gather(*(bounded(ref) for ref in steps), return_exceptions=True)
        for outcome in results:
            if isinstance(outcome, BaseException):
                raise outcome
        return {
            ref: outcome
            for ref, outcome in zip(steps, results, strict=True)
            if isinstance(outcome, StepResult)
        }

    async def _run_step(self, run: Run, ref: StepRef) -> StepResult:
        """Run the tasks of a step in order; none waits for another to be done."""
        tried: list[_Tried] = []
        for name in step_of(run.plan, ref).tasks:
            began = self._now()
            tried.append(await self._try_task(run, ref, name, began))
            if tried[-1].failure is not None:
                break
        result = _step_result(tried)
        run.measure(ref, result.outcome, self.clock.now())
        return result

    async def _try_task(self, run: Run, ref: StepRef, name: str, began: str) -> "_Tried":
        path = run.path(ref, name)
        try:
            task = run.version.task(name)
            if task is None:
                raise FatalTaskError("UnknownTaskName", f"missing task {path}")
            context = run.context(path, ref, task, self.renderer)
            result = await self.tasks.run(context)
        except FatalTaskError as error:
            message = path.fatal_message(error)
            return _Tried(TaskOutcome(name, S.FATAL_ERROR, message, began), failure=error)
        except TransientTaskError as error:
            message = path.transient_message(error)
            return _Tried(TaskOutcome(name, S.ERROR, message, began))
        except (Superseded, Outdated, NotLeading):
            raise
        except Exception as fault:  # noqa: BLE001 - it is logged, and ends the step
            log.error("task crashed", extra={"task": str(path), **described(fault)})
            text = f"internal error ({type(fault).__name__}); the reconciler's log has the details"
            crash = FatalTaskError("TaskCrashed", text)
            message = path.fatal_message(crash)
            return _Tried(TaskOutcome(name, S.FATAL_ERROR, message, began), crash)
        if result.done:
            return _Tried(TaskOutcome(name, S.COMPLETE, began=began))
        outcome = TaskOutcome(name, S.IN_PROGRESS, result.message or None, began)
        return _Tried(outcome, polled=result.polled)

    def _now(self) -> str:
        return timestamp(self.clock.now())


@dataclass(frozen=True, slots=True)
class _Tried:
    """How a pass over a task ended."""

    outcome: TaskOutcome
    failure: FatalTaskError | None = None
    polled: bool = False


def _step_result(tried: list[_Tried]) -> StepResult:
    """Make the outcome of a step from those of its tasks; the worst one names it."""
    outcomes = tuple(one.outcome for one in tried)
    status, message = S.COMPLETE, None
    for worst in (S.FATAL_ERROR, S.ERROR, S.IN_PROGRESS):
        messages = [outcome.message for outcome in outcomes if outcome.status is worst]
        if messages:
            status, message = worst, ", ".join(filter(None, messages)) or None
            break
    return StepResult(
        StepOutcome(status, message, outcomes),
        failure=next((one.failure for one in tried if one.failure is not None), None),
        retry=status is S.ERROR,
        polled=any(one.polled for one in tried),
    )
