"""One attempt at a step: its tasks in order; as in KUDO 0.19 none waits until another one is done.

A Delete or Pipe task that has just finished ends the attempt if other tasks follow it: its end must
be stored before anything of the next task is sent. Otherwise it would run again after a crash, and
delete what the next one created. For the same reason the tasks after it wait while it fails, and
those after a Delete wait until everything is deleted.

While the Instance is suspended, an attempt looks at what was sent and sends nothing: tasks that
failed keep their state, and no task is tried that was not before.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from kubeio.connection.auth import Identity
from kubeio.errors import Forbidden, InvalidPath, KubeError
from kubeio.leader_election.elector import NotLeading
from kudo.api import ExecutionStatus
from kudo.api.known_secrets import Confidential
from kudo.api.task_kinds import FatalTaskError, TaskError, TaskPath, TransientTaskError, check_task
from kudo.objects.api_errors import advice
from kudo.plans.execution import StepOutcome, TaskOutcome
from kudo.plans.execution.decision import undecided
from kudo_reconciler.common.concurrency import FEW_AT_ONCE, paced
from kudo_reconciler.common.errors import Outdated, Superseded, Suspended, described, fault_text
from kudo_reconciler.execution.task_context import StepContext, TaskContext, TaskResult

log = logging.getLogger(__name__)

S = ExecutionStatus


class RunsTasks(Protocol):
    """Runs the tasks of one kind."""

    async def run(self, context: TaskContext) -> TaskResult:
        """Attempt the task once."""


@dataclass(frozen=True, slots=True)
class TaskRunner:
    """Runs tasks of every kind.

    Attributes:
        kinds: What runs the tasks of each kind.
    """

    kinds: Mapping[str, RunsTasks]

    async def run(self, context: TaskContext) -> TaskResult:
        """Attempt a task once.

        Raises:
            FatalTaskError: the plan cannot continue.
            TransientTaskError: a retry may help.
            Superseded: the run was replaced.
            NotLeading: this replica is not the leader any more.
        """
        if context.key in context.memory.finished:
            return TaskResult(done=True, outputs=context.memory.outputs.get(context.key))
        try:
            check_task(context.task)
        except FatalTaskError as error:
            text = f"failed to build task {context.path}: {error}"
            raise FatalTaskError(error.reason, text) from error
        try:
            result = await self.kinds[context.task.kind].run(context)
        except NotLeading:
            raise
        except InvalidPath as error:
            raise FatalTaskError("TaskEnhancementError", f"{error}") from error
        except KubeError as error:
            raise TransientTaskError("TaskError", f"{error}") from error
        if result.done:
            if result.outputs is not None:
                context.memory.add_outputs(context.key, result.outputs)
            context.memory.finished.add(context.key)
            # One that applies nothing has rendered nothing.
            context.memory.rendered.setdefault(context.key, frozenset())
        return result


@dataclass(frozen=True, slots=True)
class StepResult:
    """The result of an attempt at a step.

    Attributes:
        outcome: The new status of the step and its tasks.
        failure: The error that ends the plan.
        polled: Whether something that is waited for is not watched.
        look_again: Seconds after which it is attempted even if no event comes; None if it need not.
        faulty: Whether a bug of the reconciler ended it.
        unfinished: Whether more tasks follow once this result is stored.
        held_up: Whether the attempt would have sent something, were the Instance not suspended.
    """

    outcome: StepOutcome
    failure: FatalTaskError | None = None
    polled: bool = False
    look_again: float | None = None
    faulty: bool = False
    unfinished: bool = False
    held_up: bool = False


@dataclass(frozen=True, slots=True)
class StepRunner:
    """Attempts steps."""

    tasks: TaskRunner

    async def attempt(self, step: StepContext) -> StepResult:
        """Run the tasks of a step.

        Raises:
            Superseded: the run was replaced; nothing more was sent for it.
            Outdated: the Instance had to be changed first; decide again.
            NotLeading: this replica is not the leader any more.
        """
        without = await self._without_running(step)
        if without is not None:
            return without
        return _with_untried(await self._try_tasks(step), step)

    async def _try_tasks(self, step: StepContext) -> StepResult:
        """Run the tasks of a step that runs, as far as they may."""
        tried: list[StepResult] = []
        names, deleting = step.task_names, False
        async for number, name in paced(enumerate(names), FEW_AT_ONCE):
            if step.is_suspended() and name not in step.stored:
                return _step_result(tried, held_up=True)
            # Tasks that only delete continue: what a Delete waits for may be in use by what they
            # delete, as a PersistentVolumeClaim is by the pods of a StatefulSet.
            if deleting and not self._only_deletes(step, name):
                break
            result = await self._try_task(step, name)
            tried.append(_with_made(result, step.applied(name), step.job_uid(name)))
            if tried[-1].failure is not None:
                break
            if number < len(names) - 1 and step.is_recorded_first(name):
                if tried[-1].faulty or tried[-1].outcome.status is S.ERROR:
                    # It is retried, and would then delete what the next tasks create now.
                    break
                if tried[-1].outcome.status is not S.COMPLETE:
                    # After a crash it would be repeated, too.
                    deleting = deleting or self._only_deletes(step, name)
                elif not step.is_recorded(name):
                    return _step_result(tried, unfinished=True)
        return _step_result(tried)

    async def _without_running(self, step: StepContext) -> StepResult | None:
        """Return the result of a step that does not run, or not yet; None if it does."""
        memory = step.memory
        if step.ref in memory.decided or memory.entry is None:
            return None
        for part, expression in undecided(step.plan, memory.entry, step.ref):
            if step.is_suspended():
                return _step_result([], held_up=True)
            try:
                is_true = await step.holds(expression)
            except FatalTaskError as error:
                return StepResult(StepOutcome(S.FATAL_ERROR, str(error)), failure=error)
            except TransientTaskError as error:
                return StepResult(StepOutcome(S.ERROR, str(error)))
            if not is_true:
                memory.skip(step.plan, step.ref, whole_phase=part == "phase")
                return StepResult(StepOutcome(S.COMPLETE, expression, skipped=part))
        memory.decided.add(step.ref)
        return None

    def _only_deletes(self, step: StepContext, name: str) -> bool:
        try:
            return step.task_context(name).only_deletes()
        except FatalTaskError:
            # The attempt at the task reports it, after the deletions that are in progress.
            return False

    async def _try_task(self, step: StepContext, name: str) -> StepResult:
        path, began = step.path(name), step.now()
        stored = step.stored.get(name)
        if step.is_suspended() and stored is not None and stored.status is S.ERROR:
            return replace(_of_task(stored), held_up=True)
        try:
            result = await self.tasks.run(step.task_context(name))
        except Suspended:
            # A pause interrupted its first attempt, of which nothing is stored.
            text = "the Instance was suspended before everything was sent"
            interrupted = TaskOutcome(name, S.IN_PROGRESS, text, began)
            return replace(_of_task(stored or interrupted), held_up=True)
        except FatalTaskError as error:
            return _fatal(path, began, error)
        except TransientTaskError as error:
            if await step.stays(error):
                return _fatal(path, began, _lasting(error))
            text = path.transient_message(_advised(error, step.client.identity))
            return _of_task(TaskOutcome(name, S.ERROR, text, began))
        except (Superseded, Outdated, NotLeading):
            raise
        except Exception as fault:  # noqa: BLE001 - it is logged, and says nothing of the input
            log.error("task crashed", extra={"task": str(path), **described(fault)})
            step.crashed()
            text = fault_text(fault, "the task")
            return _of_task(TaskOutcome(name, S.IN_PROGRESS, text, began), faulty=True)
        if result.done:
            return _of_task(TaskOutcome(name, S.COMPLETE, began=began, outputs=result.outputs))
        message = result.message or None
        outcome = TaskOutcome(name, S.IN_PROGRESS, message, began, awaits=result.awaits)
        return replace(_of_task(outcome, polled=result.polled), look_again=result.look_again)


def without_secrets(result: StepResult, confidential: Confidential) -> StepResult:
    """Return the result of an attempt without values of secret parameters in its texts.

    Templates, kubelets, programs and admission policies may quote them in what they say.
    """
    if not confidential:
        return result

    def cleaned(text: str | None) -> str | None:
        return None if text is None else confidential.cleaned(text)

    outcome, error = result.outcome, result.failure
    tasks = tuple(replace(task, message=cleaned(task.message)) for task in outcome.tasks)
    outcome = replace(outcome, message=cleaned(outcome.message), tasks=tasks)
    if error is not None:
        error = FatalTaskError(error.reason, confidential.cleaned(str(error)), limit=error.limit)
    return replace(result, outcome=outcome, failure=error)


def refused(
    paths: Mapping[str, TaskPath],
    stored: Mapping[str, TaskOutcome],
    began: str,
    error: TaskError,
    stays: bool,
    suspended: bool,
) -> StepResult:
    """Return the result of an attempt at a step of which no task could be tried.

    The first task that is not done tells why. What is stored of the others stays: after a crash a
    task whose end is not stored would be repeated. During a pause nothing new is told.

    Args:
        paths: Of the tasks of the step by their names, in order.
        stored: What is stored of them.
        began: When the attempt began.
        error: Why they could not be tried.
        stays: Whether an error that is transient otherwise ends the plan.
        suspended: Whether the Instance is suspended.
    """
    if suspended:
        return _step_result([_of_task(outcome) for outcome in stored.values()], held_up=True)
    waiting = [
        name for name in paths if name not in stored or stored[name].status is not S.COMPLETE
    ]
    if not paths:
        return _step_result([])
    path = paths[(waiting or [*paths])[0]]
    if isinstance(error, FatalTaskError):
        result = _fatal(path, began, error)
    elif stays:
        result = _fatal(path, began, _lasting(error))
    else:
        result = _of_task(TaskOutcome(path.task, S.ERROR, path.transient_message(error), began))
    before = stored.get(path.task, TaskOutcome(path.task, S.PENDING))
    made = _with_made(result, before.applied, before.job_uid)
    outcomes = {**stored, path.task: made.outcome.tasks[0]}
    tasks = tuple(outcomes[name] for name in paths if name in outcomes)
    return replace(result, outcome=replace(result.outcome, tasks=tasks))


def _advised(error: TransientTaskError, identity: Identity | None) -> TransientTaskError:
    """Return an error with what to do about a right that an account lacks."""
    if identity is None or not isinstance(error.__cause__, Forbidden):
        return error
    # From the text that is told anyway: what the API server says may quote a Secret.
    text = str(error)
    hint = advice("", error.__cause__.status, text, (), account=identity.user)
    return (
        error if not hint or hint in text else TransientTaskError(error.reason, f"{text}; {hint}")
    )


def _lasting(error: TaskError) -> FatalTaskError:
    text = f"{error}; the namespace is being deleted, so it is not tried again"
    return FatalTaskError(error.reason, text)


def _fatal(path: TaskPath, began: str, error: FatalTaskError) -> StepResult:
    outcome = TaskOutcome(path.task, S.FATAL_ERROR, path.fatal_message(error), began)
    return _of_task(outcome, failure=error)


def _of_task(
    outcome: TaskOutcome,
    *,
    failure: FatalTaskError | None = None,
    polled: bool = False,
    faulty: bool = False,
) -> StepResult:
    """Return the result of a step of one task."""
    step = StepOutcome(outcome.status, outcome.message, (outcome,))
    return StepResult(step, failure, polled, faulty=faulty)


def _with_made(result: StepResult, applied: str, job_uid: str) -> StepResult:
    """Return the result of a step of one task with what the task has made.

    Args:
        result: The result.
        applied: Digests of what the task has applied.
        job_uid: uid of the Job that it has created.
    """
    if not applied and not job_uid:
        return result
    tasks = tuple(replace(task, applied=applied, job_uid=job_uid) for task in result.outcome.tasks)
    return replace(result, outcome=replace(result.outcome, tasks=tasks))


def _with_untried(result: StepResult, step: StepContext) -> StepResult:
    """Return the result of an attempt with what is stored of tasks that it did not come to.

    An attempt ends before them to have the end of an earlier task stored. That write must not take
    the ends of theirs away: after a crash they would run again.
    """
    outcomes = {**step.stored, **{task.name: task for task in result.outcome.tasks}}
    if len(outcomes) == len(result.outcome.tasks):
        return result
    tasks = tuple(outcomes[name] for name in step.task_names if name in outcomes)
    return replace(result, outcome=replace(result.outcome, tasks=tasks))


def _step_result(
    tried: list[StepResult], *, unfinished: bool = False, held_up: bool = False
) -> StepResult:
    """Return the result of a step from those of its tasks; the worst status counts."""
    outcomes = tuple(task for result in tried for task in result.outcome.tasks)
    held_up = held_up or any(result.held_up for result in tried)
    status, message = S.IN_PROGRESS if unfinished or held_up else S.COMPLETE, None
    for worst in (S.FATAL_ERROR, S.ERROR, S.IN_PROGRESS):
        messages = [outcome.message for outcome in outcomes if outcome.status is worst]
        if messages:
            status, message = worst, ", ".join(filter(None, messages)) or None
            break
    return StepResult(
        StepOutcome(status, message, outcomes),
        failure=next((result.failure for result in tried if result.failure is not None), None),
        polled=any(result.polled for result in tried),
        look_again=min(
            (result.look_again for result in tried if result.look_again is not None), default=None
        ),
        faulty=any(result.faulty for result in tried),
        unfinished=unfinished,
        held_up=held_up,
    )
