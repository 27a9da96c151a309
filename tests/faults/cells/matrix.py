"""Which cells there are, which of them are run, and how they are printed.

A cell is a stage, a write in it (or a kind that is watched), and a fault. All of them are more than
fit into the time, so a fixed rule chooses. Each group of faults has a number of cells. Again and
again it takes one of the fault that has had the fewest; of these one whose role this fault has met
least, then any fault, then one whose stage this fault has met least, then one whose place; and of
those that are left, the first in the order of `_FIRST`; with a seed, any of them. So every role is
met before one is met again, and the groups choose one after another, so crashes meet Jobs, which
must not run twice. `FAILED_ONCE` are run in addition, whatever the seed.
"""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from tests.faults.injection.faults import KILLS, LEADERS, NETWORK, REFUSALS, WATCH, WATCHES, Fault
from tests.support.cluster.resources import DEPLOYMENTS, INSTANCES, JOBS, VERSIONS

_SHOWN = 5
ASKING: Final = frozenset({"prune", "adopt"})
"""Stages in which a run is scheduled when the reconciler has done something else."""
DELETING: Final = frozenset({"job cancelled", "job replaced"})
"""Stages in which an active Job is deleted, since its run ends."""
_LATE: Final = frozenset({Fault.LATE, Fault.PAUSED_LATE})
_FIRST = (
    JOBS.name,
    f"{INSTANCES.name}/status",
    INSTANCES.name,
    "events",
    DEPLOYMENTS.name,
    "statefulsets.apps",
    "pods",
)
"""Resources, those first whose writes and events matter most."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A fault at a place.

    Attributes:
        stage: Name of the stage.
        label: Of the write, or `watch <resource>`.
        fault: What goes wrong; None for a stage that only leads to the next.
    """

    stage: str
    label: str
    fault: Fault | None

    @property
    def role(self) -> str:
        """The label without the names of objects and steps."""
        label = self.label.partition(" of ")[0]
        verb, resource, *rest = label.split()
        if verb in {"apply", "delete"}:
            return f"{verb} {resource}"
        if "step" in rest:
            return re.sub(r"step \S+ finished", "step finished", label)
        return label

    def __str__(self) -> str:
        return f"{self.stage}: {self.label}: {self.fault}" if self.fault else self.stage


@dataclass(frozen=True, slots=True)
class Group:
    """Faults that share a budget and are run together.

    Attributes:
        full, part: How many cells are run by `make faults` and by `make test`.
        workers: How many lives go on at the same time.
        lasting: Whether a fault may show only in the next stage: then no other follows it in its
            life, and what is wrong in the next stage is laid to it.
    """

    name: str
    faults: tuple[Fault, ...]
    full: int
    part: int
    workers: int
    lasting: bool = False


GROUPS = (
    Group("crashes", KILLS, full=60, part=4, workers=8),
    Group("refusals", REFUSALS, full=90, part=4, workers=8),
    Group("connections", NETWORK, full=75, part=5, workers=8),
    Group("stale starts", (Fault.STALE_START,), full=15, part=2, workers=4),
    Group("watches", (Fault.GONE, Fault.STALE, Fault.SILENT), full=30, part=3, workers=6),
    Group("lost events", (Fault.DROPPED,), full=12, part=1, workers=12, lasting=True),
    Group("leaders", LEADERS, full=18, part=3, workers=1),
)


Places = Mapping[str, Sequence[str]]
"""The labels of what comes by in each stage, in their order."""
Budget = Callable[[Group], int]
"""Says how many cells of a group are run."""

FAILED_ONCE: Final = (
    # A first creation that arrives when its Instance and all that it owned are gone makes a Job
    # once more, until that is collected: no condition that a request can carry prevents it.
    Cell("cleanup", "create jobs.batch book-copy-RUN", Fault.LATE),
    Cell("cleanup", "create jobs.batch book-copy-RUN", Fault.PAUSED_LATE),
)
"""Cells in which a promise was broken once, each with why."""


def full(group: Group) -> int:
    return group.full


def part(group: Group) -> int:
    return group.part


@dataclass(frozen=True, slots=True)
class Sample:
    """Which cells are chosen.

    Attributes:
        budget: How many of each group.
        seed: Moves the choice; empty for the fixed one.
        kept: What is run in addition, where its place comes by.
    """

    budget: Budget = full
    seed: str = ""
    kept: Sequence[Cell] = FAILED_ONCE


