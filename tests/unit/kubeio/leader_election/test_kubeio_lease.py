"""A candidate and the Lease: winning, renewing, running out of time; on simulated time."""

import itertools
import logging
import math
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from kubeio.errors import ApiError, error_from_status
from kubeio.leader_election.elector import LeaseTimes, NotLeading, elapsed
from kubeio.types import JsonObject
from tests.unit.kubeio.fake_api import status_body
from tests.unit.kubeio.leader_election.lease_server import refusal
from tests.unit.kubeio.leader_election.simulation import LOOK, START, after, simulated


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


def test_a_candidate_that_is_told_to_wait_a_day_looks_again_after_a_minute() -> None:
    details = {"retryAfterSeconds": 86400}
    with simulated() as world:
        world.server.refusing = error_from_status(status_body(429, "Slow", details=details))
        candidate = world.start("a")
        world.run(1.0)
        world.server.refusing = None
        world.run(60.0 + LOOK)
        assert candidate.leading


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
        text = "cannot get resource leases (403 Forbidden); grant get, create"
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
