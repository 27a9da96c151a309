"""The reconciler as a process: its caches, what runs, and the order in which it stops.

`wiring` makes the controller of a term.

Stopping: readiness fails first, the queue closes, reconciles in progress finish, waiting events are
written, the Lease is released, then the watches end. The next process continues any interrupted
reconcile from the state in the cluster.
"""

import asyncio
import contextlib
import logging
import socket
import uuid
from collections.abc import Callable, Mapping
from functools import partial

from kubeio.cache.informer import Informer
from kubeio.cache.reflector import Status, Timing
from kubeio.cache.store import Delta, Indexer
from kubeio.client import Client
from kubeio.connection.config import ClusterConfig
from kubeio.connection.service import service_config
from kubeio.errors import Forbidden, NotFound
from kubeio.leader_election.elector import LeaderElector
from kubeio.resource import NAMESPACES, SERVICE_ACCOUNTS, Resource
from kubeio.token_review import METRICS, TokenReviewer
from kubeio.types import Transform
from kudo.admission.tenancy import Tenancy
from kudo.api import Json, JsonObject
from kudo.objects.inventory.record import owner_of
from kudo.plans.runs.history import has_begun
from kudo_reconciler.common.clock import ApiServerClock, loop_seconds
from kudo_reconciler.common.keys import (
    INSTANCES,
    INVENTORIES,
    OPERATOR_VERSIONS,
    READINESS_KINDS,
    Key,
)
from kudo_reconciler.controller.workqueue import WorkQueue, namespace_limit
from kudo_reconciler.events.writer import EventRecorder
from kudo_reconciler.execution.operations import Operations
from kudo_reconciler.execution.rendering import Renderer
from kudo_reconciler.metrics.metrics import Metrics
from kudo_reconciler.objects.damage import IgnoredEntries
from kudo_reconciler.objects.observer import Observer
from kudo_reconciler.objects.recorder import Recorder
from kudo_reconciler.settings import Settings
from kudo_reconciler.store.freshness import OwnWrites
from kudo_reconciler.store.instances import InstanceStore
from kudo_reconciler.store.inventories import INDEXERS, InventoryStore, kept_inventory
from kudo_reconciler.store.versions import VersionStore, kept_version
from kudo_reconciler.tenancy.access import AccessReviews
from kudo_reconciler.tenancy.accounts import Accounts, Directory, kept
from kudo_reconciler.wiring import Environment, Parts, controller_of
from serving.event_loop import follow_turns
from serving.namespaces import Measure, Tally, serve_debug
from serving.probes import Probes
from serving.server import serve_probes
from serving.token_gate import TokenGate
from serving.worker_pool import WorkerUsage, build_pool

log = logging.getLogger(__name__)

_BY_VERSION = "operatorversion"
_REVIEWS = 6
"""Connections for reviews of tokens, as many as there are reviews at a time."""


async def run(settings: Settings, stop: asyncio.Event) -> None:
    """Run the reconciler until `stop` is set.

    Raises:
        kubeio.errors.ConfigError: no cluster can be found.
        ExceptionGroup: a part failed, such as the probe listener.
    """
    config = await service_config(settings.kubeconfig, user_agent="kudo-reconciler")
    # Loaded a second time: credentials belong to one event loop, and the Lease has one of its own.
    lease_config = await service_config(settings.kubeconfig, user_agent="kudo-reconciler")
    closed = asyncio.Event()
    async with (
        # Responses to the writes of one run are known before the next run sends anything.
        Client(config, timeout=settings.call_timeout, finish_writes=True) as client,
        # A standby reviews tokens, too, so this one does not ask for the Lease.
        Client(config, timeout=settings.call_timeout, max_connections=_REVIEWS) as reviews,
        asyncio.TaskGroup() as group,
    ):
        metrics, probes = Metrics(), Probes()
        usage = WorkerUsage()
        # Most plans need no worker process, and each takes some 58 MiB. The first job has the next
        # one started, so only a second job of the first half a second waits for a start.
        pool = build_pool(
            "kudo.jobs", settings.worker_processes, metrics.registry, probes, usage, at_rest=1
        )
        leadership = _leadership(settings, lease_config, client.config.namespace, metrics)
        app = App(settings, Environment(client, leadership, pool, metrics))
        follow_turns(metrics.registry, leadership.beat)
        probes.add("caches", app.caches)
        group.create_task(
            serve_probes(
                probes,
                metrics.registry,
                host=settings.probe_host,
                port=settings.probe_port,
                stop=closed,
                gate=_gate(settings, reviews, metrics),
            ),
            name="probe listener",
        )
        group.create_task(
            serve_debug(
                lambda: [*app.measures(), *usage.measures(pool)],
                port=settings.debug_port,
                stop=closed,
            ),
            name="debug listener",
        )
        working = group.create_task(pool.run(), name="worker processes")
        work = group.create_task(app.work(), name="reconciler")
        stopping = group.create_task(stop.wait(), name="stop signal")
        await asyncio.wait({work, stopping}, return_when=asyncio.FIRST_COMPLETED)
        probes.draining = True
        app.queue.close()
        log.info("stopping", extra={"grace_seconds": settings.grace})
        # A standby has no reconcile in progress, so there is nothing to wait for.
        await _finish(work, settings.grace if leadership.leading else 0.0)
        stopping.cancel()
        # Reconciles in progress may have needed it until now.
        working.cancel()
        closed.set()


