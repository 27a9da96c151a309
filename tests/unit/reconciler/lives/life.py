"""A life of Instances over the API server in memory, in simulated time; no tests of its own.

The reconciler is the real one, on a network that loses and delays; its processes die and start
anew, and hand the Lease over. Users do whatever they may. A life is told by its sort, its seed and
how much happens in it: the same three give the same life.
"""

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from kubeio.types import JsonObject
from kudo.api.crds import definitions
from kudo_reconciler.settings import Settings
from tests.support.apiserver.cluster import MemoryCluster
from tests.support.apiserver.controllers.workloads import Outcome
from tests.support.apiserver.status import StatusError
from tests.support.apiserver.writes.admission import Review
from tests.support.instance_admission import RECONCILER, InstanceAdmission
from tests.support.loops.virtual_loop import VirtualLoop
from tests.support.world.outcomes import is_of_job_task
from tests.support.world.replica import Replica
from tests.unit.reconciler.lives.network import LONGEST, RandomNetwork
from tests.unit.reconciler.lives.observed import Observed
from tests.unit.reconciler.lives.rest import (
    assert_at_rest,
    assert_stalled_without_version,
    assert_within_limits,
    stuck_by_itself,
    suspended,
)
from tests.unit.reconciler.lives.users import NAMES, Sort, User, acts

ENOUGH_RUNS: Final = 4
"""One that is scheduled, one that nobody scheduled, cleanup, and one in the place of another."""
REST_SECONDS: Final = 900.0
"""After which everything has come to rest: the longest backoffs are a minute."""
_SETTINGS: Final = Settings.read([], {})
DEFINITIONS: Final = tuple(definitions().values())


@dataclass(slots=True)
class CheckedAdmission(InstanceAdmission):
    """Both webhooks, of which the second denies nothing that the first has let pass.

    Attributes:
        broken: Told of what it denied all the same.
    """

    broken: list[str] = field(default_factory=list)

    def validate(self, review: Review) -> None:
        try:
            InstanceAdmission.validate(self, review)
        except StatusError as error:
            if self.mutating and self.reachable:
                self.broken.append(f"mutated, then denied: {error.message}")
            raise


class Told(logging.Handler):
    """Takes what the reconciler logs: faults of ours, and runs that it refuses."""

    def __init__(self, observed: Observed) -> None:
        super().__init__()
        self.observed = observed

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.ERROR:
            error = record.exc_info[1] if record.exc_info else getattr(record, "fault", "")
            self.observed.broken.append(f"logged: {record.getMessage()}: {error!r}")
        elif record.getMessage() == "run refused":
            self.observed.refused.add(getattr(record, "uid", ""))


@contextmanager
def told(observed: Observed) -> Iterator[None]:
    logger, handler = logging.getLogger("kudo_reconciler"), Told(observed)
    level, propagate = logger.level, logger.propagate
    logger.setLevel(logging.WARNING)
    logger.propagate = False
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagate


