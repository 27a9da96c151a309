"""A cluster in memory at a moment of a life, with reconcilers that faults kill and pause.

A cell needs no life of its own: what is stored between two stages is put into a new cluster, a
process starts on it, and the stage begins. So each cell is told by its name alone.
"""

import asyncio
import itertools
import random
import uuid
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from kubeio.client import Client
from kubeio.types import JsonObject
from kudo_reconciler.common.keys import INSTANCES
from kudo_reconciler.settings import Settings
from tests.faults.cells.lives import Life, Lives
from tests.faults.cells.view import View
from tests.faults.injection.faults import Rules
from tests.faults.injection.strikes import Strikes
from tests.support.apiserver.cluster import MemoryCluster
from tests.support.apiserver.controllers.workloads import Outcome
from tests.support.apiserver.network.pausing import PausableLoop
from tests.support.apiserver.network.transport import CONFIG
from tests.support.apiserver.server import Request
from tests.support.apiserver.storage import Storage, StorageName
from tests.support.apiserver.writes.admission import Review
from tests.support.instance_admission import RECONCILER, InstanceAdmission, addressed
from tests.support.world.outcomes import is_of_job_task, outcome
from tests.support.world.replica import Replica
from tests.unit.reconciler.lives.life import DEFINITIONS, CheckedAdmission, told
from tests.unit.reconciler.lives.observed import Observed
from tests.unit.reconciler.matrix.network import StruckNetwork, StruckTransport, Wire, apart

NAMESPACE: Final = "faults-memory"
PLAN_SECONDS: Final = 1800.0
"""Simulated: more than a run takes all of whose events are a minute late."""
SETTLE_SECONDS: Final = 600.0
_COLLECTING_SECONDS: Final = 1.0
"""That the garbage collector of a real cluster takes, or more."""
_START_SECONDS: Final = 10.0
"""After which a process watches, and has looked at what there was."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What is stored between two stages.

    Attributes:
        number: Of the stage; makes uids that no other stage makes.
        now: Seconds by the loop's clock.
        objects: In the order of their creation.
    """

    number: int = 0
    now: float = 0.0
    objects: tuple[tuple[StorageName, JsonObject], ...] = ()

    @classmethod
    def of(cls, storage: Storage, number: int) -> "Moment":
        """Return what is stored now."""
        # Owners are created before what they own: restored in this order nothing lacks its owner.
        created = {
            change.new["metadata"]["uid"]: change.version
            for table in storage.tables.values()
            for change in table.history
            if change.old is None
        }
        objects = sorted(storage.everything(), key=lambda item: created[item[1]["metadata"]["uid"]])
        return cls(number, asyncio.get_running_loop().time(), tuple(objects))


class Addressing(CheckedAdmission):
    """Both webhooks, and the addresses that the API server gives to Services."""

    __slots__ = ()

    def mutate(self, review: Review) -> JsonObject:
        return addressed(review, InstanceAdmission.mutate(self, review))


@dataclass
class Reconcilers:
    """Processes by name; see `tests.faults.injection.strikes.Processes`.

    A killed one is started again at once. Whoever is killed or paused holds the Lease until it has
    run out.
    """

    cluster: MemoryCluster
    wire: Wire
    settings: Settings
    rng: random.Random
    numbers: "itertools.count[int]"
    broken: list[str]
    _replicas: dict[str, Replica] = field(default_factory=dict)
    _tasks: set["asyncio.Task[None]"] = field(default_factory=set)

    def start(self, name: str) -> Replica:
        """Start a process that does not lead yet."""
        network = StruckNetwork(name, self.wire)
        transport = StruckTransport(
            self.cluster.server, network, user=RECONCILER, timeout=self.settings.call_timeout
        )
        client = Client(CONFIG, transport=transport, finish_writes=True)
        replica = Replica.start(client, transport, self.rng, self.fresh_uid, self.settings)
        self._replicas[name] = replica
        return replica

    def fresh_uid(self) -> str:
        return str(uuid.UUID(int=next(self.numbers), version=4))

    def kill(self, name: str) -> None:
        self._do(self._kill(name))

    async def _kill(self, name: str) -> None:
        replica = self._replicas.pop(name)
        replica.candidate.end()
        await replica.process.kill()
        self.start(name)
        await self._succeed()

    def pause(self, name: str) -> None:
        self._loop().pause(self._replicas[name].process)
        self._do(self._depose(self._replicas[name]))

    async def _depose(self, replica: Replica) -> None:
        """End a term whose Lease is not renewed."""
        await asyncio.sleep(self.settings.lease_times.duration)
        replica.candidate.end()
        self._elect()

    def resume(self, name: str) -> None:
        self._loop().resume(self._replicas[name].process)

    async def _succeed(self) -> None:
        await asyncio.sleep(self.settings.lease_times.duration)
        self._elect()

    def _elect(self) -> None:
        """Have one lead that runs, if none does."""
        running = {name: one for name, one in self._replicas.items() if not one.process.paused}
        if running and not any(one.candidate.leading for one in self._replicas.values()):
            name, replica = next(iter(running.items()))
            replica.candidate.begin()
            self.wire.strikes.took_over(name)

    async def stop(self) -> None:
        """End all processes."""
        for name, replica in self._replicas.items():
            if replica.main.done():
                self.broken.append(f"reconciler {name} has ended: {replica.main}")
            if replica.process.paused:
                self.resume(name)
            await replica.process.kill()
        for task in self._tasks:
            task.cancel()

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        task = apart(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self.broken.append(repr(task.exception()))

    @staticmethod
    def _loop() -> PausableLoop:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, PausableLoop)
        return loop


