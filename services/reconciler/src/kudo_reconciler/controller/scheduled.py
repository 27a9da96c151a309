"""Reconciles Instances with a scheduled run, from its start to the clear.

    refuse | start or resume -> advance -> ... -> finish -> end -> idle
                                    └── cancel ──────┘

`beginning` and `ending` have the first and the last part. Between them the run keeps the
OperatorVersion and the parameters that it began with.
"""

import logging
from dataclasses import dataclass
from functools import partial

from kudo.api import ExecutionStatus, Instance, OperatorVersion, Plan, PlanStatus, task_errors
from kudo.api.identity import identity
from kudo.api.problems import Problem
from kudo.api.task_kinds import FatalTaskError
from kudo.plans.declaration import check_plan
from kudo.plans.execution import (
    Intent,
    InvalidLimits,
    limits_of,
    status_of,
)
from kudo.plans.runs.last_run import NO_SOURCES, run_in_progress
from kudo.plans.runs.plan_choice import has_uid_of_another_plan
from kudo.plans.runs.retries import is_honoured
from kudo.plans.runs.run_parameters import as_begun
from kudo.plans.runs.status import begun, held_up, with_entry
from kudo.tasks.kudo_operator import dependencies_of
from kudo.tasks.pipe import pipes
from kudo_reconciler.common.clock import loop_seconds
from kudo_reconciler.common.errors import Outdated
from kudo_reconciler.common.keys import Key, key_of
from kudo_reconciler.controller.beginning import Beginning
from kudo_reconciler.controller.context import (
    AGAIN_SECONDS,
    FIND_CHILDREN,
    FIND_ORPHANS,
    ReconcileContext,
    Result,
)
from kudo_reconciler.controller.ending import Ending
from kudo_reconciler.controller.idle import Idle
from kudo_reconciler.controller.job_ends import has_jobs
from kudo_reconciler.controller.leftovers import Leftovers
from kudo_reconciler.controller.parameter_sources import ParameterSources
from kudo_reconciler.events.queue import Severity
from kudo_reconciler.execution.run import PlanRunner, Run, StatusWriter
from kudo_reconciler.execution.task_context import Memories, RunMemory
from kudo_reconciler.store.versions import ChildVersions
from kudo_reconciler.tenancy.accounts import recordable

log = logging.getLogger(__name__)

_MESSAGES_SECONDS = 2.0
"""Time between two writes of the status of a run that change messages alone."""


