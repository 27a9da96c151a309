"""A candidate's life: winning, renewing, losing, releasing; on simulated time."""

import asyncio
import itertools
import logging
import math
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import pytest

from kubeio.errors import ApiError
from kubeio.lease import LeaseTimes, NotLeading, elapsed
from kubeio.types import JsonObject
from tests.unit.kubeio.lease_world import START, Candidate, World, refusal, simulated

LOOK = 2.4  # a retry period with all its jitter


def after(world: World, seconds: float) -> float:
    """Return the time at which somebody leads, which must not be before so many seconds."""
    begun = world.now
    world.run_until(lambda: any(one.leading for one in world.candidates))
    assert world.now - begun >= seconds
    return world.now - begun


def test_the_first_candidate_creates_the_lease_and_leads() -> None:
    with simulated() as world:
        first = world.start("a")
        world.run(1.0)
        assert first.leading
        assert (first.lease.holder, first.lease.transitions) == ("a", 0)
        assert world.server.spec == {
            "holderIdentity": "a",
            "leaseDurationSeconds": 15,
            "acquireTime": "2026-01-01T00:00:00.020000Z",
            "renewTime": "2026-01-01T00:00:00.020000Z",
            "leaseTransitions": 0,
        }


def test_a_leader_renews_with_one_write_each_period() -> None:
    with simulated() as world:
        first = world.start("a")
        world.run(60.0)
        assert [verb for _, verb in first.link.asked[:2]] == ["get", "create"]
        renewals = [at for at, verb in first.link.asked[2:] if verb == "replace"]
        assert len(renewals) == len(first.link.asked) - 2
        pauses = [after - before for before, after in itertools.pairwise(renewals)]
        assert all(2.0 <= pause <= LOOK for pause in pauses)
        assert len({round(pause, 3) for pause in pauses}) > 10
        assert world.server.spec["acquireTime"] == "2026-01-01T00:00:00.020000Z"
        assert world.server.spec["renewTime"] > "2026-01-01T00:00:57"
        assert first.works == 1


def test_a_dead_leader_is_followed_when_its_lease_has_run_out() -> None:
    with simulated() as world:
        first = world.start("a")
        second = world.start("b")
        world.run(30.0)
        assert not second.leading
        world.kill(first)
        # Its last renewal is at most one period old, and was seen up to one period later.
        assert after(world, 15.0 - LOOK) < 15.0 + LOOK + 0.5
        assert second.lease.holder == "b"
        assert world.server.spec["leaseTransitions"] == second.lease.transitions == 1
        assert world.server.spec["acquireTime"] > "2026-01-01T00:00:42"


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
        assert "could not be released: no answer in time" in caplog.text


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
        assert "the work failed while its lease ended" in caplog.text


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


def test_a_candidate_that_freezes_and_is_not_followed_starts_a_new_term() -> None:
    with simulated() as world:
        first = world.start("a")
        world.run(1.0)
        first.frozen = True
        world.run(11.0)
        first.frozen = False
        world.run(1.0)
        assert first.leading
        assert first.works == 2
        assert world.server.spec["leaseTransitions"] == 0


def test_the_deadline_counts_from_the_sending_of_the_renewal() -> None:
    with simulated() as world:
        first = world.start("a")
        world.run(1.0)
        first.network.delay = lambda: 1.5
        asked = len(first.link.asked)
        world.run_until(lambda: len(first.link.asked) > asked + 1)
        first.network.cut = True
        sent = first.link.asked[-2][0]
        world.run_until(lambda: not first.leading)
        assert world.now == pytest.approx(sent + 10.0, abs=0.01)


@pytest.mark.parametrize("asleep", [False, True])
def test_a_lease_won_by_an_answer_that_came_too_late_is_not_led(asleep: bool) -> None:
    with simulated() as world:
        first = world.start("a")
        world.run_until(lambda: len(first.link.asked) == 2)
        if asleep:
            world.suspend(first, 11.0)
        else:
            first.frozen = True
            world.run(11.0)
            first.frozen = False
        world.run(1.0)
        assert world.server.spec["holderIdentity"] == "a"
        assert first.works == 0
        world.run(LOOK)
        assert first.works == 1


def test_a_machine_that_slept_does_not_lead_on() -> None:
    with simulated() as world:
        first = world.start("a")
        world.run(1.0)
        world.suspend(first, 10.0)
        assert not first.leading
        world.run(2 * LOOK)
        assert first.works == 2


def test_a_renewal_that_is_answered_after_the_term_does_not_revive_it() -> None:
    with simulated() as world:
        first = world.start("a")
        world.run(1.0)
        first.network.cut = True
        world.run(6.0)
        first.network.cut = False
        first.network.delay = lambda: 0.5
        asked = len(first.link.asked)
        world.run_until(lambda: len(first.link.asked) > asked)
        world.suspend(first, 3.0)
        world.run(1.1)
        assert world.server.spec["renewTime"] > "2026-01-01T00:00:07"
        assert first.works == 1
        assert not first.leading
        world.run(5.0)
        assert first.works == 2


