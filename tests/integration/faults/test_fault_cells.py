"""Some cells of the fault matrix (tests/faults), each fault among them; `make faults` runs 300.

The matrix uses the session's cluster. Its reconciler rests meanwhile: those that the faults hit
see the API server through a proxy.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from kudo_cluster.installation import Installation
from kudo_cluster.progress import silent
from tests.faults.cells.campaign import Campaign
from tests.faults.cells.matrix import (
    GROUPS,
    Result,
    Sample,
    choice_lines,
    failure_line,
    matrix_lines,
)
from tests.faults.cells.matrix import part as few
from tests.faults.injection.faults import Fault

pytestmark = pytest.mark.campaign

SAMPLE = Sample(few, kept=())


@dataclass(frozen=True)
class Part:
    """How the cells ended, and what is to be printed of them."""

    results: list[Result]
    lines: list[str]

    def of(self, fault: Fault | None) -> list[Result]:
        return [result for result in self.results if result.cell.fault is fault]


@pytest.fixture(scope="module")
def part(running_installation: Installation) -> Part:
    running_installation.webhook.start()
    running_installation.reconciler.stop()
    try:
        return asyncio.run(run_part(running_installation))
    finally:
        running_installation.reconciler.start()


async def run_part(installation: Installation) -> Part:
    async with Campaign.on(installation, silent) as campaign:
        await campaign.record()
        results = await campaign.run(SAMPLE, groups={group.name for group in GROUPS})
        lines = [*choice_lines(campaign.places, SAMPLE), "", *matrix_lines(results)]
    return Part(results, lines)


@pytest.mark.parametrize("fault", [fault for group in GROUPS for fault in group.faults])
def test_a_plan_ends_as_it_would_have_without_the_fault(fault: Fault, part: Part) -> None:
    hit = part.of(fault)

    assert hit
    assert [failure_line(result) for result in hit if not result.passed] == []


def test_what_follows_a_fault_is_not_harmed_either(part: Part) -> None:
    assert [failure_line(result) for result in part.of(None)] == []


def test_as_many_cells_are_run_as_the_groups_say(part: Part, figure: Callable[[str], None]) -> None:
    for line in part.lines:
        figure(line)

    cells = [result.cell for result in part.results if result.cell.fault is not None]
    assert len(cells) == len(set(cells)) == sum(group.part for group in GROUPS)
