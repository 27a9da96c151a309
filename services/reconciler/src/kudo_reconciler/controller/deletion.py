"""Reconciles Instances that are being deleted and still have our finalizer.

The cleanup plan runs as any other; whether it succeeds or fails, the finalizer is removed then. A
plan that was running is stopped first, and its entry records that.
"""

from dataclasses import dataclass

from kudo.api import Instance, InstanceStatus, OperatorVersion
from kudo.api.names import FINALIZER_CLEANUP, PLAN_CLEANUP
from kudo.plans.execution import fail
from kudo.plans.runs.history import STOPPED
from kudo.plans.runs.last_run import ended_cleanup, run_in_progress
from kudo.plans.runs.status import leaving, running, with_entries
from kudo.plans.runs.suspension import with_suspension
from kudo_reconciler.common.keys import key_of
from kudo_reconciler.controller.context import AGAIN_SECONDS, ReconcileContext, Result, finalizers
from kudo_reconciler.controller.job_ends import end_jobs
from kudo_reconciler.controller.scheduled import Scheduled
from kudo_reconciler.store.versions import VersionTooLarge


@dataclass(frozen=True, slots=True)
class Deletion:
    """Reconciles Instances being deleted."""

    context: ReconcileContext
    scheduled: Scheduled

    async def proceed(self, instance: Instance, version: OperatorVersion) -> Result:
        """Stop a running plan, run the cleanup plan, then remove the finalizers.

        Raises:
            Outdated: the Instance changed; decide again.
            Superseded: another run was scheduled; decide again.
        """
        if PLAN_CLEANUP not in version.plans or FINALIZER_CLEANUP not in finalizers(instance):
            # There is no cleanup plan, or somebody removed the finalizer to skip it.
            instance = await self.stop(instance)
            if self.context.events.unwritten(instance):
                # The record of the run is deleted with the Instance: nobody could write its end
                # event later.
                return Result("deleting", requeue_after=self.context.events.times.hold)
            await self.context.release(instance)
            return Result("deleting")
        if instance.scheduled.plan_name == PLAN_CLEANUP:
            return await self.scheduled.proceed(instance, version)
        ended = ended_cleanup(instance)
        if ended is not None:
            return await self.scheduled.ending.end(instance, version, ended)
        if run_in_progress(instance) == PLAN_CLEANUP:
            # Somebody scheduled another plan, or none, bypassing admission: the cleanup continues.
            uid = instance.plan_status[PLAN_CLEANUP].uid or ""
            await self.context.instances.schedule(instance, PLAN_CLEANUP, uid)
            return Result("scheduled", requeue_after=AGAIN_SECONDS)
        instance = await self.stop(instance)
        await self.context.instances.schedule(instance, PLAN_CLEANUP, self.context.fresh_uid())
        return Result("scheduled", requeue_after=AGAIN_SECONDS)

    async def stop(self, instance: Instance) -> Instance:
        """End the status entry of a running plan, so that it does not say IN_PROGRESS for ever.

        Raises:
            Outdated: the Instance changed; decide again.
        """
        return await self.context.instances.write_status(instance, await self._stopped(instance))

    async def wait_for_others(self, instance: Instance) -> Result:
        """Write the status of an Instance whose deletion only the finalizers of others block.

        Raises:
            Outdated: the Instance changed; decide again.
        """
        status = await self._stopped(instance)
        await self.context.write_situation(instance, status, leaving(status))
        return Result("deleting")

    async def _versions(self, instance: Instance) -> list[OperatorVersion | None]:
        """Return the OperatorVersions that a running plan may be of."""
        try:
            version = await self.context.versions.get(instance.operator_version_key)
        except VersionTooLarge:
            version = None
        return [version, await self.context.version_before(instance)]

    async def _stopped(self, instance: Instance) -> InstanceStatus:
        await self.scheduled.forget(key_of(instance))
        paused = with_suspension(instance, instance.status, self.context.now())
        entries = dict(paused.plan_status or {})
        if stopped := running(entries):
            uid = next(iter(stopped.values())).uid or ""
            await end_jobs(self.context, instance, uid, await self._versions(instance))
        for name, entry in running(entries).items():
            entries[name] = fail(entry, STOPPED, self.context.now())
            if entry.uid:
                self.context.events.stopped(instance, name, entry.uid)
        return with_entries(paused, entries)
