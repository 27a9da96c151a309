"""The cluster that a suite runs on."""

from dataclasses import dataclass
from pathlib import Path

from kubeio.client import Client
from kudo_harness.host import Host
from kudo_harness.local_cluster import RunningCluster


@dataclass(frozen=True, slots=True)
class Target:
    """Where a suite runs.

    Attributes:
        client: The connection, as the user of the suite.
        kubeconfig: Absolute path of a kubeconfig whose current context is that connection; the
            commands of a suite get it.
        programs: Folders that come first in the PATH of commands: kubectl, `kubectl kudo`.
        local: The cluster, if the harness started it.
        faults: Whether steps may cause faults.
        host: The program that runs the suite.
    """

    client: Client
    kubeconfig: Path
    programs: tuple[Path, ...]
    local: RunningCluster | None
    faults: bool
    host: Host
