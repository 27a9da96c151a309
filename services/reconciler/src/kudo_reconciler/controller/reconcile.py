"""One reconcile of an Instance: read, decide, act, and leave the rest to the next reconcile.

    deleted ............ forget it
    deleting ........... run the cleanup plan, then remove the finalizer
    idle ............... does it need a run, is it ready?
    scheduled .......... start or resume the run, advance it, end it

A reconcile never depends on the event that caused it. Work that was interrupted between two writes
is continued from the state in the cluster. `Controller` has the workers that take keys from the
queue, and requeues them by the result.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from kubeio.errors import KubeError
from kubeio.leader_election.elector import NotLeading
from kudo.api import Instance, OperatorVersion
from kudo.api.identity import identity
from kudo.plans.runs.conditions import INTERNAL_ERROR, SUSPENDED, Situation
from kudo.plans.runs.last_run import has_run_with
from kudo.plans.runs.suspension import RESUMED, is_recorded
from kudo_reconciler.common.clock import loop_seconds
from kudo_reconciler.common.errors import REPEATED_FAULTS, Outdated, Superseded, fault_text
from kudo_reconciler.common.keys import Key, key_of
from kudo_reconciler.controller.context import (
    END_JOBS,
    FIND_CHILDREN,
    FIND_ORPHANS,
    OUR_FINALIZERS,
    READ_VALUES,
    ReconcileContext,
    Result,
    finalizers,
)
from kudo_reconciler.controller.deletion import Deletion
from kudo_reconciler.controller.idle import Idle
from kudo_reconciler.controller.scheduled import Scheduled
from kudo_reconciler.controller.workqueue import QueueClosed, WorkQueue
from kudo_reconciler.execution.operations import StillGoing
from kudo_reconciler.metrics.metrics import Metrics
from kudo_reconciler.objects.damage import SECONDS
from kudo_reconciler.store.versions import VersionTooLarge
from serving.logs import log_context
from workers import WorkerError

log = logging.getLogger(__name__)

_RESTORED = (
    "somebody else has changed or deleted Inventories of this Instance, which only KUDO writes: "
    "what it knew of them is restored"
)


@dataclass(frozen=True, slots=True)
class InstanceReconciler:
    """Reconciles Instances.

    Attributes:
        later: Enqueues an Instance after some seconds.
    """

    context: ReconcileContext
    idle: Idle
    scheduled: Scheduled
    deletion: Deletion
    later: Callable[[Key, float], None]

    async def reconcile(self, key: Key) -> Result:
        """Reconcile the Instance of a key.

        Raises:
            KubeError: a request failed; requeue with backoff.
        """
        instance = self.context.instances.cached(key)
        if instance is None:
            await self.scheduled.forget(key)
            await self.idle.changes.forget(key)
            names = READ_VALUES, FIND_CHILDREN, FIND_ORPHANS, END_JOBS
            await self.context.operations.forget(key, *names)
            self.context.recorder.forget(key)
            await self.context.housekeeping.forget(key)
            await self.context.cluster_objects.forget(key)
            return Result("gone")
        try:
            return await self._reconcile(instance)
        except (Outdated, Superseded):
            # The cache has the newer object by now, or its event is pending.
            return Result("outdated", retry=True)
        except StillGoing:
            return Result("waiting")
        except WorkerError as error:
            # Nothing was decided nor written: the worker processes are busy, or one failed.
            log.warning("values could not be read", extra={"error": str(error)})
            return Result("retry", retry=True)

    async def store_fault(self, key: Key, fault: Exception) -> None:
        """Write an internal error of the reconciles of a key into the conditions.

        Raises:
            KubeError: the request failed.
            Outdated: the Instance changed meanwhile.
        """
        instance = self.context.instances.cached(key)
        if instance is None:
            return
        ready = INTERNAL_ERROR, fault_text(fault, "the Instance")
        situation = Situation(ready, running=instance.scheduled.plan_name or None)
        await self.context.write_situation(instance, instance.status, situation)

    async def finish_operations(self) -> list[Key]:
        """Wait until no operation is running; return the Instances with results to store.

        Nothing new may be started meanwhile.
        """
        await self.context.operations.ended()
        return self.scheduled.with_attempts()

    async def cancel_operations(self) -> None:
        """Cancel all operations."""
        await self.context.operations.close()

    async def _reconcile(self, instance: Instance) -> Result:
        key, deleting = key_of(instance), instance.metadata.deleting
        if deleting or instance.suspended or instance.scheduled.plan_name:
            # A run may apply again what is being pruned. And once a pause is stored, nothing is in
            # flight any more.
            await self.context.housekeeping.stop(key)
            await self.idle.changes.forget(key)
        if not is_recorded(instance, instance.status):
            self._report_pause(instance)
        await self._restore_record(instance)
        if deleting and OUR_FINALIZERS.isdisjoint(finalizers(instance)):
            # Only finalizers of others block the deletion; no plan runs any more.
            return await self.deletion.wait_for_others(instance)
        try:
            version = await self.context.versions.get(instance.operator_version_key)
            if self._is_closed(instance, version) and instance.scheduled.plan_name:
                # Whoever asked for the run may have granted it a moment before.
                version = await self.context.versions.live(instance.operator_version_key)
            if self._is_closed(instance, version):
                return await self.idle.not_granted(instance)
            if version is None:
                return await self.idle.without_version(instance)
            if deleting:
                return await self.deletion.proceed(instance, version)
            if instance.scheduled.plan_name:
                return await self.scheduled.proceed(instance, version)
            # A run may have been removed from the spec: its attempts end before anything else.
            await self.scheduled.forget(key)
            return await self.idle.settle(instance, version)
        except VersionTooLarge as error:
            if self.context.lacks_grant(instance, error.metadata):
                return await self.idle.not_granted(instance)
            return await self.idle.without_version(instance, str(error))

    def _report_pause(self, instance: Instance) -> None:
        """Queue the event of a pause, or of its end, that no status has recorded yet."""
        metadata = instance.metadata
        if instance.suspended:
            how = "kubectl kudo resume, or spec.suspend: false"
            reason, text = SUSPENDED, f"Nothing is sent for its plans until it is resumed ({how})"
        else:
            reason, text = RESUMED, "The pause has ended, its plans go on"
        occasion = f"{metadata.uid}.{metadata.generation}"
        self.context.events.note(identity(instance), occasion, "Normal", reason, text)

    async def _restore_record(self, instance: Instance) -> None:
        """Restore the record of an Instance if somebody else has changed or deleted it.

        What fails is tried again later: no reconcile fails for it.

        Raises:
            NotLeading: this replica is not the leader any more.
        """
        recorder, key, owner = self.context.recorder, key_of(instance), identity(instance)
        if recorder.damage.of(owner) is None:
            return
        wait = recorder.damage.wait(key)
        if wait > 0:
            self.later(key, wait)
            return
        recorder.damage.tried(key)
        try:
            # The garbage collector deletes Inventories, too, and its event may come first.
            live = await self.context.instances.live(key)
            if live is None or live.metadata.uid != owner.uid or live.metadata.deleting:
                recorder.damage.forget(key)
                return
            self.context.events.warning(instance, owner.uid, "InventoryChanged", _RESTORED)
            # Any write restores it, also one that changes nothing else.
            await recorder.save(owner, lambda record: record)
        except NotLeading:
            raise
        except KubeError as error:
            log.warning("inventory not restored", extra={"error": str(error)})
            self.later(key, SECONDS)

    def _is_closed(self, instance: Instance, version: OperatorVersion | None) -> bool:
        """Return whether nothing may be done with an OperatorVersion, since it is not granted.

        Nothing of it gets into the status then, not even the names of its plans, and a run that is
        scheduled waits, as it does for one that does not exist. With one that was granted when a
        run of the Instance used it, that run ends, what is in force is observed, and the Instance
        is cleaned up, since a deleted Instance must not leave anything behind. A further run is
        refused where it begins.
        """
        if not self.context.lacks_grant(instance, version):
            return False
        if version is None:
            return True
        if not instance.metadata.deleting and self.scheduled.beginning.memory_of(instance):
            # It was granted a moment ago, and the first status is not stored.
            return False
        return not has_run_with(instance)


@dataclass(frozen=True, slots=True)
class Controller:
    """Processes the queue with a limited number of workers."""

    queue: WorkQueue
    reconciler: InstanceReconciler
    metrics: Metrics
    workers: int

    async def run(self) -> None:
        """Process the queue until it is closed, then finish the operations in progress."""
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(self.workers):
                    group.create_task(self._work(), name=f"worker {number}")
            # The next leader would repeat a finished step whose end is not stored.
            for key in await self.reconciler.finish_operations():
                await self._reconcile(key)
        finally:
            await self.reconciler.cancel_operations()

    async def _work(self) -> None:
        while True:
            try:
                key = await self.queue.get()
            except QueueClosed:
                return
            try:
                await self._reconcile(key)
            finally:
                self.queue.done(key)

    async def _reconcile(self, key: Key) -> None:
        began = loop_seconds()
        with log_context(namespace=key.namespace, instance=key.name):
            try:
                result = await self.reconciler.reconcile(key)
            except KubeError as error:
                delay = self.queue.retry(key)
                log.warning("reconcile failed", extra={"error": str(error), "retry_seconds": delay})
                outcome = "error"
            except Exception as fault:
                # A bug that one Instance triggers must not end the worker that serves all others.
                delay = self.queue.retry(key)
                log.exception("reconcile crashed", extra={"retry_seconds": delay})
                outcome = "crash"
                if self.queue.failures(key) >= REPEATED_FAULTS:
                    await self._store_fault(key, fault)
            else:
                outcome = result.outcome
                if result.retry:
                    self.queue.retry(key)
                else:
                    self.queue.forget_failures(key)
                if result.requeue_after is not None:
                    self.queue.add_after(key, result.requeue_after)
            self.metrics.reconcile_ended(outcome, loop_seconds() - began)

    async def _store_fault(self, key: Key, fault: Exception) -> None:
        """Write an internal error that repeats into the conditions of the Instance."""
        try:
            await self.reconciler.store_fault(key, fault)
        except (KubeError, Outdated):
            log.debug("an internal error is not in the conditions yet")
        except Exception:
            # Such as of an Instance that cannot be read at all.
            log.exception("an internal error cannot be written into the conditions")
