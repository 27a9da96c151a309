"""A database of three nodes that scales while rows are written and the reconciler dies.

The long scenario is `make e2e-galera`.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path

from kudo_cluster import Cluster
from kudo_cluster.progress import silent
from tests.galera import scenario
from tests.galera.beside import beside
from tests.galera.instance import Database
from tests.galera.run import Run
from tests.galera.volumes import Volumes
from tests.support.cluster.clients import client_of
from tests.support.cluster.world import World

IMAGE = Path(__file__).resolve().parents[2] / ".kudo" / "images" / "kudo-galera.tar"


async def test_no_row_is_lost_while_the_cluster_scales_and_the_reconciler_dies(
    world: World, node_cluster: Cluster, tmp_path: Path, figure: Callable[[str], None]
) -> None:
    await asyncio.to_thread(node_cluster.import_image, IMAGE)
    async with (
        client_of(node_cluster.kubeconfig("admin")) as admin,
        beside(Volumes.of(admin, world.namespace, node_cluster.directory).run()),
        Run.on(Database(world, admin), tmp_path, silent) as run,
    ):
        await scenario.short(run)
    for line in run.report.lines():
        figure(line)
    assert run.report.problems() == []
