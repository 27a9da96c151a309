"""What the work queue reports: keys added, how long they waited, retries, the longest pass."""

import random
from dataclasses import dataclass, field

import pytest
from prometheus_client import CollectorRegistry

from kudo_reconciler.common.keys import Key
from kudo_reconciler.controller.workqueue import WorkQueue
from kudo_reconciler.metrics.metrics import QueueMetrics

A, B = Key("ns", "a"), Key("ns", "b")


@dataclass
class Bench:
    """A queue whose clock is set by hand, and what Prometheus would see of it."""

    now: float = 100.0
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)

    def __post_init__(self) -> None:
        metrics = QueueMetrics(self.registry)
        self.queue = WorkQueue(random.Random(1), metrics, lambda: self.now)
        metrics.follow(self.queue.__len__, self.queue.longest_running)

    def __getitem__(self, name: str) -> float | None:
        return self.registry.get_sample_value(f"kudo_queue_{name}")


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def test_a_key_that_waits_counts_once_however_often_it_is_added(bench: Bench) -> None:
    for key in (A, A, B):
        bench.queue.add(key)
    assert (bench["depth"], bench["adds_total"]) == (2, 2)


async def test_the_wait_is_from_the_first_add_to_the_worker(bench: Bench) -> None:
    bench.queue.add(A)
    bench.now += 2
    bench.queue.add(A)
    bench.now += 1
    await bench.queue.get()
    assert (bench["depth"], bench["wait_seconds_count"], bench["wait_seconds_sum"]) == (0, 1, 3)


async def test_a_key_that_comes_back_waits_from_the_end_of_its_pass(bench: Bench) -> None:
    bench.queue.add(A)
    await bench.queue.get()
    bench.queue.add(A)
    bench.now += 10
    bench.queue.done(A)
    bench.now += 1
    await bench.queue.get()
    assert (bench["adds_total"], bench["wait_seconds_sum"]) == (2, 1)


async def test_the_longest_pass_is_the_one_that_began_first(bench: Bench) -> None:
    assert bench["longest_running_seconds"] == 0
    bench.queue.add(A)
    await bench.queue.get()
    bench.now += 5
    bench.queue.add(B)
    await bench.queue.get()
    bench.now += 1
    assert bench["longest_running_seconds"] == 6
    bench.queue.done(A)
    assert bench["longest_running_seconds"] == 1


async def test_a_retry_counts_and_its_delay_is_no_wait(bench: Bench) -> None:
    bench.queue.add(A)
    await bench.queue.get()
    bench.queue.retry(A)
    bench.queue.done(A)
    assert (bench["retries_total"], bench["depth"], bench["adds_total"]) == (1, 0, 1)
    bench.queue.close()
