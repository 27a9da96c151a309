"""A part of the fault matrix over the API server in memory, and what makes its cells true.

KUDO_ALL_CASES=1 has eight times as many cells run.
All cells: `python -m tests.unit.reconciler.matrix`; one of them: `--cell 'STAGE: LABEL: FAULT'`.
"""

import math

import pytest

from tests.faults.cells.lives import NEVER_STRUCK
from tests.faults.cells.matrix import FAILED_ONCE, GROUPS, Cell, Group, Sample, choose, failure_line
from tests.faults.injection.faults import DELETIONS, LATENESS, Fault
from tests.support.selection.cases import ALL_CASES
from tests.unit.reconciler.matrix.cells import Recording, every_cell, places, record, run
from tests.unit.reconciler.matrix.deletions import deletion_cells
from tests.unit.reconciler.matrix.late import late_cells

_TIMES = 8 if ALL_CASES else 1
"""So many times a quarter of the part of each group."""
_LATE, _DELETED = 2 * _TIMES, 2 * _TIMES


@pytest.fixture(scope="module")
def recording() -> Recording:
    return record()


def failures(recording: Recording, cells: list[Cell]) -> list[str]:
    results = [run(recording, cell) for cell in cells]
    return [failure_line(result) for result in results if not result.passed]


def spread(cells: list[Cell], count: int) -> list[Cell]:
    """Return so many cells of all stages and faults."""
    return cells[:: len(cells) // count]


def _more(group: Group) -> int:
    return _TIMES * math.ceil(group.part / 4)


@pytest.mark.parametrize("group", [group.name for group in GROUPS])
def test_a_plan_ends_as_it_would_have_without_the_fault(group: str, recording: Recording) -> None:
    cells = choose(places(recording), Sample(_more))[group]
    assert failures(recording, cells) == []


def test_a_plan_ends_as_it_would_have_had_events_and_answers_come_in_time(
    recording: Recording,
) -> None:
    assert failures(recording, spread(late_cells(places(recording)), _LATE)) == []


def test_an_instance_that_is_deleted_at_any_moment_goes_with_all_that_is_its_own(
    recording: Recording,
) -> None:
    assert failures(recording, spread(deletion_cells(places(recording)), _DELETED)) == []


def test_each_fault_strikes_in_some_cell(recording: Recording) -> None:
    cells = [cell for some in every_cell(places(recording)).values() for cell in some]
    assert {cell.fault for cell in cells} == set(Fault)
    assert {cell.fault for cell in late_cells(places(recording))} == {*LATENESS}
    assert {cell.fault for cell in deletion_cells(places(recording))} == {*DELETIONS}


def test_cells_that_failed_once_are_cells_of_today(recording: Recording) -> None:
    every = [cell for some in every_cell(places(recording)).values() for cell in some]
    assert [cell for cell in FAILED_ONCE if cell not in every] == []


def test_what_never_comes_by_is_no_fault_that_was_survived(recording: Recording) -> None:
    cell = Cell("update", "apply configmaps nobody", Fault.KILL_AFTER)
    assert run(recording, cell).problems == [NEVER_STRUCK]
