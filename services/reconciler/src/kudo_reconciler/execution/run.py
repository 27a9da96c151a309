"""Runs a plan: attempts the steps that may run, and records the results in the status entry.

Each attempt is an operation of its own, so that a slow or failing step delays no other one.
`kudo.plans.execution.decide` decides which steps start.

The entry is stored before anything is sent, except for a plan of one step, whose end is the next
thing to be stored anyway. It is stored again before anything is sent for a step that waited for
another one: a crash must not repeat a finished step.
"""

import asyncio
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial

from kubeio.leader_election.elector import NotLeading
from kudo.api import ExecutionStatus, Instance, InstanceStatus, OperatorVersion, Plan, PlanStatus
from kudo.api.task_kinds import FatalTaskError, TaskError, TaskPath
from kudo.api.times import rfc3339
from kudo.plans.execution import (
    Intent,
    Passing,
    StepOutcome,
    StepRef,
    StepState,
    adapt,
    after_attempt,
    after_interruption,
    attempted_still,
    decide,
    is_single_step,
    known_outcomes,
    next_limit,
    only_messages_differ,
    outputs_before,
    record,
    runnable,
    status_of,
    step_of,
    step_status,
    time_out,
    with_look,
)
from kudo.plans.runs.status import with_entry
from kudo_reconciler.common.clock import Clock, loop_seconds
from kudo_reconciler.common.concurrency import FEW_AT_ONCE, paced
from kudo_reconciler.common.errors import REPEATED_FAULTS, Outdated, Superseded
from kudo_reconciler.common.keys import key_of
from kudo_reconciler.execution.operations import Operation, Operations
from kudo_reconciler.execution.rendering import Renderer
from kudo_reconciler.execution.steps import StepResult, StepRunner, refused, without_secrets
from kudo_reconciler.execution.task_context import Progress, RunMemory, StepContext
from kudo_reconciler.metrics.metrics import Metrics
from kudo_reconciler.objects.run_context import Tell
from kudo_reconciler.store.instances import InstanceStore
from kudo_reconciler.tenancy.accounts import Accounts

_AT_ONCE = 100
"""Results of tasks that are recorded before the event loop may run other tasks."""
_HELD_SECONDS = 1.0
"""How long a worker may be held for a run whose steps keep ending."""


@dataclass
class StatusWriter:
    """Stores the entry of a run.

    Attributes:
        instance: The Instance as last stored.
        status: Its status, to which the entry belongs.
    """

    instances: InstanceStore
    instance: Instance
    status: InstanceStatus

    async def store(self, entry: PlanStatus) -> None:
        """Write the status if it differs.

        Raises:
            Outdated: the Instance has changed; decide again.
        """
        status = with_entry(self.status, entry)
        self.instance = await self.instances.write_status(self.instance, status)
        self.status = self.instance.status

    def changes_messages_alone(self, entry: PlanStatus) -> bool:
        """Return whether storing the entry would change nothing but messages."""
        stored = self.stored(entry)
        if stored is None or not only_messages_differ(stored, entry):
            return False
        return with_entry(self.status, stored) == self.instance.status

    def stored(self, entry: PlanStatus) -> PlanStatus | None:
        """Return the stored entry; None if it is of another run."""
        stored = self.instance.plan_status.get(entry.name)
        return stored if stored is not None and stored.uid == entry.uid else None


@dataclass(frozen=True, slots=True)
class Run:
    """An execution of a plan of an Instance, with its uid."""

    instance: Instance
    version: OperatorVersion
    plan: Plan
    name: str
    uid: str
    memory: RunMemory
    writer: StatusWriter
    is_current: Callable[[], bool]
    is_suspended: Callable[[], bool]
    tell: Tell

    def paths(self, ref: StepRef) -> dict[str, TaskPath]:
        """Return the paths of the tasks of a step, by their names, in order."""
        key, names = self.instance.key, step_of(self.plan, ref).tasks
        return {name: TaskPath(key, self.name, ref.phase, ref.step, name) for name in names}


