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
from dataclasses import dataclass

from kubeio.errors import KubeError
from kudo.api import Instance, OperatorVersion
from kudo.api.identity import identity
from kudo.plans.runs.conditions import INTERNAL_ERROR, SUSPENDED, Situation
from kudo.plans.runs.last_run import has_run_with
from kudo.plans.runs.suspension import RESUMED, is_recorded
from kudo_reconciler.common.clock import loop_seconds
from kudo_reconciler.common.errors import REPEATED_FAULTS, Outdated, Superseded, fault_text
from kudo_reconciler.common.keys import Key, key_of
from kudo_reconciler.controller.context import (
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
from kudo_reconciler.controller.restoring import Restoring
from kudo_reconciler.controller.scheduled import Scheduled
from kudo_reconciler.controller.workqueue import QueueClosed, WorkQueue
from kudo_reconciler.execution.operations import StillGoing
from kudo_reconciler.metrics.metrics import Metrics
from kudo_reconciler.store.versions import VersionTooLarge
from serving.logs import log_context
from workers import WorkerError

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class InstanceReconciler:
    """Reconciles Instances."""

    context: ReconcileContext
    idle: Idle
    scheduled: Scheduled
    deletion: Deletion
    restoring: Restoring

    async def reconcile(self, key: Key) -> Result:
        """Reconcile the Instance of a key.

        Raises:
            KubeError: a request failed; requeue with backoff.
        """
        instance = self.context.instances.cached(key)
        if instance is None:
            await self.scheduled.forget(key)
            await self.context.operations.forget(key, READ_VALUES, FIND_CHILDREN, FIND_ORPHANS)
            self.context.recorder.forget(key)
            await self.context.upkeep.forget(key)
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

    async def tell_fault(self, key: Key, fault: Exception) -> None:
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
        if instance.metadata.deleting or instance.suspended or instance.scheduled.plan_name:
            # A run may apply again what is being pruned. And once a pause is stored, nothing is in
            # flight any more.
            await self.context.upkeep.stop(key_of(instance))
        self._tell_pause(instance)
        await self.restoring.restore(instance)
        deleting = instance.metadata.deleting
        if deleting and OUR_FINALIZERS.isdisjoint(finalizers(instance)):
            # Only finalizers of others block the deletion; no plan runs any more.
            return await self.deletion.wait_for_others(instance)
        try:
            return await self._with_version(instance)
        except VersionTooLarge as error:
            if self.context.lacks_grant(instance, error.metadata):
                return await self.idle.not_granted(instance)
            return await self.idle.without_version(instance, str(error))

    def _tell_pause(self, instance: Instance) -> None:
        """Queue the event of a pause, or of its end, that no status has recorded yet."""
        metadata = instance.metadata
        if is_recorded(instance, instance.status):
            return
        if instance.suspended:
            how = "kubectl kudo resume, or spec.suspend: false"
            reason, text = SUSPENDED, f"Nothing is sent for its plans until it is resumed ({how})"
        else:
            reason, text = RESUMED, "The pause has ended, its plans go on"
        occasion = f"{metadata.uid}.{metadata.generation}"
        self.context.events.note(identity(instance), occasion, "Normal", reason, text)

    async def _with_version(self, instance: Instance) -> Result:
        version = await self.context.versions.get(instance.operator_version_key)
        if self._is_closed(instance, version) and instance.scheduled.plan_name:
            # Whoever asked for the run may have granted it a moment before.
            version = await self.context.versions.live(instance.operator_version_key)
        if self._is_closed(instance, version):
            return await self.idle.not_granted(instance)
        if version is None:
            return await self.idle.without_version(instance)
        if instance.metadata.deleting:
            return await self.deletion.proceed(instance, version)
        if not instance.scheduled.plan_name:
            await self.scheduled.forget(key_of(instance))
            return await self.idle.settle(instance, version)
        return await self.scheduled.proceed(instance, version)

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


log = logging.getLogger(__name__)


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
                await self._reconcile_logged(key)
        finally:
            await self.reconciler.cancel_operations()

    async def _work(self) -> None:
        while True:
            try:
                key = await self.queue.get()
            except QueueClosed:
                return
            try:
                await self._reconcile_logged(key)
            finally:
                self.queue.done(key)

    async def _reconcile_logged(self, key: Key) -> None:
        with log_context(namespace=key.namespace, instance=key.name):
            await self._reconcile(key)

    async def _reconcile(self, key: Key) -> None:
        started = loop_seconds()
        try:
            result = await self.reconciler.reconcile(key)
        except KubeError as error:
            delay = self.queue.retry(key)
            log.warning("reconcile failed", extra={"error": str(error), "retry_seconds": delay})
            outcome = "error"
        except Exception as fault:
            delay = self.queue.retry(key)
            log.exception("reconcile crashed", extra={"retry_seconds": delay})
            outcome = "crash"
            await self._tell_fault(key, fault)
        else:
            outcome = result.outcome
            if result.retry:
                self.queue.retry(key)
            else:
                self.queue.forget_failures(key)
            if result.requeue_after is not None:
                self.queue.add_after(key, result.requeue_after)
        self.metrics.reconcile_ended(outcome, loop_seconds() - started)

    async def _tell_fault(self, key: Key, fault: Exception) -> None:
        """Write an internal error that repeats into the conditions of the Instance."""
        if self.queue.failures(key) < REPEATED_FAULTS:
            return
        try:
            await self.reconciler.tell_fault(key, fault)
        except (KubeError, Outdated):
            log.debug("an internal error is not in the conditions yet")
        except Exception:
            # Such as of an Instance that cannot be read at all.
            log.exception("an internal error cannot be written into the conditions")
