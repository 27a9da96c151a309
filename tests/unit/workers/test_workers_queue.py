"""Tenants take turns, and what waits is bounded."""

from dataclasses import dataclass

import pytest

from workers.errors import PoolBusy
from workers.queue import Bounds, FairQueue


@dataclass(frozen=True, eq=False)
class Job:
    tenant: str
    name: str
    size: int = 1


def filled(*jobs: str, bounds: Bounds | None = None) -> FairQueue[Job]:
    """Return a queue with jobs such as `a1`, of tenant a."""
    queue: FairQueue[Job] = FairQueue(bounds or Bounds())
    for name in jobs:
        queue.put(Job(name[0], name))
    return queue


def drained(queue: FairQueue[Job]) -> list[str]:
    names = []
    while (job := queue.take(lambda _: True)) is not None:
        names.append(job.name)
    return names


def test_tenants_take_turns_and_their_own_jobs_keep_their_order() -> None:
    assert drained(filled("a1", "a2", "a3", "b1", "b2", "c1")) == [
        *("a1", "b1", "c1"),
        *("a2", "b2"),
        "a3",
    ]


def test_a_tenant_that_comes_back_waits_for_all_others() -> None:
    queue = filled("a1", "b1", "c1")
    assert queue.take(lambda _: True) is not None
    queue.put(Job("a", "a2"))
    assert drained(queue) == ["b1", "c1", "a2"]


def test_a_tenant_that_may_run_nothing_keeps_its_turn() -> None:
    queue = filled("a1", "a2", "b1", "c1")
    first = queue.take(lambda tenant: tenant != "a")
    assert first is not None
    assert first.name == "b1"
    assert drained(queue) == ["a1", "c1", "a2"]
    assert filled("a1").take(lambda _: False) is None


def test_the_jobs_of_one_tenant_and_of_all_are_bounded() -> None:
    queue = filled("a1", "a2", bounds=Bounds(jobs=3, tenant_jobs=2))
    with pytest.raises(PoolBusy, match="of this namespace"):
        queue.put(Job("a", "a3"))
    queue.put(Job("b", "b1"))
    with pytest.raises(PoolBusy, match="too much work is waiting"):
        queue.put(Job("c", "c1"))
    assert len(queue) == 3


def test_the_bytes_of_one_tenant_and_of_all_are_bounded() -> None:
    queue: FairQueue[Job] = FairQueue(Bounds(bytes=15, tenant_bytes=10))
    queue.put(Job("a", "a1", 6))
    with pytest.raises(PoolBusy, match="of this namespace"):
        queue.put(Job("a", "a2", 5))
    queue.put(Job("b", "b1", 9))
    with pytest.raises(PoolBusy, match="too much work is waiting"):
        queue.put(Job("c", "c1", 1))


def test_what_has_left_frees_its_share() -> None:
    queue: FairQueue[Job] = FairQueue(Bounds(jobs=1, bytes=5, tenant_bytes=5))
    for number in range(3):
        job = Job("a", f"a{number}", 5)
        queue.put(job)
        queue.discard(job)
        queue.discard(job)
    assert len(queue) == 0
    assert drained(queue) == []
