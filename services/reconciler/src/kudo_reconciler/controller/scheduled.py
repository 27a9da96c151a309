"""Reconciles Instances with a scheduled run, from its start to the clear.

    refuse | start or resume -> advance -> ... -> finish -> end -> idle
                                    └── cancel ──────┘

The writes that end a run come in this order: terminal status, clear with a uid test, status of the
idle Instance; the end event is queued before the clear. After a crash between any two of them the
next reconcile continues.
"""

import logging
from dataclasses import dataclass, field
from functools import partial

from kudo.api import (
    ExecutionStatus,
    Instance,
    InstanceStatus,
    OperatorVersion,
    Plan,
    PlanStatus,
)
from kudo.children import dependencies_of
from kudo.execution import Intent, adapt, fail, finished_tasks, status_of
from kudo.identity import identity
from kudo.names import FINALIZER_CLEANUP, PLAN_CLEANUP
from kudo.pipe import pipes
from kudo.problems import Problem
from kudo.runs.last_run import edited_since
from kudo.runs.plan_choice import active_run, has_uid_of_another_plan
from kudo.runs.revalidation import revalidate_scheduled, run_in_progress
from kudo.runs.status import begun, leaving, running, with_conditions, with_entry
from kudo.strategies import check_plan
from kudo.tasks import FatalTaskError
from kudo_reconciler.clock import loop_seconds
from kudo_reconciler.controller.context import (
    AGAIN_SECONDS,
    FIND_CHILDREN,
    ReconcileContext,
    Result,
    finalizers,
)
from kudo_reconciler.controller.idle import Idle
from kudo_reconciler.errors import Outdated
from kudo_reconciler.event_queue import Severity
from kudo_reconciler.execution.child_versions import ChildVersions
from kudo_reconciler.execution.run import PlanRunner, Run, StatusWriter
from kudo_reconciler.execution.task_context import RunMemory
from kudo_reconciler.keys import Key, key_of
from kudo_reconciler.store.versions import VersionTooLarge

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
    idle: Idle
    recheck: float
    _memories: dict[Key, RunMemory] = field(default_factory=dict)

    async def forget(self, key: Key) -> None:
        """Forget the run of an Instance; if it has not ended, it was removed from the spec."""
        memory = self._memories.pop(key, None)
        if memory is not None:
            await self.runner.end(memory, Intent.DELETE)
            self.context.metrics.run_stopped(memory.plan)

    def with_attempts(self) -> list[Key]:
        """Return the Instances with attempts in progress, or ended and not recorded."""
        return [key for key, memory in self._memories.items() if memory.attempts]

    async def proceed(self, instance: Instance, version: OperatorVersion) -> Result:
        """Advance the scheduled run as far as possible without waiting.

        Raises:
            StillGoing: an operation has to end first.
            Outdated: the Instance changed; decide again.
            Superseded: another run was scheduled; decide again.
        """
        key, scheduled = key_of(instance), instance.scheduled
        name, uid = scheduled.plan_name or "", scheduled.uid or ""
        if not uid or has_uid_of_another_plan(instance):
            await self.context.instances.schedule(instance, name, self.context.fresh_uid())
            return Result("scheduled", requeue_after=AGAIN_SECONDS)
        entry = instance.plan_status.get(name)
        if entry is not None and entry.uid != uid:
            entry = None  # of another run
        if entry is not None and status_of(entry).terminal:
            return await self.end(instance, version, entry)
        memory = self._memories.get(key)
        if memory is not None and not memory.is_of(instance, uid):
            # No write of the old run may arrive after a write of the new one was sent.
            await self.runner.end(memory, Intent.CANCEL)
            memory = None
        if entry is None and self.context.events.unwritten(instance):
            # The record of the last run is about to be replaced: after a crash nobody could repeat
            # its end event.
            return Result("waiting", requeue_after=self.context.events.times.hold)
        if scheduled.status == ExecutionStatus.FATAL_ERROR:
            return await self._cancel(key, instance, version)
        # Until its first status is stored, changes may arrive that the rules have not been applied
        # to.
        if memory is None or entry is None:
            if self.context.stopping():
                return Result("waiting")
            started = await self._start_or_resume(key, instance)
            if isinstance(started, Result):
                return started
            instance, version = started
        else:
            # A run keeps the OperatorVersion that it began with.
            version = memory.version
            await self._recheck_if_due(memory, key, instance)
        return await self._advance(key, instance, version)

    # Start

    async def _start_or_resume(
        self, key: Key, instance: Instance
    ) -> tuple[Instance, OperatorVersion] | Result:
        """Start or resume a run: apply the rules again, with nothing read before it was scheduled.

        Returns:
            The Instance and the version in force; the result of the reconcile if the run may not
            start yet.
        """
        context = self.context
        live = await context.instances.of_this_term(key)
        if (
            live is None
            or live.metadata.uid != instance.metadata.uid
            or live.scheduled != instance.scheduled
            or active_run(live) is None
        ):
            raise Outdated
        # A run that is scheduled after an edit of the OperatorVersion uses the edited one, even if
        # the event of the edit is late.
        scheduled_by = context.instances.freshness.seen(key)
        version = await context.versions.as_of(live.operator_version_key, scheduled_by)
        if version is None:
            raise Outdated
        problems = await self._problems_of(live, version)
        if problems:
            await self._refuse(live, version, problems)
            return Result("refused", requeue_after=AGAIN_SECONDS)
        memory = self._memory_of(live)
        # The process that started the run continues with what it began with, whatever was edited
        # since.
        edited = edited_since(live, version) if memory is None else None
        if edited is not None:
            return await self._end_edited(live, version, edited)
        if self._tell_replaced(key, live):
            return Result("waiting", requeue_after=context.events.times.hold)
        live = await self._with_finalizer(live, version)
        self._announce(key, live)
        await self.context.pipe_pods.sweep(live, keep=live.scheduled.uid or "")
        if memory is None:
            memory = self._memories[key] = self._memory(live, version)
        # The memory of this uid is kept even if storing the first status conflicted.
        return live, memory.version

    def _memory_of(self, instance: Instance) -> RunMemory | None:
        """Return the memory of the scheduled run, if this process has started it."""
        memory = self._memories.get(key_of(instance))
        uid = instance.scheduled.uid or ""
        return memory if memory is not None and memory.is_of(instance, uid) else None

    async def _problems_of(
        self, instance: Instance, version: OperatorVersion
    ) -> tuple[Problem, ...]:
        """Return why the scheduled run may not start."""
        revalidation = await self.context.revalidate(instance, version, revalidate_scheduled)
        return revalidation.problems

    async def _refuse(
        self, instance: Instance, version: OperatorVersion, problems: tuple[Problem, ...]
    ) -> None:
        """Replace a refused run by the one in progress, or clear it.

        If the refused run is itself in progress, since the violation came after its start, it
        fails.
        """
        uid = instance.scheduled.uid or ""
        text = "; ".join(problem.message for problem in problems)
        self.context.events.warning(instance, uid, problems[0].reason, text)
        log.warning("run refused", extra={"uid": uid, "reason": problems[0].reason})
        plan = run_in_progress(instance)
        if plan is None:
            await self.context.instances.clear_run(instance, uid)
        elif (plan, instance.plan_status[plan].uid) == (instance.scheduled.plan_name, uid):
            status = begun(instance, version, self.context.now())
            await self._fail(instance, version, status, problems[0].reason, text)
        else:
            await self.context.instances.schedule(
                instance, plan, instance.plan_status[plan].uid or ""
            )

    async def _end_edited(
        self, instance: Instance, version: OperatorVersion, edited: Problem
    ) -> Result:
        """End a run that another process started and whose configuration was edited since."""
        name, uid = instance.scheduled.plan_name or "", instance.scheduled.uid or ""
        log.warning("run cannot continue", extra={"uid": uid, "reason": edited.reason})
        if name != PLAN_CLEANUP:
            status = instance.status
            return await self._fail(instance, version, status, edited.reason, edited.message)
        # The Instance is deleted after the end of a cleanup, and what was not cleaned up would stay
        # for ever. So it starts again with a new uid, as if a user had set one.
        self.context.events.warning(instance, uid, edited.reason, edited.message)
        await self.context.instances.schedule(instance, name, self.context.fresh_uid())
        return Result("scheduled", requeue_after=AGAIN_SECONDS)

    async def _with_finalizer(self, instance: Instance, version: OperatorVersion) -> Instance:
        """Add the finalizer if the version in force has a cleanup plan, else remove it."""
        present, desired = finalizers(instance), PLAN_CLEANUP in version.plans
        if instance.metadata.deleting or desired == (FINALIZER_CLEANUP in present):
            return instance
        kept = [item for item in present if item != FINALIZER_CLEANUP]
        names = [*kept, FINALIZER_CLEANUP] if desired else kept
        return await self.context.instances.set_finalizers(instance, names) or instance

    def _replaced(self, key: Key, instance: Instance) -> dict[str, str]:
        """Return the plans of the runs that the scheduled one replaces, by their uids."""
        found = {old.uid or "": old.name for old in running(instance.plan_status).values()}
        memory = self._memories.get(key)
        if memory is not None and memory.instance_uid == instance.metadata.uid:
            found[memory.uid] = memory.plan
        own = {"", instance.scheduled.uid}
        return {uid: plan for uid, plan in found.items() if uid not in own}

    def _tell_replaced(self, key: Key, instance: Instance) -> bool:
        """Queue the end events of replaced runs; return whether one is not written yet.

        The first status of the new run replaces their record: after a crash nobody could repeat
        their end events.
        """
        replaced = self._replaced(key, instance)
        for uid, plan in replaced.items():
            self.context.events.superseded(instance, plan, uid)
        return bool(replaced) and self.context.events.unwritten(instance)

    def _announce(self, key: Key, instance: Instance) -> None:
        name, uid = instance.scheduled.plan_name or "", instance.scheduled.uid or ""
        memory = self._memories.get(key)
        # Until its first status is stored, a run may be started more than once.
        announced = memory is not None and memory.is_of(instance, uid)
        if not announced:
            for plan in self._replaced(key, instance).values():
                self.context.metrics.run_superseded(plan)
        known = instance.plan_status.get(name)
        if known is None or known.uid != uid:
            if not announced:
                self.context.metrics.run_started(name)
            log.info("run started", extra={"plan": name, "uid": uid})
        else:
            log.info("run continued", extra={"plan": name, "uid": uid})
        self.context.events.started(instance, name, uid)

    def _memory(self, instance: Instance, version: OperatorVersion) -> RunMemory:
        """Return a memory with the tasks that are stored as done under the uid of the run."""
        name, uid = instance.scheduled.plan_name or "", instance.scheduled.uid or ""
        recheck_at = loop_seconds() + self.recheck
        memory = RunMemory(uid, instance.metadata.uid, name, version, recheck_at, instance.spec)
        plan, entry = version.plans.get(name), instance.plan_status.get(name)
        if plan is not None and entry is not None and entry.uid == uid:
            memory.finished.update(finished_tasks(plan, adapt(name, plan, entry)))
        return memory

    # Progress

    async def _recheck_if_due(self, memory: RunMemory, key: Key, instance: Instance) -> None:
        """Read everything live from time to time, in case an event was lost."""
        memory.rechecking = loop_seconds() >= memory.recheck_at
        if not memory.rechecking:
            return
        memory.recheck_at = loop_seconds() + self.recheck
        live = await self.context.instances.live(key)
        if live is None or live.metadata.resource_version != instance.metadata.resource_version:
            raise Outdated

    async def _advance(self, key: Key, instance: Instance, version: OperatorVersion) -> Result:
        name, uid = instance.scheduled.plan_name or "", instance.scheduled.uid or ""
        memory = self._memories[key]
        # Edits since its start are for the next run, even before the first status is stored.
        as_begun = memory.as_begun(instance)
        status = begun(as_begun, version, self.context.now())
        entry = (status.plan_status or {})[name]
        plan = version.plans.get(name)
        if plan is None:
            text = f"could not find required plan: '{name}'"
            return await self._fail(instance, version, status, "InvalidPlan", text)
        problems = _problems(instance, version, name, plan)
        if problems:
            return await self._fail(instance, version, status, "InvalidPlan", problems)
        missing = await self._missing_children(key, memory)
        if missing is not None:
            text = f"Error during execution: fatal error: {missing}"
            return await self._fail(instance, version, status, missing.reason, text)
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
            tell=partial(self._tell, instance, memory),
        )
        intent = Intent.STOP if self.context.stopping() else Intent.RUN
        progress = await self.runner.advance(run, entry, intent)
        for failure, message in progress.failures:
            self.context.events.warning(instance, uid, failure.reason, message)
        if status_of(progress.entry).terminal:
            reason = progress.failures[0][0].reason if progress.failures else ""
            status = with_entry(status, progress.entry)
            return await self._finish(writer.instance, version, status, progress.entry, reason)
        later = await self._store(writer, progress.entry, memory)
        soon = min(later, self.recheck if progress.look_again is None else progress.look_again)
        if memory.is_backing_off:
            return Result("retry", requeue_after=min(soon, self.recheck))
        return Result("waiting", requeue_after=min(soon, self.recheck))

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

    # End

    async def _cancel(self, key: Key, instance: Instance, version: OperatorVersion) -> Result:
        if key in self._memories:
            await self.runner.end(self._memories[key], Intent.CANCEL)
        memory, begins = self._memory_of(instance), instance
        if memory is not None:
            begins, version = memory.as_begun(instance), memory.version
        status = begun(begins, version, self.context.now())
        known = instance.plan_status.get(instance.scheduled.plan_name or "")
        if known is None or known.uid != instance.scheduled.uid:
            # Its end will be recorded as that of any other run, so it must be allowed to start.
            problems = await self._problems_of(instance, version)
            if problems:
                await self._refuse(instance, version, problems)
                return Result("refused", requeue_after=AGAIN_SECONDS)
            if self._tell_replaced(key, instance):
                return Result("waiting", requeue_after=self.context.events.times.hold)
            self._announce(key, instance)
            # If it is replaced before its end is stored, the end of the announced run must be
            # reported.
            self._memories[key] = self._memory(instance, version)
        by = instance.scheduled.cancelled_by or "request"
        return await self._fail(instance, version, status, "PlanCancelled", f"cancelled by {by}")

    async def _fail(
        self,
        instance: Instance,
        version: OperatorVersion,
        status: InstanceStatus,
        reason: str,
        text: str,
    ) -> Result:
        """End a run with a message on the plan."""
        name, uid = instance.scheduled.plan_name or "", instance.scheduled.uid or ""
        # Another process may have started the run, and died before that event was written.
        self.context.events.started(instance, name, uid)
        self.context.events.warning(instance, uid, reason, text)
        entry = fail((status.plan_status or {})[name], text, self.context.now())
        status = with_entry(status, entry)
        return await self._finish(instance, version, status, entry, reason)

    async def _finish(
        self,
        instance: Instance,
        version: OperatorVersion,
        status: InstanceStatus,
        entry: PlanStatus,
        reason: str,
    ) -> Result:
        """Store the terminal status, which is the first of the writes that end a run.

        The conditions report the plan as running until it is cleared: a client that waits for Ready
        may trigger the same plan at once, which must not conflict with a run that is ending.
        """
        if instance.metadata.deleting:
            # No conditions are written afterwards, even if the finalizer of somebody else remains.
            status = with_conditions(instance, status, leaving(status), self.context.now())
        written = await self.context.instances.write_status(instance, status)
        memory = self._memories.pop(key_of(instance), None)
        if memory is not None:
            await self.runner.end(memory, Intent.CANCEL)
        self.context.metrics.run_finished(entry, reason)
        fields = {"plan": entry.name, "uid": entry.uid, "status": str(entry.status)}
        log.info("run finished", extra=fields | ({"reason": reason} if reason else {}))
        return await self.end(written, version, entry)

    async def end(self, instance: Instance, version: OperatorVersion, entry: PlanStatus) -> Result:
        """Queue the end event and clear the run; a newer one is left alone.

        Raises:
            Outdated: the Instance changed; decide again.
        """
        uid = entry.uid or ""
        self.context.events.finished(instance, entry.name, uid, status_of(entry))
        if instance.metadata.deleting and self.context.events.unwritten(instance):
            # The record of the run is deleted with the Instance: after a crash nobody could repeat
            # the event.
            return Result("deleting", requeue_after=self.context.events.times.hold)
        # Only after the end is stored, so that no pod is created again under this uid.
        await self.context.pipe_pods.sweep(instance)
        if instance.metadata.deleting:
            await self.context.release(instance)
            return Result("deleted")
        cleared = await self.context.instances.clear_run(instance, uid)
        if cleared.metadata.deleting or not await self._in_force(cleared, version):
            # Deleted since the terminal status, or the version in force is not the one that the run
            # began with: the next reconcile decides what is needed.
            return Result("finished", requeue_after=AGAIN_SECONDS)
        settled = await self.idle.settle(cleared, version)
        # Our own writes enqueue nothing: a run that `settle` has scheduled needs another reconcile.
        return Result("finished", requeue_after=settled.requeue_after)

    async def _in_force(self, instance: Instance, version: OperatorVersion) -> bool:
        """Whether an OperatorVersion is still that of an Instance, and has not been edited."""
        try:
            found = await self.context.versions.get(instance.operator_version_key)
        except VersionTooLarge:
            return False
        return found is not None and (found.metadata.uid, found.metadata.resource_version) == (
            version.metadata.uid,
            version.metadata.resource_version,
        )


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
