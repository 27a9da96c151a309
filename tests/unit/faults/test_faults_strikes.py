"""Who is paused until when, and what arrives late."""

import asyncio

import pytest

from tests.faults.injection.faults import Fault, Rule
from tests.faults.injection.roles import Write
from tests.faults.injection.strikes import Strikes
from tests.unit.faults.recorded import Recorded

LEASE = Write("default", "update", "leases.coordination.k8s.io", "lease")
STATUS = Write("ns", "update", "instances.kudo.dev/status", "run ended")
ELSEWHERE = Write("other", "update", "instances.kudo.dev/status", "run ended")


def paused(fault: Fault) -> tuple[Recorded, Strikes, asyncio.Event]:
    processes = Recorded()
    strikes = Strikes(processes)
    over = strikes.pause("one", Rule("ns", "x", fault))
    return processes, strikes, over


@pytest.mark.parametrize(
    ("fault", "reconciler", "write", "over"),
    [
        (Fault.PAUSED_BEFORE, "two", STATUS, True),
        (Fault.PAUSED_AFTER, "two", STATUS, True),
        (Fault.PAUSED_LATE, "two", STATUS, False),
        (Fault.PAUSED_BEFORE, "one", STATUS, False),
        (Fault.PAUSED_BEFORE, "two", ELSEWHERE, False),
        (Fault.PAUSED_BEFORE, "two", LEASE, False),
    ],
)
def test_a_paused_leader_goes_on_when_another_works_on_its_plan(
    fault: Fault, reconciler: str, write: Write, over: bool
) -> None:
    processes, strikes, event = paused(fault)

    strikes.wrote(reconciler, write)

    assert event.is_set() is over
    assert processes.done == ["pause one", *(["resume one"] if over else [])]


async def test_the_end_of_the_plan_ends_a_pause_once_another_has_the_lease() -> None:
    processes, strikes, event = paused(Fault.PAUSED_LATE)
    strikes.wrote("two", LEASE)

    assert await strikes.plan_ended("ns", 9)
    assert event.is_set()
    assert processes.done == ["pause one", "resume one"]


@pytest.mark.parametrize("reconciler", ["", "one"])
async def test_a_pause_without_a_successor_is_told(reconciler: str) -> None:
    processes, strikes, _ = paused(Fault.PAUSED_LATE)
    if reconciler:
        strikes.wrote(reconciler, LEASE)

    assert not await strikes.plan_ended("ns", 0)
    assert processes.done == ["pause one", "resume one"]


async def test_a_late_write_arrives_when_the_plan_has_ended_and_only_then() -> None:
    strikes, sent = Strikes(Recorded()), list[str]()

    async def send() -> None:
        sent.append("late")

    waiting = asyncio.create_task(strikes.later("ns", send))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait({waiting})

    assert await strikes.plan_ended("other", 0)
    assert sent == []
    assert await strikes.plan_ended("ns", 0)
    assert await strikes.plan_ended("ns", 0)
    assert sent == ["late"]


def test_kills_are_counted() -> None:
    processes = Recorded()
    strikes = Strikes(processes)

    strikes.kill("one")
    strikes.kill("one")

    assert (strikes.killed, processes.done) == (2, ["kill one", "kill one"])
