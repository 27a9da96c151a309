"""Workers that reconcile Instances from the queue, and requeue them by the result."""

import asyncio
import logging
from dataclasses import dataclass

from kubeio.errors import KubeError
from kudo_reconciler.common.clock import loop_seconds
from kudo_reconciler.common.errors import REPEATED_FAULTS, Outdated
from kudo_reconciler.common.keys import Key
from kudo_reconciler.controller.reconcile import InstanceReconciler
from kudo_reconciler.controller.workqueue import QueueClosed, WorkQueue
from kudo_reconciler.metrics.metrics import Metrics
from serving.logs import log_context

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
