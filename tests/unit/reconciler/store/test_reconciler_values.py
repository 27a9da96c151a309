"""Decisions over values that the event loop must not read: real worker processes read them once."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest

from kudo.admission.revalidation import revalidate_idle, revalidate_scheduled
from kudo.api import Instance, OperatorVersion
from kudo_reconciler.controller.context import ValueChecks
from tests.unit.webhook.test_webhook_limits import COSTLY, HOSTILE
from workers import Observation, Pool, PoolBusy
from workers.queue import Bounds

VERSION = OperatorVersion.from_wire(
    {
        "metadata": {"name": "v", "namespace": "ns"},
        "spec": {
            "plans": {"deploy": {}},
            "parameters": [{"name": "A", "value-type": "array"}] * 151,
        },
    }
)


def instance(value: str) -> Instance:
    run = {"planName": "deploy", "uid": "u", "status": "NEVER_RUN"}
    return Instance.from_wire(
        {
            "metadata": {"name": "i", "namespace": "ns"},
            "spec": {
                "operatorVersion": {"name": "v"},
                "parameters": {"A": value},
                "planExecution": run,
            },
        }
    )


@asynccontextmanager
async def checks(handlers: str = "kudo.jobs") -> AsyncIterator[tuple[ValueChecks, list[str]]]:
    """Yield the checks, and the jobs that were done for them."""
    jobs: list[str] = []

    def observe(seen: Observation) -> None:
        jobs.append(f"{seen.handler} {seen.outcome}")

    pool = Pool(handlers, observe=observe)
    processes = asyncio.create_task(pool.run())
    yield ValueChecks(pool), jobs
    processes.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await processes


async def test_a_small_value_needs_no_worker() -> None:
    async with checks() as (values, jobs):
        revalidation = await values.decide("ns", partial(revalidate_idle, instance("[1]"), VERSION))
        assert revalidation.plan == "deploy"
        assert jobs == []


async def test_a_costly_value_is_read_once_whatever_asks_for_it() -> None:
    async with checks() as (values, jobs):
        for revalidate in (revalidate_idle, revalidate_scheduled, revalidate_idle):
            revalidation = await values.decide("ns", partial(revalidate, instance(COSTLY), VERSION))
            assert revalidation.problems == ()
        assert jobs == ["check ok"]


async def test_a_hostile_value_is_a_violation_and_is_remembered() -> None:
    async with checks() as (values, jobs):
        for revalidate in (revalidate_scheduled, revalidate_idle):
            revalidation = await values.decide(
                "ns", partial(revalidate, instance(HOSTILE), VERSION)
            )
            assert {problem.reason for problem in revalidation.problems} == {"ParameterTooLarge"}
            assert len(revalidation.problems) == 21
        assert jobs == ["check ok"]


async def test_a_full_queue_decides_nothing() -> None:
    values = ValueChecks(Pool("kudo.jobs", bounds=Bounds(jobs=0)))
    with pytest.raises(PoolBusy):
        await values.decide("ns", partial(revalidate_idle, instance(COSTLY), VERSION))
    assert len(values.results) == 0
