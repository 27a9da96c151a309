"""kubectl as the administrator of a cluster."""

import subprocess
from pathlib import Path
from typing import Literal, Protocol

from kudo_cluster.errors import ClusterError


class Administered(Protocol):
    """A cluster with a kubeconfig of its administrator."""

    def kubeconfig(self, role: Literal["admin"]) -> Path:
        """Return the kubeconfig of a role."""

    def binary(self, name: str) -> Path:
        """Return the path of a program, such as kubectl."""


def kubectl(cluster: Administered, *arguments: str, text: str | None = None) -> str:
    """Run kubectl with `text` as its input, and return what it prints.

    Raises:
        ClusterError: it failed; the text is what it says.
    """
    command = [str(cluster.binary("kubectl")), f"--kubeconfig={cluster.kubeconfig('admin')}"]
    done = subprocess.run(
        [*command, *arguments], input=text, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ClusterError(f"kubectl {arguments[0]} failed: {done.stderr.strip()}")
    return done.stdout
