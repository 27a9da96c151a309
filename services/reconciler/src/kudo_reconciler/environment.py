"""Dependencies of the reconciler: API server, leadership, workers, clock and randomness."""

import random
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from kubeio.client import Client
from kudo_reconciler.common.clock import Clock, SystemClock
from kudo_reconciler.common.jobs import Jobs
from kudo_reconciler.metrics.metrics import Metrics


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
