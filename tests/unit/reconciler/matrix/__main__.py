"""The fault matrix in memory: `python -m tests.unit.reconciler.matrix`, all cells on two processes.

`--cell TEXT` runs those whose names hold a text. Exit codes: 0 all cells passed, 1 some did not.
"""

import argparse
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor

from tests.faults.cells.matrix import GROUPS, Cell, Result, failure_line, matrix_lines
from tests.unit.reconciler.matrix.cells import Recording, every_cell, places, record, run
from tests.unit.reconciler.matrix.deletions import DELETED
from tests.unit.reconciler.matrix.late import LATE

_recorded: list[Recording] = []
"""Of this process: stages cannot be sent to another one."""


def _run(cell: Cell) -> Result:
    if not _recorded:
        _recorded.append(record())
    return run(_recorded[0], cell)


def _write(lines: Iterable[str]) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.stdout.flush()


def _results(cells: list[Cell], processes: int) -> Iterable[Result]:
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(_run, cells, chunksize=4)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.unit.reconciler.matrix", description=__doc__
    )
    names = [group.name for group in (*GROUPS, LATE, DELETED)]
    parser.add_argument("--group", action="append", choices=names)
    parser.add_argument("--cell", default="", metavar="TEXT")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    began = time.monotonic()
    found = every_cell(places(record()))
    cells = [
        cell
        for group, some in found.items()
        for cell in some
        if group in (options.group or found) and options.cell in str(cell)
    ]
    _write(f"{group}: {len(some)} cells" for group, some in found.items())
    results = []
    for result in _results(cells, options.processes):
        results.append(result)
        if not result.passed:
            _write([failure_line(result)])
    _write([*matrix_lines(results), f"{time.monotonic() - began:.0f} s"])
    return 0 if results and all(result.passed for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
