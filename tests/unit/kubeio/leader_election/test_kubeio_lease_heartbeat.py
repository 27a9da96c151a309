"""A leader whose event loop stands still, is slow, or has lost its thread; on simulated time."""

import asyncio

import pytest

from kubeio.leader_election.elector import NotLeading
from tests.unit.kubeio.leader_election.simulation import LOOK, Candidate, World, simulated


def led(world: World) -> tuple[Candidate, Candidate]:
    """Return a leader and a standby that has seen it lead."""
    first = world.start("a")
    world.run(1.0)
    second = world.start("b")
    world.run(5.0)
    assert first.leading
    return first, second


def test_a_loop_that_stands_still_loses_the_lease_to_a_standby(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with simulated() as world:
        first, second = led(world)
        first.standing.add(first.loop)
        stands = world.now
        world.run_until(lambda: second.leading)
        renewals = [at for at, verb in first.link.asked if verb == "replace" and at > stands]
        assert len(renewals) >= 4, "its thread renews for as long as the heartbeat is young enough"
        assert max(renewals) < stands + 10.0
        # The last heartbeat is at most half a second old.
        assert stands + 9.5 + 15.0 - LOOK <= world.now < stands + 10.0 + 15.0 + LOOK
        assert "the event loop was blocked for longer than the renew deadline (10 s)" in (
            caplog.text
        )


def test_a_term_is_over_as_soon_as_the_heartbeat_is_too_old() -> None:
    with simulated() as world:
        first, _ = led(world)
        first.standing.add(first.loop)
        stands = world.now
        world.run_until(lambda: not first.leading)
        assert stands + 9.5 <= world.now <= stands + 10.0


def test_a_loop_that_goes_on_after_its_term_writes_nothing_and_stands_by() -> None:
    passed: list[float] = []

    async def writing(candidate: Candidate) -> None:
        while True:
            if candidate.lease.leading:
                passed.append(candidate.world.now)
            await asyncio.sleep(0.001)

    with simulated() as world:
        first = world.start("a", work=writing)
        world.run(1.0)
        second = world.start("b")
        world.run(1.0)
        first.standing.add(first.loop)
        world.run_until(lambda: second.leading)
        passed.clear()
        first.standing.clear()
        world.run(60.0)
        assert passed == []
        assert (first.works, first.working) == (1, 0)
        assert [leading for _, leading in first.changes] == [True, False]
        assert second.leading


def test_a_loop_that_stood_still_past_the_deadline_has_lost_although_nobody_followed() -> None:
    with simulated() as world:
        first = world.start("a")
        world.run(5.0)
        first.standing.add(first.loop)
        # The thread does not notice either: whoever asks first finds the term over.
        world.run(9.4)
        first.standing.add(first.thread)
        world.run(1.0)
        assert not first.leading
        first.standing.clear()
        world.run(0.2)
        assert [leading for _, leading in first.changes] == [True, False, True]
        assert (first.works, first.working) == (2, 1)


def test_a_slow_loop_keeps_the_lease() -> None:
    with simulated() as world:
        first, second = led(world)
        for _ in range(20):
            first.standing.add(first.loop)
            world.run(9.0)
            assert first.leading
            first.standing.clear()
            world.run(0.001)
        assert (first.works, first.working, second.works) == (1, 1, 0)
        assert world.server.spec["leaseTransitions"] == 0


def test_whoever_knows_that_the_loop_runs_can_say_so() -> None:
    with simulated() as world:
        first, second = led(world)
        first.standing.add(first.loop)
        for _ in range(10):
            world.run(9.0)
            first.lease.beat()
            second.lease.beat()  # of no use to who does not lead
        assert first.leading
        assert not second.leading
        world.run(10.1)
        first.lease.beat()
        assert not first.leading


def test_a_leader_whose_thread_stands_still_stops_its_work_in_time() -> None:
    with simulated() as world:
        first, second = led(world)
        first.standing.add(first.thread)
        stands = world.now
        world.run_until(lambda: not first.working)
        assert stands + 10.0 - LOOK <= world.now < stands + 10.6
        world.run_until(lambda: second.leading)
        first.standing.clear()
        world.run(60.0)
        assert second.leading
        assert first.works == 1


def test_a_standby_whose_loop_stands_still_takes_no_lease() -> None:
    with simulated() as world:
        first, second = led(world)
        second.standing.add(second.loop)
        world.kill(first)
        world.run(60.0)
        assert not second.leading
        second.standing.clear()
        world.run(2 * LOOK + 15.0)
        assert second.leading


def test_the_end_of_a_term_is_final() -> None:
    with simulated() as world:
        first, _ = led(world)
        first.standing.add(first.loop)
        world.run(10.0)
        with pytest.raises(NotLeading):
            first.lease.check()
        term = first.lease._term
        assert term is not None
        assert not term.beat()
        assert not term.renewed(first.clock())
        assert not term.holds
