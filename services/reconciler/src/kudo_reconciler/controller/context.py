"""Dependencies and common functions of the reconciles of all states of an Instance."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Protocol, TypeVar

from kudo.admission.revalidation import Revalidation
from kudo.admission.tenancy import Tenancy, is_granted, lacks_grant
from kudo.api import Instance, InstanceStatus, OperatorVersion
from kudo.api.names import FINALIZER_CLEANUP, FINALIZER_CLUSTER_RESOURCES
from kudo.api.times import rfc3339
from kudo.jobs import check as check_job
from kudo.parameters.values import Check, Checker, CheckResults
from kudo.plans.runs.conditions import Situation
from kudo.plans.runs.last_run import in_force, version_in_force
from kudo.plans.runs.status import with_conditions
from kudo_reconciler.common.clock import Clock
from kudo_reconciler.common.concurrency import Jobs
from kudo_reconciler.common.keys import key_of
from kudo_reconciler.controller.housekeeping import Housekeeping
from kudo_reconciler.events.writer import EventRecorder
from kudo_reconciler.execution.operations import Operations
from kudo_reconciler.execution.tasks.pipe_pods import PipePods
from kudo_reconciler.execution.tasks.task_jobs import TaskJobs
from kudo_reconciler.metrics.metrics import Metrics
from kudo_reconciler.objects.recorder import Recorder
from kudo_reconciler.objects.releasing import ClusterObjects
from kudo_reconciler.store.instances import InstanceStore
from kudo_reconciler.store.versions import VersionStore, VersionTooLarge
from workers import LimitExceeded

_SECONDS: Final = 5.0
"""CPU time and wall clock for all values of one decision; the limits of YAML take less than two."""

_Decision = TypeVar("_Decision")


@dataclass(frozen=True, slots=True)
class ValueChecks:
    """Makes decisions that depend on values of parameters.

    Attributes:
        jobs: The worker processes.
        results: Cached results, so that no value is parsed at each reconcile.
    """

    jobs: Jobs
    results: CheckResults = field(default_factory=CheckResults)

    def decide_now(self, decide: Callable[[Check], _Decision]) -> _Decision | None:
        """Make a decision; None if a worker has to parse values for it."""
        checker = Checker(self.results)
        decision = decide(checker)
        return None if checker.pending else decision

    async def decide(self, tenant: str, decide: Callable[[Check], _Decision]) -> _Decision:
        """Make a decision; once more if a worker had to parse values for it.

        Args:
            tenant: Namespace of the Instance.
            decide: Makes the decision; it is given the function that checks values.

        Raises:
            workers.WorkerError: no worker was available; try again.
        """
        checker = Checker(self.results)
        decision = decide(checker)
        if not checker.pending:
            return decision
        # The same values may have been read together before, and exceeded a limit together.
        if not checker.known_batch():
            await self._read_pending(checker, tenant)
        return decide(checker)

    async def _read_pending(self, checker: Checker, tenant: str) -> None:
        request = check_job.encode_request(checker.pending)
        try:
            answer = await self.jobs.call(
                check_job.NAME, request, tenant=tenant, cpu=_SECONDS, wall=_SECONDS
            )
        except LimitExceeded as error:
            # Remembered as too large, so that no further decision spends a worker on them.
            checker.give_up(error.limit, str(error), check_job.value_at(error.at))
        else:
            checker.learn(check_job.decode_answer(answer))


AGAIN_SECONDS = 0.05
OUR_FINALIZERS = frozenset({FINALIZER_CLEANUP, FINALIZER_CLUSTER_RESOURCES})
READ_VALUES, FIND_CHILDREN, FIND_ORPHANS = "values", "children", "orphans"
END_JOBS = "jobs"
READ_SOURCES = "sources"
"""Names of operations, of which an Instance has one each at a time."""


class Revalidate(Protocol):
    """Applies the admission rules to an Instance: `revalidate_idle` or `revalidate_scheduled`."""

    def __call__(
        self,
        instance: Instance,
        version: OperatorVersion,
        check: Check,
        *,
        before: OperatorVersion | None,
        tenancy: Tenancy,
    ) -> Revalidation: ...


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a reconcile: when the key is requeued.

    Attributes:
        outcome: One word for metrics.
        requeue_after: Seconds until another reconcile; None to wait for an event.
        retry: Whether to requeue with backoff.
    """

    outcome: str
    requeue_after: float | None = None
    retry: bool = False


