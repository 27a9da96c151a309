"""Candidates for a lease on simulated machines: two event loops each, and one simulated time.

One loop works, the other one stands for the thread that talks to the server.

A machine that is frozen runs nothing, though its clock goes on and answers pile up, as for a
process under SIGSTOP. Clocks may run at different speeds. Requests and answers take a drawn time,
or get lost; a request whose sender has given up may still be carried out."""

import asyncio
import heapq
import itertools
import random
import selectors
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from kubeio.errors import ApiError
from kubeio.leader_election.elector import LeaderElector, LeaseTimes, NotLeading
from kubeio.resource import LEASES, Resource
from kubeio.types import JsonObject, copy_json
from tests.unit.kubeio.leader_election.lease_server import Server

START = datetime(2026, 1, 1, tzinfo=UTC)
TIMES = LeaseTimes()
LOOK = 2.4  # a retry period of these, with all its jitter


class _NoWaiting(selectors.DefaultSelector):
    def select(self, timeout: float | None = None) -> list[Any]:
        del timeout
        return []


class _Loop(asyncio.SelectorEventLoop):
    """Runs one iteration when told to, by a clock that it does not move."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(_NoWaiting())
        self.time = clock  # type: ignore[method-assign]
        self._clock_resolution = 0.0  # time stands still meanwhile, so no timer may be early

    def step(self) -> None:
        self.call_soon(self.stop)
        self.run_forever()

    @property
    def due(self) -> float | None:
        """Return when there is something to do next, None for never."""
        if self._ready:  # type: ignore[attr-defined]
            return self.time()
        timers = [one for one in self._scheduled if not one.cancelled()]  # type: ignore[attr-defined]
        return min((one.when() for one in timers), default=None)


@dataclass
class Network:
    """How long requests and answers of one candidate take, and whether they arrive."""

    delay: Callable[[], float] = lambda: 0.01
    lost: Callable[[], bool] = lambda: False
    cut: bool = False


@dataclass
class Link:
    """What a candidate takes for its client."""

    world: "World"
    loop: _Loop
    network: Network
    asked: list[tuple[float, str]] = field(default_factory=list)

    async def get(
        self, resource: Resource, name: str, *, namespace: str | None = None
    ) -> JsonObject:
        assert (resource, namespace, name) == (LEASES, "ns", "l")
        return await self._exchange("get", self.world.server.get)

    async def create(self, resource: Resource, obj: JsonObject) -> JsonObject:
        assert resource == LEASES
        sent = copy_json(obj)
        return await self._exchange("create", lambda: self.world.server.create(sent))

    async def replace(self, resource: Resource, obj: JsonObject) -> JsonObject:
        assert resource == LEASES
        sent = copy_json(obj)
        return await self._exchange("replace", lambda: self.world.server.replace(sent))

    async def _exchange(self, verb: str, act: Callable[[], JsonObject]) -> JsonObject:
        self.asked.append((self.world.now, verb))
        answer: asyncio.Future[JsonObject] = self.loop.create_future()

        def arrive() -> None:
            result = self._outcome(act)
            if not self._loses():
                self.world.after(self.network.delay(), lambda: self._deliver(answer, result))

        if not self._loses():
            self.world.after(self.network.delay(), arrive)
        received: JsonObject = copy_json(await answer)
        return received

    def _loses(self) -> bool:
        return self.network.cut or self.network.lost()

    def _outcome(self, act: Callable[[], JsonObject]) -> JsonObject | ApiError:
        if self.world.server.refusing is not None:
            return self.world.server.refusing
        try:
            return act()
        except ApiError as error:
            return error

    def _deliver(self, answer: asyncio.Future[JsonObject], result: JsonObject | ApiError) -> None:
        def settle() -> None:
            if answer.done():
                return
            if isinstance(result, ApiError):
                answer.set_exception(result)
            else:
                answer.set_result(result)

        self.loop.call_soon(settle)


class Candidate:
    """A process that runs for a lease on a machine of its own.

    Attributes:
        frozen: whether it is kept from running.
        standing: its loops that stand still, though the process runs.
        slept: seconds for which its machine was suspended; timers leave them out.
    """

    def __init__(
        self,
        world: "World",
        identity: str,
        *,
        times: LeaseTimes,
        rate: float,
        network: Network,
        work: Callable[["Candidate"], Awaitable[None]] | None,
        wall: Callable[[], datetime] | None,
    ) -> None:
        self.world, self.identity, self.network = world, identity, network
        self.rate = rate
        self.frozen = False
        self.standing: set[_Loop] = set()
        self.slept = 0.0
        self.loop, self.thread = self._new_loop(), self._new_loop()
        self.link = Link(world, self.thread, network)
        self.changes: list[tuple[float, bool]] = []
        self.works = 0
        self.working = 0
        self.lease = LeaderElector(
            self._connect,
            namespace="ns",
            name="l",
            identity=identity,
            times=times,
            clock=self.clock,
            now=wall or (lambda: START + timedelta(seconds=world.now)),
            rng=random.Random(identity),
            on_change=lambda leading: self.changes.append((world.now, leading)),
            loops=lambda: nullcontext(self.thread),
        )
        self._work = work
        self.run: asyncio.Task[None] = self.loop.create_task(self.lease.run(self._one_work))

    @property
    def leading(self) -> bool:
        try:
            self.lease.check()
        except NotLeading:
            assert not self.lease.leading
            return False
        assert self.lease.leading
        return True

    @property
    def awake(self) -> list[_Loop]:
        """Return the loops that run."""
        if self.frozen:
            return []
        return [loop for loop in (self.loop, self.thread) if loop not in self.standing]

    def clock(self) -> float:
        return 1000.0 + self.world.now * self.rate

    def stop(self) -> None:
        """Tell it to end in order."""
        self.loop.call_soon(self.run.cancel)

    def _new_loop(self) -> _Loop:
        return _Loop(lambda: self.clock() - self.slept)

    def _connect(self) -> AbstractAsyncContextManager[Link]:
        assert asyncio.get_running_loop() is self.thread
        return nullcontext(self.link)

    async def _one_work(self) -> None:
        if self.working or not self.leading:
            self.world.problems.append(f"{self.identity} works twice, or without the lease")
        self.works += 1
        self.working += 1
        try:
            await (self._work(self) if self._work else _endless(self))
        finally:
            self.working -= 1


async def _endless(_: Candidate) -> None:
    try:
        await asyncio.sleep(1e9)
    finally:
        await asyncio.sleep(0.05)


@dataclass
class World:
    """The server, the candidates, and the time in seconds."""

    now: float = 0.0
    server: Server = field(default_factory=Server)
    candidates: list[Candidate] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    _coming: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=itertools.count)
    _gone: list[Candidate] = field(default_factory=list)
    _checking: bool = True

    def start(
        self,
        identity: str,
        *,
        times: LeaseTimes = TIMES,
        rate: float = 1.0,
        network: Network | None = None,
        work: Callable[[Candidate], Awaitable[None]] | None = None,
        wall: Callable[[], datetime] | None = None,
    ) -> Candidate:
        made = Candidate(
            self,
            identity,
            times=times,
            rate=rate,
            network=network or Network(),
            work=work,
            wall=wall,
        )
        self.candidates.append(made)
        return made

    def kill(self, candidate: Candidate) -> None:
        """End a process at once; what it has sent may still arrive."""
        self.candidates.remove(candidate)
        self._gone.append(candidate)

    def suspend(self, candidate: Candidate, seconds: float) -> None:
        """Let a machine sleep."""
        frozen, candidate.frozen = candidate.frozen, True
        self.run(seconds)
        candidate.slept += seconds * candidate.rate
        candidate.frozen = frozen

    def after(self, delay: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._coming, (self.now + delay, next(self._numbers), act))

    def run(self, seconds: float) -> None:
        """Let time pass."""
        self.run_until(lambda: False, seconds)

    def run_until(self, condition: Callable[[], object], seconds: float = 300.0) -> None:
        """Let time pass until a condition holds, at most so long."""
        end = self.now + seconds
        self._settle()
        while not condition() and self.now < end:
            self.now = min(end, self._next())
            while self._coming and self._coming[0][0] <= self.now:
                heapq.heappop(self._coming)[2]()
            self._settle()

    def close(self) -> None:
        self._checking = False  # what a test has found stands by now
        everybody = [*self.candidates, *self._gone]
        for one in everybody:
            one.frozen, one.network.cut = False, True
            one.standing.clear()
            one.stop()
        self.candidates, self._gone = everybody, []
        self.run_until(lambda: all(one.run.done() for one in everybody))
        for one in everybody:
            if not one.run.cancelled():
                one.run.exception()
            one.loop.close()
            one.thread.close()

    def _next(self) -> float:
        coming = [self._coming[0][0]] if self._coming else []
        for one, loop in self._awake():
            due = loop.due
            if due is not None:
                coming.append(self.now + max(0.0, due - loop.time()) / one.rate + 1e-9)
        return min(coming, default=float("inf"))

    def _awake(self) -> list[tuple[Candidate, _Loop]]:
        return [(one, loop) for one in self.candidates for loop in one.awake]

    def _settle(self) -> None:
        """Let everybody do what there is to do now."""
        self._check()
        busy = True
        while busy:
            busy = False
            for _, loop in self._awake():
                due = loop.due
                if due is not None and due <= loop.time():
                    loop.step()
                    busy = True
                    self._check()

    def _check(self) -> None:
        if not self._checking:
            return
        leading = [one.identity for one in [*self.candidates, *self._gone] if one.leading]
        assert len(leading) <= 1, f"at {self.now}: {leading} lead at the same time"
        assert not self.problems, self.problems


@contextmanager
def simulated() -> Iterator[World]:
    world = World()
    try:
        yield world
    finally:
        world.close()


def after(world: World, seconds: float) -> float:
    """Wait until somebody leads, which must not be for so long; return how long it was."""
    begun = world.now
    world.run_until(lambda: any(one.leading for one in world.candidates))
    assert world.now - begun >= seconds
    return world.now - begun
