"""`python -m tests.galera [short|crashes|long]`: a scenario on a real node of its own.

Needs root. Prints a table and writes it to `.kudo/galera.txt`; what `kubectl kudo plan status`
showed during `recover` goes to `.kudo/galera-recover.txt`. Exit codes: 0 passed, 1 rows were lost,
pods started again without a reason, or something failed.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from kudo_cluster import Cluster
from kudo_cluster.installation import Installation
from kudo_cluster.progress import announce, default
from tests.galera import scenario
from tests.galera.beside import beside
from tests.galera.diagnosis import diagnosis
from tests.galera.instance import Database
from tests.galera.run import Run
from tests.galera.volumes import Volumes
from tests.support.cluster.clients import client_of, new_namespace
from tests.support.cluster.world import World

_ROOT = Path(__file__).resolve().parents[2]
IMAGE = _ROOT / ".kudo" / "images" / "kudo-galera.tar"
SHORT_LEASE = ["--lease-duration=3", "--lease-renew-deadline=2", "--lease-retry=0.5"]
_SCENARIOS = {"short": scenario.short, "long": scenario.long, "crashes": scenario.crashes}
_GOAL = 15 * 60.0
_LIMIT = 2 * _GOAL
"""A machine with other work may need longer than the goal; who waits longer than this is stuck."""


async def run_on(installation: Installation, chosen: str) -> bool:
    """Run a scenario and print its table; return whether it passed."""
    cluster = installation.cluster
    async with (
        client_of(cluster.kubeconfig("user")) as user,
        client_of(cluster.kubeconfig("admin")) as admin,
    ):
        namespace = await new_namespace(user)
        world = World(installation, user, namespace, reconcilers=(installation.reconciler,))
        volumes = Volumes.of(admin, namespace, cluster.directory)
        with tempfile.TemporaryDirectory(prefix="kudo-galera-") as folder:
            async with (
                beside(volumes.run()),
                Run.on(Database(world, admin), Path(folder), announce) as run,
            ):
                began = time.monotonic()
                try:
                    async with asyncio.timeout(_LIMIT):
                        await _SCENARIOS[chosen](run)
                except BaseException:
                    sys.stdout.write(await diagnosis(world))
                    raise
                finally:
                    _print(run, time.monotonic() - began)
    return not run.report.problems()


def _print(run: Run, seconds: float) -> None:
    spent = f"{seconds:.0f} s without the start of the node (goal: {_GOAL:.0f} s)"
    lines = [*run.report.lines(), spent, *(f"FAILED: {one}" for one in run.report.problems())]
    text = "\n".join([*lines, ""])
    sys.stdout.write(text)
    sys.stdout.flush()
    folder = _ROOT / ".kudo"
    folder.mkdir(exist_ok=True)
    (folder / "galera.txt").write_text(text, encoding="utf-8")
    if run.report.recording:
        seen = "\n".join([*run.report.recording, ""])
        (folder / "galera-recover.txt").write_text(seen, encoding="utf-8")


def main() -> int:
    """Start a cluster and run the scenario."""
    parser = argparse.ArgumentParser(prog="python -m tests.galera")
    parser.add_argument("scenario", nargs="?", choices=sorted(_SCENARIOS), default="long")
    parser.add_argument("--image", type=Path, default=IMAGE, help="archive of the image")
    options = parser.parse_args()
    with Cluster.start(name="galera", profile="node", progress=default()) as cluster:
        announce(f"importing {options.image.name}")
        cluster.import_image(options.image)
        services = {"reconciler": SHORT_LEASE}
        with Installation.start(cluster, crds=_ROOT / "crds", options=services) as installation:
            return 0 if asyncio.run(run_on(installation, options.scenario)) else 1


if __name__ == "__main__":
    sys.exit(main())
