"""What runs the tasks of a kind, and what it is made of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from kudo_reconciler.execution.causes import Causes
from kudo_reconciler.execution.expected import Expected
from kudo_reconciler.execution.recording import Recording
from kudo_reconciler.execution.task_context import RenderContext, TaskContext, TaskResult
from kudo_reconciler.execution.tasks.pipe_pods import PipePods
from kudo_reconciler.execution.tasks.task_jobs import TaskJobs
from kudo_reconciler.metrics.metrics import Metrics
from kudo_reconciler.objects.apply import Applier
from kudo_reconciler.objects.dependency_hash import DependencyHasher
from kudo_reconciler.objects.observer import Observer
from kudo_reconciler.objects.ownership import Ownership
from kudo_reconciler.objects.resolver import Resolver
from kudo_reconciler.objects.shares import Shares
from kudo_reconciler.store.instances import InstanceStore
from kudo_reconciler.store.versions import VersionStore
from kudo_reconciler.tenancy.access import AccessReviews


@dataclass(frozen=True, slots=True)
class TaskParts:
    """What reads and writes for tasks; each kind takes what it needs.

    Attributes:
        waiter_image: Image of the container that holds the files of a Pipe task.
    """

    resolver: Resolver
    observer: Observer
    applier: Applier
    hasher: DependencyHasher
    ownership: Ownership
    shares: Shares
    recording: Recording
    causes: Causes
    pipe_pods: PipePods
    waiter_image: str
    task_jobs: TaskJobs
    instances: InstanceStore
    versions: VersionStore
    metrics: Metrics
    reviews: AccessReviews


class TaskOfKind(Protocol):
    """How the tasks of a kind run."""

    @classmethod
    def of(cls, parts: TaskParts) -> Self:
        """Return what runs them."""

    async def run(self, context: TaskContext) -> TaskResult:
        """Attempt a task once.

        Raises:
            FatalTaskError: the plan cannot continue.
            TransientTaskError: a retry may help.
            Superseded, Suspended: the run may not write any more.
        """

    @staticmethod
    async def expected(context: RenderContext, resolver: Resolver, /) -> Sequence[Expected]:
        """Return what a task would apply; nothing is sent. Raises TaskError if that is unknown."""
