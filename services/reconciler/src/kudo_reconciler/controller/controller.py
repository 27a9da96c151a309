"""Workers that take Instances from the queue; the switch on how a pass ended stands here."""

import asyncio
import logging
from dataclasses import dataclass

from kubeio.errors import KubeError
from kudo_reconciler.clock import loop_seconds
from kudo_reconciler.controller.reconcile import InstanceReconciler
from kudo_reconciler.controller.workqueue import QueueClosed, WorkQueue
from kudo_reconciler.keys import Key
from kudo_reconciler.metrics.metrics import Metrics
from serving.logs import log_context

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Controller:
    """Works the queue off with a bounded number of workers."""

    queue: WorkQueue
    reconciler: InstanceReconciler
    metrics: Metrics
    workers: int

    async def run(self) -> None:
        """Work until the queue is closed; what is in progress is finished and put on record."""
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(self.workers):
                    group.create_task(self._work(), name=f"worker {number}")
            # A finished step that is not on record would be repeated by the next leader.
            for key in await self.reconciler.finish_operations():
                await self._one_pass(key)
        finally:
            await self.reconciler.cancel_operations()

    async def _work(self) -> None:
        while True:
            try:
                key = await self.queue.get()
            except QueueClosed:
                return
            try:
                await self._one_pass(key)
            finally:
                self.queue.done(key)

    async def _one_pass(self, key: Key) -> None:
        with log_context(namespace=key.namespace, instance=key.name):
            await self._reconcile(key)

    async def _reconcile(self, key: Key) -> None:
        started = loop_seconds()
        try:
            result = await self.reconciler.reconcile(key)
        except KubeError as error:
            delay = self.queue.retry(key)
            log.warning("pass failed", extra={"error": str(error), "retry_seconds": delay})
            outcome = "error"
        except Exception:
            delay = self.queue.retry(key)
            log.exception("pass crashed", extra={"retry_seconds": delay})
            outcome = "crash"
        else:
            outcome = result.outcome
            if result.retry:
                self.queue.retry(key)
            else:
                self.queue.forget_failures(key)
            if result.requeue_after is not None:
                self.queue.add_after(key, result.requeue_after)
        self.metrics.pass_ended(outcome, loop_seconds() - started)