@dataclass(frozen=True, slots=True)
class PlanRunner:
    """Advances runs."""

    steps: StepRunner
    operations: Operations
    renderer: Renderer
    accounts: Accounts
    clock: Clock
    metrics: Metrics
    rng: random.Random = field(default_factory=random.Random)

    async def advance(self, run: Run, entry: PlanStatus, intent: Intent) -> Progress:
        """Attempt every step that may run, until all wait or take long, or the plan has ended.

        Raises:
            Superseded: the run was replaced; nothing more was sent for it.
            Outdated: the Instance had changed.
            NotLeading: this replica is not the leader any more.
        """
        progress = Progress(self._recorded(run, entry, {}))
        attempted: set[StepRef] = set()
        until = loop_seconds() + _HELD_SECONDS
        while True:
            unfinished = await self._take_results(run, progress)
            attempted -= unfinished
            decision = decide(
                run.plan,
                progress.entry,
                intent,
                run.memory.states,
                loop_seconds(),
                attempted=attempted,
            )
            progress.look_again = decision.look_again
            await self._end(run.memory, decision.end)
            if status_of(progress.entry).terminal:
                return progress
            passing = self._next_limit(run, progress.entry)
            if passing is not None and passing.passed:
                # Nothing may arrive for the run after its end is stored.
                await self.end(run.memory, Intent.CANCEL)
                entry, message = time_out(run.plan, progress.entry, passing, self._now())
                progress.entry = entry
                progress.failures.append((FatalTaskError("TimedOut", message), message))
                return progress
            if decision.start:
                await self._store_before(run, progress.entry, decision.start, unfinished)
                attempted.update(decision.start)
                # Some are done at once, and would all run in one turn of the event loop.
                async for ref in paced(decision.start, FEW_AT_ONCE):
                    self._start(run, ref, progress.entry)
            left = until - loop_seconds()
            await self.operations.wait_briefly(run.memory.attempts.values(), max(0.0, left))
            # A run whose steps keep ending gives its worker to other Instances after a while: the
            # next reconcile continues.
            if left <= 0 or not any(attempt.ended for attempt in run.memory.attempts.values()):
                return self._with_attempts(run, progress)

    def _next_limit(self, run: Run, entry: PlanStatus) -> Passing | None:
        """Return the time limit that comes first.

        After a restart every step is attempted first: what happened meanwhile counts.
        """
        memory, suspended_at = run.memory, run.writer.status.suspended_at
        if not memory.limits or any(ref not in memory.states for ref in runnable(run.plan, entry)):
            return None
        now = self.clock.now()
        return next_limit(run.plan, entry, memory.limits, now, suspended_at=suspended_at)

    async def end(self, memory: RunMemory, intent: Intent) -> None:
        """Cancel the attempts of a run that does not continue; see `_end` for what is awaited."""
        decision = decide(None, None, intent, memory.states, loop_seconds())
        await self._end(memory, decision.end)

    async def _end(self, memory: RunMemory, refs: tuple[StepRef, ...]) -> None:
        """Cancel attempts, awaiting only writes that are in flight."""
        for ref in refs:
            del memory.states[ref]
        await self.operations.cancel([memory.attempts.pop(ref) for ref in refs])

    async def _store_before(
        self,
        run: Run,
        entry: PlanStatus,
        start: tuple[StepRef, ...],
        unfinished: set[StepRef],
    ) -> None:
        """Store the results that the steps starting now depend on."""
        stored = run.writer.stored(entry)
        if stored is None:
            if not is_single_step(run.plan) or unfinished:
                await run.writer.store(entry)
            return
        # The OperatorVersion may have been edited since: its steps may differ.
        stored = adapt(run.name, run.plan, stored)
        if unfinished.intersection(start) or not set(start) <= set(runnable(run.plan, stored)):
            await run.writer.store(entry)

    def _start(self, run: Run, ref: StepRef, entry: PlanStatus) -> None:
        memory = run.memory
        memory.entry = entry
        memory.steps.begin(ref, entry, self.clock.now())
        memory.states[ref] = replace(memory.states.get(ref, StepState()), in_flight=True)

        async def attempt(operation: Operation[StepResult]) -> StepResult:
            return await self._attempt(run, ref, entry, operation)

        memory.attempts[ref] = self.operations.start(key_of(run.instance), attempt)

    async def _attempt(
        self,
        run: Run,
        ref: StepRef,
        entry: PlanStatus,
        operation: Operation[StepResult],
    ) -> StepResult:
        """Attempt a step as the account of the run, if there is one."""
        began = self._now()
        stored = {outcome.name: outcome for outcome in known_outcomes(step_status(entry, ref))}
        try:
            client = await self.accounts.acting(run.instance, run.memory.account)
        except TaskError as error:
            stays = await self.accounts.ends_with_namespace(run.instance, None, error)
            return refused(run.paths(ref), stored, began, error, stays, run.is_suspended())
        step = StepContext(
            instance=run.instance,
            version=run.version,
            plan=run.plan,
            plan_name=run.name,
            uid=run.uid,
            ref=ref,
            memory=run.memory,
            is_current=run.is_current,
            is_suspended=run.is_suspended,
            stored=stored,
            # Those of the steps before it are stored, and stay what they are.
            outputs=outputs_before(run.plan, entry, ref) if run.version.outputs else {},
            tell=run.tell,
            takes_long=operation.takes_long,
            renderer=self.renderer,
            client=client,
            stays=partial(self.accounts.ends_with_namespace, run.instance, client.identity),
            now=self._now,
            crashed=self.metrics.task_faults.inc,
        )
        result = await self.steps.attempt(step)
        values = run.memory.values
        return result if values is None else without_secrets(result, values.confidential)

    async def _take_results(self, run: Run, progress: Progress) -> set[StepRef]:
        """Record the attempts that have ended; return the steps that continue after that."""
        ended: dict[StepRef, StepResult] = {}
        interrupted: Exception | None = None
        for ref, operation in list(run.memory.attempts.items()):
            if not operation.ended:
                continue
            del run.memory.attempts[ref]
            state = run.memory.states[ref] = replace(run.memory.states[ref], in_flight=False)
            try:
                ended[ref] = operation.result()
            except (Outdated, Superseded, NotLeading) as error:
                interrupted = error
            else:
                run.memory.states[ref] = self._state_after(state, ended[ref])
                if ended[ref].faulty and run.memory.states[ref].failures >= REPEATED_FAULTS:
                    # For the conditions: one that does not repeat is nothing that users can act on.
                    message = ended[ref].outcome.message
                    run.memory.faults[ref] = f"{ref.phase}.{ref.step}: {message}"
                else:
                    run.memory.faults.pop(ref, None)
        if interrupted is not None:
            # The next attempt finds what these have done.
            raise interrupted
        for some in _portions(ended):
            self._record(run, progress, some)
            if len(some) < len(ended):
                await asyncio.sleep(0)
        return {ref for ref, result in ended.items() if result.unfinished}

    def _state_after(self, state: StepState, result: StepResult) -> StepState:
        now, jitter = loop_seconds(), self.rng.random()
        if result.held_up:
            return with_look(state, now, result.look_again)
        if result.faulty:
            return after_interruption(state, now, jitter=jitter)
        after = after_attempt(
            state, result.outcome.status, now, polled=result.polled, jitter=jitter
        )
        return with_look(after, now, result.look_again)

    def _record(self, run: Run, progress: Progress, ended: Mapping[StepRef, StepResult]) -> None:
        outcomes = {
            ref: self._with_next_attempt(result.outcome, run.memory.states[ref])
            for ref, result in ended.items()
        }
        progress.entry = self._recorded(run, progress.entry, outcomes)
        for ref, result in sorted(ended.items()):
            self._measure(run, ref, result.outcome)
            if result.failure is not None:
                progress.failures.append((result.failure, result.outcome.message or ""))

    def _with_next_attempt(self, outcome: StepOutcome, state: StepState) -> StepOutcome:
        """Return an outcome whose failed tasks tell when they are tried again."""
        if outcome.status is not ExecutionStatus.ERROR or state.due is None:
            return outcome
        at = rfc3339(self.clock.now() + timedelta(seconds=state.due - loop_seconds()))
        tasks = tuple(
            replace(task, failures=state.failures, next_attempt_at=at)
            if task.status is ExecutionStatus.ERROR
            else task
            for task in outcome.tasks
        )
        return replace(outcome, tasks=tasks)

    def _recorded(
        self, run: Run, entry: PlanStatus, outcomes: Mapping[StepRef, StepOutcome]
    ) -> PlanStatus:
        return record(entry, outcomes, self._now(), run.memory.limits)

    def _measure(self, run: Run, ref: StepRef, outcome: StepOutcome) -> None:
        """Measure the duration of a step that has ended."""
        if outcome.status.terminal:
            seconds = run.memory.steps.end(ref, self.clock.now())
            if seconds is not None:
                self.metrics.step_ended(outcome.status, seconds)

    def _with_attempts(self, run: Run, progress: Progress) -> Progress:
        """Record what the attempts do that continue without this reconcile."""
        going = {
            ref: attempted_still(progress.entry, ref, operation.doing)
            for ref, operation in run.memory.attempts.items()
        }
        progress.entry = self._recorded(run, progress.entry, going)
        passing = self._next_limit(run, progress.entry)
        if passing is not None:
            waits = (progress.look_again, max(0.0, passing.seconds_left))
            progress.look_again = min(wait for wait in waits if wait is not None)
        return progress

    def _now(self) -> str:
        return rfc3339(self.clock.now())


def _portions(ended: Mapping[StepRef, StepResult]) -> Iterator[Mapping[StepRef, StepResult]]:
    """Yield results of steps, of about a hundred tasks at a time."""
    portion: dict[StepRef, StepResult] = {}
    tasks = 0
    for ref, result in ended.items():
        portion[ref] = result
        tasks += max(1, len(result.outcome.tasks))
        if tasks >= _AT_ONCE:
            yield portion
            portion, tasks = {}, 0
    if portion:
        yield portion