class _Later:
    """Stands for processes that are there a moment later."""

    reconcilers: Reconcilers

    def kill(self, name: str) -> None:
        self.reconcilers.kill(name)

    def pause(self, name: str) -> None:
        self.reconcilers.pause(name)

    def resume(self, name: str) -> None:
        self.reconcilers.resume(name)


@dataclass(frozen=True, slots=True)
class World:
    """A life that goes on from a moment.

    Attributes:
        observed: What is written, held against the promises of the lives.
    """

    cluster: MemoryCluster
    life: Life
    observed: Observed

    @property
    def broken(self) -> list[str]:
        """Return what went against a promise, whatever the stage led to."""
        return self.observed.broken


@asynccontextmanager
async def world_at(
    moment: Moment, instance: str, settings: Settings, *, standby: bool = False, seed: str = ""
) -> AsyncIterator[World]:
    """Yield a world whose reconcilers have just started."""
    numbers = itertools.count(moment.number * 10**6 + 1)
    admission = Addressing(lambda: str(uuid.UUID(int=next(numbers), version=4)))
    cluster = MemoryCluster.start(seed=moment.number, admission=admission, namespaces=())
    admission.storage = cluster.server.storage
    cluster.collector.delay = lambda: _COLLECTING_SECONDS
    cluster.workloads.has_pod = is_of_job_task
    cluster.workloads.outcome = lambda obj: outcome(obj) if is_of_job_task(obj) else Outcome()
    observed = Observed(cluster.server, admission, lawful=True)
    admission.broken = observed.broken
    later, rules = _Later(), Rules()
    path = INSTANCES.path(NAMESPACE, instance)

    def delete() -> None:
        cluster.server.handle(Request("DELETE", path, user="alice"))

    wire = Wire(NAMESPACE, rules, Strikes(later), random.Random(seed), delete)
    rng = random.Random(seed)
    later.reconcilers = Reconcilers(cluster, wire, settings, rng, numbers, observed.broken)
    _restore(cluster, moment)
    asyncio.get_running_loop().set_exception_handler(
        lambda _, context: observed.broken.append(f"unretrieved: {context}")
    )
    user, admin = (cluster.client(user=name)[0] for name in ("alice", "admin"))
    async with AsyncExitStack() as stack:
        stack.enter_context(told(observed))
        view = await stack.enter_async_context(View.of(admin))
        view.follow(NAMESPACE, instance)
        later.reconcilers.start("one").candidate.begin()
        if standby:
            later.reconcilers.start("two")
        lives = Lives(user, admin, view, rules, wire.strikes, PLAN_SECONDS, SETTLE_SECONDS)
        try:
            await asyncio.sleep(_START_SECONDS)
            yield World(cluster, Life(lives, NAMESPACE), observed)
        finally:
            await later.reconcilers.stop()


def _restore(cluster: MemoryCluster, moment: Moment) -> None:
    storage = cluster.server.storage
    for name, obj in moment.objects:
        storage.put(name, obj)


def beginning() -> Moment:
    """Return the moment before anything is installed but the CRDs; needs a running loop."""
    cluster = MemoryCluster.start(crds=DEFINITIONS, namespaces=(NAMESPACE,))
    return Moment.of(cluster.server.storage, 1)