def _gate(settings: Settings, client: Client, metrics: Metrics) -> TokenGate | None:
    """Return what asks for a token for metrics, if it is set."""
    if settings.metrics_auth == "none":
        return None
    client.on_request = metrics.request_seen
    return TokenGate(TokenReviewer(client, METRICS))


def _leadership(
    settings: Settings, config: ClusterConfig, namespace: str, metrics: Metrics
) -> LeaderElector:
    def connect() -> Client:
        """Return a client for the thread of the Lease, which never waits for reconciles."""
        timeout = min(settings.call_timeout, settings.lease_times.call)
        client = Client(config, timeout=timeout, max_connections=2)
        # Called in that thread; counters may be used from any.
        client.on_request = metrics.request_seen
        return client

    return LeaderElector(
        connect,
        namespace=settings.lease_namespace or namespace,
        name=settings.lease_name,
        identity=f"{socket.gethostname()}_{uuid.uuid4()}",
        times=settings.lease_times,
        on_change=metrics.leading,
    )


async def _finish(work: asyncio.Task[None], grace: float) -> None:
    """Wait for reconciles in progress to end; cancel them after `grace` seconds."""
    with contextlib.suppress(asyncio.CancelledError):
        done, _ = await asyncio.wait({work}, timeout=grace)
        if not done:
            work.cancel()
        await work