@dataclass
class Scheduled:
    """Reconciles Instances with a scheduled run, and keeps the memory of each run.

    Attributes:
        recheck: Seconds after which everything about a waiting run is read live again.
    """

    context: ReconcileContext
    runner: PlanRunner
    beginning: Beginning
    ending: Ending
    memories: Memories
    recheck: float

    @classmethod
    def create(
        cls,
        context: ReconcileContext,
        runner: PlanRunner,
        idle: Idle,
        leftovers: Leftovers,
        sources: ParameterSources,
        recheck: float,
    ) -> "Scheduled":
        memories: Memories = {}
        ending = Ending(context, runner, idle, memories, leftovers)
        beginning = Beginning(context, ending, memories, runner.accounts, sources, recheck)
        return cls(context, runner, beginning, ending, memories, recheck)

    async def forget(self, key: Key) -> None:
        """Forget the run of an Instance; if it has not ended, it was removed from the spec."""
        await self.beginning.forget(key)
        memory = self.memories.pop(key, None)
        if memory is not None:
            await self.context.operations.forget(key, FIND_ORPHANS)
            await self.runner.end(memory, Intent.DELETE)
            self.context.metrics.run_stopped(memory.plan)

    def with_attempts(self) -> list[Key]:
        """Return the Instances with attempts in progress, or ended and not recorded."""
        return [key for key, memory in self.memories.items() if memory.attempts]

    async def proceed(self, instance: Instance, version: OperatorVersion) -> Result:
        """Advance the scheduled run as far as possible without waiting.

        Raises:
            StillGoing: an operation has to end first.
            Outdated: the Instance changed; decide again.
            Superseded: another run was scheduled; decide again.
        """
        key, scheduled = key_of(instance), instance.scheduled
        name, uid = scheduled.plan_name or "", scheduled.uid or ""
        entry = instance.plan_status.get(name)
        if entry is not None and entry.uid != uid:
            entry = None  # of another run
        if entry is None and is_honoured(instance, scheduled):
            # A manifest that keeps the request of a retry asks for nothing more.
            return await self._drop(key, instance)
        if not uid or has_uid_of_another_plan(instance):
            # Scheduled past the webhook, which sets it. Under a uid of its own the run cannot be
            # taken for one that has ended.
            fresh = self.context.fresh_uid()
            await self.context.instances.schedule(instance, name, fresh, asked=scheduled)
            return Result("scheduled", requeue_after=AGAIN_SECONDS)
        if entry is not None and status_of(entry).terminal:
            # Its end is stored; the writes that follow failed, or their process died.
            return await self.ending.end(instance, version, entry)
        memory = self.memories.get(key)
        if memory is not None and not memory.is_of(instance, uid):
            # No write of the old run may arrive after a write of the new one was sent.
            await self.context.operations.forget(key, FIND_ORPHANS)
            await self.runner.end(memory, Intent.CANCEL)
            memory = None
        if entry is None and self.context.events.unwritten(instance):
            # The record of the last run is about to be replaced: after a crash nobody could repeat
            # its end event.
            return Result("waiting", requeue_after=self.context.events.times.hold)
        if scheduled.status == ExecutionStatus.FATAL_ERROR:
            return await self._cancel(key, instance, version)
        if instance.suspended and entry is None:
            # The rules are applied when it begins.
            status = held_up(instance, self.context.now())
            await self.context.instances.write_status(instance, status)
            return Result("suspended")
        # Until its first status is stored, changes may arrive that the rules have not been applied
        # to.
        if memory is None or entry is None:
            if self.context.stopping():
                return Result("waiting")
            started = await self.beginning.start_or_resume(key, instance)
            if isinstance(started, Result):
                return started
            instance, version = started
        else:
            # A run keeps the OperatorVersion that it began with.
            version = memory.version
            # Everything is read live from time to time, in case an event was lost: nothing else
            # wakes a run that waits.
            memory.rechecking = loop_seconds() >= memory.recheck_at
            if memory.rechecking:
                memory.recheck_at = loop_seconds() + self.recheck
                live = await self.context.instances.live(key)
                read = instance.metadata.resource_version
                if live is None or live.metadata.resource_version != read:
                    raise Outdated
        return await self._advance(key, instance, version)

    async def _drop(self, key: Key, instance: Instance) -> Result:
        """Put a request that asks for nothing back to the run in progress, or clear it."""
        plan = run_in_progress(instance)
        if plan is None:
            await self.forget(key)
            await self.context.instances.drop_request(instance)
        else:
            uid = instance.plan_status[plan].uid or ""
            asked = as_begun(instance, plan)
            await self.context.instances.schedule(instance, plan, uid, asked=asked)
        return Result("scheduled", requeue_after=AGAIN_SECONDS)

    # Progress

    async def _advance(self, key: Key, instance: Instance, version: OperatorVersion) -> Result:
        name, uid = instance.scheduled.plan_name or "", instance.scheduled.uid or ""
        memory = self.memories[key]
        # Edits since its start are for the next run, even before the first status is stored.
        as_begun = memory.as_begun(instance)
        if memory.account is not None and recordable(memory.account) is None:
            # It was not recorded. Whoever named it may have corrected it.
            memory.account = await self.runner.accounts.name_of(as_begun)
        fault = next(iter(memory.faults.values()), "")
        account = recordable(memory.account)
        sources = NO_SOURCES if memory.values is None else memory.values.sources
        status = begun(as_begun, version, self.context.now(), account, fault=fault, sources=sources)
        if status.suspended_at != instance.status.suspended_at:
            # What a pause held up is stored before anything is sent; and once the pause is stored,
            # nothing is in flight any more.
            if instance.suspended:
                await self.runner.end(memory, Intent.CANCEL)
            instance = await self.context.instances.write_status(instance, status)
            status = instance.status
        entry = (status.plan_status or {})[name]
        if memory.run_parameters is None:
            memory.run_parameters = entry.run_parameters or {}
        plan = version.plans.get(name)
        if plan is None:
            text = f"could not find required plan: '{name}'"
            return await self.ending.fail(instance, version, status, "InvalidPlan", text)
        # What can be told before anything is sent ends the run here.
        problems = _problems(instance, version, name, plan)
        if problems:
            return await self.ending.fail(instance, version, status, "InvalidPlan", problems)
        unreadable = _take_limits(memory, name, instance.spec.plan_timeout)
        if unreadable:
            text = "; ".join(map(str, unreadable))
            return await self.ending.fail(instance, version, status, unreadable[0].reason, text)
        missing = await self._missing_children(key, memory)
        if missing is not None:
            text = f"{task_errors.FAILED}{missing}"
            return await self.ending.fail(instance, version, status, missing.reason, text)
        writer = StatusWriter(self.context.instances, instance, status)
        run = Run(
            instance=as_begun,
            version=version,
            plan=plan,
            name=name,
            uid=uid,
            memory=memory,
            writer=writer,
            is_current=lambda: self._is_current(key, instance),
            is_suspended=lambda: (
                (now := self.context.instances.cached(key)) is not None and now.suspended
            ),
            tell=partial(self._tell, instance, memory),
        )
        intent = Intent.PAUSE if instance.suspended else Intent.RUN
        if self.context.stopping():
            # Attempts in progress end, and nothing new begins: the next leader continues.
            intent = Intent.STOP
        progress = memory.ending or await self.runner.advance(run, entry, intent)
        for failure, message in progress.failures:
            self.context.events.warning(instance, uid, failure.reason, message)
        if status_of(progress.entry).terminal:
            if has_jobs([memory.version]):
                # Its Jobs are deleted before its end is stored, which may take several reconciles.
                # Nothing of it may be attempted again meanwhile.
                memory.ending = progress
            reason = progress.failures[0][0].reason if progress.failures else ""
            status = with_entry(writer.status, progress.entry)
            return await self.ending.finish(
                writer.instance, version, status, progress.entry, reason
            )
        later = await self._store(writer, progress.entry, memory)
        # At the latest for the next recheck, whatever the steps wait for.
        soon = min(later, self.recheck)
        if progress.look_again is not None:
            soon = min(soon, progress.look_again)
        outcome = "retry" if memory.is_backing_off else "waiting"
        return Result(outcome, requeue_after=soon)

    async def _store(self, writer: StatusWriter, entry: PlanStatus, memory: RunMemory) -> float:
        """Store the entry of a run that waits; return the seconds until it may be stored.

        The messages of a custom resource or of pods can change many times a second. A message that
        is not stored is lost: the next reconcile has the present one.
        """
        if writer.changes_messages_alone(entry):
            left = memory.messages_at + _MESSAGES_SECONDS - loop_seconds()
            if left > 0:
                return max(left, AGAIN_SECONDS)
            memory.messages_at = loop_seconds()
        await writer.store(entry)
        return self.recheck

    async def _missing_children(self, key: Key, memory: RunMemory) -> FatalTaskError | None:
        """Return why the children of a plan cannot be created, before anything is sent."""
        if memory.finished or memory.applied or memory.states:
            return None
        children = ChildVersions(self.context.versions)
        try:
            if not dependencies_of(memory.version, memory.plan):
                return None
            await self.context.operations.result(
                key, FIND_CHILDREN, memory.uid, lambda: children.tree(memory.version, memory.plan)
            )
        except FatalTaskError as error:
            return error
        return None

    def _tell(
        self, instance: Instance, memory: RunMemory, severity: Severity, reason: str, message: str
    ) -> None:
        if memory.values is not None:
            message = memory.values.confidential.cleaned(message)
        if (reason, message) not in memory.reported:
            memory.reported.add((reason, message))
            self.context.events.note(identity(instance), memory.uid, severity, reason, message)

    def _is_current(self, key: Key, instance: Instance) -> bool:
        """Whether the cached Instance still names the run."""
        now = self.context.instances.cached(key)
        return (
            now is not None
            and now.metadata.uid == instance.metadata.uid
            and now.metadata.deleting == instance.metadata.deleting
            and now.scheduled.uid == instance.scheduled.uid
            and now.scheduled.status != ExecutionStatus.FATAL_ERROR
        )

    # Cancel

    async def _cancel(self, key: Key, instance: Instance, version: OperatorVersion) -> Result:
        await self.beginning.forget(key)
        if key in self.memories:
            # Nothing may be sent for the run after its end is stored.
            await self.context.operations.forget(key, FIND_ORPHANS)
            await self.runner.end(self.memories[key], Intent.CANCEL)
        memory, begins = self.beginning.memory_of(instance), instance
        if memory is not None:
            begins, version = memory.as_begun(instance), memory.version
        status = begun(begins, version, self.context.now())
        entry = instance.plan_status.get(instance.scheduled.plan_name or "")
        if entry is None or entry.uid != instance.scheduled.uid:
            # Its end will be recorded as that of any other run, so it must be allowed to start.
            problems = await self.beginning.problems_of(instance, version)
            if problems:
                await self.beginning.refuse(instance, version, problems)
                return Result("refused", requeue_after=AGAIN_SECONDS)
            if self.beginning.tell_replaced(key, instance):
                return Result("waiting", requeue_after=self.context.events.times.hold)
            # It goes on with this memory if its end cannot be stored and is not asked for any more.
            account = await self.runner.accounts.name_of(instance)
            self.beginning.announce(key, instance)
            # If it is replaced before its end is stored, the end of the announced run must be
            # reported.
            self.memories[key] = self.beginning.memory(instance, version, account)
        by = instance.scheduled.cancelled_by or "request"
        return await self.ending.fail(
            instance, version, status, "PlanCancelled", f"cancelled by {by}"
        )


def _take_limits(memory: RunMemory, name: str, default: str | None) -> tuple[Problem, ...]:
    """Compute the time limits of a run, if they are not known; return why they cannot be used.

    Args:
        memory: The memory of the run.
        name: The plan.
        default: `spec.planTimeout`, which may change while it runs.
    """
    if memory.limited_by == (default or ""):
        return ()
    try:
        memory.limits = limits_of(memory.version, name, default=default)
    except InvalidLimits as error:
        return error.problems
    memory.limited_by = default or ""
    return ()


def _problems(instance: Instance, version: OperatorVersion, name: str, plan: Plan) -> str:
    """Return why the plan cannot run, by its definition alone."""
    problems = "; ".join(problem.message for problem in check_plan(name, plan))
    if problems:
        return problems
    try:
        pipes(instance.metadata.name, name, version)
    except FatalTaskError as error:
        return str(error)
    return ""
