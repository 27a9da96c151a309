"""The cluster that a suite runs on, and KUDO on it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kubeio.client import Client
from kudo_harness.host import Host


class LocalCluster(Protocol):
    """A cluster that the harness started, with KUDO's services as processes once asked for.

    All methods raise HarnessError, with the end of the log of what failed.
    """

    async def install_kudo(self) -> None:
        """Create the CRDs, start webhook and reconciler, and register the webhook.

        Does nothing if they run already.
        """

    async def restart(self, service: str) -> None:
        """Kill `webhook` or `reconciler`, start it again, and wait until it is ready."""

    async def stop(self) -> None:
        """End everything that was started; it is no error if that has ended."""


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
    local: LocalCluster | None
    faults: bool
    host: Host