class App:
    """The parts of the reconciler, wired together.

    Whatever only reads runs from the start, so that a standby has warm caches. Whatever writes runs
    while this replica holds the Lease, and keeps no state from one term to the next.
    """

    def __init__(self, settings: Settings, environment: Environment) -> None:
        client, metrics = environment.client, environment.metrics
        self._settings = settings
        self._environment = environment
        self._client, self._metrics = client, metrics
        seconds = asyncio.get_running_loop().time
        self._clock = ApiServerClock(lambda: client.last_date, seconds, environment.clock)
        self.queue = WorkQueue(
            environment.rng,
            metrics.queue,
            clock=seconds,
            begun=self._begun,
            namespace_limit=settings.fairness.workers or namespace_limit(settings.workers),
        )
        metrics.queue.follow(self.queue.__len__, self.queue.longest_running)
        self._renderer = Renderer(environment.jobs, metrics.render_seconds.observe)
        self._events: EventRecorder | None = None
        self._recorder: Recorder | None = None
        self._operations = self._new_operations()
        metrics.operations.follow(
            {
                "operations_running": lambda: self._operations.slots.running,
                "operations_waiting": lambda: self._operations.slots.queued,
                "long_operations_running": lambda: self._operations.long_slots.running,
                "long_operations_waiting": lambda: self._operations.long_slots.queued,
            }
        )
        self._events_refused = Tally()
        self._timing = Timing(idle=settings.watch_silence)
        self._reviews = AccessReviews(seconds)
        client.before_write = environment.leadership.check
        client.on_request = metrics.request_seen
        instances = self._informer(INSTANCES, {_BY_VERSION: _versions_of})
        self._instances = InstanceStore(client, instances, OwnWrites(self._instance_news))
        metrics.add_instances(instances.list, self._clock.now)
        informer = self._informer(OPERATOR_VERSIONS, transform=kept_version)
        self._versions = VersionStore(client, informer)
        self._inventories = InventoryStore(
            client,
            self._informer(INVENTORIES, INDEXERS, transform=kept_inventory),
            OwnWrites(self._inventory_news),
            self._instances.freshness,
        )
        self._accounts = self._new_accounts()

    @property
    def synced(self) -> bool:
        return not self._unsynced()

    def caches(self) -> bool | str:
        """Return True if the caches are filled, else which kinds are missing, for the probe."""
        kinds = ", ".join(self._unsynced())
        return f"the caches are not synced: {kinds}" if kinds else True

    def _unsynced(self) -> list[str]:
        """Return the names of the kinds that were not listed yet."""
        stores = (self._instances, self._versions, self._inventories)
        informers = [*(store.informer for store in stores), *self._accounts.directory.informers]
        return [informer.resource.name for informer in informers if not informer.has_synced]

    def _new_operations(self) -> Operations:
        waited = self._metrics.operations.waited
        return Operations.within(self._settings.fairness, self.queue.add, waited)

    def _new_accounts(self) -> Accounts:
        client, mode = self._client, self._settings.tenancy
        pod = client.config.namespace
        own = frozenset((pod, self._settings.lease_namespace or pod))
        directory = Directory(client)
        if mode is Tenancy.STRICT:
            directory = Directory(
                client,
                self._informer(SERVICE_ACCOUNTS, transform=kept, metadata_only=True),
                self._informer(NAMESPACES, transform=kept, metadata_only=True),
            )
        return Accounts(client, mode, own, directory)

    def _informer(
        self,
        resource: Resource,
        indexers: Mapping[str, Indexer] | None = None,
        transform: Transform | None = None,
        *,
        metadata_only: bool = False,
    ) -> Informer:
        return Informer(
            self._client,
            resource,
            indexers=indexers,
            transform=transform,
            metadata_only=metadata_only,
            on_status=partial(self._watch_status, resource),
            timing=self._timing,
            clock=loop_seconds,
            rng=self._environment.rng,
        )

    def _watch_status(self, resource: Resource, status: Status) -> None:
        self._metrics.watches.seen(resource, status)
        if isinstance(status.error, NotFound | Forbidden):
            # Without these kinds nothing works: a CRD is missing, or a right.
            log.warning("not watched", extra={"kind": resource.name, "why": str(status.error)})

    async def work(self) -> None:
        """Fill the caches, then process the queue while leading, until it is closed."""
        instances, versions = self._instances.informer, self._versions.informer
        inventories = self._inventories.informer
        directory = self._accounts.directory.informers
        async with asyncio.TaskGroup() as watches:
            observer = Observer(
                self._client,
                watches,
                self.queue.nudge,
                self._timing,
                self._reviews,
                _may_watch(self._settings),
                on_status=self._metrics.watches.seen,
                on_watched=self._kind_watched,
                rng=self._environment.rng,
                inventories=self._inventories,
            )
            always = [instances, versions, inventories, *directory]
            self._metrics.add_watches(lambda: [*always, *observer.informers()])
            instances.add_handler(self._instance_changed)
            versions.add_handler(self._version_changed)
            inventories.add_handler(self._inventories.changed)
            informers = [
                watches.create_task(versions.run(), name="informer of OperatorVersions"),
                watches.create_task(instances.run(), name="informer of Instances"),
                watches.create_task(inventories.run(), name="informer of Inventories"),
                *(
                    watches.create_task(
                        informer.run(), name=f"informer of {informer.resource.kind}s"
                    )
                    for informer in directory
                ),
            ]
            for informer in always:
                await informer.wait_synced()
            await observer.watch_all(READINESS_KINDS)
            asking = observer.keep_watching(READINESS_KINDS)
            informers.append(watches.create_task(asking, name="refused kinds"))
            log.info("ready", extra={"instances": len(instances)})
            await self._environment.leadership.run(partial(self._lead, observer))
            for task in informers:
                task.cancel()
            observer.close()

    async def _lead(self, observer: Observer) -> None:
        """Reconcile every Instance, then each that changes, until the queue is closed."""
        # Before anything gets a time. The first lists were answered by now.
        self._clock.anchor()
        instances = self._instances.informer.list()
        for raw in instances:
            self.queue.add(_key(raw))
        events = EventRecorder(
            self._client,
            self._clock,
            self._metrics,
            self.queue.nudge,
            rng=self._environment.rng,
            fairness=self._settings.fairness,
            refused=self._events_refused,
        )
        self._events = events
        self._recorder = Recorder(self._inventories, IgnoredEntries(self._inventories, events))
        self._inventories.begin_term()
        freshness, rng = self._instances.freshness, self._environment.rng
        freshness.forget_term()
        try:
            async with asyncio.TaskGroup() as term:
                beginning = term.create_task(
                    freshness.begin_term(self._client, rng), name="beginning of the term"
                )
                term.create_task(events.run(), name="events")
                repeating = term.create_task(events.repeat(instances), name="repeated events")
                parts = self._parts(observer, events, self._recorder)
                await controller_of(parts).run()
                beginning.cancel()
                repeating.cancel()
                events.close()
        finally:
            self._events = self._recorder = None

    def _parts(self, observer: Observer, events: EventRecorder, recorder: Recorder) -> Parts:
        self._operations = self._new_operations()
        return Parts(
            settings=self._settings,
            environment=self._environment,
            clock=self._clock,
            queue=self.queue,
            renderer=self._renderer,
            operations=self._operations,
            reviews=self._reviews,
            instances=self._instances,
            versions=self._versions,
            inventories=self._inventories,
            accounts=self._accounts,
            observer=observer,
            events=events,
            recorder=recorder,
        )

    def measures(self) -> list[Measure]:
        """Return what namespaces use, for /debug/namespaces; nothing on a standby."""
        return [
            Measure("instances_reconciling", self.queue.working),
            Measure("instances_queued", self.queue.queued),
            *self._operations.measures(),
            Measure("events_waiting", self._events.waiting if self._events else dict),
            Measure.of("events_refused", self._events_refused),
        ]

    def _begun(self, key: Key) -> bool:
        raw = self._instances.informer.get(key.namespace, key.name)
        return raw is not None and has_begun(raw)

    def _instance_changed(self, delta: Delta) -> None:
        """Enqueue a changed Instance unless the change is an own write, and its parents always."""
        for parent in {*_parents(delta.object), *(_parents(delta.old) if delta.old else ())}:
            self.queue.nudge(parent)
        self._instances.changed(delta)

    def _instance_news(self, key: Key, delta: Delta) -> None:
        """Enqueue an Instance for a change that is not an own write.

        A change of the status alone, whoever made it, does not shorten the backoff of a failing
        Instance.
        """
        if self._events is not None and delta.kind == "updated":
            # The end of a run of an earlier term may arrive only now: the first list may have been
            # stale.
            self._events.repeat_of(delta.object)
        if delta.old is not None and _same_but_status(delta.old, delta.object):
            self.queue.nudge(key)
        else:
            self.queue.add(key)

    def _inventory_news(self, uid: str, delta: Delta) -> None:
        """Enqueue the Instance of an Inventory that somebody else has changed while we lead."""
        if self._recorder is None:
            return
        owner = self._recorder.changed_by_others(uid, delta)
        if owner is None:
            # Its status tells of orphans by a record that the cache lacked.
            late = owner_of(delta.object["metadata"])
            is_of_term = self._instances.freshness.is_of_this_term(delta.object)
            if late is not None and delta.kind != "deleted" and not is_of_term:
                self.queue.nudge(Key(late.namespace, late.name))
            return
        key = Key(owner.namespace, owner.name)
        instance = self._instances.informer.get(*key)
        if instance is None or instance["metadata"].get("deletionTimestamp"):
            # The garbage collector deletes Inventories with their Instance.
            self._recorder.damage.forget(key)
        else:
            self.queue.nudge(key)

    def _kind_watched(self, resource: Resource) -> None:
        """Enqueue every Instance once a kind is watched: many may wait for that."""
        if resource in READINESS_KINDS:
            for raw in self._instances.informer.list():
                self.queue.nudge(_key(raw))

    def _version_changed(self, delta: Delta) -> None:
        """Enqueue the Instances of an OperatorVersion."""
        metadata = delta.object["metadata"]
        # On every change: after a restore of etcd a resourceVersion may be used a second time.
        self._versions.forget((metadata["namespace"], metadata["name"]))
        reference = f"{metadata['namespace']}/{metadata['name']}"
        for instance in self._instances.informer.by_index(_BY_VERSION, reference):
            self.queue.add(_key(instance))


