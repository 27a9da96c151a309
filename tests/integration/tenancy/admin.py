"""What the administrator of a cluster does with kubectl and `kubectl kudo`."""

import sys
from pathlib import Path

from tests.support.cluster.commands import Done, run
from tests.support.cluster.world import World


async def as_admin(world: World, program: str, *arguments: str, text: str | None = None) -> Done:
    cluster = world.installation.cluster
    path = Path(sys.executable).with_name("kubectl-kudo")
    if program == "kubectl":
        path = cluster.binary("kubectl")
    flags = (f"--kubeconfig={cluster.kubeconfig('admin')}", f"--namespace={world.namespace}")
    return await run([str(path), *flags, *arguments], text=text)
