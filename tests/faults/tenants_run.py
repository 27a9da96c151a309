"""The family "hostile tenants" as a whole: every input, then requests that never end."""

import time
from dataclasses import dataclass
from typing import Final

from kudo_cluster.installation import Installation
from kudo_cluster.progress import Progress
from tests.bench.figures import Figure
from tests.faults.port import measure_port, port_figures
from tests.faults.tenants import Row, Tenants
from tests.faults.tenants_table import figures, table
from tests.support.hostile import inputs

_ROUNDS: Final = 2


@dataclass(frozen=True, slots=True)
class Run:
    """What came of all inputs."""

    rows: list[Row]
    figures: list[Figure]

    @property
    def passed(self) -> bool:
        """Whether every input ended as it has to; figures that depend on the machine aside."""
        return bool(self.rows) and not any(row.problems for row in self.rows)


async def run_tenants(installation: Installation, progress: Progress) -> Run:
    """Send every input to an installation whose services run, and tell what it cost.

    Args:
        installation: Where.
        progress: Told of each input, and the lines of the table.
    """
    began, rows = time.monotonic(), list[Row]()
    async with Tenants.on(installation) as tenants:
        for sent in inputs():
            progress(f"hostile tenants: {sent}")
            rows.append(await tenants.measure(sent, _ROUNDS))
        progress("hostile tenants: requests that never end")
        port = await measure_port(tenants)
    for line in table(rows):
        progress(line)
    progress(f"hostile tenants: {time.monotonic() - began:.0f} s")
    return Run(rows, [*figures(rows), *port_figures(port)])