def _may_watch(settings: Settings) -> Callable[[Resource], bool]:
    """Return whether a kind may be watched; in compat mode every kind that the server allows."""
    if settings.tenancy is Tenancy.COMPAT:
        return lambda _: True
    return lambda kind: kind.name in settings.watch


def _key(obj: JsonObject) -> Key:
    return Key(obj["metadata"]["namespace"], obj["metadata"]["name"])


def _parents(obj: JsonObject) -> list[Key]:
    """Return the Instances that own an Instance."""
    metadata = obj["metadata"]
    return [
        Key(metadata["namespace"], owner["name"])
        for owner in metadata.get("ownerReferences") or ()
        if owner["kind"] == INSTANCES.kind and owner["apiVersion"] == INSTANCES.api_version
    ]


def _same_but_status(old: JsonObject, new: JsonObject) -> bool:
    """Whether spec, finalizers and deletionTimestamp are unchanged."""
    before, after = old["metadata"], new["metadata"]
    kept = ("uid", "generation", "deletionTimestamp", "finalizers")
    return all(before.get(name) == after.get(name) for name in kept)


def _versions_of(obj: JsonObject) -> set[str]:
    """Return the OperatorVersions that an Instance depends on: of its spec, and in force."""
    # An indexer must not raise, whatever the object contains.
    spec, status = _object(obj.get("spec")), _object(obj.get("status"))
    last = _object(status.get("lastRun"))
    references = (spec.get("operatorVersion"), last.get("operatorVersion"))
    namespace = obj["metadata"]["namespace"]
    return {
        f"{reference.get('namespace') or namespace}/{reference.get('name') or ''}"
        for reference in map(_object, references)
        if reference
    }


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}
