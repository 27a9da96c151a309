"""The family "hostile tenants" as a whole: every input, then requests that never end."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from kudo_cluster.installation import Installation
from kudo_cluster.progress import Progress
from tests.bench.figures import Figure
from tests.bench.tenants.port import measure_port, port_figures
from tests.bench.tenants.table import figures, missed, profile, table
from tests.bench.tenants.tenants import ROUNDS, Row, Tenants
from tests.support.hostile import inputs


@dataclass(frozen=True, slots=True)
class TenantsReport:
    """What came of all inputs."""

    rows: list[Row]
    figures: list[Figure]

    @property
    def why(self) -> list[str]:
        """Lines that tell what took the CPU beside the inputs that miss a figure."""
        return list(profile(self.rows, missed(self.rows)))

    @property
    def passed(self) -> bool:
        """Whether every input ended as it has to; figures that depend on the machine aside."""
        return bool(self.rows) and not any(row.problems for row in self.rows)


async def run_tenants(
    installation: Installation, progress: Progress, chosen: Sequence[str] = ()
) -> TenantsReport:
    """Send inputs to an installation whose services run, and tell what they cost.

    Args:
        installation: Where.
        progress: Told of each input, and the lines of the tables.
        chosen: Parts of the names of the inputs to send; all if there are none.
    """
    desired = [one for one in inputs() if not chosen or any(text in str(one) for text in chosen)]
    began, rows = time.monotonic(), list[Row]()
    async with Tenants.on(installation) as tenants:
        for sent in desired:
            progress(f"hostile tenants: {sent}")
            rows.append(await tenants.measure(sent, ROUNDS))
        progress("hostile tenants: requests that never end")
        port = await measure_port(tenants)
    for line in (*table(rows), *profile(rows, rows)):
        progress(line)
    progress(f"hostile tenants: {time.monotonic() - began:.0f} s")
    return TenantsReport(rows, [*figures(rows), *port_figures(port)])
