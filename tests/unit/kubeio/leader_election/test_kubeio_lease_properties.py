"""Whatever happens to the candidates, the network and the Lease: never two leaders, and one soon.

``World`` asserts after each event that no two candidates pass ``LeaderElector.check``, and that no
candidate has two works; the cases here are what may happen to them.
"""

import asyncio
import itertools
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.selection.properties import examples
from tests.unit.kubeio.leader_election.simulation import Candidate, Network, World, simulated

# Two clocks of these speeds stay within duration / renew_deadline.
RATES = st.floats(0.85, 1.2)
ACTIONS = st.tuples(
    st.sampled_from(
        [
            "freeze", "thaw", "block", "hang", "go on", "sleep", "cut", "mend", "kill", "stop",
            "start", "slow", "lossy", "quick", "delete", "empty", "rename", "shorten", "touch",
            "nothing",
        ]
    ),
    st.integers(0, 2),
    st.sampled_from([0.0, 0.5, 3.0, 9.0, 12.0, 16.0, 40.0]),
)  # fmt: skip


class Chaos:
    """A world, and what may happen in it."""

    def __init__(self, world: World, seed: int, rates: list[float]) -> None:
        self.world = world
        self.rng = random.Random(seed)
        self.rates = itertools.cycle(rates)
        self.numbers = itertools.count()

    def start(self) -> None:
        # The named rest: who starts right after a deletion knows nothing of the leader.
        if self.world.server.lease is None and self.somebody_leads():
            return
        name = f"c{next(self.numbers)}"
        self.world.start(name, rate=next(self.rates), network=self.network(), work=self.work)

    def network(self) -> Network:
        return Network(delay=lambda: self.rng.uniform(0.001, 0.05))

    async def work(self, _: Candidate) -> None:
        try:
            await asyncio.sleep(1e9)
        finally:
            await asyncio.sleep(self.rng.choice([0.0, 1.0, 8.0]))

    def somebody_leads(self) -> bool:
        world = self.world
        return any(one.leading for one in [*world.candidates, *world._gone])

    def act(self, action: str, number: int) -> None:
        if action in ("delete", "empty", "rename", "shorten", "touch"):
            self.by_hand(action)
        elif action == "start":
            if len(self.world.candidates) < 4:
                self.start()
        elif self.world.candidates:
            # The leader first, since most of it is about the leader.
            everybody = sorted(self.world.candidates, key=lambda one: not one.leading)
            self.to(everybody[number % len(everybody)], action)

    def to(self, candidate: Candidate, action: str) -> None:
        network = candidate.network
        match action:
            case "freeze" | "thaw":
                candidate.frozen = action == "freeze"
            case "block":
                candidate.standing.add(candidate.loop)
            case "hang":
                candidate.standing.add(candidate.thread)
            case "go on":
                candidate.standing.clear()
            case "sleep":
                self.world.suspend(candidate, self.rng.choice([1.0, 9.0, 30.0]))
            case "cut" | "mend":
                network.cut = action == "cut"
            case "kill":
                self.world.kill(candidate)
            case "stop":
                candidate.stop()
            case "slow":
                network.delay = lambda: self.rng.choice([0.01, 1.0, 4.0, 7.0, 20.0])
            case "lossy":
                network.lost = lambda: self.rng.random() < 0.4
            case "quick":
                self.heal(candidate)

    def heal(self, candidate: Candidate) -> None:
        healthy = self.network()
        candidate.network.delay, candidate.network.lost = healthy.delay, healthy.lost
        candidate.network.cut = candidate.frozen = False
        candidate.standing.clear()

    def by_hand(self, action: str) -> None:
        server = self.world.server
        if server.lease is None:
            return
        match action:
            case "delete":
                if all(one.lease.holder is not None for one in self.world.candidates):
                    server.delete()
            case "empty":
                server.edit(holderIdentity="", leaseDurationSeconds=15)
            case "rename":
                server.edit(holderIdentity="somebody")
            case "shorten":
                if server.spec["holderIdentity"]:
                    server.edit(leaseDurationSeconds=1)
            case "touch":
                server.touch()


@settings(max_examples=examples(15, deep=4_000))
@given(st.integers(), st.lists(RATES, min_size=3, max_size=3), st.lists(ACTIONS, max_size=14))
def test_there_are_never_two_leaders_and_always_another_one(
    seed: int, rates: list[float], actions: list[tuple[str, int, float]]
) -> None:
    with simulated() as world:
        chaos = Chaos(world, seed, rates)
        for _ in range(3):
            chaos.start()
        for action, number, seconds in actions:
            chaos.act(action, number)
            world.run(seconds)
        for candidate in world.candidates:
            chaos.heal(candidate)
        world.run(40.0)  # stopped ones end, what is under way arrives, terms run out
        chaos.start()
        world.run_until(chaos.somebody_leads, 80.0)
        assert chaos.somebody_leads(), "nobody leads any more"
