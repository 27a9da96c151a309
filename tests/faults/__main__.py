"""`python -m tests.faults`: run the matrix on a cluster of its own, and print it.

Exit codes: 0 all cells passed, 1 some failed.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from kudo_cluster import Cluster
from kudo_cluster.installation import Installation
from kudo_cluster.progress import announce
from tests.faults.campaign import Campaign
from tests.faults.matrix import GROUPS, choice_lines, matrix_lines

_ROOT = Path(__file__).resolve().parents[2]


async def campaign(installation: Installation, *, full: bool, groups: set[str]) -> bool:
    """Record, run and print; return whether every cell passed."""
    began = time.monotonic()
    async with Campaign.on(installation, announce) as found:
        await found.record()
        announce(f"recorded in {time.monotonic() - began:.0f} s")
        _write(choice_lines(found.places, full=full))
        results = await found.run(full=full, groups=groups)
    _write([*matrix_lines(results), f"{time.monotonic() - began:.0f} s"])
    return bool(results) and all(result.passed for result in results)


def _write(lines: Iterable[str]) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--part", action="store_true", help="only the cells of `make test`")
    names = [group.name for group in GROUPS]
    parser.add_argument("--group", action="append", choices=names, help="only this group of faults")
    parser.add_argument("--keep", type=Path, help="directory of the cluster, kept with its logs")
    options = parser.parse_args()
    with (
        Cluster.start(options.keep, name="faults") as cluster,
        Installation.start(cluster, crds=_ROOT / "crds", progress=announce) as installation,
    ):
        installation.reconciler.stop()
        passed = asyncio.run(
            campaign(installation, full=not options.part, groups=set(options.group or names))
        )
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