@dataclass
class Life:
    """What happens, one act after the other."""

    sort: Sort
    seed: int
    settings: Settings = _SETTINGS
    numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    replicas: list[Replica] = field(default_factory=list)
    versions: dict[str, JsonObject] = field(default_factory=dict)
    _later: set["asyncio.Task[None]"] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.rng = Random(f"{self.seed} reconciler")
        self.fates = Random(f"{self.seed} workloads")
        network = Random(f"{self.seed} network")
        self.network = RandomNetwork(network, network.choice((0.0, 0.03, 0.15)))
        self.standby = network.random() < 0.25
        self.admission = CheckedAdmission(lambda: f"a{next(self.numbers)}")
        self.cluster = MemoryCluster.start(
            seed=self.seed, admission=self.admission, crds=DEFINITIONS
        )
        self.admission.storage = self.cluster.server.storage
        lawful = self.sort != "webhooks missing"
        self.observed = Observed(self.cluster.server, self.admission, lawful=lawful)
        self.admission.broken = self.observed.broken
        self.cluster.workloads.outcome = self._outcome
        self.cluster.workloads.has_pod = is_of_job_task
        client, _ = self.cluster.client(user="alice")
        self.user = User(
            client,
            self.numbers,
            made_up_uids=self.sort != "admitted",
            past_the_rules=not lawful,
        )

    def _outcome(self, obj: JsonObject) -> Outcome:
        roll, seconds = self.fates.random(), self.fates.choice((0.05, 1.0, 10.0, 60.0))
        if roll < 0.1:
            return Outcome("stuck")
        failed = roll < 0.15 and obj["kind"] == "Job"
        return Outcome("failed" if failed else "healthy", seconds * self.fates.random())

    def start(self) -> None:
        """Start the processes of the reconciler."""
        self.start_replica(leading=True)
        if self.standby:
            self.start_replica(leading=False)

    async def end(self) -> None:
        """End them."""
        for replica in self.replicas:
            await replica.process.kill()

    async def happen(self, size: int) -> None:
        """Have the first acts happen; the least life creates an Instance.

        Raises:
            AssertionError: a promise was broken.
        """
        for act in itertools.islice(acts(Random(f"{self.seed} users"), self.sort), size + 3):
            await asyncio.sleep(act.after)
            by = self if hasattr(self, act.what) else self.user
            await getattr(by, act.what)(*act.arguments)
            self.check()

    def check(self) -> None:
        """Raise AssertionError if a promise was broken."""
        assert not self.observed.broken, "; ".join(self.observed.broken)
        for replica in self.replicas:
            assert not replica.main.done(), f"the reconciler has ended: {replica.main}"

    # Replicas

    def start_replica(self, *, leading: bool) -> Replica:
        """Start a process of the reconciler; return it."""
        client, transport = self.cluster.client(
            user=RECONCILER, network=self.network, finish_writes=True
        )
        replica = Replica.start(
            client, transport, self.rng, lambda: f"r{next(self.numbers)}", self.settings
        )
        self.replicas.append(replica)
        if leading:
            replica.candidate.begin()
        return replica

    @property
    def _leader(self) -> Replica | None:
        return next((one for one in self.replicas if one.candidate.leading), None)

    async def crash(self, iterations: int) -> None:
        """Kill the leader after some turns of the event loop, wherever it is then."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        left = itertools.count(iterations, -1)

        def turn() -> None:
            if next(left) <= 0:
                loop.on_iteration = None
                self._do(self._kill())

        loop.on_iteration = turn

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._later.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._later.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self.observed.broken.append(f"{task.exception()!r}")

    async def _kill(self) -> None:
        replica = self._leader
        if replica is None:
            return
        self.observed.records.interrupted = True
        self.replicas.remove(replica)
        replica.candidate.end()
        await replica.process.kill()
        self.start_replica(leading=False)
        await self._succeed(LONGEST * 2)

    async def _succeed(self, seconds: float) -> None:
        """Let another replica lead after a while; what was sent before has arrived by then."""
        await asyncio.sleep(seconds)
        if self._leader is None:
            self.replicas[0].candidate.begin()

    async def hand_over(self, seconds: float) -> None:
        """End the term of the leader, whose process goes on."""
        replica = self._leader
        if replica is not None:
            self.observed.records.interrupted = True
            replica.candidate.end()
            self.replicas.append(self.replicas.pop(0))
            self._do(self._succeed(seconds))

    # What happens around the reconciler

    async def put_version(self, version: JsonObject) -> None:
        self.versions[version["metadata"]["name"]] = version
        await self.user.put_version(version)

    async def delay_events(self, plural: str, seconds: float) -> None:
        self.network.late[plural] = seconds

    async def cut_watches(self) -> None:
        for replica in self.replicas:
            for transport in replica.process.transports:
                transport.cut_watches()

    async def compact(self) -> None:
        self.cluster.server.storage.compact()

    async def reach_webhook(self, reachable: bool) -> None:
        self.admission.reachable = reachable

    async def install_webhooks(self, mutating: bool, validating: bool) -> None:
        self.admission.mutating, self.admission.validating = mutating, validating

    # The end

    async def _resume(self) -> None:
        """Resume what is suspended, once it says so and nothing more happens to it."""
        for name in suspended(self.observed):
            await self.user.set(name, {"suspend": False})
        await asyncio.sleep(REST_SECONDS)
        assert not suspended(self.observed)
        assert_within_limits(self.observed)

    async def _cancel_what_fails_for_ever(self) -> None:
        """Cancel runs of tasks that fail again and again, also those that come after them."""
        for _ in range(ENOUGH_RUNS):
            stuck = [name for name in NAMES if stuck_by_itself(self.observed, name)]
            if not stuck:
                break
            for name in stuck:
                await self.user.change(name, {"run": "cancel"})
            await asyncio.sleep(REST_SECONDS)

    async def come_to_rest(self) -> None:
        """Have nothing happen any more, and hold what is then there against the promises."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        loop.on_iteration = None
        self.network.calm = True
        admission = self.admission
        admission.reachable = admission.mutating = admission.validating = True
        self.cluster.workloads.make_healthy()
        await asyncio.sleep(REST_SECONDS)
        assert_stalled_without_version(self.observed)
        for version in self.versions.values():
            await self.user.put_version(version)
        await asyncio.sleep(REST_SECONDS)
        await self._resume()
        await self._cancel_what_fails_for_ever()
        assert_within_limits(self.observed)
        self.check()
        before = sum(replica.reconciles for replica in self.replicas)
        await asyncio.sleep(REST_SECONDS)
        after = sum(replica.reconciles for replica in self.replicas)
        assert after == before, f"{after - before} reconciles although nothing happens"
        self.check()
        assert_at_rest(self.observed)


def passes(
    body: Callable[[Life], Awaitable[None]],
    sort: Sort,
    seed: int = 0,
    settings: Settings = _SETTINGS,
) -> None:
    """Run a body with a life, whose reconciler works.

    Raises:
        AssertionError: a promise was broken.
    """

    async def main() -> None:
        life = Life(sort, seed, settings)
        faults = life.observed.broken
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: faults.append(f"unretrieved: {context}"))
        with told(life.observed):
            life.start()
            await body(life)
            life.check()
            await life.end()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(main())


def live(sort: Sort, seed: int, size: int) -> None:
    """Let a life pass.

    Raises:
        AssertionError: a promise was broken, or it came to no rest.
    """

    async def body(life: Life) -> None:
        await life.happen(size)
        await life.come_to_rest()

    passes(body, sort, seed)
