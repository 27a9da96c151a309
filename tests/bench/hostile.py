"""Hostile tenants: the worst of each figure of `tests.bench.tenants`, on a cluster of its own."""

import asyncio
from pathlib import Path

from kudo_cluster import Cluster
from kudo_cluster.installation import Installation
from kudo_cluster.progress import announce
from tests.bench.figures import Figure
from tests.bench.tenants.run import run_tenants

_CRDS = Path(__file__).resolve().parents[2] / "crds"


def bench(_rounds: int) -> list[Figure]:
    """Measure all inputs, and print the table of each."""
    with (
        Cluster.start(name="hostile", progress=announce) as cluster,
        Installation.start(cluster, crds=_CRDS, progress=announce) as installation,
    ):
        return asyncio.run(run_tenants(installation, announce)).figures