@dataclass(frozen=True, slots=True)
class ReconcileContext:
    """The dependencies of a reconcile, such as stores, clock, events and metrics."""

    instances: InstanceStore
    versions: VersionStore
    events: EventRecorder
    metrics: Metrics
    clock: Clock
    cluster_objects: ClusterObjects
    pipe_pods: PipePods
    task_jobs: TaskJobs
    values: ValueChecks
    operations: Operations
    housekeeping: Housekeeping
    recorder: Recorder
    fresh_uid: Callable[[], str]
    stopping: Callable[[], bool]
    """Whether this process is stopping: nothing new is started."""
    tenancy: Tenancy = Tenancy.COMPAT

    def now(self) -> str:
        return rfc3339(self.clock.now())

    async def revalidate(
        self,
        instance: Instance,
        version: OperatorVersion,
        revalidate: Revalidate,
    ) -> Revalidation:
        """Revalidate an Instance with its parameter values and the version in force.

        Raises:
            StillGoing: a worker process parses the values.
            workers.WorkerError: no worker process was available; try again.
            KubeError: the version in force could not be read.
        """
        before = await self.version_before(instance)
        decide = partial(revalidate, instance, version, before=before, tenancy=self.tenancy)
        decision = self.values.decide_now(decide)
        # Most values are small: no operation, and no second reconcile, for them.
        if decision is not None:
            return decision
        metadata = instance.metadata
        before_version = before.metadata.resource_version if before else ""
        return await self.operations.result(
            key_of(instance),
            READ_VALUES,
            (
                # The answer is of these states alone: with another one the values are read again.
                metadata.uid,
                metadata.resource_version,
                version.metadata.resource_version,
                before_version,
            ),
            lambda: self.values.decide(metadata.namespace, decide),
        )

    async def version_before(self, instance: Instance) -> OperatorVersion | None:
        """Return the OperatorVersion in force if the spec names another one.

        None if it names that one, and if the version in force does not exist, is too large, or is
        not granted any more.
        """
        last = in_force(instance)
        if last is None or version_in_force(last) == instance.operator_version_key:
            return None
        try:
            before = await self.versions.get(version_in_force(last))
        except VersionTooLarge:
            return None
        owner, namespace = version_in_force(last)[0], instance.metadata.namespace
        if before is None or self.tenancy is Tenancy.COMPAT:
            return before
        return before if is_granted(before.metadata.annotations, owner, namespace) else None

    def lacks_grant(self, instance: Instance, version: OperatorVersion | None) -> bool:
        """Return whether an Instance may not use its OperatorVersion.

        Args:
            instance: The Instance.
            version: The OperatorVersion, or its metadata alone; None if there is none.
        """
        return lacks_grant(instance, version, self.tenancy)

    async def write_situation(
        self, instance: Instance, status: InstanceStatus, situation: Situation
    ) -> Instance:
        """Store a status with its conditions, if it differs.

        Raises:
            Outdated: the Instance changed since it was read.
        """
        status = with_conditions(instance, status, situation, self.now())
        return await self.instances.write_status(instance, status)

    async def release(self, instance: Instance) -> None:
        """Remove our finalizers, so that the Instance can be deleted.

        Raises:
            Outdated: the Instance changed since it was read.
        """
        present = finalizers(instance)
        # Before the finalizer goes: after that nothing tells that objects have to be released.
        if FINALIZER_CLUSTER_RESOURCES in present:
            await self.cluster_objects.release(instance)
        # Finalizers of others stay: they keep the Instance until their owners are done.
        rest = [item for item in present if item not in OUR_FINALIZERS]
        await self.instances.set_finalizers(instance, rest)


def finalizers(instance: Instance) -> tuple[str, ...]:
    return instance.metadata.finalizers or ()