def test_a_candidate_looks_again_when_the_lease_has_run_out() -> None:
    with simulated() as world:
        times = LeaseTimes(duration=30.0, renew_deadline=29.0, retry=20.0)
        first = world.start("a", times=times)
        world.run(1.0)
        second = world.start("b", times=times)
        world.run(1.0)
        world.kill(first)
        assert after(world, 28.0) < 34.0
        assert second.leading


def test_one_call_without_an_answer_does_not_cost_the_lease() -> None:
    with simulated() as world:
        first = world.start("a")
        world.run(1.0)
        losses = iter([True])
        first.network.lost = lambda: next(losses, False)
        world.run(60.0)
        assert first.works == 1
        assert next(losses, None) is None


def test_a_claim_whose_answer_was_lost_is_recognized() -> None:
    with simulated() as world:
        first = world.start("a")
        losses = iter([False, False, False, True])
        first.network.lost = lambda: next(losses, False)
        world.run(4.0)
        assert world.server.spec["holderIdentity"] == "a"
        assert first.works == 0
        assert after(world, 1.0) < 6.0
        assert [verb for _, verb in first.link.asked] == ["get", "create", "get", "replace"]


@pytest.mark.parametrize(
    "wall",
    [
        lambda: START,
        iter([datetime(2030 - n // 2, 1, 1, tzinfo=UTC) for n in range(60)]).__next__,
    ],
    ids=["stands still", "runs back"],
)
def test_renewals_are_seen_whatever_the_wall_clock_says(wall: Callable[[], datetime]) -> None:
    with simulated() as world:
        first = world.start("a", wall=wall)
        second = world.start("b")
        world.run(1.0)
        world.kill(second)
        second = world.start("c")
        world.run(60.0)
        assert first.works + second.works == 1


def test_check_says_which_lease_is_missing() -> None:
    with simulated() as world:
        first = world.start("a")
        with pytest.raises(NotLeading, match="lease ns/l is not held by a"):
            first.lease.check()
        assert first.lease.holder is None


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (refusal(403, "Forbidden", "leases is forbidden"), "leases is forbidden"),
        (refusal(404, "NotFound", 'namespaces "ns" not found'), 'namespaces "ns" not found'),
        (refusal(500, "InternalError", "etcd is gone"), "etcd is gone"),
    ],
)
def test_a_refusal_is_told_once_and_tried_again_ever_more_rarely(
    caplog: pytest.LogCaptureFixture, error: ApiError, told: str
) -> None:
    with simulated() as world:
        world.server.refusing = error
        first = world.start("a")
        world.run(300.0)
        reads = [at for at, verb in first.link.asked if verb == "get"]
        assert 20 < len(reads) < 80
        assert caplog.text.count(told) == 1
        world.server.refusing = None
        world.run(20.0)
        assert first.leading


def test_a_missing_right_is_named(caplog: pytest.LogCaptureFixture) -> None:
    with simulated() as world:
        world.server.refusing = refusal(403, "Forbidden", "cannot get resource leases")
        world.start("a")
        world.run(1.0)
        text = "cannot get resource leases (403 Forbidden); a candidate must be able to get, create"
        assert text in caplog.text


def test_silence_is_told_once_and_ends(caplog: pytest.LogCaptureFixture) -> None:
    with simulated() as world:
        first = world.start("a")
        first.network.cut = True
        world.run(60.0)
        assert caplog.text.count("no answer in time") == 1
        first.network.cut = False
        assert after(world, 0.0) < 8.0
        first.network.cut = True
        with caplog.at_level(logging.WARNING):
            world.run(30.0)
        assert caplog.text.count("not renewed in time") == 1


@pytest.mark.parametrize(
    ("times", "problem"),
    [
        ({"retry": 0.0}, "the retry period (0 s) must be more than 0 s"),
        ({"retry": math.nan}, "the retry period (nan s) must be more than 0 s"),
        (
            {"renew_deadline": 2.4},
            "the renew deadline (2.4 s) must be more than 1.2 times the retry period (2.4 s)",
        ),
        (
            {"duration": 10.0},
            "the lease duration (10 s) must be more than the renew deadline (10 s)",
        ),
        (
            {"duration": math.inf},
            "the lease duration (inf s) must be more than the renew deadline (10 s)",
        ),
    ],
)
def test_times_that_cannot_work_are_refused(times: dict[str, float], problem: str) -> None:
    with pytest.raises(ValueError, match="must be") as refused:
        LeaseTimes(**times)
    assert str(refused.value) == problem


def test_elapsed_time_only_grows() -> None:
    first = elapsed()
    assert elapsed() >= first


def test_a_lease_can_be_shorter_than_a_second() -> None:
    with simulated() as world:
        first = world.start("a", times=LeaseTimes(duration=0.9, renew_deadline=0.5, retry=0.1))
        world.run(5.0)
        assert first.works == 1
        assert world.server.spec["leaseDurationSeconds"] == 1
        found: JsonObject = world.server.spec
        assert found["holderIdentity"] == "a"
