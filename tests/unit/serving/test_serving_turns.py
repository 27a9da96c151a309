"""The turns of an event loop: what is measured, what is forgotten, what is exposed."""

import asyncio
import os
import threading
import time

from prometheus_client import CollectorRegistry, generate_latest

from serving.turns import Longest, TimedLoop, TurnCollector, Turns, follow_turns

SAMPLES = ("kudo_event_loop_turn_seconds_max", "kudo_event_loop_turn_cpu_seconds_max")


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


def turns() -> Turns:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, TimedLoop)
    return loop.turns


async def settled() -> Turns:
    """Return the turns after all before this one have been counted and forgotten."""
    for _ in range(2):
        await asyncio.sleep(0)
        turns().take()
    return turns()


def run(main: object) -> None:
    with asyncio.Runner(loop_factory=TimedLoop) as runner:
        runner.run(main)  # type: ignore[arg-type]


def test_a_turn_that_computes_counts_by_wall_clock_and_cpu() -> None:
    async def main() -> None:
        measured = await settled()
        burn(0.03)
        await asyncio.sleep(0)
        longest = measured.take()
        assert longest.cpu >= 0.03
        assert longest.wall >= 0.03

    run(main())


def test_a_turn_that_waits_costs_no_cpu_of_its_thread() -> None:
    async def main() -> None:
        measured = await settled()
        wait_for_another_thread(0.1)
        await asyncio.sleep(0)
        longest = measured.take()
        assert longest.wall >= 0.1
        assert longest.cpu < 0.1

    run(main())


def test_waiting_for_events_is_no_turn() -> None:
    async def main() -> None:
        measured = await settled()
        begun = time.perf_counter()
        await asyncio.to_thread(wait_for_another_thread, 0.1)
        longest = measured.take()
        assert longest.wall < time.perf_counter() - begun
        assert longest.cpu < 0.1

    run(main())


def test_the_longest_values_since_the_last_time_are_taken() -> None:
    measured = Turns()
    assert measured.take() == Longest(0.0, 0.0)
    measured.add(0.2, 0.1)
    measured.add(0.1, 0.05)
    measured.add(0.05, 0.3)
    assert measured.take() == Longest(0.2, 0.3)
    assert measured.take() == Longest(0.0, 0.0)


def test_nothing_is_lost_while_another_thread_takes() -> None:
    measured = Turns()
    taken: list[Longest] = []
    done = threading.Event()

    def take() -> None:
        while not done.is_set():
            taken.append(measured.take())

    taking = threading.Thread(target=take)
    taking.start()
    for number in range(20_000):
        measured.add(float(number), 0.0)
    done.set()
    taking.join()
    taken.append(measured.take())
    assert max(one.wall for one in taken) == 19_999.0


def test_a_scrape_begins_anew_and_a_registration_takes_nothing() -> None:
    measured, registry = Turns(), CollectorRegistry()
    measured.add(0.2, 0.1)
    registry.register(TurnCollector(measured))
    lines = generate_latest(registry).decode().splitlines()
    assert {f"{SAMPLES[0]} 0.2", f"{SAMPLES[1]} 0.1"} <= set(lines)
    assert [registry.get_sample_value(name) for name in SAMPLES] == [0.0, 0.0]


def test_the_turns_of_a_measured_loop_are_among_the_metrics() -> None:
    async def main() -> None:
        registry = CollectorRegistry()
        follow_turns(registry)
        assert {metric.name for metric in registry.collect()} == set(SAMPLES)

    run(main())


async def test_any_other_loop_has_no_such_metrics() -> None:
    registry = CollectorRegistry()
    follow_turns(registry)
    assert list(registry.collect()) == []
