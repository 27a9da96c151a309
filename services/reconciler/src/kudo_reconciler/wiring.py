"""Wires what reconciles: the controller of a term, its tasks, its objects and records.

`Environment` has what comes from outside: API server, leadership, worker processes, clock and
random numbers. The parts that outlive a term, such as caches, are made in `app`.
"""

import random
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from kubeio.client import Client
from kubeio.discovery import Discovery
from kudo_reconciler.common.clock import ApiServerClock, Clock, SystemClock
from kudo_reconciler.common.concurrency import Jobs
from kudo_reconciler.controller.context import ReconcileContext, ValueChecks
from kudo_reconciler.controller.deletion import Deletion
from kudo_reconciler.controller.housekeeping import Housekeeping
from kudo_reconciler.controller.idle import Idle, ReadinessCheck
from kudo_reconciler.controller.leftovers import Leftovers, OrphanSearch
from kudo_reconciler.controller.parameter_sources import ParameterSources
from kudo_reconciler.controller.reconcile import Controller, InstanceReconciler
from kudo_reconciler.controller.scheduled import Scheduled
from kudo_reconciler.controller.source_changes import SourceChanges
from kudo_reconciler.controller.workqueue import WorkQueue
from kudo_reconciler.events.writer import EventRecorder
from kudo_reconciler.execution.causes import Causes
from kudo_reconciler.execution.expected import EveryPlan, ExpectedObjects
from kudo_reconciler.execution.operations import Operations
from kudo_reconciler.execution.recording import Entries, Recording
from kudo_reconciler.execution.rendering import Renderer
from kudo_reconciler.execution.run import PlanRunner
from kudo_reconciler.execution.steps import StepRunner, TaskRunner
from kudo_reconciler.execution.tasks.kinds import EXPECTS, runner_of
from kudo_reconciler.execution.tasks.parts import TaskParts
from kudo_reconciler.execution.tasks.pipe_pods import PipePods
from kudo_reconciler.execution.tasks.task_jobs import TaskJobs
from kudo_reconciler.metrics.metrics import Metrics
from kudo_reconciler.objects.adopter import Adopter
from kudo_reconciler.objects.apply import Applier
from kudo_reconciler.objects.dependency_hash import DependencyHasher
from kudo_reconciler.objects.observer import Observer
from kudo_reconciler.objects.ownership import Ownership
from kudo_reconciler.objects.pruner import Pruner
from kudo_reconciler.objects.recorder import Recorder
from kudo_reconciler.objects.releasing import ClusterObjects
from kudo_reconciler.objects.resolver import Resolver
from kudo_reconciler.objects.sharers import Sharers
from kudo_reconciler.objects.shares import Shares
from kudo_reconciler.settings import Settings
from kudo_reconciler.store.instances import InstanceStore
from kudo_reconciler.store.inventories import InventoryStore
from kudo_reconciler.store.versions import VersionStore
from kudo_reconciler.tenancy.access import AccessReviews
from kudo_reconciler.tenancy.accounts import Accounts


