"""A process of the reconciler on the loop of a test: its jobs run in place, its Lease is told."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from random import Random

from kubeio.client import Client
from kudo.jobs import HANDLERS
from kudo_reconciler.app import App
from kudo_reconciler.metrics.metrics import Metrics
from kudo_reconciler.settings import Settings
from kudo_reconciler.wiring import Environment
from tests.support.apiserver.cluster import moment
from tests.support.apiserver.network.process import Process
from tests.support.apiserver.network.transport import MemoryTransport
from tests.support.world.lease import Candidate


class LoopClock:
    """The time of day by the loop's clock."""

    def now(self) -> datetime:
        return moment()


class InPlace:
    """Runs the jobs of worker processes where it is called."""

    async def call(
        self,
        handler: str,
        payload: bytes,
        *,
        tenant: str,
        cpu: float | None = None,
        wall: float | None = None,
    ) -> bytes:
        del tenant, cpu, wall
        return HANDLERS[handler](payload)


@dataclass
class Replica:
    """A process of the reconciler."""

    process: Process
    candidate: Candidate
    metrics: Metrics
    app: App
    main: "asyncio.Task[None]"

    @classmethod
    def start(
        cls,
        client: Client,
        transport: MemoryTransport,
        rng: Random,
        fresh_uid: Callable[[], str],
        settings: Settings,
    ) -> "Replica":
        """Start a process that reaches the API server by this way; it does not lead yet."""
        candidate, metrics = Candidate(), Metrics()
        environment = Environment(
            client, candidate, InPlace(), metrics, LoopClock(), rng, fresh_uid
        )
        process, app = Process(transport), App(settings, environment)
        return cls(process, candidate, metrics, app, process.start(app.work()))

    @property
    def reconciles(self) -> float:
        """Return how many there have been."""
        return sum(
            sample.value
            for metric in self.metrics.reconciles.collect()
            for sample in metric.samples
            if sample.name.endswith("_total")
        )

    @property
    def events_waiting(self) -> float:
        """Return how many events are still to be written."""
        return self.metrics.registry.get_sample_value("kudo_events_waiting") or 0.0
