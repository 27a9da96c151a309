"""The family "late events": watches that are behind, and answers that are late, in every stage.

Each kind that is watched is late alone, by 20 ms, 2 s and a minute, and sends each event twice;
events of all kinds come in another order; the answer to each write, and to all requests, is late.
"""

from collections.abc import Sequence
from typing import Final

from tests.faults.cells.matrix import Cell, Group, Places
from tests.faults.injection.faults import ANSWERS, DELAYS, WATCH, Fault
from tests.unit.reconciler.matrix.network import EVERY_ANSWER

ORDERS: Final = 5
"""So many orders are tried in each stage."""
LATE: Final = Group(
    "late events", (*DELAYS, Fault.DUPLICATED, Fault.REORDERED, *ANSWERS), full=0, part=5, workers=1
)


def late_cells(places: Places) -> list[Cell]:
    """Return the cells of the family."""
    return [cell for stage, labels in places.items() for cell in _of_stage(stage, labels)]


def _of_stage(stage: str, labels: Sequence[str]) -> list[Cell]:
    watches = [label for label in labels if label.startswith(WATCH)]
    answers = [EVERY_ANSWER, *(label for label in labels if label not in watches)]
    return [
        *(Cell(stage, label, fault) for fault in (*DELAYS, Fault.DUPLICATED) for label in watches),
        *(Cell(stage, f"{WATCH}all {order}", Fault.REORDERED) for order in range(ORDERS)),
        *(Cell(stage, label, fault) for fault in ANSWERS for label in answers),
    ]