class Leading(Protocol):
    """Reports whether this replica is the leader.

    See `kubeio.leader_election.elector.LeaderElector`.
    """

    def check(self) -> None:
        """Raise `NotLeading` unless this replica may write now."""

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Call and await `work` in each term, until it ends by itself."""


def _fresh_uid() -> str:
    return str(uuid.uuid4())


@dataclass(frozen=True, slots=True)
class Environment:
    """The dependencies that the parts of the reconciler share.

    Timeouts and delays use the clock of the running event loop, which is therefore not a field.

    Attributes:
        client: Sends every request; its hooks are set by the `App`.
        jobs: The worker processes.
        clock: The time of day of this machine; see `clock` for the one that statuses have.
        rng: Source of every jitter.
        fresh_uid: Returns a new uid for a run.
    """

    client: Client
    leadership: Leading
    jobs: Jobs
    metrics: Metrics
    clock: Clock = field(default_factory=SystemClock)
    rng: random.Random = field(default_factory=random.Random)
    fresh_uid: Callable[[], str] = _fresh_uid


@dataclass(frozen=True, slots=True)
class Parts:
    """What the controller of a term is made of.

    Attributes:
        settings: Of the process.
        environment: Of the process.
        clock: Of the API server.
        queue: Of the process; once it is closed, nothing new begins.
        renderer: Of templates.
        operations: Of this term.
        reviews: Of what accounts may read.
        instances: The cached Instances.
        versions: The cached OperatorVersions.
        inventories: The cached Inventories.
        accounts: As which plans act.
        observer: Of the objects of plans.
        events: Of this term.
        recorder: Of this term.
    """

    settings: Settings
    environment: Environment
    clock: ApiServerClock
    queue: WorkQueue
    renderer: Renderer
    operations: Operations
    reviews: AccessReviews
    instances: InstanceStore
    versions: VersionStore
    inventories: InventoryStore
    accounts: Accounts
    observer: Observer
    events: EventRecorder
    recorder: Recorder

    @property
    def client(self) -> Client:
        return self.environment.client

    @property
    def metrics(self) -> Metrics:
        return self.environment.metrics

    def stopping(self) -> bool:
        return self.queue.closed


@dataclass(frozen=True, slots=True)
class _Objects:
    """What reads and writes the objects of plans."""

    discovery: Discovery
    ownership: Ownership
    shares: Shares
    pipe_pods: PipePods
    task_jobs: TaskJobs


def controller_of(parts: Parts) -> Controller:
    """Return the controller of a term."""
    # One for the term: what it has learned of CRDs is not taken over from an earlier one.
    discovery = Discovery(parts.client)
    # One for all: who shares an object is decided in one place.
    sharers = Sharers(parts.instances, parts.inventories, parts.recorder.is_damaged)
    objects = _Objects(
        discovery,
        Ownership(parts.instances, sharers),
        Shares(parts.observer, sharers, parts.recorder),
        PipePods(parts.accounts, parts.observer),
        TaskJobs(parts.accounts, parts.observer),
    )
    context = _context(parts, objects)
    resolver = Resolver(discovery)
    expected = ExpectedObjects(resolver, EXPECTS)
    entries = Entries(parts.settings.digest_key)
    recording = Recording(parts.recorder, parts.reviews, expected, entries)
    readiness = ReadinessCheck(parts.observer, parts.client, parts.accounts.identity_of)
    sources = ParameterSources(parts.accounts, context.values, parts.settings.digest_key)
    changes = SourceChanges(sources, parts.operations, parts.environment.rng)
    idle = Idle(context, readiness, changes)
    runner = PlanRunner(
        StepRunner(_tasks(parts, objects, resolver, recording)),
        parts.operations,
        parts.renderer,
        parts.accounts,
        parts.clock,
        parts.metrics,
        parts.environment.rng,
    )
    search = OrphanSearch(parts.observer, discovery)
    leftovers = Leftovers(context, parts.accounts, search, EveryPlan(expected, parts.renderer))
    scheduled = Scheduled.create(context, runner, idle, leftovers, sources, parts.settings.recheck)
    reconciler = InstanceReconciler(
        context,
        idle,
        scheduled,
        Deletion(context, scheduled),
        parts.queue.add_after,
    )
    return Controller(parts.queue, reconciler, parts.metrics, parts.settings.workers)


def _context(parts: Parts, objects: _Objects) -> ReconcileContext:
    discovery = objects.discovery
    return ReconcileContext(
        instances=parts.instances,
        versions=parts.versions,
        events=parts.events,
        metrics=parts.metrics,
        clock=parts.clock,
        cluster_objects=ClusterObjects(
            parts.accounts, discovery, parts.observer, objects.shares, parts.events
        ),
        pipe_pods=objects.pipe_pods,
        task_jobs=objects.task_jobs,
        values=ValueChecks(parts.environment.jobs),
        operations=parts.operations,
        housekeeping=Housekeeping(
            parts.instances,
            parts.operations,
            parts.events,
            Pruner(parts.accounts, discovery, parts.observer, objects.shares, parts.recorder),
            Adopter(parts.accounts, discovery, parts.recorder),
            parts.stopping,
        ),
        recorder=parts.recorder,
        fresh_uid=parts.environment.fresh_uid,
        stopping=parts.stopping,
        tenancy=parts.settings.tenancy,
    )


def _tasks(parts: Parts, objects: _Objects, resolver: Resolver, recording: Recording) -> TaskRunner:
    return runner_of(
        TaskParts(
            resolver=resolver,
            observer=parts.observer,
            applier=Applier(objects.discovery, parts.observer, objects.ownership, parts.metrics),
            hasher=DependencyHasher(parts.observer),
            ownership=objects.ownership,
            shares=objects.shares,
            recording=recording,
            causes=Causes(parts.observer),
            pipe_pods=objects.pipe_pods,
            waiter_image=parts.settings.pipe_waiter_image,
            task_jobs=objects.task_jobs,
            instances=parts.instances,
            versions=parts.versions,
            metrics=parts.metrics,
            reviews=parts.reviews,
        )
    )
