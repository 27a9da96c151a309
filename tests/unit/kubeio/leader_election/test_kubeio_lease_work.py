"""A leader and its work: beginning, ending, losing, handing over; on simulated time."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tests.unit.kubeio.leader_election.simulation import LOOK, Candidate, after, simulated


def test_a_leader_told_to_end_hands_over_at_the_next_look() -> None:
    with simulated() as world:
        first = world.start("a")
        world.run(1.0)
        second = world.start("b")
        world.run(5.0)
        first.stop()
        world.run(0.2)
        assert first.run.cancelled()
        assert (first.works, first.working) == (1, 0)
        freed = {"holderIdentity": "", "leaseDurationSeconds": 1}
        assert world.server.spec.items() >= freed.items()
        assert after(world, 0.0) < LOOK
        assert second.leading
        assert world.server.spec["leaseTransitions"] == 1


def test_only_what_is_still_held_is_released() -> None:
    with simulated() as world:
        first, second = world.start("a"), world.start("b")
        world.run(1.0)
        leader, other = (first, second) if first.leading else (second, first)
        other.stop()
        leader.network.cut = True
        world.run(20.0)
        third = world.start("c")
        world.run_until(lambda: third.leading)
        leader.network.cut = False
        leader.stop()
        world.run(1.0)
        assert leader.run.cancelled()
        assert third.leading
        assert world.server.spec["holderIdentity"] == "c"


def test_releasing_is_idempotent_and_needs_no_request_without_a_claim() -> None:
    with simulated() as world:
        first = world.start("a")
        world.run(1.0)
        idle = world.start("b")
        world.run(0.5)
        idle.stop()
        first.stop()
        world.run(1.0)
        assert [verb for _, verb in idle.link.asked] == ["get"]
        asked = len(first.link.asked)
        again = first.loop.create_task(first.lease.release())
        world.run(1.0)
        assert again.done()
        assert len(first.link.asked) == asked


def test_a_release_that_fails_leaves_the_lease_to_run_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with simulated() as world:
        first = world.start("a")
        world.run(1.0)
        first.network.cut = True
        first.stop()
        world.run(6.0)
        assert first.run.cancelled()
        assert "could not release the lease: no answer in time" in caplog.text


async def _waits(_: Candidate) -> None:
    await asyncio.sleep(1e9)


def test_a_release_wins_over_a_renewal_that_is_still_under_way() -> None:
    with simulated() as world:
        first = world.start("a", work=_waits)
        world.run(1.0)
        first.network.delay = lambda: 0.03
        asked = len(first.link.asked)
        world.run_until(lambda: len(first.link.asked) > asked)
        # The renewal arrives between the reading and the writing of the release.
        first.network.delay = iter([0.001, 0.06, *[0.001] * 9]).__next__
        first.stop()
        world.run(2.0)
        assert [verb for _, verb in first.link.asked[asked:]] == [
            "replace", "get", "replace", "get", "replace"
        ]  # fmt: skip
        assert world.server.spec["holderIdentity"] == ""


async def _returns(_: Candidate) -> None:
    await asyncio.sleep(3.0)


async def _fails(_: Candidate) -> None:
    await asyncio.sleep(3.0)
    raise LookupError("broken")


def test_work_that_ends_ends_the_run_and_releases_the_lease() -> None:
    with simulated() as world:
        first = world.start("a", work=_returns)
        world.run(4.0)
        assert first.run.done()
        first.run.result()
        assert world.server.spec["holderIdentity"] == ""


def test_what_the_work_raises_ends_the_run() -> None:
    with simulated() as world:
        first = world.start("a", work=_fails)
        world.run(4.0)
        with pytest.raises(LookupError, match="broken"):
            first.run.result()
        assert world.server.spec["holderIdentity"] == ""


def test_a_lost_lease_stops_the_work_before_the_next_term_begins() -> None:
    with simulated() as world:
        first = world.start("a")
        world.run(1.0)
        first.network.cut = True
        world.run(20.0)
        assert (first.works, first.working) == (1, 0)
        assert [leading for _, leading in first.changes] == [True, False]
        assert first.changes[1][0] < 11.1
        first.network.cut = False
        world.run_until(lambda: first.leading)
        world.run(1.0)
        assert (first.works, first.working) == (2, 1)
        assert [leading for _, leading in first.changes] == [True, False, True]


async def _refused(candidate: Candidate) -> None:
    while True:
        candidate.lease.check()
        await asyncio.sleep(0.01)


async def _fails_when_cancelled(_: Candidate) -> None:
    try:
        await asyncio.sleep(1e9)
    finally:
        raise LookupError("broken")


@pytest.mark.parametrize("work", [_refused, _fails_when_cancelled])
def test_what_the_work_raises_with_the_loss_of_the_lease_is_logged_and_not_the_end(
    caplog: pytest.LogCaptureFixture, work: Callable[[Candidate], Awaitable[None]]
) -> None:
    with simulated() as world:
        first = world.start("a", work=work)
        world.run(1.0)
        first.frozen = True
        world.run(20.0)
        first.frozen = False
        world.run(5.0)
        assert first.works == 2
        assert "the work failed while its term ended" in caplog.text


def test_a_second_cancellation_does_not_leave_the_work_behind() -> None:
    async def stubborn(candidate: Candidate) -> None:
        try:
            await asyncio.sleep(1e9)
        finally:
            for _ in range(2):
                try:
                    await asyncio.sleep(3.0)
                except asyncio.CancelledError:
                    continue

    with simulated() as world:
        first = world.start("a", work=stubborn)
        world.run(1.0)
        first.stop()
        world.run(0.5)
        first.stop()
        world.run(0.5)
        assert first.working == 1
        assert not first.run.done()
        world.run(4.0)
        assert first.working == 0
        assert first.run.cancelled()


def test_a_frozen_leader_writes_nothing_when_it_goes_on() -> None:
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
        passed.clear()
        first.frozen = True
        frozen = world.now
        world.run(60.0)
        assert second.leading
        assert passed == []
        first.frozen = False
        world.run(0.2)
        assert (first.works, first.working) == (1, 0)
        assert all(at < frozen + 10.0 for at in passed)
        assert second.leading
