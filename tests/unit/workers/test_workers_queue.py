"""What waits for a worker is bounded."""

from dataclasses import dataclass

import pytest

from workers.errors import PoolBusy
from workers.queue import Bounds, JobQueue


@dataclass(frozen=True, eq=False)
class Job:
    tenant: str
    size: int = 1


def test_the_jobs_of_one_tenant_and_of_all_are_bounded() -> None:
    queue: JobQueue[Job] = JobQueue(Bounds(jobs=3, tenant_jobs=2))
    queue.put(Job("a"))
    queue.put(Job("a"))
    with pytest.raises(PoolBusy, match="of this namespace"):
        queue.put(Job("a"))
    queue.put(Job("b"))
    with pytest.raises(PoolBusy, match="too much work is waiting"):
        queue.put(Job("c"))
    assert queue.waiting.by_tenant() == {"a": 2, "b": 1}


def test_the_bytes_of_one_tenant_and_of_all_are_bounded() -> None:
    queue: JobQueue[Job] = JobQueue(Bounds(bytes=15, tenant_bytes=10))
    queue.put(Job("a", 6))
    with pytest.raises(PoolBusy, match="of this namespace"):
        queue.put(Job("a", 5))
    queue.put(Job("b", 9))
    with pytest.raises(PoolBusy, match="too much work is waiting"):
        queue.put(Job("c", 1))


def test_what_has_left_frees_its_share() -> None:
    queue: JobQueue[Job] = JobQueue(Bounds(jobs=1, bytes=5, tenant_bytes=5))
    for _ in range(3):
        job = Job("a", 5)
        queue.put(job)
        queue.discard(job)
        queue.discard(job)
    last = Job("a", 5)
    queue.put(last)
    assert queue.take() is last
    queue.put(Job("a", 5))
    assert queue.waiting.total == 1
