"""The turns of an event loop: what is measured, what is forgotten, what is exposed."""

import asyncio
import os
import threading
import time

from prometheus_client import CollectorRegistry, generate_latest

from serving.event_loop import Longest, TurnCollector, Turns, follow_turns
from tests.support.loops.loop_turns import forget, measured, scraped


def burn(seconds: float) -> None:
    """Spend CPU time in this thread."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def wait_for_another_thread(seconds: float) -> None:
    """Stand still, without using the CPU, until another thread has spent some."""
    readable, writable = os.pipe()

    def work() -> None:
        burn(seconds)
        os.write(writable, b"x")

    other = threading.Thread(target=work)
    other.start()
    os.read(readable, 1)
    other.join()
    os.close(readable)
    os.close(writable)


def test_a_turn_that_computes_counts_by_wall_clock_and_cpu() -> None:
    async def main() -> None:
        await forget()
        burn(0.03)

    _, longest = measured(main())
    assert longest.cpu >= 0.03
    assert longest.wall >= 0.03


def test_a_turn_that_waits_costs_no_cpu_of_its_thread() -> None:
    async def main() -> None:
        await forget()
        wait_for_another_thread(0.1)

    _, longest = measured(main())
    assert longest.wall >= 0.1
    assert longest.cpu < 0.1


def test_waiting_for_events_is_no_turn() -> None:
    async def main() -> float:
        await forget()
        begun = time.perf_counter()
        await asyncio.to_thread(wait_for_another_thread, 0.1)
        return time.perf_counter() - begun

    seconds, longest = measured(main())
    assert longest.wall < seconds
    assert longest.cpu < 0.1


def test_the_longest_values_since_the_last_time_are_taken() -> None:
    turns = Turns()
    assert turns.take() == Longest(0.0, 0.0)
    turns.add(0.2, 0.1)
    turns.add(0.1, 0.05)
    turns.add(0.05, 0.3)
    assert turns.take() == Longest(0.2, 0.3)
    assert turns.take() == Longest(0.0, 0.0)


def test_nothing_is_lost_while_another_thread_takes() -> None:
    turns = Turns()
    taken: list[Longest] = []
    done = threading.Event()

    def take() -> None:
        while not done.is_set():
            taken.append(turns.take())

    taking = threading.Thread(target=take)
    taking.start()
    for number in range(20_000):
        turns.add(float(number), 0.0)
    done.set()
    taking.join()
    taken.append(turns.take())
    assert max(one.wall for one in taken) == 19_999.0


def test_a_scrape_begins_anew_and_a_registration_takes_nothing() -> None:
    turns, registry = Turns(), CollectorRegistry()
    turns.add(0.2, 0.1)
    registry.register(TurnCollector(turns))
    assert scraped(generate_latest(registry).decode()) == Longest(wall=0.2, cpu=0.1)
    assert scraped(generate_latest(registry).decode()) == Longest(0.0, 0.0)


def test_the_turns_of_a_measured_loop_are_among_the_metrics() -> None:
    registry = CollectorRegistry()

    async def main() -> None:
        follow_turns(registry)

    measured(main())
    assert {metric.name for metric in registry.collect()} == {
        "kudo_event_loop_turn_seconds_max",
        "kudo_event_loop_turn_cpu_seconds_max",
    }


def test_each_turn_ends_with_a_call() -> None:
    seen: list[str] = []

    async def main() -> None:
        follow_turns(CollectorRegistry(), lambda: seen.append("end"))
        for name in ("first", "second"):
            seen.append(name)
            await asyncio.sleep(0)

    measured(main())
    assert seen[:4] == ["first", "end", "second", "end"]


async def test_any_other_loop_has_no_such_metrics() -> None:
    registry = CollectorRegistry()
    follow_turns(registry)
    assert list(registry.collect()) == []
