"""The stages without faults, recorded once, and any cell on top of them."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

from kudo_reconciler.settings import Settings
from tests.faults.cells.matrix import GROUPS, Cell, Places, Result, candidates
from tests.faults.cells.oracle import Outcome
from tests.faults.cells.stages import STORIES
from tests.faults.cells.story import Stage, Story
from tests.faults.injection.faults import DELETIONS, LATENESS, LEADERS
from tests.faults.injection.reconcilers import OPTIONS
from tests.support.apiserver.network.pausing import PausableLoop
from tests.unit.reconciler.matrix.deletions import DELETED, delete_meanwhile, deletion_cells
from tests.unit.reconciler.matrix.late import LATE, late_cells
from tests.unit.reconciler.matrix.world import Moment, World, beginning, world_at

T = TypeVar("T")

SETTINGS: Final = Settings.read(OPTIONS, {})
"""Those of the matrix on a real API server."""
PATIENT: Final = Settings.read([], {})
"""The usual ones: an answer that is 2 s late is awaited."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A stage without a fault.

    Attributes:
        before: From where it begins.
        expected: What it leads to.
        instance: Whose plan it runs.
        after: Name of the next stage; empty for the last one.
    """

    stage: Stage
    before: Moment
    expected: Outcome
    instance: str
    after: str


Recording = Mapping[str, Recorded]
"""The stages by name."""


def in_memory(main: Callable[[], Coroutine[Any, Any, T]], now: float = 0.0) -> T:
    """Run a coroutine on a loop of its own whose clock shows this at first."""
    with asyncio.Runner(loop_factory=lambda: PausableLoop(now)) as runner:
        return runner.run(main())


def record() -> Recording:
    """Lead each story once, without faults."""
    found: dict[str, Recorded] = {}
    for number, story in enumerate(STORIES, start=1):
        found |= in_memory(partial(_record, story, number))
    return found


async def _record(story: Story, number: int) -> dict[str, Recorded]:
    found: dict[str, Recorded] = {}
    moment = beginning()
    async with world_at(moment, story.instance, SETTINGS) as world:
        names = [stage.name for stage in story.stages]
        for at, (stage, after) in enumerate(zip(story.stages, [*names[1:], ""], strict=True)):
            before = Moment.of(world.cluster.server.storage, number * 100 + at)
            expected = await world.life.record(stage)
            assert expected.status == stage.ends, expected
            found[stage.name] = Recorded(stage, before, expected, story.instance, after)
        assert not world.broken, world.broken
    return found


def places(recording: Recording) -> Places:
    """Return what came by in each stage that faults strike in, in its order."""
    return {name: list(one.expected.seen) for name, one in recording.items() if one.stage.faulty}


def every_cell(places: Places) -> dict[str, list[Cell]]:
    """Return all cells by the name of their group."""
    found = {group.name: candidates(places, group) for group in GROUPS}
    return {**found, LATE.name: late_cells(places), DELETED.name: deletion_cells(places)}


def run(recording: Recording, cell: Cell) -> Result:
    """Run a cell; what is wrong in the stage after a lasting fault is laid to it."""
    one = recording[cell.stage]
    lasting = any(group.lasting and cell.fault in group.faults for group in GROUPS)
    patient = cell.fault in LATENESS or cell.fault in DELETIONS
    settings = PATIENT if patient else SETTINGS

    async def main() -> Result:
        standby = cell.fault in LEADERS
        async with world_at(
            one.before, one.instance, settings, standby=standby, seed=str(cell)
        ) as world:
            if cell.fault in DELETIONS:
                problems = await delete_meanwhile(world, one.stage, cell)
            else:
                problems = await world.life.suffer(one.stage, cell, one.expected)
            if lasting and one.after and not problems:
                problems = await _afterwards(world, recording[one.after])
            crashes = world.life.shared.strikes.killed
        return Result(cell, [*problems, *world.broken], crashes)

    try:
        return in_memory(main, one.before.now)
    except Exception as error:  # noqa: BLE001 - whatever ends a cell is what is looked for
        return Result(cell, [f"{type(error).__name__}: {error}"])


async def _afterwards(world: World, after: Recorded) -> list[str]:
    cell = Cell(after.stage.name, "", None)
    problems = await world.life.suffer(after.stage, cell, after.expected)
    return [f"{after.stage.name} after it: {problem}" for problem in problems]
