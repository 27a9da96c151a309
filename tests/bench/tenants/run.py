"""The family "hostile tenants" as a whole: every input, then what is sent to the ports."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kudo_cluster.installation import Installation
from kudo_cluster.progress import Progress
from tests.bench.figures import Figure
from tests.bench.tenants.hanging import NAME as HANGING
from tests.bench.tenants.hanging import measure_hanging
from tests.bench.tenants.many import measure_many
from tests.bench.tenants.port import measure_port
from tests.bench.tenants.silent import measure_silent
from tests.bench.tenants.table import figures, missed, profile, table
from tests.bench.tenants.tenants import ROUNDS, Row, Tenants
from tests.support.hostile import inputs

_MEASURES: Final[Mapping[str, Callable[[Tenants], Awaitable[list[Figure]]]]] = {
    "requests that never end": measure_port,
    "connections that send nothing": measure_silent,
    HANGING: measure_hanging,
    "very many small things": measure_many,
}
"""What is measured by itself, by name."""


@dataclass(frozen=True, slots=True)
class TenantsReport:
    """What came of all inputs."""

    rows: list[Row]
    figures: list[Figure]

    @property
    def why(self) -> list[str]:
        """Lines that tell what took the CPU beside the inputs that miss a figure."""
        return list(profile(self.rows, missed(self.rows))) if self.rows else []

    @property
    def passed(self) -> bool:
        """Whether every input ended as it has to; figures that depend on the machine aside."""
        return bool(self.figures) and not any(row.problems for row in self.rows)


async def run_tenants(
    installation: Installation, progress: Progress, chosen: Sequence[str] = ()
) -> TenantsReport:
    """Send inputs to an installation whose services run, and tell what they cost.

    Args:
        installation: Where.
        progress: Told of each input, and the lines of the tables.
        chosen: Parts of the names of the inputs to send; all if there are none.
    """

    def desired(name: str) -> bool:
        return not chosen or any(text in name for text in chosen)

    began, rows = time.monotonic(), list[Row]()
    async with Tenants.on(installation) as tenants:
        for sent in (one for one in inputs() if desired(str(one))):
            progress(f"hostile tenants: {sent}")
            rows.append(await tenants.measure(sent, ROUNDS))
        measured = list[Figure]()
        for name, measure in _MEASURES.items():
            if desired(name):
                progress(f"hostile tenants: {name}")
                measured += await measure(tenants)
    if rows:
        for line in (*table(rows), *profile(rows, rows)):
            progress(line)
        measured = [*figures(rows), *measured]
    progress(f"hostile tenants: {time.monotonic() - began:.0f} s")
    return TenantsReport(rows, measured)
