"""The queue of events: a namespace leaves writers to others, and room is free again."""

import asyncio
from datetime import UTC, datetime

import pytest

from kubeio.backoff import Backoff
from kudo.api.identity import InstanceIdentity
from kudo_reconciler.common.concurrency import Fairness
from kudo_reconciler.events.queue import Event, EventQueue
from serving.settings import Share
from tests.support.loops.virtual_loop import run_virtually


def put(queue: EventQueue, namespace: str, name: str) -> bool:
    event = Event(
        subject=InstanceIdentity(namespace, name, "u"),
        name=name,
        severity="Normal",
        reason="PlanStarted",
        message="",
        moment=datetime(2026, 1, 1, tzinfo=UTC),
        of_run=True,
        probe=True,
    )
    return queue.put(event, Backoff())


@pytest.mark.parametrize("put_off", [False, True])
def test_a_namespace_leaves_a_writer_to_others(put_off: bool) -> None:
    async def work() -> list[str]:
        queue = EventQueue(Fairness(event_writers=Share(2, 1)))
        put(queue, "noisy", "a")
        put(queue, "noisy", "b")
        async with asyncio.timeout(1):
            first = await queue.get()
            put(queue, "other", "c")
            second = await queue.get()
            if put_off:
                queue.put_off(first, 60)
            else:
                queue.done(first)
            third = await queue.get()
        return [one.event.name for one in (first, second, third)]

    assert run_virtually(work()) == ["a", "c", "b"]


def test_an_event_that_was_written_leaves_its_room_to_another() -> None:
    async def work() -> list[bool]:
        queue = EventQueue(Fairness(run_events=Share(2, 1)))
        accepted = [put(queue, "ns", "a"), put(queue, "ns", "b")]
        queue.done(await queue.get())
        return [*accepted, put(queue, "ns", "b")]

    assert run_virtually(work()) == [True, False, True]
