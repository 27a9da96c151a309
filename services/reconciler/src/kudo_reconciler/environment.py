"""What the reconciler is given: an API server, leadership, worker processes, time and chance."""

import random
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from kubeio.client import Client
from kudo_reconciler.clock import Clock, SystemClock
from kudo_reconciler.jobs import Jobs
from kudo_reconciler.metrics.metrics import Metrics


class Leading(Protocol):
    """Says whether this replica is the one that works.

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
    """What the parts of the reconciler are built on.

    Whatever waits counts the seconds of the running event loop, so its clock is not named here.

    Attributes:
        client: Sends every request; its hooks are set by the `App`.
        jobs: The worker processes.
        clock: The time of day, as statuses and events have it.
        rng: Source of every jitter.
        fresh_uid: Makes the uid of a run.
    """

    client: Client
    leadership: Leading
    jobs: Jobs
    metrics: Metrics
    clock: Clock = field(default_factory=SystemClock)
    rng: random.Random = field(default_factory=random.Random)
    fresh_uid: Callable[[], str] = _fresh_uid
