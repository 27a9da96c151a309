"""Hostile inputs, several tenants at a time: each is told its limit, and others go on.

A landing sends three of them, `make campaigns` all. `make faults` sends them one after the other
and measures what they cost.
"""

import asyncio

import pytest

from kudo_cluster.installation import Installation
from tests.bench.tenants.tenants import Tenants
from tests.support.hostile import Input, inputs

_AT_ONCE = 3


@pytest.mark.parametrize(
    "count", [_AT_ONCE, pytest.param(None, id="all", marks=pytest.mark.campaign)]
)
async def test_hostile_tenants_are_told_their_limit_and_others_go_on(
    installation: Installation, count: int | None
) -> None:
    problems: list[str] = []
    async with Tenants.on(installation) as tenants:
        before = await tenants.standing()
        waiting = iter(inputs()[:count])

        async def work() -> None:
            for sent in waiting:
                problems.extend(await _problems(tenants, sent))

        async with asyncio.TaskGroup() as group:
            for _ in range(_AT_ONCE):
                group.create_task(work())
            others = group.create_task(tenants.others())
        assert problems == []
        assert others.result().reviews.failures == []
        assert await tenants.standing() == before


async def _problems(tenants: Tenants, sent: Input) -> list[str]:
    found = await tenants.run(sent, others=False)
    return [f"{sent}: {problem}" for problem in found.problems]
