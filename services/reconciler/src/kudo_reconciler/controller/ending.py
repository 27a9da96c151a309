"""Ends runs: terminal status, clear with a uid test, status of the idle Instance.

The writes come in this order; the end event is queued before the clear. After a crash between any
two of them the next reconcile continues. Before all of them the active Jobs of a run that has
failed are deleted (`job_ends`), and the record of the Instance is written, if the run has changed
what belongs to it (`leftovers`).
"""

import logging
from dataclasses import dataclass

from kudo.api import (
    ExecutionStatus,
    Instance,
    InstanceStatus,
    OperatorVersion,
    PlanStatus,
)
from kudo.plans.execution import (
    Intent,
    fail,
    status_of,
)
from kudo.plans.runs.status import leaving, with_conditions, with_entry
from kudo_reconciler.common.keys import key_of
from kudo_reconciler.controller.context import (
    AGAIN_SECONDS,
    ReconcileContext,
    Result,
)
from kudo_reconciler.controller.housekeeping import with_orphans
from kudo_reconciler.controller.idle import Idle
from kudo_reconciler.controller.job_ends import end_jobs, has_jobs
from kudo_reconciler.controller.leftovers import Leftovers
from kudo_reconciler.execution.run import PlanRunner
from kudo_reconciler.execution.task_context import Memories, RunMemory
from kudo_reconciler.store.versions import VersionTooLarge

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ending:
    """Ends runs of Instances."""

    context: ReconcileContext
    runner: PlanRunner
    idle: Idle
    memories: Memories
    leftovers: Leftovers

    async def fail(
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
        return await self.finish(instance, version, status, entry, reason)

    async def finish(
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
        memory = self.memories.get(key_of(instance))
        if status_of(entry) is not ExecutionStatus.COMPLETE:
            await self._end_jobs(instance, version, entry, memory)
        if memory is not None and memory.is_of(instance, entry.uid or ""):
            record = await self.leftovers.record(instance, entry, memory)
            status = with_orphans(status, record)
        if instance.metadata.deleting:
            # No conditions are written afterwards, even if the finalizer of somebody else remains.
            status = with_conditions(instance, status, leaving(status), self.context.now())
        written = await self.context.instances.write_status(instance, status, reason)
        # Only now: if the write failed, the next reconcile needs the memory to come to this end.
        memory = self.memories.pop(key_of(instance), None)
        if memory is not None:
            await self.runner.end(memory, Intent.CANCEL)
        self.context.metrics.run_finished(entry, reason)
        fields = {"plan": entry.name, "uid": entry.uid, "status": str(entry.status)}
        log.info("run finished", extra=fields | ({"reason": reason} if reason else {}))
        return await self.end(written, version, entry)

    async def _end_jobs(
        self,
        instance: Instance,
        version: OperatorVersion,
        entry: PlanStatus,
        memory: RunMemory | None,
    ) -> None:
        """Delete the active Jobs of a run that has failed, so that none works after its end."""
        versions, account = [version], None
        if memory is not None:
            versions.append(memory.version)
            account = memory.account
            if has_jobs(versions):
                # An attempt might create a Job after that.
                await self.runner.end(memory, Intent.CANCEL)
        await end_jobs(self.context, instance, entry.uid or "", versions, account=account)

    async def end(self, instance: Instance, version: OperatorVersion, entry: PlanStatus) -> Result:
        """Queue the end event and clear the run; a newer one is left alone.

        Raises:
            Outdated: the Instance changed; decide again.
        """
        uid = entry.uid or ""
        self.leftovers.tell(instance, version, uid)
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
        # By the uid alone, so that a run that somebody has scheduled meanwhile stays.
        cleared = await self.context.instances.clear_run(instance, uid)
        try:
            current = await self.context.versions.get(cleared.operator_version_key)
        except VersionTooLarge:
            current = None
        is_same = current is not None and (
            (current.metadata.uid, current.metadata.resource_version)
            == (version.metadata.uid, version.metadata.resource_version)
        )
        if cleared.metadata.deleting or not is_same:
            # Deleted since the terminal status, or the version in force is not the one that the run
            # began with: the next reconcile decides what is needed.
            return Result("finished", requeue_after=AGAIN_SECONDS)
        settled = await self.idle.settle(cleared, version)
        # Our own writes enqueue nothing: a run that `settle` has scheduled needs another reconcile.
        return Result("finished", requeue_after=settled.requeue_after, retry=settled.retry)
