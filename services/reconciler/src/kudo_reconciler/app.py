"""Wiring of the reconciler: what is built, what runs, and in which order it stops.

Stopping: readiness fails first, the queue closes, passes in progress finish, then the watches end.
Whatever a pass had not written is taken up again by the next process from what the cluster says.
"""

import asyncio
import contextlib
import logging
import random
import uuid
from dataclasses import dataclass

from kubeio.client import Client
from kubeio.config import load_config
from kubeio.discovery import Discovery
from kubeio.informer import Informer
from kubeio.store import Change
from kudo.api import Instance, JsonObject
from kudo_reconciler.applier import Applier
from kudo_reconciler.apply_task import ApplyTask
from kudo_reconciler.clock import SystemClock
from kudo_reconciler.controller import Controller
from kudo_reconciler.delete_task import DeleteTask
from kudo_reconciler.events import EventRecorder
from kudo_reconciler.instances import InstanceStore
from kudo_reconciler.metrics import Metrics
from kudo_reconciler.observer import Observer
from kudo_reconciler.plan_run import PlanRunner
from kudo_reconciler.queue import Key, WorkQueue
from kudo_reconciler.reconcile import InstanceReconciler
from kudo_reconciler.resources import INSTANCES, OPERATOR_VERSIONS, READINESS_KINDS
from kudo_reconciler.settings import Settings
from kudo_reconciler.task_runner import TaskRunner
from kudo_reconciler.versions import VersionStore
from serving.probes import Probes, asgi_app
from serving.server import serve

log = logging.getLogger(__name__)

_BY_VERSION = "operatorversion"


@dataclass(frozen=True, slots=True)
class _Caches:
    """What the cluster says about Instances and OperatorVersions."""

    instances: Informer
    versions: Informer

    @property
    def synced(self) -> bool:
        return self.instances.has_synced and self.versions.has_synced


async def run(settings: Settings, stop: asyncio.Event) -> None:
    """Run the reconciler until `stop` is set.

    Raises:
        kubeio.errors.ConfigError: no cluster can be found.
        ExceptionGroup: a part failed, such as the probe listener.
    """
    config = load_config(settings.kubeconfig, user_agent="kudo-reconciler")
    metrics, probes, queue = Metrics(), Probes(), WorkQueue(random.Random())  # noqa: S311 - jitter
    closed = asyncio.Event()
    async with Client(config) as client, asyncio.TaskGroup() as group:
        caches = _Caches(
            Informer(client, INSTANCES, indexers={_BY_VERSION: _version_of}),
            Informer(client, OPERATOR_VERSIONS),
        )
        probes.add("caches", lambda: caches.synced or "the caches are not synced")
        group.create_task(
            serve(
                asgi_app(probes, metrics.registry),
                host=settings.probe_host,
                port=settings.probe_port,
                stop=closed,
                grace=1.0,
            ),
            name="probe listener",
        )
        work = group.create_task(_work(settings, client, caches, queue, metrics), name="reconciler")
        stopping = group.create_task(stop.wait(), name="stop signal")
        await asyncio.wait({work, stopping}, return_when=asyncio.FIRST_COMPLETED)
        probes.draining = True
        queue.close()
        log.info("stopping", extra={"grace_seconds": settings.grace})
        await _finish(work, settings.grace)
        stopping.cancel()
        closed.set()


async def _finish(work: asyncio.Task[None], grace: float) -> None:
    """Let the passes in progress end; after `grace` seconds cancel them."""
    with contextlib.suppress(asyncio.CancelledError):
        done, _ = await asyncio.wait({work}, timeout=grace)
        if not done:
            work.cancel()
        await work


async def _work(
    settings: Settings, client: Client, caches: _Caches, queue: WorkQueue, metrics: Metrics
) -> None:
    """Fill the caches, then work the queue off until it is closed."""
    async with asyncio.TaskGroup() as watches:
        observer = Observer(client, watches, queue.add)
        _connect(caches, queue, metrics)
        informers = [
            watches.create_task(caches.versions.run(), name="informer of OperatorVersions"),
            watches.create_task(caches.instances.run(), name="informer of Instances"),
        ]
        await caches.versions.wait_synced()
        await caches.instances.wait_synced()
        for kind in READINESS_KINDS:
            await observer.watch(kind)
        log.info("ready", extra={"instances": len(caches.instances)})
        await _controller(settings, client, caches, queue, metrics, observer).run()
        for task in informers:
            task.cancel()
        observer.close()


def _connect(caches: _Caches, queue: WorkQueue, metrics: Metrics) -> None:
    """Have every change of an Instance, or of its OperatorVersion, worked on."""

    def instance_changed(change: Change) -> None:
        queue.add(_key(change.object))
        metrics.instances.set(len(caches.instances))

    def version_changed(change: Change) -> None:
        metadata = change.object["metadata"]
        reference = f"{metadata['namespace']}/{metadata['name']}"
        for instance in caches.instances.by_index(_BY_VERSION, reference):
            queue.add(_key(instance))

    caches.instances.add_handler(instance_changed)
    caches.versions.add_handler(version_changed)


def _controller(
    settings: Settings,
    client: Client,
    caches: _Caches,
    queue: WorkQueue,
    metrics: Metrics,
    observer: Observer,
) -> Controller:
    clock = SystemClock()
    applier = Applier(client, Discovery(client), observer, metrics)
    tasks = TaskRunner(
        apply=ApplyTask(applier, observer), delete=DeleteTask(client, applier, observer)
    )
    reconciler = InstanceReconciler(
        instances=InstanceStore(client, caches.instances),
        versions=VersionStore(client, caches.versions),
        observer=observer,
        runner=PlanRunner(tasks, clock),
        events=EventRecorder(client, clock, metrics),
        metrics=metrics,
        clock=clock,
        fresh_uid=lambda: str(uuid.uuid4()),
    )
    return Controller(queue, reconciler, metrics, settings.workers)


def _key(obj: JsonObject) -> Key:
    return Key(obj["metadata"]["namespace"], obj["metadata"]["name"])


def _version_of(obj: JsonObject) -> list[str]:
    namespace, name = Instance.from_wire(obj).operator_version_key
    return [f"{namespace}/{name}"]
