"""Reconciles Instances without a scheduled run: schedules a plan, or writes conditions."""

from dataclasses import dataclass

from kudo.admission.revalidation import revalidate_idle
from kudo.admission.tenancy import not_granted
from kudo.api import Instance, InstanceStatus, OperatorVersion
from kudo.plans.execution import ensure_entries, fail
from kudo.plans.runs.conditions import Situation
from kudo.plans.runs.history import end_unknown
from kudo.plans.runs.last_run import record_as_it_stands
from kudo.plans.runs.status import running, with_entries, with_not_in_force
from kudo.plans.runs.suspension import with_suspension
from kudo_reconciler.controller.context import AGAIN_SECONDS, ReconcileContext, Result


@dataclass(frozen=True, slots=True)
class Idle:
    """Reconciles Instances that have no run scheduled."""

    context: ReconcileContext

    async def settle(self, instance: Instance, version: OperatorVersion) -> Result:
        """Schedule the plan that the Instance needs, or write its conditions.

        Raises:
            Outdated: the Instance changed since it was read.
            StillGoing: a worker process parses its values.
            workers.WorkerError: no worker process was available.
        """
        context, now = self.context, self.context.now()
        paused = with_suspension(instance, instance.status, now)
        entries = ensure_entries(version.plans, paused.plan_status or {})
        for name, entry in running(entries).items():
            text = end_unknown(name)
            entries[name] = fail(entry, text, now)
            uid = entry.uid or instance.metadata.uid
            context.events.warning(instance, uid, "PlanResultUnknown", text)
        status = with_entries(paused, entries)
        # By its stored status, the last run would still be going on if its end was not seen.
        judged = instance.model_copy(update={"status": status})
        revalidation = await context.revalidate(judged, version, revalidate_idle)
        if revalidation.plan is not None:
            await context.instances.schedule(instance, revalidation.plan, context.fresh_uid())
            return Result("scheduled", requeue_after=AGAIN_SECONDS)
        if not context.lacks_grant(instance, version):
            status = self._recorded(judged, version, refused=bool(revalidation.problems))
        if revalidation.problems:
            first = revalidation.problems[0]
            text = "; ".join(problem.message for problem in revalidation.problems)
            occasion = f"{instance.metadata.uid}.{instance.metadata.generation}"
            context.events.warning(instance, occasion, first.reason, text)
            status = context.upkeep.with_orphans(instance, status)
            await context.write_situation(instance, status, Situation((first.reason, text)))
            return Result("refused")
        upkept = await context.upkeep.of(instance, version)
        instance, status = upkept.instance, context.upkeep.with_orphans(instance, status)
        readiness = await context.readiness.of(instance, status)
        if readiness.situation is None:
            await context.instances.write_status(instance, status)
        else:
            await context.write_situation(instance, status, readiness.situation)
        times = [
            seconds for seconds in (readiness.look_again, upkept.look_again) if seconds is not None
        ]
        return Result("idle", requeue_after=min(times, default=None), retry=upkept.retry)

    def _recorded(
        self, instance: Instance, version: OperatorVersion, *, refused: bool
    ) -> InstanceStatus:
        """Return the status with what is in force, and what is not; mostly it says so already."""
        status = instance.status
        left = record_as_it_stands(instance, version)
        if left is not None:
            return status.model_copy(update={"last_run": left})
        waits = status.last_run is not None and status.last_run.pending_parameters
        if refused or waits or status.not_in_force:
            return with_not_in_force(instance, status, version)
        return status

    async def without_version(self, instance: Instance, unusable: str = "") -> Result:
        """Report that the OperatorVersion is missing; release the Instance if it is being deleted.

        Args:
            instance: The Instance.
            unusable: Why the OperatorVersion cannot be used although it exists.

        Raises:
            Outdated: the Instance changed since it was read.
        """
        namespace, name = instance.operator_version_key
        missing = f"OperatorVersion {namespace}/{name} does not exist"
        hint = "" if unusable else "; create it, or name another in spec.operatorVersion"
        return await self._unusable(instance, "InvalidOperatorVersion", unusable or missing, hint)

    async def not_granted(self, instance: Instance) -> Result:
        """Do the same for an OperatorVersion that is not granted, whether it exists or not.

        Raises:
            Outdated: the Instance changed since it was read.
        """
        problem = not_granted(instance)
        return await self._unusable(instance, problem.reason, problem.message)

    async def _unusable(self, instance: Instance, reason: str, text: str, hint: str = "") -> Result:
        """Report that the OperatorVersion cannot be used.

        Args:
            instance: The Instance.
            reason: CamelCase word.
            text: Why.
            hint: What to do about it, for its status.
        """
        context = self.context
        uid = instance.scheduled.uid or instance.metadata.uid
        if instance.metadata.deleting:
            text = f"{text}: no cleanup plan can run, the Instance is deleted without it"
            context.events.warning(instance, uid, reason, text)
            for name, entry in running(instance.plan_status).items():
                if entry.uid:
                    context.events.stopped(instance, name, entry.uid)
            if context.events.unwritten(instance):
                # The record of the run is deleted with the Instance.
                return Result("deleting", requeue_after=context.events.times.hold)
            await context.release(instance)
            return Result("deleting")
        context.events.warning(instance, uid, reason, text)
        situation = Situation((reason, f"{text}{hint}"))
        status = with_suspension(instance, instance.status, context.now())
        await context.write_situation(instance, status, situation)
        return Result("invalid")
