"""`python -m tests.faults`: run the hostile tenants, the steps and the matrix on a cluster.

Exit codes: 0 all cells passed and all inputs ended as they have to, 1 some did not. Figures that
depend on what else runs on the machine are printed and do not count. `FAULTS_SEED` moves the choice
of the matrix's cells; without it the same ones are run each time.
"""

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from kudo_cluster import Cluster
from kudo_cluster.installation import Installation
from kudo_cluster.progress import announce
from tests.bench.figures import table
from tests.bench.tenants.run import run_tenants
from tests.faults.cells.campaign import Campaign
from tests.faults.cells.matrix import GROUPS, Sample, choice_lines, full, matrix_lines, part
from tests.faults.steps import Steps
from tests.faults.steps_table import figures

_FAMILIES = ("tenants", "steps", "matrix")
_ROOT = Path(__file__).resolve().parents[2]


async def campaign(installation: Installation, sample: Sample, *, groups: set[str]) -> bool:
    """Record, run and print; return whether every cell passed."""
    began = time.monotonic()
    async with Campaign.on(installation, announce) as found:
        await found.record()
        announce(f"recorded in {time.monotonic() - began:.0f} s")
        _write(choice_lines(found.places, sample))
        results = await found.run(sample, groups=groups)
    _write([*matrix_lines(results), f"{time.monotonic() - began:.0f} s"])
    return bool(results) and all(result.passed for result in results)


async def hostile_tenants(installation: Installation, chosen: Sequence[str]) -> bool:
    """Send hostile inputs and print what they cost; return whether all ended as they have to."""
    run = await run_tenants(installation, announce, chosen)
    _write([*table(run.figures), *run.why])
    return run.passed


async def steps(installation: Installation) -> None:
    """Measure what slow and failing steps cost others, and print it."""
    async with Steps.on(installation) as found:
        _write(table(list(figures(await found.measure(announce)))))


def _write(lines: Iterable[str]) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--family", action="append", choices=_FAMILIES, help="only this one")
    parser.add_argument("--part", action="store_true", help="only the cells of `make test`")
    names = [group.name for group in GROUPS]
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="TEXT",
        help="only hostile inputs with this text in their names",
    )
    parser.add_argument("--group", action="append", choices=names, help="only this group of faults")
    parser.add_argument("--keep", type=Path, help="directory of the cluster, kept with its logs")
    options = parser.parse_args()
    with (
        Cluster.start(options.keep, name="faults") as cluster,
        Installation.start(cluster, crds=_ROOT / "crds", progress=announce) as installation,
    ):
        passed = True
        if "tenants" in (options.family or _FAMILIES):
            passed = asyncio.run(hostile_tenants(installation, options.input))
        installation.reconciler.stop()
        if "steps" in (options.family or _FAMILIES):
            asyncio.run(steps(installation))
        if "matrix" in (options.family or _FAMILIES):
            groups = set(options.group or names)
            seed = os.environ.get("FAULTS_SEED", "")
            sample = Sample(part, seed, kept=()) if options.part else Sample(full, seed)
            passed &= asyncio.run(campaign(installation, sample, groups=groups))
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
