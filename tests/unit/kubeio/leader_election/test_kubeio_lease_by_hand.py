"""A Lease that people delete, edit or write themselves, and one of candidates with other times."""

import pytest

from kubeio.leader_election.elector import LeaseTimes
from tests.unit.kubeio.leader_election.simulation import LOOK, Candidate, World, simulated


def led(world: World) -> tuple[Candidate, Candidate]:
    """Return the leader, and a candidate that has seen it lead."""
    leader = world.start("a")
    world.run(1.0)
    other = world.start("b")
    world.run(5.0)
    assert leader.leading
    return leader, other


def test_a_leader_creates_its_deleted_lease_again_and_works_on() -> None:
    with simulated() as world:
        leader, other = led(world)
        world.server.delete()
        world.run(LOOK + 0.1)
        assert world.server.spec["holderIdentity"] == "a"
        world.run(60.0)
        assert (leader.works, other.works) == (1, 0)
        assert leader.leading


def test_a_deleted_lease_is_not_taken_while_its_leader_may_still_write() -> None:
    with simulated() as world:
        leader, other = led(world)
        leader.network.cut = True
        world.server.delete()
        deleted = world.now
        world.run_until(lambda: other.leading)
        assert 15.0 <= world.now - deleted < 15.0 + LOOK + 0.5


def test_a_deleted_lease_whose_leader_ran_out_of_time_is_waited_for_too() -> None:
    with simulated() as world:
        leader, other = led(world)
        world.kill(other)
        leader.network.cut = True
        world.run(20.0)
        leader.network.cut = False
        leader.frozen = True
        world.server.delete()
        world.run(1.0)
        leader.frozen = False
        back = world.now
        world.run_until(lambda: leader.leading)
        assert world.now - back > 10.0


def test_a_lease_deleted_while_its_leader_slept_is_not_created_again_at_once() -> None:
    with simulated() as world:
        leader = world.start("a")
        world.run(1.0)
        asked = len(leader.link.asked)
        world.run_until(lambda: len(leader.link.asked) > asked)
        world.server.delete()
        deleted = world.now
        world.suspend(leader, 11.0)
        world.run_until(lambda: leader.leading)
        assert world.now - deleted >= 11.0 + 15.0


def test_a_lease_emptied_by_hand_stops_the_leader_and_is_nobodys_for_a_while() -> None:
    with simulated() as world:
        leader, _ = led(world)
        world.server.edit(holderIdentity="")
        emptied = world.now
        world.run(LOOK + 0.1)
        assert not leader.leading
        assert leader.working == 0
        assert leader.lease.holder == ""
        world.run_until(lambda: any(one.leading for one in world.candidates))
        assert 15.0 <= world.now - emptied < 15.0 + 2 * LOOK


def test_a_lease_given_to_somebody_else_by_hand_stops_the_leader() -> None:
    with simulated() as world:
        leader, other = led(world)
        world.server.edit(holderIdentity="somebody")
        edited = world.now
        world.run(LOOK + 0.1)
        assert not leader.leading
        assert leader.lease.holder == "somebody"
        world.run_until(lambda: leader.leading or other.leading)
        assert 15.0 <= world.now - edited < 15.0 + 2 * LOOK


def test_a_lease_given_to_another_candidate_by_hand_is_led_by_it() -> None:
    with simulated() as world:
        leader, other = led(world)
        leader.network.cut = True
        world.run(10.0)
        world.server.edit(holderIdentity="b")
        world.run_until(lambda: other.leading)
        assert other.works == 1


def test_labels_and_unknown_fields_are_kept() -> None:
    with simulated() as world:
        leader, _ = led(world)
        world.server.touch()
        world.server.edit(strategy="OldestEmulationVersion")
        world.run(60.0)
        assert leader.works == 1
        assert world.server.spec["strategy"] == "OldestEmulationVersion"
        assert world.server.lease is not None
        assert "touched" in world.server.lease["metadata"]["labels"]


def test_a_lease_shortened_by_hand_is_not_taken_early() -> None:
    with simulated() as world:
        leader, other = led(world)
        leader.network.cut = True
        world.server.edit(leaseDurationSeconds=1)
        edited = world.now
        world.run_until(lambda: other.leading)
        assert world.now - edited >= 15.0


@pytest.mark.parametrize(
    "lease",
    [
        {},
        {"spec": {}},
        {"spec": None},
        {"spec": {"holderIdentity": None, "leaseDurationSeconds": None}},
        {"spec": {"holderIdentity": 7, "leaseTransitions": "many", "leaseDurationSeconds": "1"}},
        {"spec": {"holderIdentity": "gone", "renewTime": "yesterday", "leaseTransitions": -4}},
    ],
)
def test_an_unreadable_lease_is_taken_when_it_has_stood_still_long_enough(
    lease: dict[str, object],
) -> None:
    with simulated() as world:
        world.server.put(lease)
        first = world.start("a")
        world.run_until(lambda: first.leading)
        assert 15.0 <= world.now < 15.0 + LOOK
        spec = world.server.spec
        assert (spec["holderIdentity"], spec["leaseDurationSeconds"]) == ("a", 15)
        assert spec["leaseTransitions"] == 1


def test_a_leader_with_longer_times_is_waited_for() -> None:
    with simulated() as world:
        slow = LeaseTimes(duration=60.0, renew_deadline=40.0, retry=2.0)
        leader = world.start("a", times=slow)
        world.run(1.0)
        other = world.start("b")
        world.run(5.0)
        leader.network.cut = True
        cut = world.now
        world.run_until(lambda: other.leading)
        assert world.now - cut > 60.0 - LOOK


def test_two_that_see_the_lease_run_out_agree_on_one() -> None:
    with simulated() as world:
        leader, other = led(world)
        third = world.start("c")
        world.run(10.0)
        # Both look at the same moment, and only one of the writes finds what it expects.
        other.network.delay = third.network.delay = lambda: 1.0
        world.kill(leader)
        world.run(40.0)
        assert sorted([other.works, third.works]) == [0, 1]
        assert world.server.spec["leaseTransitions"] == 1
