"""Reconciles Instances without a scheduled run: schedules a plan, or writes conditions.

Whether the objects of an Instance are ready is read from caches, which watches fill with the
reconciler's own rights. Before a status tells that some are not ready, it is asked whether the
account of the Instance may get their kind.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Final

from kubeio.client import Client
from kubeio.connection.auth import Identity
from kubeio.errors import Forbidden, KubeError
from kubeio.leader_election.elector import NotLeading
from kubeio.resource import Resource
from kudo.admission.revalidation import revalidate_idle
from kudo.admission.tenancy import not_granted
from kudo.api import Instance, InstanceStatus, OperatorVersion
from kudo.api.task_kinds import FatalTaskError, TransientTaskError
from kudo.objects.health import readiness
from kudo.plans.execution import ensure_entries, fail
from kudo.plans.runs.conditions import RESOURCES_UNKNOWN, Situation
from kudo.plans.runs.history import end_unknown
from kudo.plans.runs.last_run import record_as_it_stands
from kudo.plans.runs.status import running, settled, with_entries, with_not_in_force
from kudo.plans.runs.suspension import with_suspension
from kudo_reconciler.common.errors import error_text
from kudo_reconciler.common.keys import READINESS_KINDS, key_of
from kudo_reconciler.controller.context import AGAIN_SECONDS, ReconcileContext, Result
from kudo_reconciler.controller.job_ends import end_jobs
from kudo_reconciler.controller.source_changes import SourceChanges
from kudo_reconciler.objects.observer import Observer

_LATE_SECONDS: Final = 30.0
_REFUSED_SECONDS: Final = 90.0
"""No event tells that a right was granted. It is more than the time that an answer is kept."""


@dataclass(frozen=True, slots=True)
class Idle:
    """Reconciles Instances that have no run scheduled."""

    context: ReconcileContext
    readiness: "ReadinessCheck"
    changes: SourceChanges

    async def settle(self, instance: Instance, version: OperatorVersion) -> Result:
        """Schedule the plan that the Instance needs, or write its conditions.

        Raises:
            Outdated: the Instance changed since it was read.
            StillGoing: a worker process parses its values.
            workers.WorkerError: no worker process was available.
        """
        context, now = self.context, self.context.now()
        status = with_suspension(instance, instance.status, now)
        entries = ensure_entries(version.plans, status.plan_status or {})
        if running(entries):
            versions = [version, await context.version_before(instance)]
            await end_jobs(context, instance, instance.metadata.uid, versions)
        else:
            # Such as one that a request has created which was on its way for long.
            await end_jobs(context, instance, "", (), attempts=1)
        for name, entry in running(entries).items():
            # The spec names no run, so nobody will end this entry: its run was removed from the
            # spec by hand, or the status was restored from a backup.
            text = end_unknown(name)
            entries[name] = fail(entry, text, now)
            uid = entry.uid or instance.metadata.uid
            context.events.warning(instance, uid, "PlanResultUnknown", text)
        status = with_entries(status, entries)

        # The rules see these ends: by the stored status a run would still be in progress.
        with_ends = instance.model_copy(update={"status": status})
        revalidation = await context.revalidate(with_ends, version, revalidate_idle)
        if revalidation.plan is not None:
            # Nothing else is written now: the first status of the run replaces this one.
            await context.instances.schedule(instance, revalidation.plan, context.fresh_uid())
            return Result("scheduled", requeue_after=AGAIN_SECONDS)

        problems = revalidation.problems
        # Nothing of a version gets into the status of an Instance that may not use it.
        if not context.lacks_grant(instance, version):
            last_run = record_as_it_stands(with_ends, version)
            waiting = status.last_run is not None and bool(status.last_run.pending_parameters)
            if last_run is not None:
                status = status.model_copy(update={"last_run": last_run})
            elif problems or waiting or status.not_in_force:
                status = with_not_in_force(with_ends, status, version)
        if problems:
            text = "; ".join(problem.message for problem in problems)
            # One event for each change of the spec, however often it is reconciled.
            occasion = f"{instance.metadata.uid}.{instance.metadata.generation}"
            context.events.warning(instance, occasion, problems[0].reason, text)
            status = context.housekeeping.with_orphans(instance, status)
            situation = Situation((problems[0].reason, text))
            await context.write_situation(instance, status, situation)
            return Result("refused")

        change = await self.changes.of(with_ends, version)
        if change.plan:
            await context.instances.schedule(instance, change.plan, context.fresh_uid())
            return Result("scheduled", requeue_after=AGAIN_SECONDS)

        # It may remove a request from the annotations: the status is then written to the Instance
        # as it is after that.
        kept = await context.housekeeping.of(instance, version)
        instance, status = kept.instance, context.housekeeping.with_orphans(instance, status)
        ready = await self.readiness.of(instance, status)
        if ready.situation is None:
            await context.instances.write_status(instance, status)
        else:
            await context.write_situation(instance, status, ready.situation)
        waits = ready.look_again, kept.look_again, change.look_again
        times = [seconds for seconds in waits if seconds is not None]
        return Result("idle", requeue_after=min(times, default=None), retry=kept.retry)

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
            await end_jobs(context, instance, uid, ())
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


@dataclass(frozen=True, slots=True)
class Readiness:
    """The situation of an idle Instance, as far as it is known.

    Attributes:
        situation: None if the conditions stay as they are.
        look_again: Seconds until the Instance is reconciled again; None to wait for an event.
    """

    situation: Situation | None
    look_again: float | None = None


_UNKNOWN: Final = Readiness(None, _LATE_SECONDS)


@dataclass(frozen=True, slots=True)
class ReadinessCheck:
    """Finds out whether the objects of Instances are ready.

    Attributes:
        client: The reconciler's own.
        identity_of: Returns the identity that an Instance acts as; None is the reconciler's own.
            It raises FatalTaskError or TransientTaskError if there is none.
    """

    observer: Observer
    client: Client
    identity_of: Callable[[Instance], Identity | None]

    async def of(self, instance: Instance, status: InstanceStatus) -> Readiness:
        """Return the situation of an idle Instance, from its last run and its objects.

        It is unknown while the first lists of its kinds are in progress, as after a start: all
        Instances are reconciled once the lists are complete. In case they fail in the end, and no
        event follows, it is to be looked at again.

        Raises:
            NotLeading: this replica is not the leader any more.
        """
        key = key_of(instance)
        await self.observer.watch_all(READINESS_KINDS)
        unknown = [kind for kind in READINESS_KINDS if not self.observer.watched(kind)]
        if unknown and all(map(self.observer.is_late, unknown)):
            return _UNKNOWN
        if unknown:
            text = "; ".join(map(self.observer.why_unwatched, unknown))
            return Readiness(Situation((RESOURCES_UNKNOWN, text)))
        by_kind = {
            kind: readiness(self.observer.of_instance(kind, key)) for kind in READINESS_KINDS
        }
        situation = settled(status, tuple(sorted(chain.from_iterable(by_kind.values()))))
        if situation == settled(status, ()):
            # All are ready, or the last run failed: nothing is told of them.
            return Readiness(situation)
        return await self._as_account(
            instance, [kind for kind in by_kind if by_kind[kind]], situation
        )

    async def _as_account(
        self, instance: Instance, kinds: list[Resource], situation: Situation
    ) -> Readiness:
        """Return what may be told of objects of these kinds to who reads the Instance."""
        try:
            identity = self.identity_of(instance)
        except (FatalTaskError, TransientTaskError) as error:
            return _refused(str(error))
        client, namespace = self.client.acting(identity), instance.metadata.namespace
        try:
            refused = [
                kind.name
                for kind in kinds
                if not await self.observer.reviews.ask(client, kind, namespace)
            ]
        except NotLeading:
            raise
        except Forbidden as error:
            # Nobody may act as the account: an administrator has to change that.
            return _refused(error_text(error, kinds[0]))
        except KubeError:
            # The review may work next time, and until then the conditions that are stored hold.
            return _UNKNOWN
        if not refused or identity is None:
            return Readiness(situation)
        text = f"{identity.user} may not get {', '.join(refused)} in the namespace {namespace}"
        return _refused(f"{text}; grant it that right, so that Ready can tell of them")


def _refused(text: str) -> Readiness:
    return Readiness(Situation((RESOURCES_UNKNOWN, text)), _REFUSED_SECONDS)