def candidates(places: Places, group: Group) -> list[Cell]:
    """Return every cell of a group, those first that matter most."""
    cells = [
        Cell(stage, label, fault)
        for fault in group.faults
        for stage, labels in places.items()
        for label in labels
        if label.startswith(WATCH) == (fault in WATCHES)
        # They are read when a run begins, and dropping begins later.
        and not (fault is Fault.DROPPED and label == f"{WATCH}{VERSIONS.name}")
        # There the user asks for the run after other writes: nobody would ever be told of it.
        and not (fault is Fault.DROPPED and label == f"{WATCH}{INSTANCES.name}" and stage in ASKING)
        # A first creation that arrives when its run has ended, and its Job was deleted, makes it
        # once more: no condition that a request can carry prevents it. The Instance, which is idle
        # then, deletes it at once: `test_a_job_that_a_former_process_creates_late_...`.
        and not (fault in _LATE and label.startswith(f"create {JOBS.name}") and stage in DELETING)
    ]
    return sorted(cells, key=_weight)


def _weight(cell: Cell) -> int:
    resource = cell.label.split()[1]
    return _FIRST.index(resource) if resource in _FIRST else len(_FIRST)


def choose(places: Places, sample: Sample) -> dict[str, list[Cell]]:
    """Return the cells of each group, by its name; the module's text states the rule."""
    met: Counter[tuple[str, str]] = Counter()
    chosen = {}
    for group in GROUPS:
        cells = candidates(places, group)
        if sample.seed:
            random.Random(f"{sample.seed} {group.name}").shuffle(cells)
        kept = [cell for cell in sample.kept if cell in cells]
        found = _choose(cells, sample.budget(group), met)
        chosen[group.name] = [*found, *(cell for cell in kept if cell not in found)]
    return chosen


def _choose(cells: list[Cell], count: int, met: Counter[tuple[str, str]]) -> list[Cell]:
    chosen: list[Cell] = []
    while cells and len(chosen) < count:
        best = min(cells, key=lambda cell: tuple(met[key] for key in _keys(cell)))
        met.update(_keys(best))
        chosen.append(best)
        cells.remove(best)
    return chosen


def _keys(cell: Cell) -> tuple[tuple[str, str], ...]:
    fault = str(cell.fault)
    return (
        ("fault", fault),
        (fault, cell.role),
        ("role", cell.role),
        (fault, cell.stage),
        (cell.stage, cell.label),
    )


@dataclass
class Result:
    """How a cell ended.

    Attributes:
        problems: What is wrong; nothing for a cell that passed.
        crashes: How many crashes of any cell the plan met.
        seconds: From the trigger to the judgement.
    """

    cell: Cell
    problems: list[str]
    crashes: int = 0
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        return not self.problems


def choice_lines(places: Places, sample: Sample) -> Iterator[str]:
    """Say how many cells there are, and how many of them are run."""
    chosen = choose(places, sample)
    writes = sum(not label.startswith(WATCH) for labels in places.values() for label in labels)
    yield f"{writes} writes of {len(places)} plans"
    for group in GROUPS:
        every, some = len(candidates(places, group)), len(chosen[group.name])
        names = ", ".join(group.faults)
        yield f"{group.name} ({names}): {some} of {every} cells, {every - some} left out"
    roles = {cell.role for cells in chosen.values() for cell in cells}
    by = f"seed {sample.seed}" if sample.seed else "the fixed choice"
    yield f"{sum(map(len, chosen.values()))} cells, {len(roles)} roles, {by}; what is left out is"
    yield "left out for want of time, by the rule in tests/faults/cells/matrix.py"
    met = {cell for cells in chosen.values() for cell in cells}
    yield from (f"its place did not come by: {cell}" for cell in sample.kept if cell not in met)


def matrix_lines(results: Iterable[Result]) -> Iterator[str]:
    """Return the matrix, one line for each write of each stage, then counts and problems."""
    found = sorted(results, key=lambda result: (result.cell.stage, result.cell.label))
    for (stage, label), row in groupby(found, key=lambda r: (r.cell.stage, r.cell.label)):
        cells = ", ".join(
            f"{r.cell.fault or 'no fault'} {'ok' if r.passed else 'FAILED'}" for r in row
        )
        yield f"{stage:12} {label:72} {cells}"
    yield ""
    yield from _count_lines(found)
    yield from (failure_line(result) for result in found if not result.passed)


def failure_line(result: Result) -> str:
    """Return what is wrong with a cell that failed."""
    shown, more = result.problems[:_SHOWN], len(result.problems) - _SHOWN
    text = "; ".join([*shown, *([f"{more} more"] if more > 0 else [])])
    return f"FAILED {result.cell} ({result.crashes} crashes met): {text}"


def _count_lines(results: Sequence[Result]) -> Iterator[str]:
    for fault in Fault:
        ours = [result for result in results if result.cell.fault is fault]
        if ours:
            yield f"{fault:20} {sum(r.passed for r in ours):3} of {len(ours):3} passed"
    yield f"{'all':20} {sum(r.passed for r in results):3} of {len(results):3} passed"
