"""A scheduled run, from its start to the clear.

    refuse | start or resume -> advance -> ... -> finish -> end -> idle
                                    └── cancel ──────┘

The writes that end a run come in this order: terminal status, clear with a uid test, status of the
idle Instance; the end event is queued before the clear. After a crash between any two of them the
next pass goes on.
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
from kudo.execution import Intent, adapt, check_plan, fail, finished_tasks, status_of
from kudo.identity import identity
from kudo.names import FINALIZER_CLEANUP, PLAN_CLEANUP
from kudo.pipe import pipes
from kudo.problems import Problem
from kudo.runs.last_run import edited_since
from kudo.runs.plan_choice import active_run, has_uid_of_another_plan
from kudo.runs.revalidation import revalidate_scheduled, run_in_progress
from kudo.runs.status import begun, leaving, running, with_conditions, with_entry
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


@dataclass
class Scheduled:
    """Reconciles Instances with a scheduled run; remembers what was done in it.

    Attributes:
        recheck: Seconds after which a waiting run is read anew from the API server.
    """

    context: ReconcileContext
    runner: PlanRunner
    idle: Idle
    recheck: float
    _memories: dict[Key, RunMemory] = field(default_factory=dict)

    async def forget(self, key: Key) -> None:
        """Forget the run of an Instance; one that has not ended by now was taken away."""
        memory = self._memories.pop(key, None)
        if memory is not None:
            await self.runner.end(memory, Intent.DELETE)
            self.context.metrics.run_stopped(memory.plan)

    def at_work(self) -> list[Key]:
        """Return the Instances of which attempts go on, or have ended and are not recorded."""
        return [key for key, memory in self._memories.items() if memory.attempts]

    async def proceed(self, instance: Instance, version: OperatorVersion) -> Result:
        """Take the scheduled run as far as it goes without waiting.

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
            entry = None  # that of another run
        if entry is not None and status_of(entry).terminal:
            return await self.end(instance, version, entry)
        memory = self._memories.get(key)
        if memory is not None and not memory.is_of(instance, uid):
            # Nothing of the old run may arrive once anything of the new one was sent.
            await self.runner.end(memory, Intent.CANCEL)
            memory = None
        if entry is None and self.context.events.unwritten(instance):
            # The record of the last run is about to go: after a crash nobody could repeat its end.
            return Result("waiting", requeue_after=self.context.events.times.hold)
        if scheduled.status == ExecutionStatus.FATAL_ERROR:
            return await self._cancel(key, instance, version)
        # Until its first status is stored, a change may come in that the rules have not seen.
        if memory is None or entry is None:
            if self.context.stopping():
                return Result("waiting")
            started = await self._start_or_resume(key, instance)
            if isinstance(started, Result):
                return started
            instance, version = started
        else:
            # A run keeps the version that it began with.
            version = memory.version
            await self._recheck_if_due(memory, key, instance)
        return await self._advance(key, instance, version)

    # The beginning

    async def _start_or_resume(
        self, key: Key, instance: Instance
    ) -> tuple[Instance, OperatorVersion] | Result:
        """Begin to work on a run: with nothing that is older than it, decide the rules again.

        Returns:
            The Instance and the version in force; the end of the reconcile if it may not begin yet.
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
        # Who edits an OperatorVersion and then schedules a run gets what was edited, also where
        # its event is late.
        scheduled_by = context.instances.freshness.seen(key)
        version = await context.versions.as_of(live.operator_version_key, scheduled_by)
        if version is None:
            raise Outdated
        problems = await self._problems_of(live, version)
        if problems:
            await self._refuse(live, version, problems)
            return Result("refused", requeue_after=AGAIN_SECONDS)
        memory = self._memory_of(live)
        # A process that has what the run began with goes on with it, whatever was edited since.
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
        # What was done under this uid is not forgotten over a first status that conflicted.
        return live, memory.version

    def _memory_of(self, instance: Instance) -> RunMemory | None:
        """Return what is remembered of the scheduled run, if this process has begun with it."""
        memory = self._memories.get(key_of(instance))
        uid = instance.scheduled.uid or ""
        return memory if memory is not None and memory.is_of(instance, uid) else None

    async def _problems_of(
        self, instance: Instance, version: OperatorVersion
    ) -> tuple[Problem, ...]:
        """Return why the scheduled run may not begin."""
        revalidation = await self.context.revalidate(instance, version, revalidate_scheduled)
        return revalidation.problems

    async def _refuse(
        self, instance: Instance, version: OperatorVersion, problems: tuple[Problem, ...]
    ) -> None:
        """Put the refused run back to the one in progress, or to none.

        A run that is itself in progress, since the violation came after its beginning, ends.
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
        """End a run of another process that cannot go on with what it began with."""
        name, uid = instance.scheduled.plan_name or "", instance.scheduled.uid or ""
        log.warning("run cannot go on", extra={"uid": uid, "reason": edited.reason})
        if name != PLAN_CLEANUP:
            status = instance.status
            return await self._fail(instance, version, status, edited.reason, edited.message)
        # The end of a cleanup lets the Instance go, and what was not cleaned up would stay for
        # ever. So it begins anew, as by a new uid that a user gives it.
        self.context.events.warning(instance, uid, edited.reason, edited.message)
        await self.context.instances.schedule(instance, name, self.context.fresh_uid())
        return Result("scheduled", requeue_after=AGAIN_SECONDS)

    async def _with_finalizer(self, instance: Instance, version: OperatorVersion) -> Instance:
        """Have the finalizer exactly where the version in force has a cleanup plan."""
        present, desired = finalizers(instance), PLAN_CLEANUP in version.plans
        if instance.metadata.deleting or desired == (FINALIZER_CLEANUP in present):
            return instance
        kept = [item for item in present if item != FINALIZER_CLEANUP]
        names = [*kept, FINALIZER_CLEANUP] if desired else kept
        return await self.context.instances.set_finalizers(instance, names) or instance

    def _replaced(self, key: Key, instance: Instance) -> dict[str, str]:
        """Return the plans of the runs in whose place the scheduled one comes, by their uids."""
        found = {old.uid or "": old.name for old in running(instance.plan_status).values()}
        memory = self._memories.get(key)
        if memory is not None and memory.instance_uid == instance.metadata.uid:
            found[memory.uid] = memory.plan
        own = {"", instance.scheduled.uid}
        return {uid: plan for uid, plan in found.items() if uid not in own}

    def _tell_replaced(self, key: Key, instance: Instance) -> bool:
        """Queue the end events of replaced runs; return whether one is still to be written.

        The first status of the new run takes the place of their record: after a crash nobody could
        repeat their ends.
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
        """Return what is known to be done under the uid of the run."""
        name, uid = instance.scheduled.plan_name or "", instance.scheduled.uid or ""
        recheck_at = loop_seconds() + self.recheck
        memory = RunMemory(uid, instance.metadata.uid, name, version, recheck_at, instance.spec)
        plan, entry = version.plans.get(name), instance.plan_status.get(name)
        if plan is not None and entry is not None and entry.uid == uid:
            memory.finished.update(finished_tasks(plan, adapt(name, plan, entry)))
        return memory

    # The middle

    async def _recheck_if_due(self, memory: RunMemory, key: Key, instance: Instance) -> None:
        """Now and then trust no cache: an event may have been lost on the way."""
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
        # What was edited since is for the next run, also before the first status is stored.
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
        await writer.store(progress.entry)
        soon = self.recheck if progress.look_again is None else progress.look_again
        if memory.is_backing_off:
            return Result("retry", requeue_after=min(soon, self.recheck))
        return Result("waiting", requeue_after=min(soon, self.recheck))

    async def _missing_children(self, key: Key, memory: RunMemory) -> FatalTaskError | None:
        """Return what keeps the children of a plan from being, before anything is sent for it."""
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
        if (reason, message) not in memory.told:
            memory.told.add((reason, message))
            self.context.events.note(identity(instance), memory.uid, severity, reason, message)

    def _is_current(self, key: Key, instance: Instance) -> bool:
        """Whether the cluster, as far as we know it, still wants the run."""
        now = self.context.instances.cached(key)
        return (
            now is not None
            and now.metadata.uid == instance.metadata.uid
            and now.metadata.deleting == instance.metadata.deleting
            and now.scheduled.uid == instance.scheduled.uid
            and now.scheduled.status != ExecutionStatus.FATAL_ERROR
        )

    # The end

    async def _cancel(self, key: Key, instance: Instance, version: OperatorVersion) -> Result:
        if key in self._memories:
            await self.runner.end(self._memories[key], Intent.CANCEL)
        memory, begins = self._memory_of(instance), instance
        if memory is not None:
            begins, version = memory.as_begun(instance), memory.version
        status = begun(begins, version, self.context.now())
        known = instance.plan_status.get(instance.scheduled.plan_name or "")
        if known is None or known.uid != instance.scheduled.uid:
            # Its end will be on record as that of any other run, so it must be one that may begin.
            problems = await self._problems_of(instance, version)
            if problems:
                await self._refuse(instance, version, problems)
                return Result("refused", requeue_after=AGAIN_SECONDS)
            if self._tell_replaced(key, instance):
                return Result("waiting", requeue_after=self.context.events.times.hold)
            self._announce(key, instance)
            # Whatever replaces it before its end is on record has to end what was announced.
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
        """End a run as a whole; the message stands at the plan."""
        name, uid = instance.scheduled.plan_name or "", instance.scheduled.uid or ""
        # Another process may have begun the run, and died before that event was written.
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

        The conditions say that the plan runs until it has been cleared: who waits for Ready may
        trigger the same plan at once, and that must not meet a run that is ending.
        """
        if instance.metadata.deleting:
            # Nothing is settled afterwards, also where somebody else keeps the object.
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
        """Queue the end event and clear the run; a newer one that came in stays.

        Raises:
            Outdated: the Instance changed; decide again.
        """
        uid = entry.uid or ""
        self.context.events.finished(instance, entry.name, uid, status_of(entry))
        if instance.metadata.deleting and self.context.events.unwritten(instance):
            # The record of the run goes with the Instance: after a crash nobody could repeat it.
            return Result("deleting", requeue_after=self.context.events.times.hold)
        # Not before the end is on record: under this uid no pod is made again.
        await self.context.pipe_pods.sweep(instance)
        if instance.metadata.deleting:
            await self.context.release(instance)
            return Result("deleted")
        cleared = await self.context.instances.clear_run(instance, uid)
        if cleared.metadata.deleting or not await self._in_force(cleared, version):
            # Deleted since the terminal status, or another version is in force than the one that
            # the run began with: what is needed now is not for this reconcile to say.
            return Result("finished", requeue_after=AGAIN_SECONDS)
        settled = await self.idle.settle(cleared, version)
        # Our own writes wake nobody: a run that was scheduled just now needs a pass of its own.
        return Result("finished", requeue_after=settled.requeue_after)

    async def _in_force(self, instance: Instance, version: OperatorVersion) -> bool:
        """Whether an OperatorVersion is the one of an Instance, and nobody has edited it since."""
        try:
            found = await self.context.versions.get(instance.operator_version_key)
        except VersionTooLarge:
            return False
        return found is not None and (found.metadata.uid, found.metadata.resource_version) == (
            version.metadata.uid,
            version.metadata.resource_version,
        )


def _problems(instance: Instance, version: OperatorVersion, name: str, plan: Plan) -> str:
    """Return what makes the plan impossible to run, whatever its tasks would find."""
    problems = "; ".join(problem.message for problem in check_plan(name, plan))
    if problems:
        return problems
    try:
        pipes(instance.metadata.name, name, version)
    except FatalTaskError as error:
        return str(error)
    return ""
